"""What tasks stand in or refer to: workspaces, users, projects, sections, fields, tags."""

from typing import Any

import msgspec

from sandbox.http import Response, json_response
from sandbox.projects import custom_field_values, errors, views
from sandbox.projects.context import CallContext
from sandbox.projects.records import CustomField, Option, Workspace

_MOST_DECIMALS = 6
_KINDS = ("text", "number", "enum", "multi_enum", "date", "people")


# Workspaces, teams, users


def workspaces(context: CallContext) -> Response:
    """List the workspaces of the user."""
    return context.many("workspace", [_workspace(context, context.me.owner)])


def workspace(context: CallContext, gid: str) -> Response:
    """Show a workspace."""
    return context.one("workspace", _workspace(context, gid))


def teams(context: CallContext, gid: str) -> Response:
    """List a workspace's teams."""
    return context.many("team", context.store.teams.of(_workspace(context, gid).id))


def users(context: CallContext) -> Response:
    """List the users that the caller sees."""
    wanted = context.request.first("workspace") or context.me.owner
    return context.many("user", context.store.users.of(_workspace(context, wanted).id))


def workspace_users(context: CallContext, gid: str) -> Response:
    """List a workspace's users."""
    return context.many("user", context.store.users.of(_workspace(context, gid).id))


def user(context: CallContext, gid: str) -> Response:
    """Show a user: "me", an address or an id."""
    found = context.user(gid)
    if found is None:
        raise errors.not_found("user", gid)
    return context.one("user", found)


def _workspace(context: CallContext, gid: object, status: int = 404) -> Workspace:
    found = context.store.workspaces.find(str(gid))
    if found is None:
        raise errors.ApiError(status, f"workspace: Unknown object: {gid}")
    return found


# Projects


def projects(context: CallContext) -> Response:
    """List projects, of one workspace or team when these are named."""
    wanted = context.request.first("workspace")
    if wanted:
        _workspace(context, wanted, status=400)
    return _projects(context, wanted or context.me.owner)


def workspace_projects(context: CallContext, gid: str) -> Response:
    """List a workspace's projects."""
    return _projects(context, _workspace(context, gid).id)


def _projects(context: CallContext, workspace_id: str) -> Response:
    found = [one for one in context.store.projects.of(workspace_id) if context.can_see(one)]
    archived, team = context.flag("archived"), context.request.first("team")
    if archived is not None:
        found = [one for one in found if one.archived is archived]
    if team:
        found = [one for one in found if one.team == team]
    return context.many("project", found)


def project(context: CallContext, gid: str) -> Response:
    """Show a project."""
    return context.one("project", context.project(gid))


def create_project(context: CallContext) -> Response:
    """Make a project."""
    name = context.data.get("name")
    if not isinstance(name, str) or not name.strip():
        raise errors.bad_request("name: Missing input")
    over = _workspace(context, context.data.get("workspace") or context.me.owner, status=400)
    if over.is_organization and not context.data.get("team"):
        raise errors.bad_request("Missing required team field")
    team = context.data.get("team")
    if team and context.store.teams.find(str(team)) is None:
        raise errors.bad_request(f"team: Unknown object: {team}")
    made = context.store.add_project(
        over.id, name, creator=context.me.id, team=team or None, **_project_changes(context)
    )
    return context.one("project", made, status=201)


def update_project(context: CallContext, gid: str) -> Response:
    """Change what the body names of a project."""
    old = context.project(gid)
    changed = _project_changes(context)
    if isinstance(context.data.get("name"), str):
        changed["name"] = context.data["name"]
    new = msgspec.structs.replace(old, modified_at=context.store.now(), **changed)
    return context.one("project", context.store.projects.put(new))


def _project_changes(context: CallContext) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name, kind in (("notes", str), ("archived", bool), ("color", str)):
        if isinstance(context.data.get(name), kind):
            changed[name] = context.data[name]
    if context.data.get("due_on"):
        changed["due_on"] = custom_field_values.parse_date("due_on", context.data["due_on"])
    if context.data.get("privacy_setting"):
        changed["privacy"] = str(context.data["privacy_setting"])
    return changed


def delete_project(context: CallContext, gid: str) -> Response:
    """Delete a project; tasks that stand in no other go with it."""
    gone = context.project(gid)
    for task in context.store.project_tasks(gone.id):
        memberships = tuple(
            membership for membership in task.memberships if membership.project != gone.id
        )
        if memberships:
            context.store.tasks.put(msgspec.structs.replace(task, memberships=memberships))
        else:
            context.store.delete_task(task)
    for one in context.store.sections.of(gone.id):
        context.store.sections.drop(one.id)
    context.store.projects.drop(gone.id)
    return context.nothing()


def task_counts(context: CallContext, gid: str) -> Response:
    """Count a project's tasks; every count is opt-in."""
    tasks = context.store.project_tasks(context.project(gid).id)
    done = sum(task.completed_at is not None for task in tasks)
    stones = [task for task in tasks if task.subtype == "milestone"]
    counts = {
        "num_tasks": len(tasks),
        "num_completed_tasks": done,
        "num_incomplete_tasks": len(tasks) - done,
        "num_milestones": len(stones),
    }
    asked = context.tree or {}
    return json_response({"data": {name: one for name, one in counts.items() if name in asked}})


# Sections


def sections(context: CallContext, gid: str) -> Response:
    """List a project's sections in their order."""
    return context.many("section", context.store.sections.of(context.project(gid).id))


def section(context: CallContext, gid: str) -> Response:
    """Show a section."""
    return context.one("section", context.section(gid))


def create_section(context: CallContext, gid: str) -> Response:
    """Make a section behind the others."""
    over, name = context.project(gid), context.data.get("name")
    if not isinstance(name, str) or not name:
        raise errors.bad_request("name: Missing input")
    return context.one("section", context.store.add_section(over.id, name), status=201)


def update_section(context: CallContext, gid: str) -> Response:
    """Rename a section."""
    old, name = context.section(gid), context.data.get("name")
    if not isinstance(name, str) or not name:
        raise errors.bad_request("name: Missing input")
    return context.one(
        "section", context.store.sections.put(msgspec.structs.replace(old, name=name))
    )


def delete_section(context: CallContext, gid: str) -> Response:
    """Delete an empty section that is not the last."""
    gone = context.section(gid)
    if context.store.section_tasks(gone.id):
        raise errors.bad_request("Cannot delete a section with tasks in it.")
    if len(context.store.sections.of(gone.owner)) == 1:
        raise errors.bad_request("Cannot delete the last section of a project.")
    context.store.sections.drop(gone.id)
    return context.nothing()


# Custom fields


def settings(context: CallContext, gid: str) -> Response:
    """List how custom fields stand on a project."""
    return context.many(
        "custom_field_setting", views.field_settings(context.store, context.project(gid))
    )


def workspace_fields(context: CallContext, gid: str) -> Response:
    """List a workspace's custom fields."""
    return context.many("custom_field", context.store.fields.of(_workspace(context, gid).id))


def field(context: CallContext, gid: str) -> Response:
    """Show a custom field."""
    return context.one("custom_field", _field(context, gid))


def create_field(context: CallContext) -> Response:
    """Make a custom field in a workspace."""
    _paid(context)
    kind, name = (
        context.data.get("resource_subtype") or context.data.get("type"),
        context.data.get("name"),
    )
    if kind not in _KINDS:
        raise errors.bad_request(f"resource_subtype: Not a recognized type: {kind}")
    if not isinstance(name, str) or not name:
        raise errors.bad_request("name: Missing input")
    over = _workspace(context, context.data.get("workspace") or context.me.owner, status=400)
    options = tuple(
        Option(id=context.store.new_id(), name=str(one.get("name", "")))
        for one in context.list_field("enum_options")
        if isinstance(one, dict)
    )
    precision = context.data.get("precision") or 0
    if not isinstance(precision, int) or not 0 <= precision <= _MOST_DECIMALS:
        raise errors.bad_request(f"precision: Must be between 0 and {_MOST_DECIMALS}")
    new_id = context.store.new_id()
    made = CustomField(
        id=new_id,
        owner=over.id,
        position=float(new_id),
        name=name,
        kind=str(kind),
        description=str(context.data.get("description") or ""),
        precision=precision,
        options=options,
        creator=context.me.id,
    )
    return context.one("custom_field", context.store.fields.put(made), status=201)


def add_field(context: CallContext, gid: str) -> Response:
    """Put a custom field onto a project."""
    _paid(context)
    over = context.project(gid)
    wanted = _field(context, context.data.get("custom_field"), status=400)
    if wanted.id in over.fields:
        raise errors.bad_request("custom_field: Custom field is already on this project")
    new = msgspec.structs.replace(over, fields=(*over.fields, wanted.id))
    context.store.projects.put(new)
    added = views.field_settings(context.store, new)[-1]
    return context.one("custom_field_setting", added)


def _paid(context: CallContext) -> None:
    if context.store.is_free:
        raise errors.ApiError(402, "Custom Field Settings are not available for free users.")


def _field(context: CallContext, gid: object, status: int = 404) -> CustomField:
    found = context.store.fields.find(str(gid))
    if found is None:
        raise errors.ApiError(status, f"custom_field: Unknown object: {gid}")
    return found


# Tags


def tags(context: CallContext) -> Response:
    """List the tags of a workspace."""
    wanted = context.request.first("workspace") or context.me.owner
    return context.many("tag", context.store.tags.of(_workspace(context, wanted, status=400).id))


def workspace_tags(context: CallContext, gid: str) -> Response:
    """List a workspace's tags."""
    return context.many("tag", context.store.tags.of(_workspace(context, gid).id))


def tag(context: CallContext, gid: str) -> Response:
    """Show a tag."""
    return context.one("tag", context.tag(gid))


def create_tag(context: CallContext) -> Response:
    """Make a tag."""
    over = _workspace(context, context.data.get("workspace") or context.me.owner, status=400)
    name = context.data.get("name")
    if not isinstance(name, str) or not name:
        raise errors.bad_request("name: Missing input")
    color = context.data.get("color")
    made = context.store.add_tag(over.id, name, color if isinstance(color, str) else None)
    return context.one("tag", made, status=201)
