"""Tasks and their stories: reading, writing, and where they stand."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from sandbox.http import Response
from sandbox.projects import custom_field_values, errors
from sandbox.projects.context import CallContext
from sandbox.projects.records import Membership, Project, Task
from sandbox.projects.task_bodies import parse_changes

_CREATE_ONLY = frozenset({"projects", "memberships", "tags", "followers", "workspace", "parent"})
_ONE_FILTER = (
    "Must specify exactly one of project, tag, section, user task list, or assignee + workspace"
)


# Listing


def of_project(context: CallContext, gid: str) -> Response:
    """List a project's tasks."""
    tasks = context.store.project_tasks(context.project(gid).id)
    return context.many("task", _filtered(context, tasks))


def of_section(context: CallContext, gid: str) -> Response:
    """List a section's tasks."""
    tasks = context.store.section_tasks(context.section(gid).id)
    return context.many("task", _filtered(context, tasks))


def of_tag(context: CallContext, gid: str) -> Response:
    """List the tasks with a tag."""
    tag = context.tag(gid)
    return context.many("task", [one for one in _visible(context) if tag.id in one.tags])


def below(context: CallContext, gid: str) -> Response:
    """List a task's own tasks."""
    return context.many("task", context.store.subtasks(context.task(gid).id))


def by_filter(context: CallContext) -> Response:
    """List the tasks of one project, section, tag or assignee."""
    given = {
        name for name in ("project", "section", "tag", "assignee") if context.request.first(name)
    }
    if len(given) != 1 or (given == {"assignee"} and not context.request.first("workspace")):
        raise errors.bad_request(_ONE_FILTER)
    name = given.pop()
    wanted = context.request.first(name)
    if name == "project":
        tasks = context.store.project_tasks(context.project(wanted, status=400).id)
    elif name == "section":
        tasks = context.store.section_tasks(context.section(wanted, status=400).id)
    elif name == "tag":
        tag = context.tag(wanted, status=400)
        tasks = [one for one in _visible(context) if tag.id in one.tags]
    else:
        user = context.user(wanted)
        if user is None:
            raise errors.bad_request(f"assignee: Unknown object: {wanted}")
        tasks = [one for one in _visible(context) if one.assignee == user.id]
    return context.many("task", _filtered(context, tasks))


def search(context: CallContext, gid: str) -> Response:
    """Find tasks of a workspace by text, project, section, assignee and completion."""
    if context.store.is_free:
        raise errors.ApiError(402, "Search is only available to premium users.")
    if context.store.workspaces.find(gid) is None:
        raise errors.not_found("workspace", gid)
    words = context.request.first("text").casefold()
    tasks = [
        one
        for one in _visible(context)
        if words in f"{one.name}\n{one.notes}".casefold() and _found(context, one)
    ]
    tasks.sort(key=lambda task: (task.modified_at, task.id), reverse=True)
    return context.many("task", tasks)


def _found(context: CallContext, task: Task) -> bool:
    completed = context.flag("completed")
    if completed is not None and completed is (task.completed_at is None):
        return False
    projects = [membership.project for membership in task.memberships]
    sections = [membership.section for membership in task.memberships]
    for name, has in (
        ("projects.any", projects),
        ("sections.any", sections),
        ("assignee.any", [task.assignee]),
        ("tags.any", task.tags),
    ):
        wanted = {context.me.id if one == "me" else one for one in _listed(context, name)}
        if wanted and not wanted & set(has):
            return False
    return True


def _listed(context: CallContext, name: str) -> list[str]:
    return [part for part in context.request.first(name).split(",") if part]


def _visible(context: CallContext) -> list[Task]:
    hidden = {one.id for one in context.store.projects.all() if not context.can_see(one)}
    return [
        task
        for task in context.store.tasks.all()
        if not task.memberships
        or any(membership.project not in hidden for membership in task.memberships)
    ]


def _filtered(context: CallContext, tasks: list[Task]) -> list[Task]:
    since = context.request.first("completed_since")
    if since:
        at = (
            context.store.now()
            if since == "now"
            else custom_field_values.parse_datetime("completed_since", since)
        )
        tasks = [task for task in tasks if task.completed_at is None or task.completed_at >= at]
    modified = context.request.first("modified_since")
    if modified:
        at = custom_field_values.parse_datetime("modified_since", modified)
        tasks = [task for task in tasks if task.modified_at >= at]
    return tasks


# One task


def get(context: CallContext, gid: str) -> Response:
    """Show a task."""
    return context.one("task", context.task(gid))


def create(context: CallContext) -> Response:
    """Make a task in a workspace, in projects, or below another task."""
    return context.one("task", _made(context, parent=context.data.get("parent")), status=201)


def create_below(context: CallContext, gid: str) -> Response:
    """Make a task below another one."""
    return context.one("task", _made(context, parent=context.task(gid).id), status=201)


def update(context: CallContext, gid: str) -> Response:
    """Change what the body names of a task."""
    task = context.task(gid)
    for name in context.data:
        if name in _CREATE_ONLY:
            raise errors.bad_request(f"{name}: Cannot write this property")
    changed = parse_changes(context, context.data, task)
    task = context.store.change_task(task, **changed)
    _told(context, task, changed)
    return context.one("task", task)


def delete(context: CallContext, gid: str) -> Response:
    """Delete a task and what is below it."""
    context.store.delete_task(context.task(gid))
    return context.nothing()


def _made(context: CallContext, *, parent: object) -> Task:
    data = context.data
    over = context.task(parent, named="parent", status=400) if parent is not None else None
    memberships = _memberships(context)
    workspace = data.get("workspace") or (over.owner if over else None)
    if memberships and workspace is None:
        workspace = context.project(memberships[0].project).owner
    if workspace is None:
        raise errors.bad_request("You should specify one of workspace, parent, projects")
    if not isinstance(workspace, str) or context.store.workspaces.find(workspace) is None:
        raise errors.bad_request(f"workspace: Unknown object: {workspace}")
    # What a task can take hangs on where it stands: read its values as if it stood there already.
    draft = Task(
        id="0", name="", memberships=memberships, creator=context.me.id, owner=workspace,
        created_at="", modified_at="",
    )  # fmt: skip
    changed = parse_changes(context, data, draft)
    return context.store.add_task(
        workspace,
        changed.pop("name", ""),
        creator=context.me.id,
        memberships=memberships,
        parent=over.id if over else None,
        tags=tuple(
            context.tag(one, named="tags", status=400).id for one in context.list_field("tags")
        ),
        **changed,
    )


def _memberships(context: CallContext) -> tuple[Membership, ...]:
    memberships = {}
    for number, one in enumerate(context.list_field("projects")):
        project = context.project(one, named=f"projects: [{number}]", status=400)
        memberships[project.id] = context.store.default_membership(project.id)
    for number, one in enumerate(context.list_field("memberships")):
        if not isinstance(one, dict) or not one.get("project"):
            raise errors.bad_request(f"memberships: [{number}]: project: Missing required field")
        project = context.project(one["project"], named=f"memberships: [{number}]", status=400)
        memberships[project.id] = context.store.default_membership(project.id)
        if one.get("section"):
            section = context.section(one["section"], named=f"memberships: [{number}]", status=400)
            if section.owner != project.id:
                raise errors.bad_request(f"memberships: [{number}]: section: Not in the project")
            memberships[project.id] = Membership(project=project.id, section=section.id)
    return tuple(memberships.values())


def _told(context: CallContext, task: Task, changed: Mapping[str, Any]) -> None:
    """Note what happened as stories."""
    at = context.store.now()
    if changed.get("assignee"):
        user = context.store.users.find(changed["assignee"])
        text = f"assigned to {user.name if user else 'somebody'}"
        context.store.add_system_story(
            task, text, subtype="assigned", creator=context.me.id, created_at=at
        )
    if "completed_at" in changed:
        done = changed["completed_at"] is not None
        text = "marked this task complete" if done else "marked incomplete"
        subtype = "marked_complete" if done else "marked_incomplete"
        context.store.add_system_story(
            task, text, subtype=subtype, creator=context.me.id, created_at=at
        )
    if changed.get("due_on"):
        day = datetime.fromisoformat(changed["due_on"])
        text = f"changed the due date to {day:%B} {day.day}"
        context.store.add_system_story(
            task, text, subtype="due_date_changed", creator=context.me.id, created_at=at
        )


# Where it stands


def add_project(context: CallContext, gid: str) -> Response:
    """Put a task into a project, or elsewhere in it."""
    task = context.task(gid)
    project = context.project(context.data.get("project"), status=400)
    membership = context.store.default_membership(project.id)
    if context.data.get("section"):
        section = context.section(context.data["section"], status=400)
        membership = Membership(project=project.id, section=section.id)
    _set_membership(context, task, membership)
    return context.nothing()


def add_to_section(context: CallContext, gid: str) -> Response:
    """Put a task into a section."""
    section = context.section(gid)
    task = context.task(context.data.get("task"), status=400)
    _set_membership(context, task, Membership(project=section.owner, section=section.id))
    return context.nothing()


def _set_membership(context: CallContext, task: Task, membership: Membership) -> None:
    others = tuple(one for one in task.memberships if one.project != membership.project)
    context.store.tasks.put(msgspec.structs.replace(task, memberships=(*others, membership)))


def remove_project(context: CallContext, gid: str) -> Response:
    """Take a task out of a project."""
    task, project = context.task(gid), context.project(context.data.get("project"), status=400)
    memberships = tuple(
        membership for membership in task.memberships if membership.project != project.id
    )
    context.store.tasks.put(msgspec.structs.replace(task, memberships=memberships))
    return context.nothing()


def add_tag(context: CallContext, gid: str) -> Response:
    """Tag a task."""
    task, tag = context.task(gid), context.tag(context.data.get("tag"), status=400)
    context.store.change_task(task, tags=tuple(dict.fromkeys((*task.tags, tag.id))))
    return context.nothing()


def remove_tag(context: CallContext, gid: str) -> Response:
    """Take a tag off a task."""
    task, tag = context.task(gid), context.tag(context.data.get("tag"), status=400)
    context.store.change_task(task, tags=tuple(one for one in task.tags if one != tag.id))
    return context.nothing()


def set_parent(context: CallContext, gid: str) -> Response:
    """Put a task below another one, or below none."""
    task, wanted = context.task(gid), context.data.get("parent")
    parent = None if wanted is None else context.task(wanted, named="parent", status=400).id
    return context.one("task", context.store.change_task(task, parent=parent))


def tags(context: CallContext, gid: str) -> Response:
    """List a task's tags."""
    found = (context.store.tags.find(tag) for tag in context.task(gid).tags)
    return context.many("tag", [one for one in found if one is not None])


def projects(context: CallContext, gid: str) -> Response:
    """List a task's projects."""
    found = (
        context.store.projects.find(membership.project)
        for membership in context.task(gid).memberships
    )
    seen: list[Project] = [one for one in found if one is not None and context.can_see(one)]
    return context.many("project", seen)
