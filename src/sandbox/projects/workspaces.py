"""Endpoints of workspaces, their teams and users."""

from sandbox.http import Response
from sandbox.projects import errors
from sandbox.projects.context import CallContext


def list_workspaces(context: CallContext) -> Response:
    """List the workspaces of the caller."""
    return context.list_response("workspace", [context.get_workspace(context.user.owner)])


def get_workspace(context: CallContext, gid: str) -> Response:
    """Return a workspace."""
    return context.record_response("workspace", context.get_workspace(gid))


def list_teams(context: CallContext, gid: str) -> Response:
    """List the teams of a workspace."""
    return context.list_response("team", context.store.teams.of(context.get_workspace(gid).id))


def list_users(context: CallContext) -> Response:
    """List the users of a workspace, the caller's by default."""
    workspace_id = context.request.first("workspace") or context.user.owner
    return list_workspace_users(context, workspace_id)


def list_workspace_users(context: CallContext, gid: str) -> Response:
    """List the users of a workspace."""
    return context.list_response("user", context.store.users.of(context.get_workspace(gid).id))


def get_user(context: CallContext, gid: str) -> Response:
    """Return a user by "me", email address or id."""
    user = context.find_user(gid)
    if user is None:
        raise errors.not_found("user", gid)
    return context.record_response("user", user)
