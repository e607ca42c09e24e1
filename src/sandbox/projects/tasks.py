"""Endpoints of tasks: lists, search, changes, and memberships in projects."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from sandbox.http import Response
from sandbox.projects import custom_field_values, errors
from sandbox.projects.context import CallContext
from sandbox.projects.records import Membership, Task
from sandbox.projects.task_bodies import parse_changes

_CREATE_ONLY = frozenset({"projects", "memberships", "tags", "followers", "workspace", "parent"})
_ONE_FILTER = (
    "Must specify exactly one of project, tag, section, user task list, or assignee + workspace"
)


# Lists


def list_project_tasks(context: CallContext, gid: str) -> Response:
    """List the tasks of a project."""
    tasks = context.store.project_tasks(context.get_project(gid).id)
    return context.list_response("task", _filter_by_time(context, tasks))


def list_section_tasks(context: CallContext, gid: str) -> Response:
    """List the tasks of a section."""
    tasks = context.store.section_tasks(context.get_section(gid).id)
    return context.list_response("task", _filter_by_time(context, tasks))


def list_tag_tasks(context: CallContext, gid: str) -> Response:
    """List the tasks with a tag."""
    tag = context.get_tag(gid)
    tasks = [task for task in _visible_tasks(context) if tag.id in task.tags]
    return context.list_response("task", tasks)


def list_subtasks(context: CallContext, gid: str) -> Response:
    """List the subtasks of a task."""
    return context.list_response("task", context.store.subtasks(context.get_task(gid).id))


def list_tasks(context: CallContext) -> Response:
    """List the tasks of one project, section, tag or assignee."""
    names = ("project", "section", "tag", "assignee")
    filters = [(name, gid) for name in names if (gid := context.request.first(name))]
    if len(filters) != 1:
        raise errors.bad_request(_ONE_FILTER)
    name, gid = filters[0]
    if name == "assignee" and not context.request.first("workspace"):
        raise errors.bad_request(_ONE_FILTER)
    if name == "project":
        tasks = context.store.project_tasks(context.get_project(gid, status=400).id)
    elif name == "section":
        tasks = context.store.section_tasks(context.get_section(gid, status=400).id)
    elif name == "tag":
        tag = context.get_tag(gid, status=400)
        tasks = [task for task in _visible_tasks(context) if tag.id in task.tags]
    else:
        user = context.find_user(gid)
        if user is None:
            raise errors.bad_request(f"assignee: Unknown object: {gid}")
        tasks = [task for task in _visible_tasks(context) if task.assignee == user.id]
    return context.list_response("task", _filter_by_time(context, tasks))


def search_tasks(context: CallContext, gid: str) -> Response:
    """Search the tasks of a workspace, last changed first."""
    if context.store.is_free:
        raise errors.ApiError(402, "Search is only available to premium users.")
    if context.store.workspaces.find(gid) is None:
        raise errors.not_found("workspace", gid)
    text = context.request.first("text").casefold()
    tasks = [
        task
        for task in _visible_tasks(context)
        if text in f"{task.name}\n{task.notes}".casefold() and _matches_search(context, task)
    ]
    tasks.sort(key=lambda task: (task.modified_at, task.id), reverse=True)
    return context.list_response("task", tasks)


def _matches_search(context: CallContext, task: Task) -> bool:
    completed = context.query_flag("completed")
    if completed is not None and completed is (task.completed_at is None):
        return False
    projects = [membership.project for membership in task.memberships]
    sections = [membership.section for membership in task.memberships]
    for name, task_ids in (
        ("projects.any", projects),
        ("sections.any", sections),
        ("assignee.any", [task.assignee]),
        ("tags.any", task.tags),
    ):
        ids = {context.user.id if gid == "me" else gid for gid in _query_ids(context, name)}
        if ids and not ids & set(task_ids):
            return False
    return True


def _query_ids(context: CallContext, name: str) -> list[str]:
    return [gid for gid in context.request.first(name).split(",") if gid]


def _visible_tasks(context: CallContext) -> list[Task]:
    projects = context.store.projects.all()
    hidden = {project.id for project in projects if not context.can_see(project)}
    return [
        task
        for task in context.store.tasks.all()
        if not task.memberships
        or any(membership.project not in hidden for membership in task.memberships)
    ]


def _filter_by_time(context: CallContext, tasks: list[Task]) -> list[Task]:
    completed_since = context.request.first("completed_since")
    if completed_since:
        since = (
            context.store.now()
            if completed_since == "now"
            else custom_field_values.parse_datetime("completed_since", completed_since)
        )
        tasks = [task for task in tasks if task.completed_at is None or task.completed_at >= since]
    modified_since = context.request.first("modified_since")
    if modified_since:
        since = custom_field_values.parse_datetime("modified_since", modified_since)
        tasks = [task for task in tasks if task.modified_at >= since]
    return tasks


# One task


def get_task(context: CallContext, gid: str) -> Response:
    """Return a task."""
    return context.record_response("task", context.get_task(gid))


def create_task(context: CallContext) -> Response:
    """Create a task in a workspace, in projects, or below another task."""
    return context.record_response(
        "task", _create(context, parent=context.data.get("parent")), status=201
    )


def create_subtask(context: CallContext, gid: str) -> Response:
    """Create a subtask of a task."""
    return context.record_response(
        "task", _create(context, parent=context.get_task(gid).id), status=201
    )


def update_task(context: CallContext, gid: str) -> Response:
    """Change the fields of a task that the body contains."""
    task = context.get_task(gid)
    for name in context.data:
        if name in _CREATE_ONLY:
            raise errors.bad_request(f"{name}: Cannot write this property")
    changes = parse_changes(context, context.data, task)
    task = context.store.change_task(task, **changes)
    _add_change_stories(context, task, changes)
    return context.record_response("task", task)


def delete_task(context: CallContext, gid: str) -> Response:
    """Delete a task with its subtasks and stories."""
    context.store.delete_task(context.get_task(gid))
    return context.empty_response()


def _create(context: CallContext, *, parent: object) -> Task:
    data = context.data
    parent_task = (
        None if parent is None else context.get_task(parent, parameter="parent", status=400)
    )
    memberships = _parse_memberships(context)
    workspace = data.get("workspace") or (parent_task.owner if parent_task else None)
    if memberships and workspace is None:
        workspace = context.get_project(memberships[0].project).owner
    if workspace is None:
        raise errors.bad_request("You should specify one of workspace, parent, projects")
    if not isinstance(workspace, str) or context.store.workspaces.find(workspace) is None:
        raise errors.bad_request(f"workspace: Unknown object: {workspace}")
    # The projects of a task determine its custom fields: parse the values for these projects.
    draft = Task(
        id="0", name="", memberships=memberships, creator=context.user.id, owner=workspace,
        created_at="", modified_at="",
    )  # fmt: skip
    changes = parse_changes(context, data, draft)
    return context.store.add_task(
        workspace,
        changes.pop("name", ""),
        creator=context.user.id,
        memberships=memberships,
        parent=parent_task.id if parent_task else None,
        tags=tuple(
            context.get_tag(tag_id, parameter="tags", status=400).id
            for tag_id in context.list_field("tags")
        ),
        **changes,
    )


def _parse_memberships(context: CallContext) -> tuple[Membership, ...]:
    memberships = {}
    for number, gid in enumerate(context.list_field("projects")):
        project = context.get_project(gid, parameter=f"projects: [{number}]", status=400)
        memberships[project.id] = context.store.default_membership(project.id)
    for number, entry in enumerate(context.list_field("memberships")):
        if not isinstance(entry, dict) or not entry.get("project"):
            raise errors.bad_request(f"memberships: [{number}]: project: Missing required field")
        project = context.get_project(
            entry["project"], parameter=f"memberships: [{number}]", status=400
        )
        memberships[project.id] = context.store.default_membership(project.id)
        if entry.get("section"):
            section = context.get_section(
                entry["section"], parameter=f"memberships: [{number}]", status=400
            )
            if section.owner != project.id:
                raise errors.bad_request(f"memberships: [{number}]: section: Not in the project")
            memberships[project.id] = Membership(project=project.id, section=section.id)
    return tuple(memberships.values())


def _add_change_stories(context: CallContext, task: Task, changes: Mapping[str, Any]) -> None:
    now = context.store.now()
    if changes.get("assignee"):
        user = context.store.users.find(changes["assignee"])
        text = f"assigned to {user.name if user else 'somebody'}"
        context.store.add_system_story(
            task, text, subtype="assigned", creator=context.user.id, created_at=now
        )
    if "completed_at" in changes:
        is_completed = changes["completed_at"] is not None
        text = "marked this task complete" if is_completed else "marked incomplete"
        subtype = "marked_complete" if is_completed else "marked_incomplete"
        context.store.add_system_story(
            task, text, subtype=subtype, creator=context.user.id, created_at=now
        )
    if changes.get("due_on"):
        day = datetime.fromisoformat(changes["due_on"])
        text = f"changed the due date to {day:%B} {day.day}"
        context.store.add_system_story(
            task, text, subtype="due_date_changed", creator=context.user.id, created_at=now
        )


# Memberships, tags and parents


def add_project(context: CallContext, gid: str) -> Response:
    """Add a task to a project, or move it within the project."""
    task = context.get_task(gid)
    project = context.get_project(context.data.get("project"), status=400)
    membership = context.store.default_membership(project.id)
    if context.data.get("section"):
        section = context.get_section(context.data["section"], status=400)
        membership = Membership(project=project.id, section=section.id)
    _set_membership(context, task, membership)
    return context.empty_response()


def add_to_section(context: CallContext, gid: str) -> Response:
    """Add a task to a section and its project."""
    section = context.get_section(gid)
    task = context.get_task(context.data.get("task"), status=400)
    _set_membership(context, task, Membership(project=section.owner, section=section.id))
    return context.empty_response()


def _set_membership(context: CallContext, task: Task, membership: Membership) -> None:
    others = tuple(other for other in task.memberships if other.project != membership.project)
    context.store.tasks.put(msgspec.structs.replace(task, memberships=(*others, membership)))


def remove_project(context: CallContext, gid: str) -> Response:
    """Remove a task from a project."""
    task, project = (
        context.get_task(gid),
        context.get_project(context.data.get("project"), status=400),
    )
    memberships = tuple(
        membership for membership in task.memberships if membership.project != project.id
    )
    context.store.tasks.put(msgspec.structs.replace(task, memberships=memberships))
    return context.empty_response()


def add_tag(context: CallContext, gid: str) -> Response:
    """Add a tag to a task."""
    task, tag = context.get_task(gid), context.get_tag(context.data.get("tag"), status=400)
    context.store.change_task(task, tags=tuple(dict.fromkeys((*task.tags, tag.id))))
    return context.empty_response()


def remove_tag(context: CallContext, gid: str) -> Response:
    """Remove a tag from a task."""
    task, tag = context.get_task(gid), context.get_tag(context.data.get("tag"), status=400)
    context.store.change_task(task, tags=tuple(tag_id for tag_id in task.tags if tag_id != tag.id))
    return context.empty_response()


def set_parent(context: CallContext, gid: str) -> Response:
    """Make a task a subtask of another one, or a task of its own."""
    task, parent = context.get_task(gid), context.data.get("parent")
    if parent is not None:
        parent = context.get_task(parent, parameter="parent", status=400).id
    return context.record_response("task", context.store.change_task(task, parent=parent))


def list_tags(context: CallContext, gid: str) -> Response:
    """List the tags of a task."""
    tags = (context.store.tags.find(tag_id) for tag_id in context.get_task(gid).tags)
    return context.list_response("tag", [tag for tag in tags if tag is not None])


def list_projects(context: CallContext, gid: str) -> Response:
    """List the projects of a task that the caller can see."""
    memberships = context.get_task(gid).memberships
    projects = (context.store.projects.find(membership.project) for membership in memberships)
    visible = [project for project in projects if project is not None and context.can_see(project)]
    return context.list_response("project", visible)
