"""Endpoints of custom fields and of their settings on projects."""

import msgspec

from sandbox.http import Response
from sandbox.projects import errors, resources
from sandbox.projects.context import CallContext
from sandbox.projects.records import CustomField, Option

_MAX_DECIMALS = 6
_KINDS = ("text", "number", "enum", "multi_enum", "date", "people")


def list_settings(context: CallContext, gid: str) -> Response:
    """List the settings of custom fields on a project."""
    return context.list_response(
        "custom_field_setting", resources.field_settings(context.store, context.get_project(gid))
    )


def list_workspace_fields(context: CallContext, gid: str) -> Response:
    """List the custom fields of a workspace."""
    return context.list_response(
        "custom_field", context.store.fields.of(context.get_workspace(gid).id)
    )


def get_field(context: CallContext, gid: str) -> Response:
    """Return a custom field."""
    return context.record_response("custom_field", _find_field(context, gid))


def create_field(context: CallContext) -> Response:
    """Create a custom field in a workspace."""
    _require_paid_plan(context)
    kind, name = (
        context.data.get("resource_subtype") or context.data.get("type"),
        context.data.get("name"),
    )
    if kind not in _KINDS:
        raise errors.bad_request(f"resource_subtype: Not a recognized type: {kind}")
    if not isinstance(name, str) or not name:
        raise errors.bad_request("name: Missing input")
    workspace = context.get_workspace(
        context.data.get("workspace") or context.user.owner, status=400
    )
    options = tuple(
        Option(id=context.store.new_id(), name=str(option.get("name", "")))
        for option in context.list_field("enum_options")
        if isinstance(option, dict)
    )
    precision = context.data.get("precision") or 0
    if not isinstance(precision, int) or not 0 <= precision <= _MAX_DECIMALS:
        raise errors.bad_request(f"precision: Must be between 0 and {_MAX_DECIMALS}")
    new_id = context.store.new_id()
    field = CustomField(
        id=new_id,
        owner=workspace.id,
        position=float(new_id),
        name=name,
        kind=str(kind),
        description=str(context.data.get("description") or ""),
        precision=precision,
        options=options,
        creator=context.user.id,
    )
    return context.record_response("custom_field", context.store.fields.put(field), status=201)


def add_field(context: CallContext, gid: str) -> Response:
    """Add a custom field to a project."""
    _require_paid_plan(context)
    project = context.get_project(gid)
    field = _find_field(context, context.data.get("custom_field"), status=400)
    if field.id in project.fields:
        raise errors.bad_request("custom_field: Custom field is already on this project")
    project = msgspec.structs.replace(project, fields=(*project.fields, field.id))
    context.store.projects.put(project)
    setting = resources.field_settings(context.store, project)[-1]
    return context.record_response("custom_field_setting", setting)


def _require_paid_plan(context: CallContext) -> None:
    if context.store.is_free:
        raise errors.ApiError(402, "Custom Field Settings are not available for free users.")


def _find_field(context: CallContext, gid: object, status: int = 404) -> CustomField:
    field = context.store.fields.find(str(gid))
    if field is None:
        raise errors.ApiError(status, f"custom_field: Unknown object: {gid}")
    return field
