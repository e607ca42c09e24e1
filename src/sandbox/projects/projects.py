"""Endpoints of projects and their sections."""

from typing import Any

import msgspec

from sandbox.http import Response, json_response
from sandbox.projects import custom_field_values, errors
from sandbox.projects.context import CallContext

# Projects


def list_projects(context: CallContext) -> Response:
    """List projects of a workspace, the caller's by default."""
    workspace_id = context.request.first("workspace")
    if workspace_id:
        context.get_workspace(workspace_id, status=400)
    return _list_projects(context, workspace_id or context.user.owner)


def list_workspace_projects(context: CallContext, gid: str) -> Response:
    """List a workspace's projects."""
    return _list_projects(context, context.get_workspace(gid).id)


def _list_projects(context: CallContext, workspace_id: str) -> Response:
    archived, team = context.query_flag("archived"), context.request.first("team")
    projects = [
        project
        for project in context.store.projects.of(workspace_id)
        if context.can_see(project)
        and (archived is None or project.archived is archived)
        and (not team or project.team == team)
    ]
    return context.list_response("project", projects)


def get_project(context: CallContext, gid: str) -> Response:
    """Return a project."""
    return context.record_response("project", context.get_project(gid))


def create_project(context: CallContext) -> Response:
    """Create a project."""
    name = context.data.get("name")
    if not isinstance(name, str) or not name.strip():
        raise errors.bad_request("name: Missing input")
    workspace = context.get_workspace(
        context.data.get("workspace") or context.user.owner, status=400
    )
    if workspace.is_organization and not context.data.get("team"):
        raise errors.bad_request("Missing required team field")
    team = context.data.get("team")
    if team and context.store.teams.find(str(team)) is None:
        raise errors.bad_request(f"team: Unknown object: {team}")
    project = context.store.add_project(
        workspace.id, name, creator=context.user.id, team=team or None, **_project_changes(context)
    )
    return context.record_response("project", project, status=201)


def update_project(context: CallContext, gid: str) -> Response:
    """Change the fields of a project that the body contains."""
    project = context.get_project(gid)
    changes = _project_changes(context)
    if isinstance(context.data.get("name"), str):
        changes["name"] = context.data["name"]
    project = msgspec.structs.replace(project, modified_at=context.store.now(), **changes)
    return context.record_response("project", context.store.projects.put(project))


def _project_changes(context: CallContext) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for name, kind in (("notes", str), ("archived", bool), ("color", str)):
        if isinstance(context.data.get(name), kind):
            changes[name] = context.data[name]
    if context.data.get("due_on"):
        changes["due_on"] = custom_field_values.parse_date("due_on", context.data["due_on"])
    if context.data.get("privacy_setting"):
        changes["privacy"] = str(context.data["privacy_setting"])
    return changes


def delete_project(context: CallContext, gid: str) -> Response:
    """Delete a project, and its tasks that are in no other project."""
    project = context.get_project(gid)
    for task in context.store.project_tasks(project.id):
        memberships = tuple(
            membership for membership in task.memberships if membership.project != project.id
        )
        if memberships:
            context.store.tasks.put(msgspec.structs.replace(task, memberships=memberships))
        else:
            context.store.delete_task(task)
    for section in context.store.sections.of(project.id):
        context.store.sections.drop(section.id)
    context.store.projects.drop(project.id)
    return context.empty_response()


def count_tasks(context: CallContext, gid: str) -> Response:
    """Count the tasks of a project; only requested counts are returned."""
    tasks = context.store.project_tasks(context.get_project(gid).id)
    completed = sum(task.completed_at is not None for task in tasks)
    counts = {
        "num_tasks": len(tasks),
        "num_completed_tasks": completed,
        "num_incomplete_tasks": len(tasks) - completed,
        "num_milestones": sum(task.subtype == "milestone" for task in tasks),
    }
    requested = context.requested_fields or {}
    return json_response(
        {"data": {name: count for name, count in counts.items() if name in requested}}
    )


# Sections


def list_sections(context: CallContext, gid: str) -> Response:
    """List the sections of a project in their order."""
    return context.list_response("section", context.store.sections.of(context.get_project(gid).id))


def get_section(context: CallContext, gid: str) -> Response:
    """Return a section."""
    return context.record_response("section", context.get_section(gid))


def create_section(context: CallContext, gid: str) -> Response:
    """Create a section after the others."""
    project, name = context.get_project(gid), context.data.get("name")
    if not isinstance(name, str) or not name:
        raise errors.bad_request("name: Missing input")
    return context.record_response(
        "section", context.store.add_section(project.id, name), status=201
    )


def update_section(context: CallContext, gid: str) -> Response:
    """Rename a section."""
    section, name = context.get_section(gid), context.data.get("name")
    if not isinstance(name, str) or not name:
        raise errors.bad_request("name: Missing input")
    return context.record_response(
        "section", context.store.sections.put(msgspec.structs.replace(section, name=name))
    )


def delete_section(context: CallContext, gid: str) -> Response:
    """Delete an empty section that is not the last."""
    section = context.get_section(gid)
    if context.store.section_tasks(section.id):
        raise errors.bad_request("Cannot delete a section with tasks in it.")
    if len(context.store.sections.of(section.owner)) == 1:
        raise errors.bad_request("Cannot delete the last section of a project.")
    context.store.sections.drop(section.id)
    return context.empty_response()
