"""Tasks and their stories: reading, writing, and where they stand."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from sandbox.http import Response
from sandbox.projects import custom_field_values, errors
from sandbox.projects.context import Desk
from sandbox.projects.records import Membership, Project, Task
from sandbox.projects.task_bodies import read

_CREATE_ONLY = frozenset({"projects", "memberships", "tags", "followers", "workspace", "parent"})
_ONE_FILTER = (
    "Must specify exactly one of project, tag, section, user task list, or assignee + workspace"
)


# Listing


def of_project(desk: Desk, gid: str) -> Response:
    """List a project's tasks."""
    tasks = desk.store.project_tasks(desk.project(gid).id)
    return desk.many("task", _filtered(desk, tasks))


def of_section(desk: Desk, gid: str) -> Response:
    """List a section's tasks."""
    tasks = desk.store.section_tasks(desk.section(gid).id)
    return desk.many("task", _filtered(desk, tasks))


def of_tag(desk: Desk, gid: str) -> Response:
    """List the tasks with a tag."""
    tag = desk.tag(gid)
    return desk.many("task", [one for one in _visible(desk) if tag.id in one.tags])


def below(desk: Desk, gid: str) -> Response:
    """List a task's own tasks."""
    return desk.many("task", desk.store.sub_tasks(desk.task(gid).id))


def by_filter(desk: Desk) -> Response:
    """List the tasks of one project, section, tag or assignee."""
    given = {name for name in ("project", "section", "tag", "assignee") if desk.request.first(name)}
    if len(given) != 1 or (given == {"assignee"} and not desk.request.first("workspace")):
        raise errors.bad(_ONE_FILTER)
    name = given.pop()
    wanted = desk.request.first(name)
    if name == "project":
        tasks = desk.store.project_tasks(desk.project(wanted, status=400).id)
    elif name == "section":
        tasks = desk.store.section_tasks(desk.section(wanted, status=400).id)
    elif name == "tag":
        tag = desk.tag(wanted, status=400)
        tasks = [one for one in _visible(desk) if tag.id in one.tags]
    else:
        user = desk.user(wanted)
        if user is None:
            raise errors.bad(f"assignee: Unknown object: {wanted}")
        tasks = [one for one in _visible(desk) if one.assignee == user.id]
    return desk.many("task", _filtered(desk, tasks))


def search(desk: Desk, gid: str) -> Response:
    """Find tasks of a workspace by text, project, section, assignee and completion."""
    if desk.store.is_free:
        raise errors.Refused(402, "Search is only available to premium users.")
    if desk.store.workspaces.find(gid) is None:
        raise errors.unknown("workspace", gid)
    words = desk.request.first("text").casefold()
    tasks = [
        one
        for one in _visible(desk)
        if words in f"{one.name}\n{one.notes}".casefold() and _found(desk, one)
    ]
    tasks.sort(key=lambda task: (task.modified_at, task.id), reverse=True)
    return desk.many("task", tasks)


def _found(desk: Desk, task: Task) -> bool:
    completed = desk.flag("completed")
    if completed is not None and completed is (task.completed_at is None):
        return False
    places = [part for place in task.places for part in (place.project, place.section)]
    for name, has in (
        ("projects.any", places),
        ("sections.any", places),
        ("assignee.any", [task.assignee]),
        ("tags.any", task.tags),
    ):
        wanted = {desk.me.id if one == "me" else one for one in _listed(desk, name)}
        if wanted and not wanted & set(has):
            return False
    return True


def _listed(desk: Desk, name: str) -> list[str]:
    return [part for part in desk.request.first(name).split(",") if part]


def _visible(desk: Desk) -> list[Task]:
    hidden = {one.id for one in desk.store.projects.all() if not desk.sees(one)}
    return [
        task
        for task in desk.store.tasks.all()
        if not task.places or any(place.project not in hidden for place in task.places)
    ]


def _filtered(desk: Desk, tasks: list[Task]) -> list[Task]:
    since = desk.request.first("completed_since")
    if since:
        at = (
            desk.store.now()
            if since == "now"
            else custom_field_values.moment_of("completed_since", since)
        )
        tasks = [task for task in tasks if task.completed_at is None or task.completed_at >= at]
    modified = desk.request.first("modified_since")
    if modified:
        at = custom_field_values.moment_of("modified_since", modified)
        tasks = [task for task in tasks if task.modified_at >= at]
    return tasks


# One task


def get(desk: Desk, gid: str) -> Response:
    """Show a task."""
    return desk.one("task", desk.task(gid))


def create(desk: Desk) -> Response:
    """Make a task in a workspace, in projects, or below another task."""
    return desk.one("task", _made(desk, parent=desk.data.get("parent")), status=201)


def create_below(desk: Desk, gid: str) -> Response:
    """Make a task below another one."""
    return desk.one("task", _made(desk, parent=desk.task(gid).id), status=201)


def update(desk: Desk, gid: str) -> Response:
    """Change what the body names of a task."""
    task = desk.task(gid)
    for name in desk.data:
        if name in _CREATE_ONLY:
            raise errors.bad(f"{name}: Cannot write this property")
    changed = read(desk, desk.data, task)
    task = desk.store.change_task(task, **changed)
    _told(desk, task, changed)
    return desk.one("task", task)


def delete(desk: Desk, gid: str) -> Response:
    """Delete a task and what is below it."""
    desk.store.delete_task(desk.task(gid))
    return desk.nothing()


def _made(desk: Desk, *, parent: object) -> Task:
    data = desk.data
    over = desk.task(parent, named="parent", status=400) if parent is not None else None
    places = _places(desk)
    workspace = data.get("workspace") or (over.owner if over else None)
    if places and workspace is None:
        workspace = desk.project(places[0].project).owner
    if workspace is None:
        raise errors.bad("You should specify one of workspace, parent, projects")
    if not isinstance(workspace, str) or desk.store.workspaces.find(workspace) is None:
        raise errors.bad(f"workspace: Unknown object: {workspace}")
    # What a task can take hangs on where it stands: read its values as if it stood there already.
    draft = Task(
        id="0", name="", places=places, creator=desk.me.id, created_at="", modified_at="",
        owner=workspace,
    )  # fmt: skip
    changed = read(desk, data, draft)
    return desk.store.add_task(
        workspace,
        changed.pop("name", ""),
        creator=desk.me.id,
        places=places,
        parent=over.id if over else None,
        tags=tuple(desk.tag(one, named="tags", status=400).id for one in desk.several("tags")),
        **changed,
    )


def _places(desk: Desk) -> tuple[Membership, ...]:
    places = {}
    for number, one in enumerate(desk.several("projects")):
        project = desk.project(one, named=f"projects: [{number}]", status=400)
        places[project.id] = desk.store.place_in(project.id)
    for number, one in enumerate(desk.several("memberships")):
        if not isinstance(one, dict) or not one.get("project"):
            raise errors.bad(f"memberships: [{number}]: project: Missing required field")
        project = desk.project(one["project"], named=f"memberships: [{number}]", status=400)
        places[project.id] = desk.store.place_in(project.id)
        if one.get("section"):
            section = desk.section(one["section"], named=f"memberships: [{number}]", status=400)
            if section.owner != project.id:
                raise errors.bad(f"memberships: [{number}]: section: Not in the project")
            places[project.id] = Membership(project=project.id, section=section.id)
    return tuple(places.values())


def _told(desk: Desk, task: Task, changed: Mapping[str, Any]) -> None:
    """Note what happened as stories."""
    at = desk.store.now()
    if changed.get("assignee"):
        user = desk.store.users.find(changed["assignee"])
        text = f"assigned to {user.name if user else 'somebody'}"
        desk.store.tell(task, text, subtype="assigned", creator=desk.me.id, created_at=at)
    if "completed_at" in changed:
        done = changed["completed_at"] is not None
        text = "marked this task complete" if done else "marked incomplete"
        subtype = "marked_complete" if done else "marked_incomplete"
        desk.store.tell(task, text, subtype=subtype, creator=desk.me.id, created_at=at)
    if changed.get("due_on"):
        day = datetime.fromisoformat(changed["due_on"])
        text = f"changed the due date to {day:%B} {day.day}"
        desk.store.tell(task, text, subtype="due_date_changed", creator=desk.me.id, created_at=at)


# Where it stands


def add_project(desk: Desk, gid: str) -> Response:
    """Put a task into a project, or elsewhere in it."""
    task = desk.task(gid)
    project = desk.project(desk.data.get("project"), status=400)
    place = desk.store.place_in(project.id)
    if desk.data.get("section"):
        section = desk.section(desk.data["section"], status=400)
        place = Membership(project=project.id, section=section.id)
    _stand(desk, task, place)
    return desk.nothing()


def add_to_section(desk: Desk, gid: str) -> Response:
    """Put a task into a section."""
    section = desk.section(gid)
    task = desk.task(desk.data.get("task"), status=400)
    _stand(desk, task, Membership(project=section.owner, section=section.id))
    return desk.nothing()


def _stand(desk: Desk, task: Task, place: Membership) -> None:
    others = tuple(one for one in task.places if one.project != place.project)
    desk.store.tasks.put(msgspec.structs.replace(task, places=(*others, place)))


def remove_project(desk: Desk, gid: str) -> Response:
    """Take a task out of a project."""
    task, project = desk.task(gid), desk.project(desk.data.get("project"), status=400)
    places = tuple(place for place in task.places if place.project != project.id)
    desk.store.tasks.put(msgspec.structs.replace(task, places=places))
    return desk.nothing()


def add_tag(desk: Desk, gid: str) -> Response:
    """Tag a task."""
    task, tag = desk.task(gid), desk.tag(desk.data.get("tag"), status=400)
    desk.store.change_task(task, tags=tuple(dict.fromkeys((*task.tags, tag.id))))
    return desk.nothing()


def remove_tag(desk: Desk, gid: str) -> Response:
    """Take a tag off a task."""
    task, tag = desk.task(gid), desk.tag(desk.data.get("tag"), status=400)
    desk.store.change_task(task, tags=tuple(one for one in task.tags if one != tag.id))
    return desk.nothing()


def set_parent(desk: Desk, gid: str) -> Response:
    """Put a task below another one, or below none."""
    task, wanted = desk.task(gid), desk.data.get("parent")
    parent = None if wanted is None else desk.task(wanted, named="parent", status=400).id
    return desk.one("task", desk.store.change_task(task, parent=parent))


def tags(desk: Desk, gid: str) -> Response:
    """List a task's tags."""
    found = (desk.store.tags.find(tag) for tag in desk.task(gid).tags)
    return desk.many("tag", [one for one in found if one is not None])


def projects(desk: Desk, gid: str) -> Response:
    """List a task's projects."""
    found = (desk.store.projects.find(place.project) for place in desk.task(gid).places)
    seen: list[Project] = [one for one in found if one is not None and desk.sees(one)]
    return desk.many("project", seen)
