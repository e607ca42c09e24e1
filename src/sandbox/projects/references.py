"""What tasks stand in or refer to: workspaces, users, projects, sections, fields, tags."""

from typing import Any

import msgspec

from sandbox.http import Response, json_response
from sandbox.projects import custom_field_values, errors, views
from sandbox.projects.context import Desk
from sandbox.projects.records import CustomField, Option, Workspace

_MOST_DECIMALS = 6
_KINDS = ("text", "number", "enum", "multi_enum", "date", "people")


# Workspaces, teams, users


def workspaces(desk: Desk) -> Response:
    """List the workspaces of the user."""
    return desk.many("workspace", [_workspace(desk, desk.me.owner)])


def workspace(desk: Desk, gid: str) -> Response:
    """Show a workspace."""
    return desk.one("workspace", _workspace(desk, gid))


def teams(desk: Desk, gid: str) -> Response:
    """List a workspace's teams."""
    return desk.many("team", desk.store.teams.of(_workspace(desk, gid).id))


def users(desk: Desk) -> Response:
    """List the users that the caller sees."""
    wanted = desk.request.first("workspace") or desk.me.owner
    return desk.many("user", desk.store.users.of(_workspace(desk, wanted).id))


def workspace_users(desk: Desk, gid: str) -> Response:
    """List a workspace's users."""
    return desk.many("user", desk.store.users.of(_workspace(desk, gid).id))


def user(desk: Desk, gid: str) -> Response:
    """Show a user: "me", an address or an id."""
    found = desk.user(gid)
    if found is None:
        raise errors.unknown("user", gid)
    return desk.one("user", found)


def _workspace(desk: Desk, gid: object, status: int = 404) -> Workspace:
    found = desk.store.workspaces.find(str(gid))
    if found is None:
        raise errors.Refused(status, f"workspace: Unknown object: {gid}")
    return found


# Projects


def projects(desk: Desk) -> Response:
    """List projects, of one workspace or team when these are named."""
    wanted = desk.request.first("workspace")
    if wanted:
        _workspace(desk, wanted, status=400)
    return _projects(desk, wanted or desk.me.owner)


def workspace_projects(desk: Desk, gid: str) -> Response:
    """List a workspace's projects."""
    return _projects(desk, _workspace(desk, gid).id)


def _projects(desk: Desk, workspace_id: str) -> Response:
    found = [one for one in desk.store.projects.of(workspace_id) if desk.sees(one)]
    archived, team = desk.flag("archived"), desk.request.first("team")
    if archived is not None:
        found = [one for one in found if one.archived is archived]
    if team:
        found = [one for one in found if one.team == team]
    return desk.many("project", found)


def project(desk: Desk, gid: str) -> Response:
    """Show a project."""
    return desk.one("project", desk.project(gid))


def create_project(desk: Desk) -> Response:
    """Make a project."""
    name = desk.data.get("name")
    if not isinstance(name, str) or not name.strip():
        raise errors.bad("name: Missing input")
    over = _workspace(desk, desk.data.get("workspace") or desk.me.owner, status=400)
    if over.is_organization and not desk.data.get("team"):
        raise errors.bad("Missing required team field")
    team = desk.data.get("team")
    if team and desk.store.teams.find(str(team)) is None:
        raise errors.bad(f"team: Unknown object: {team}")
    made = desk.store.add_project(
        over.id, name, creator=desk.me.id, team=team or None, **_project_changes(desk)
    )
    return desk.one("project", made, status=201)


def update_project(desk: Desk, gid: str) -> Response:
    """Change what the body names of a project."""
    old = desk.project(gid)
    changed = _project_changes(desk)
    if isinstance(desk.data.get("name"), str):
        changed["name"] = desk.data["name"]
    new = msgspec.structs.replace(old, modified_at=desk.store.now(), **changed)
    return desk.one("project", desk.store.projects.put(new))


def _project_changes(desk: Desk) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name, kind in (("notes", str), ("archived", bool), ("color", str)):
        if isinstance(desk.data.get(name), kind):
            changed[name] = desk.data[name]
    if desk.data.get("due_on"):
        changed["due_on"] = custom_field_values.day_of("due_on", desk.data["due_on"])
    if desk.data.get("privacy_setting"):
        changed["privacy"] = str(desk.data["privacy_setting"])
    return changed


def delete_project(desk: Desk, gid: str) -> Response:
    """Delete a project; tasks that stand in no other go with it."""
    gone = desk.project(gid)
    for task in desk.store.project_tasks(gone.id):
        places = tuple(place for place in task.places if place.project != gone.id)
        if places:
            desk.store.tasks.put(msgspec.structs.replace(task, places=places))
        else:
            desk.store.delete_task(task)
    for one in desk.store.sections.of(gone.id):
        desk.store.sections.drop(one.id)
    desk.store.projects.drop(gone.id)
    return desk.nothing()


def task_counts(desk: Desk, gid: str) -> Response:
    """Count a project's tasks; every count is opt-in."""
    tasks = desk.store.project_tasks(desk.project(gid).id)
    done = sum(task.completed_at is not None for task in tasks)
    stones = [task for task in tasks if task.subtype == "milestone"]
    counts = {
        "num_tasks": len(tasks),
        "num_completed_tasks": done,
        "num_incomplete_tasks": len(tasks) - done,
        "num_milestones": len(stones),
    }
    asked = desk.tree or {}
    return json_response({"data": {name: one for name, one in counts.items() if name in asked}})


# Sections


def sections(desk: Desk, gid: str) -> Response:
    """List a project's sections in their order."""
    return desk.many("section", desk.store.sections.of(desk.project(gid).id))


def section(desk: Desk, gid: str) -> Response:
    """Show a section."""
    return desk.one("section", desk.section(gid))


def create_section(desk: Desk, gid: str) -> Response:
    """Make a section behind the others."""
    over, name = desk.project(gid), desk.data.get("name")
    if not isinstance(name, str) or not name:
        raise errors.bad("name: Missing input")
    return desk.one("section", desk.store.add_section(over.id, name), status=201)


def update_section(desk: Desk, gid: str) -> Response:
    """Rename a section."""
    old, name = desk.section(gid), desk.data.get("name")
    if not isinstance(name, str) or not name:
        raise errors.bad("name: Missing input")
    return desk.one("section", desk.store.sections.put(msgspec.structs.replace(old, name=name)))


def delete_section(desk: Desk, gid: str) -> Response:
    """Delete an empty section that is not the last."""
    gone = desk.section(gid)
    if desk.store.section_tasks(gone.id):
        raise errors.bad("Cannot delete a section with tasks in it.")
    if len(desk.store.sections.of(gone.owner)) == 1:
        raise errors.bad("Cannot delete the last section of a project.")
    desk.store.sections.drop(gone.id)
    return desk.nothing()


# Custom fields


def settings(desk: Desk, gid: str) -> Response:
    """List how custom fields stand on a project."""
    return desk.many("custom_field_setting", views.settings_of(desk.store, desk.project(gid)))


def workspace_fields(desk: Desk, gid: str) -> Response:
    """List a workspace's custom fields."""
    return desk.many("custom_field", desk.store.fields.of(_workspace(desk, gid).id))


def field(desk: Desk, gid: str) -> Response:
    """Show a custom field."""
    return desk.one("custom_field", _field(desk, gid))


def create_field(desk: Desk) -> Response:
    """Make a custom field in a workspace."""
    _paid(desk)
    kind, name = desk.data.get("resource_subtype") or desk.data.get("type"), desk.data.get("name")
    if kind not in _KINDS:
        raise errors.bad(f"resource_subtype: Not a recognized type: {kind}")
    if not isinstance(name, str) or not name:
        raise errors.bad("name: Missing input")
    over = _workspace(desk, desk.data.get("workspace") or desk.me.owner, status=400)
    options = tuple(
        Option(id=desk.store.new_id(), name=str(one.get("name", "")))
        for one in desk.several("enum_options")
        if isinstance(one, dict)
    )
    precision = desk.data.get("precision") or 0
    if not isinstance(precision, int) or not 0 <= precision <= _MOST_DECIMALS:
        raise errors.bad(f"precision: Must be between 0 and {_MOST_DECIMALS}")
    new_id = desk.store.new_id()
    made = CustomField(
        id=new_id,
        owner=over.id,
        position=float(new_id),
        name=name,
        kind=str(kind),
        description=str(desk.data.get("description") or ""),
        precision=precision,
        options=options,
        creator=desk.me.id,
    )
    return desk.one("custom_field", desk.store.fields.put(made), status=201)


def add_field(desk: Desk, gid: str) -> Response:
    """Put a custom field onto a project."""
    _paid(desk)
    over = desk.project(gid)
    wanted = _field(desk, desk.data.get("custom_field"), status=400)
    if wanted.id in over.fields:
        raise errors.bad("custom_field: Custom field is already on this project")
    new = msgspec.structs.replace(over, fields=(*over.fields, wanted.id))
    desk.store.projects.put(new)
    added = views.settings_of(desk.store, new)[-1]
    return desk.one("custom_field_setting", added)


def _paid(desk: Desk) -> None:
    if desk.store.is_free:
        raise errors.Refused(402, "Custom Field Settings are not available for free users.")


def _field(desk: Desk, gid: object, status: int = 404) -> CustomField:
    found = desk.store.fields.find(str(gid))
    if found is None:
        raise errors.Refused(status, f"custom_field: Unknown object: {gid}")
    return found


# Tags


def tags(desk: Desk) -> Response:
    """List the tags of a workspace."""
    wanted = desk.request.first("workspace") or desk.me.owner
    return desk.many("tag", desk.store.tags.of(_workspace(desk, wanted, status=400).id))


def workspace_tags(desk: Desk, gid: str) -> Response:
    """List a workspace's tags."""
    return desk.many("tag", desk.store.tags.of(_workspace(desk, gid).id))


def tag(desk: Desk, gid: str) -> Response:
    """Show a tag."""
    return desk.one("tag", desk.tag(gid))


def create_tag(desk: Desk) -> Response:
    """Make a tag."""
    over = _workspace(desk, desk.data.get("workspace") or desk.me.owner, status=400)
    name = desk.data.get("name")
    if not isinstance(name, str) or not name:
        raise errors.bad("name: Missing input")
    color = desk.data.get("color")
    made = desk.store.add_tag(over.id, name, color if isinstance(color, str) else None)
    return desk.one("tag", made, status=201)
