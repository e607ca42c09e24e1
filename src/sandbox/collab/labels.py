"""Sensitivity labels: the tenant's catalogue and a file's own. Source: wire report 1D.7."""

from typing import Any

from sandbox.collab import records as r
from sandbox.collab.endpoint import Door
from sandbox.collab.errors import bad
from sandbox.collab.files import content
from sandbox.collab.requests import Call
from sandbox.http import Response
from sandbox.provider_b.responses import Refusal, ok

TENANT = "6f2a1c52-8d0e-4b0b-9a57-3f1f0c7d2e11"
_STABLE = ("SensitivityLabel.Read", "SensitivityLabels.Read.All")
_BETA = ("InformationProtectionPolicy.Read", "InformationProtectionPolicy.Read.All")
_FORMATS = ["file", "email", "site", "unifiedGroup"]


def install(door: Door) -> None:
    """Add the paths of labels."""
    add = door.routes.add
    add("POST", "/drives/{drive}/items/{item}/extractSensitivityLabels", extract)
    for whose in ("/me", "/users/{user}", "/security"):
        add("GET", f"{whose}/dataSecurityAndGovernance/sensitivityLabels", catalogue)
        inside = "" if whose == "/security" else "/security"
        add("GET", f"{whose}{inside}/informationProtection/sensitivityLabels", beta_catalogue)


def extract(call: Call, drive: str, item: str) -> Response:
    """Read a file's label out of its bytes."""
    found = call.item(drive, item)
    if found.is_folder or found.package:
        raise bad("The request is not valid for a folder.")
    if content.suffix(found.name) not in content.LABELLED:
        raise Refusal(415, "unsupportedMediaType", "The file type is not supported.")
    if found.label_trouble:
        raise Refusal(423, found.label_trouble, "The label of the file could not be read.")
    labels = []
    if found.label:
        labels.append(
            {
                "sensitivityLabelId": found.label,
                "assignmentMethod": found.label_method,
                "tenantId": TENANT,
            }
        )
    context = call.context("microsoft.graph.extractSensitivityLabelsResult")
    if call.store.settings.wraps_labels:
        return ok({"@odata.context": context, "value": {"labels": labels}})
    return ok({"@odata.context": context, "labels": labels})


def catalogue(call: Call, user: str = "") -> Response:  # noqa: ARG001 - everybody has the same labels
    """List the labels as v1.0 has them: those below another inside it."""
    _need(call, _STABLE)
    above = [_stable(call, label) for label in _labels(call) if not label.parent]
    context = call.context("security/dataSecurityAndGovernance/sensitivityLabels")
    return ok({"@odata.context": context, "value": above})


def beta_catalogue(call: Call, user: str = "") -> Response:  # noqa: ARG001 - as above
    """List the labels as the beta version has them: flat."""
    if call.version != "beta":
        raise bad("Resource not found for the segment 'informationProtection'.", "BadRequest")
    _need(call, _BETA)
    context = call.context("security/informationProtection/sensitivityLabels")
    return ok({"@odata.context": context, "value": [_beta(call, label) for label in _labels(call)]})


def _need(call: Call, scopes: tuple[str, ...]) -> None:
    if not call.scopes.intersection(scopes):
        raise Refusal(
            403, "Authorization_RequestDenied", "Insufficient privileges to complete the operation."
        )


def _labels(call: Call) -> list[r.Label]:
    return sorted(call.store.every(r.Label), key=lambda one: one.priority)


def _stable(call: Call, label: r.Label) -> dict[str, Any]:
    below = [_stable(call, one) for one in _labels(call) if one.parent == label.id]
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
        "sublabels": below,
        # The published sample has these three, the published type has not.
        "color": label.color,
        "isEnabled": label.is_active,
        "applicableTo": "email,file,site,unifiedGroup",
    }


def _beta(call: Call, label: r.Label) -> dict[str, Any]:
    has_below = any(one.parent == label.id for one in _labels(call))
    parent = call.store.get(r.Label, label.parent)
    return {
        "id": label.id,
        "name": label.name,
        "description": label.description,
        "color": label.color,
        "sensitivity": label.priority,
        "tooltip": label.tooltip,
        "isActive": label.is_active,
        "isAppliable": label.is_active and not has_below,
        "contentFormats": _FORMATS,
        "hasProtection": label.is_protecting,
        "parent": None if parent is None else {"id": parent.id, "name": parent.name},
    }
