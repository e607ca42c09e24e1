"""Sensitivity label endpoints. See docs/spec/upstream/microsoft-files.md#sensitivity-labels."""

from typing import Any

from sandbox.collab import records as r
from sandbox.collab.errors import invalid_request
from sandbox.collab.files import content
from sandbox.collab.requests import CollabCall
from sandbox.http import Response, Router
from sandbox.provider_b.responses import GraphError, ok

TENANT = "6f2a1c52-8d0e-4b0b-9a57-3f1f0c7d2e11"
_STABLE = ("SensitivityLabel.Read", "SensitivityLabels.Read.All")
_BETA = ("InformationProtectionPolicy.Read", "InformationProtectionPolicy.Read.All")
_FORMATS = ["file", "email", "site", "unifiedGroup"]


def install(routes: Router) -> None:
    """Add the paths of labels."""
    add = routes.add
    add("POST", "/drives/{drive}/items/{item}/extractSensitivityLabels", extract_labels)
    for owner in ("/me", "/users/{user}", "/security"):
        add("GET", f"{owner}/dataSecurityAndGovernance/sensitivityLabels", list_labels)
        infix = "" if owner == "/security" else "/security"
        add("GET", f"{owner}{infix}/informationProtection/sensitivityLabels", list_beta_labels)


def extract_labels(call: CollabCall, drive: str, item: str) -> Response:
    """Return the label of a file."""
    file = call.item(drive, item)
    if file.is_folder or file.package:
        raise invalid_request("The request is not valid for a folder.")
    if content.suffix(file.name) not in content.LABELABLE_SUFFIXES:
        raise GraphError(415, "unsupportedMediaType", "The file type is not supported.")
    if file.label_trouble:
        raise GraphError(423, file.label_trouble, "The label of the file could not be read.")
    labels = []
    if file.label:
        labels.append(
            {
                "sensitivityLabelId": file.label,
                "assignmentMethod": file.label_method,
                "tenantId": TENANT,
            }
        )
    context = call.context("microsoft.graph.extractSensitivityLabelsResult")
    if call.store.settings.wraps_labels:
        return ok({"@odata.context": context, "value": {"labels": labels}})
    return ok({"@odata.context": context, "labels": labels})


def list_labels(call: CollabCall, user: str = "") -> Response:  # noqa: ARG001 - all users have the same labels
    """List the labels as in v1.0: sublabels nested in their parents."""
    _require_any(call, _STABLE)
    top_labels = [_write_label(call, label) for label in _labels(call) if not label.parent]
    context = call.context("security/dataSecurityAndGovernance/sensitivityLabels")
    return ok({"@odata.context": context, "value": top_labels})


def list_beta_labels(call: CollabCall, user: str = "") -> Response:  # noqa: ARG001 - as above
    """List the labels as in the beta version: flat."""
    if call.version != "beta":
        raise invalid_request(
            "Resource not found for the segment 'informationProtection'.", "BadRequest"
        )
    _require_any(call, _BETA)
    context = call.context("security/informationProtection/sensitivityLabels")
    return ok(
        {
            "@odata.context": context,
            "value": [_write_beta_label(call, label) for label in _labels(call)],
        }
    )


def _require_any(call: CollabCall, scopes: tuple[str, ...]) -> None:
    if not call.scopes.intersection(scopes):
        raise GraphError(
            403, "Authorization_RequestDenied", "Insufficient privileges to complete the operation."
        )


def _labels(call: CollabCall) -> list[r.Label]:
    return sorted(call.store.every(r.Label), key=lambda label: label.priority)


def _write_label(call: CollabCall, label: r.Label) -> dict[str, Any]:
    sublabels = [
        _write_label(call, sublabel) for sublabel in _labels(call) if sublabel.parent == label.id
    ]
    return {
        "id": label.id,
        "name": label.name,
        "displayName": label.name,
        "description": label.description,
        "priority": label.priority,
        "toolTip": label.tooltip,
        "isDefault": False,
        "isEndpointProtectionEnabled": False,
        "hasProtection": label.is_protecting,
        "locale": "en-US",
        "autoTooltip": "",
        "actionSource": "manual",
        "sublabels": sublabels,
        # These three are in the published sample, but not in the published type.
        "color": label.color,
        "isEnabled": label.is_active,
        "applicableTo": "email,file,site,unifiedGroup",
    }


def _write_beta_label(call: CollabCall, label: r.Label) -> dict[str, Any]:
    has_sublabels = any(other.parent == label.id for other in _labels(call))
    parent = call.store.get(r.Label, label.parent)
    return {
        "id": label.id,
        "name": label.name,
        "description": label.description,
        "color": label.color,
        "sensitivity": label.priority,
        "tooltip": label.tooltip,
        "isActive": label.is_active,
        "isAppliable": label.is_active and not has_sublabels,
        "contentFormats": _FORMATS,
        "hasProtection": label.is_protecting,
        "parent": None if parent is None else {"id": parent.id, "name": parent.name},
    }
