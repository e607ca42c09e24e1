"""The task port of one account of Asana: docs/spec/upstream/asana.md."""

import asyncio
import re
from collections import deque
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from providers.connectors.projects import column_types, mapping, matching, response_types
from providers.connectors.projects.paged_reader import PagedReader, Source
from providers.connectors.projects.project_list import ProjectList
from providers.connectors.projects.rest_client import ProjectClient
from providers.connectors.projects.writing import Writer
from providers.failures import Missing, NeedsReauth, ProviderFailure, Refused, unwrap
from providers.fanout import gather_results
from providers.http.client import Upstream
from providers.item_visibility import Column
from providers.ports.opening import Opening
from providers.ports.tasks import (
    MAX_COMMENTS,
    BoardQuery,
    BoardSlice,
    CreatedTask,
    ItemQuery,
    ItemSlice,
    ItemVisibility,
    NewItem,
    TaskPosition,
    TaskTarget,
)
from providers.records.tasks import TaskBoard, TaskComment, TaskGroup, TaskItem

_ID = re.compile(r"[0-9]{1,32}")
_MAX_PEOPLE = 50  # of one value that are looked up
_PAID_FEATURE = 402
_MAX_ANCESTORS = 5  # levels of sub-tasks above a task; Asana has no more

_MEMBERSHIP_FIELDS = "gid,memberships.project.gid,parent.gid"
_SETTING_FIELDS = (
    "custom_field.name,custom_field.type,custom_field.enum_options.name,"
    "custom_field.enum_options.enabled,custom_field.is_formula_field,"
    "custom_field.is_value_read_only"
)
# What a filter by the address of an assignee looks at besides.
_ADDRESSES = ",assignee.email,custom_fields.gid,custom_fields.people_value.email"
# Attributes that depend on the project's custom fields.
_NEEDS_COLUMNS = frozenset({"status", "priority", "assignees", "labels", "column_values"})
# Attributes that are not requested of sub-tasks: they have none, or have it from their task.
_NOT_OF_SUB_ITEMS = frozenset({"sub_items", "comments", "group_id", "group_name", "parent_id"})


class _TaskProjects(NamedTuple):
    """The project to name of a task, and its own project; "" where it has none."""

    board_id: str
    home: str


def _person_id(value: Any) -> str | None:
    """Return the id of a person in a people field; None if the value is not a person."""
    text = "" if isinstance(value, bool | float) else str(value).strip()
    return text if _ID.fullmatch(text) else None


def open_port(opening: Opening) -> "ProjectTasks":
    """Open the account of a connection; makes no call."""
    return ProjectTasks(opening.upstream())


class ProjectTasks:
    """Projects of one connection; implements `providers.ports.tasks.TaskPort`."""

    max_item_name = 1000  # Asana names no limit; docs/spec/tasks.md#create

    def __init__(self, upstream: Upstream) -> None:
        self._client = ProjectClient(upstream)
        self._writer = Writer(self._client)

    async def boards(
        self, query: BoardQuery, *, after: TaskPosition | None, projection: AbstractSet[str]
    ) -> BoardSlice:
        return await ProjectList(self._client, query, projection).page(after)

    async def board(self, board_id: str, *, projection: AbstractSet[str]) -> TaskBoard:
        _require_valid_id(board_id)
        fields = mapping.board_fields(projection)
        response, groups, columns = await asyncio.gather(
            self._client.read(response_types.ProjectResponse, "projects", board_id, fields=fields),
            self._groups(board_id, when="groups" in projection),
            self._columns(board_id, when="columns" in projection),
        )
        return msgspec.structs.replace(
            mapping.board(response.data),
            groups=groups if "groups" in projection else None,
            columns=tuple(column.record for column in columns) if "columns" in projection else None,
            tags=() if "tags" in projection else None,
        )

    async def boards_by_id(
        self, board_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> Mapping[str, TaskBoard | ProviderFailure]:
        boards = await gather_results(
            [self.board(name, projection=projection) for name in board_ids]
        )
        return dict(zip(board_ids, boards, strict=True))

    async def items(
        self,
        board_id: str,
        query: ItemQuery,
        *,
        after: TaskPosition | None,
        visibility: ItemVisibility,
    ) -> ItemSlice:
        """
        Return tasks of a project; see `TaskPort.items`.

        Asana cannot filter a project's tasks: they are filtered here, within five of its pages.
        """
        _require_valid_id(board_id)
        compared = matching.compared_attributes(query)
        requested = replace(
            visibility, projection=(visibility.projection - {"comments"}) | compared
        )
        columns = await self._columns(board_id, when=bool(requested.projection & _NEEDS_COLUMNS))
        path: tuple[str, ...] = ("projects", board_id, "tasks")
        if query.group_id is not None:
            groups = await self._groups(board_id)
            if query.group_id not in {group.id for group in groups}:
                return ItemSlice((), None, None)
            path = ("sections", query.group_id, "tasks")
        # Filters may compare hidden attributes too: with `maskMode: basic` they are allowed to.
        comparing = replace(requested, hidden=requested.hidden - compared)
        reader = PagedReader(
            self._client,
            response_types.TaskPage,
            [Source(path[1], path)],
            fields=mapping.item_fields(comparing, columns)
            + (_ADDRESSES if query.assignee_email else ""),
            keep=matching.matcher(query, board_id, comparing, columns),
        )
        tasks, position = await reader.page(after, query.limit)
        shown = replace(visibility, projection=visibility.projection - {"comments"})
        items = [
            mapping.item(
                task, board_id, shown, columns, parent_id=_visible_parent(task, shown, board_id)
            )
            for task in tasks
        ]
        if "sub_items" in visibility.projection:
            items = await self._with_sub_items(tasks, items, shown)
        return ItemSlice(tuple(items), position, None)

    async def item(self, item_id: str, *, visibility: ItemVisibility) -> TaskItem:
        return unwrap((await self.items_by_id([item_id], visibility=visibility))[item_id])

    async def items_by_id(
        self, item_ids: Sequence[str], *, visibility: ItemVisibility
    ) -> Mapping[str, TaskItem | ProviderFailure]:
        """
        Read tasks at the same time; see `TaskPort.items_by_id`.

        Asana reads each by calls of its own; the fields of a project are read once.
        """
        projects = await gather_results(
            [self._projects_of(item_id, visibility) for item_id in item_ids]
        )
        homes = {project.home for project in projects if isinstance(project, _TaskProjects)}
        needed = bool(visibility.projection & _NEEDS_COLUMNS)
        columns = await gather_results([self._columns(home, when=needed) for home in homes])
        by_home = dict(zip(homes, columns, strict=True))

        async def read(item_id: str, located: _TaskProjects | ProviderFailure) -> TaskItem:
            project = unwrap(located)
            return await self._read_item(
                item_id, project, unwrap(by_home[project.home]), visibility
            )

        items = await gather_results(list(map(read, item_ids, projects)))
        return dict(zip(item_ids, items, strict=True))

    async def _projects_of(self, item_id: str, visibility: ItemVisibility) -> "_TaskProjects":
        """Return the project to name of a task, and the one whose columns it has."""
        boards, home = await self._boards_of(item_id)
        allowed = boards
        if visibility.boards is not None:
            allowed = tuple(board for board in boards if board in visibility.boards)
        board_id = next(iter(allowed or boards), "")
        if home and allowed and home not in allowed:
            home = allowed[0]
        return _TaskProjects(board_id, home)

    async def _read_item(
        self,
        item_id: str,
        project: "_TaskProjects",
        columns: tuple[Column, ...],
        visibility: ItemVisibility,
    ) -> TaskItem:
        task, comments = await asyncio.gather(
            self._client.read(
                response_types.TaskResponse,
                "tasks",
                item_id,
                fields=mapping.item_fields(visibility, columns),
            ),
            self._comments(item_id, when="comments" in visibility.projection),
        )
        item = mapping.item(
            task.data,
            project.board_id,
            visibility,
            columns,
            parent_id=_visible_parent(task.data, visibility, project.home),
        )
        if "sub_items" in visibility.projection:
            [item] = await self._with_sub_items([task.data], [item], visibility)
        return msgspec.structs.replace(item, comments=comments)

    async def targets(self, item_ids: Sequence[str]) -> Mapping[str, TaskTarget | ProviderFailure]:
        targets = await gather_results([self.target(item_id) for item_id in item_ids])
        return dict(zip(item_ids, targets, strict=True))

    async def target(self, item_id: str, *, columns: bool = False) -> TaskTarget:
        boards, home = await self._boards_of(item_id)
        home_columns = await self._columns(home) if columns else ()
        return TaskTarget(item_id=item_id, boards=boards, home=home, columns=home_columns)

    async def create(self, item: NewItem) -> CreatedTask:
        _require_valid_id(item.board_id)
        columns = await self._columns(item.board_id, when=bool(item.fields))
        return await self._writer.create(item, columns)

    async def people(self, values: Sequence[Any]) -> Sequence[str | None]:
        ids = [_person_id(value) for value in values]
        known = [user_id for user_id in dict.fromkeys(ids) if user_id is not None][:_MAX_PEOPLE]
        looked_up = await gather_results([self._address(user_id) for user_id in known])
        addresses = {
            user_id: unwrap(address)
            for user_id, address in zip(known, looked_up, strict=True)
            if not isinstance(address, Missing | Refused | NeedsReauth)
        }
        return [addresses.get(user_id or "") or None for user_id in ids]

    async def update(self, target: TaskTarget, fields: Mapping[str, str]) -> tuple[str, ...]:
        return await self._writer.update(target, fields, target.columns)

    async def delete(self, target: TaskTarget) -> None:
        """Delete a task."""
        await self._client.write("DELETE", "tasks", target.item_id)

    async def comment(self, target: TaskTarget, body: str) -> str:
        return await self._client.create("tasks", target.item_id, "stories", data={"text": body})

    async def probe(self) -> None:
        """Make one harmless read."""
        await self._client.read(response_types.RecordResponse, "users", "me", fields="gid")

    async def _address(self, user_id: str) -> str | None:
        response = await self._client.read(
            response_types.UserResponse, "users", user_id, fields="email"
        )
        return response.data.email

    async def _groups(self, board_id: str, *, when: bool = True) -> tuple[TaskGroup, ...]:
        if not when:
            return ()
        try:
            sections = await self._client.read_all(
                response_types.NamedPage, "projects", board_id, "sections", fields="name"
            )
        except Refused as refusal:
            if refusal.status != 403:
                raise
            return ()  # a token without the scope: docs/spec/upstream/oauth.md#asana
        return tuple(TaskGroup(id=section.gid, title=section.name or "") for section in sections)

    async def _columns(self, board_id: str, *, when: bool = True) -> tuple[Column, ...]:
        """Return the columns of a project; without a project, the columns of every task."""
        if not when or not board_id:
            return column_types.TASK_COLUMNS
        try:
            settings = await self._client.read_all(
                response_types.SettingPage,
                "projects",
                board_id,
                "custom_field_settings",
                fields=_SETTING_FIELDS,
            )
        except Refused as refusal:
            if refusal.status != _PAID_FEATURE:
                raise
            return column_types.TASK_COLUMNS  # free workspaces and guests have no custom fields
        return column_types.columns(settings)

    async def _boards_of(self, item_id: str) -> tuple[tuple[str, ...], str]:
        """Return the projects of a task or its nearest ancestor, and the task's own project."""
        _require_valid_id(item_id)
        task_id = item_id
        for level in range(_MAX_ANCESTORS + 1):
            response = await self._client.read(
                response_types.TaskResponse, "tasks", task_id, fields=_MEMBERSHIP_FIELDS
            )
            boards = tuple(
                membership.project.gid
                for membership in response.data.memberships
                if membership.project is not None
            )
            if boards:
                return boards, boards[0] if level == 0 else ""
            if response.data.parent is None or not _ID.fullmatch(response.data.parent.gid):
                break
            task_id = response.data.parent.gid
        return (), ""

    async def _comments(self, item_id: str, *, when: bool) -> tuple[TaskComment, ...] | None:
        """Return the newest comments, newest first; Asana returns all stories, oldest first."""
        if not when:
            return None
        stories = await self._client.read_all(
            response_types.StoryPage,
            "tasks",
            item_id,
            "stories",
            fields="type,text,created_at,created_by.name",
        )
        newest = deque((story for story in stories if story.type == "comment"), maxlen=MAX_COMMENTS)
        return tuple(map(mapping.comment, reversed(newest)))

    async def _with_sub_items(
        self, tasks: list[response_types.Task], items: list[TaskItem], visibility: ItemVisibility
    ) -> list[TaskItem]:
        """Add the sub-tasks to *items*, the records of *tasks*."""
        below = replace(visibility, projection=visibility.projection - _NOT_OF_SUB_ITEMS)
        fields = mapping.item_fields(below, column_types.TASK_COLUMNS)

        async def add(task: response_types.Task, item: TaskItem) -> TaskItem:
            if not task.num_subtasks:
                return item
            subtasks = await self._client.read_all(
                response_types.TaskPage, "tasks", task.gid, "subtasks", fields=fields
            )
            sub_items = [
                mapping.item(
                    subtask, item.board_id, below, column_types.TASK_COLUMNS, parent_id=task.gid
                )
                for subtask in subtasks
            ]
            return msgspec.structs.replace(item, sub_items=tuple(sub_items))

        return list(await asyncio.gather(*map(add, tasks, items)))


def _require_valid_id(object_id: str) -> None:
    if not _ID.fullmatch(object_id):
        raise Missing


def _visible_parent(task: response_types.Task, visibility: ItemVisibility, home: str) -> str | None:
    """
    Return the id of the task above; None where the caller may not know of it.

    A task that is in no project of its own is on the boards of the task above. One that is in a
    project may be below a task on boards that the caller may not see.
    """
    if task.parent is None or (home and visibility.boards is not None):
        return None
    return task.parent.gid
