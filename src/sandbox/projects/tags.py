"""Endpoints of tags."""

from sandbox.http import Response
from sandbox.projects import errors
from sandbox.projects.context import CallContext


def list_tags(context: CallContext) -> Response:
    """List the tags of a workspace, the caller's by default."""
    workspace_id = context.request.first("workspace") or context.user.owner
    workspace = context.get_workspace(workspace_id, status=400)
    return context.list_response("tag", context.store.tags.of(workspace.id))


def list_workspace_tags(context: CallContext, gid: str) -> Response:
    """List the tags of a workspace."""
    return context.list_response("tag", context.store.tags.of(context.get_workspace(gid).id))


def get_tag(context: CallContext, gid: str) -> Response:
    """Return a tag."""
    return context.record_response("tag", context.get_tag(gid))


def create_tag(context: CallContext) -> Response:
    """Create a tag."""
    workspace = context.get_workspace(
        context.data.get("workspace") or context.user.owner, status=400
    )
    name = context.data.get("name")
    if not isinstance(name, str) or not name:
        raise errors.bad_request("name: Missing input")
    color = context.data.get("color")
    tag = context.store.add_tag(workspace.id, name, color if isinstance(color, str) else None)
    return context.record_response("tag", tag, status=201)
