"""One account of the project provider: projects are boards, sections groups, tasks items."""

import asyncio
import re
from collections import deque
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

import msgspec

from providers.connectors.projects import column_types, mapping, matching, response_types
from providers.connectors.projects.paged_reader import PagedReader, Source
from providers.connectors.projects.project_list import ProjectList
from providers.connectors.projects.rest_client import ProjectClient
from providers.connectors.projects.writing import Writer
from providers.failures import Missing
from providers.http.client import Upstream
from providers.item_visibility import Column
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
_MOST_ABOVE = 5  # levels of sub-tasks that are climbed to find the project; upstream has as many
_MOST_PAGES = 20  # of what belongs to one record: sections, fields, sub-tasks, stories

_PLACES = "gid,memberships.project.gid,parent.gid"
_FIELDS = (
    "custom_field.name,custom_field.type,custom_field.enum_options.name,"
    "custom_field.enum_options.enabled,custom_field.is_formula_field,"
    "custom_field.is_value_read_only"
)
# What cannot be told without knowing the project's custom fields.
_OF_FIELDS = frozenset({"status", "priority", "assignees", "labels", "column_values"})


class ProjectTasks:
    """The projects behind one connection; see `providers.ports.tasks.TaskPort`."""

    def __init__(self, upstream: Upstream) -> None:
        self._client = ProjectClient(upstream)
        self._writer = Writer(self._client)

    async def boards(
        self, query: BoardQuery, *, after: TaskPosition | None, wanted: AbstractSet[str]
    ) -> BoardSlice:
        """Return projects, workspace by workspace; see `TaskPort.boards`."""
        return await ProjectList(self._client, query, wanted).page(after)

    async def board(self, board_id: str, *, wanted: AbstractSet[str]) -> TaskBoard:
        """Read one project; see `TaskPort.board`."""
        _check(board_id)
        fields = mapping.board_fields(wanted)
        given, groups, columns = await asyncio.gather(
            self._client.read(response_types.ProjectResponse, "projects", board_id, fields=fields),
            self._groups(board_id, when="groups" in wanted),
            self._columns(board_id, when="columns" in wanted),
        )
        return msgspec.structs.replace(
            mapping.board(given.data),
            groups=groups if "groups" in wanted else None,
            columns=tuple(column.record for column in columns) if "columns" in wanted else None,
            tags=() if "tags" in wanted else None,
        )

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

        Upstream cannot filter a project's tasks, so that is done here, within five of its pages.
        """
        _check(board_id)
        filtering = matching.looked_at(query)
        asked = replace(visibility, wanted=(visibility.wanted - {"comments"}) | filtering)
        columns = await self._columns(board_id, when=bool(asked.wanted & _OF_FIELDS))
        path: tuple[str, ...] = ("projects", board_id, "tasks")
        if query.group_id is not None:
            groups = await self._groups(board_id)
            if query.group_id not in {group.id for group in groups}:
                return ItemSlice((), None, None)
            path = ("sections", query.group_id, "tasks")
        # What only a filter looks at may be hidden: `maskMode: basic` lets it look all the same.
        looking = replace(asked, hidden=asked.hidden - filtering) if filtering else asked
        walk = PagedReader(
            self._client,
            response_types.TaskPage,
            [Source(path[1], path)],
            fields=mapping.item_fields(looking, columns),
            keep=matching.matcher(query, board_id, looking, columns),
        )
        found, position = await walk.page(after, query.limit)
        shown = replace(visibility, wanted=visibility.wanted - {"comments"})
        items = [mapping.item(one, board_id, shown, columns) for one in found]
        if "sub_items" in visibility.wanted:
            items = await self._with_sub_items(found, items, shown)
        return ItemSlice(tuple(items), position, None)

    async def item(self, item_id: str, *, visibility: ItemVisibility) -> TaskItem:
        """Read one task; see `TaskPort.item`."""
        boards, home = await self._place(item_id)
        seen = [
            board for board in boards if visibility.boards is None or board in visibility.boards
        ]
        board_id = next(iter(seen or boards), "")
        if home and seen:
            home = home if home in seen else seen[0]
        columns = await self._columns(home, when=bool(visibility.wanted & _OF_FIELDS))
        task, comments = await asyncio.gather(
            self._client.read(
                response_types.TaskResponse,
                "tasks",
                item_id,
                fields=mapping.item_fields(visibility, columns),
            ),
            self._comments(item_id, when="comments" in visibility.wanted),
        )
        made = mapping.item(task.data, board_id, visibility, columns)
        if "sub_items" in visibility.wanted:
            made = (await self._with_sub_items([task.data], [made], visibility))[0]
        return msgspec.structs.replace(made, comments=comments)

    async def target(self, item_id: str, *, columns: bool = False) -> TaskTarget:
        """Find out where a task is; see `TaskPort.target`."""
        boards, home = await self._place(item_id)
        own = await self._columns(home) if columns else ()
        return TaskTarget(item_id=item_id, boards=boards, home=home, columns=own)

    async def create(self, item: NewItem) -> CreatedTask:
        """Create a task; see `TaskPort.create`."""
        _check(item.board_id)
        columns = await self._columns(item.board_id, when=bool(item.fields))
        return await self._writer.create(item, columns)

    async def update(self, target: TaskTarget, fields: Mapping[str, str]) -> tuple[str, ...]:
        """Set fields; see `TaskPort.update`."""
        return await self._writer.update(target, fields, target.columns)

    async def delete(self, target: TaskTarget) -> None:
        """Delete a task."""
        await self._client.write("DELETE", "tasks", target.item_id)

    async def comment(self, target: TaskTarget, body: str) -> str:
        """Add a comment; see `TaskPort.comment`."""
        return await self._client.make("tasks", target.item_id, "stories", data={"text": body})

    async def probe(self) -> None:
        """Make one harmless read."""
        await self._client.read(response_types.RecordResponse, "users", "me", fields="gid")

    # -- parts ---------------------------------------------------------------------------------

    async def _groups(self, board_id: str, *, when: bool = True) -> tuple[TaskGroup, ...]:
        if not when:
            return ()
        found = await self._client.every(
            response_types.NamedPage,
            "projects",
            board_id,
            "sections",
            fields="name",
            most=_MOST_PAGES,
        )
        return tuple(TaskGroup(id=one.gid, title=one.name or "") for one in found)

    async def _columns(self, board_id: str, *, when: bool = True) -> tuple[Column, ...]:
        """Return the columns of a project; of no project, those that every task has."""
        if not when or not board_id:
            return column_types.OWN
        found = await self._client.every(
            response_types.SettingPage,
            "projects",
            board_id,
            "custom_field_settings",
            fields=_FIELDS,
            most=_MOST_PAGES,
        )
        return column_types.columns(found)

    async def _place(self, item_id: str) -> tuple[tuple[str, ...], str]:
        """Return the projects that a task is reached by, and the one whose columns it has."""
        _check(item_id)
        task_id, home = item_id, ""
        for level in range(_MOST_ABOVE + 1):
            found = await self._client.read(
                response_types.TaskResponse, "tasks", task_id, fields=_PLACES
            )
            boards = tuple(
                membership.project.gid
                for membership in found.data.memberships
                if membership.project is not None
            )
            if boards:
                return boards, boards[0] if level == 0 else home
            if found.data.parent is None or not _ID.fullmatch(found.data.parent.gid):
                break
            task_id = found.data.parent.gid
        return (), ""

    async def _comments(self, item_id: str, *, when: bool) -> tuple[TaskComment, ...] | None:
        """Return the newest comments; upstream tells all stories, oldest first."""
        if not when:
            return None
        stories = await self._client.every(
            response_types.StoryPage,
            "tasks",
            item_id,
            "stories",
            fields="type,text,created_at,created_by.name",
            most=_MOST_PAGES,
        )
        newest = deque((story for story in stories if story.type == "comment"), maxlen=MAX_COMMENTS)
        return tuple(mapping.comment(one) for one in reversed(newest))

    async def _with_sub_items(
        self, tasks: list[response_types.Task], items: list[TaskItem], visibility: ItemVisibility
    ) -> list[TaskItem]:
        """Add the sub-tasks, which are asked for only where there are some."""
        below = replace(
            visibility,
            wanted=visibility.wanted - {"sub_items", "comments", "group_id", "group_name"},
        )
        fields = mapping.item_fields(below, column_types.OWN)

        async def with_own(task: response_types.Task, item: TaskItem) -> TaskItem:
            if not task.num_subtasks:
                return item
            found = await self._client.every(
                response_types.TaskPage,
                "tasks",
                task.gid,
                "subtasks",
                fields=fields,
                most=_MOST_PAGES,
            )
            own = tuple(mapping.item(one, item.board_id, below, column_types.OWN) for one in found)
            return msgspec.structs.replace(item, sub_items=own)

        return list(await asyncio.gather(*map(with_own, tasks, items)))


def _check(found: str) -> None:
    """Let nothing but an id of upstream's through."""
    if not _ID.fullmatch(found):
        raise Missing
