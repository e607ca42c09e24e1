"""The task port of one account of monday.com: docs/spec/upstream/monday.md."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any, TypeGuard

from msgspec.structs import replace

from providers.connectors.boards import column_types, documents, filters, mapping, response_types
from providers.connectors.boards.board_list import BoardList
from providers.connectors.boards.graphql_client import BoardClient
from providers.connectors.boards.item_list import ItemList
from providers.connectors.boards.people import with_names
from providers.connectors.boards.writing import BoardLocks, Writer
from providers.failures import Missing, NeedsReauth, ProviderFailure, Refused, unwrap
from providers.http.client import Upstream
from providers.item_visibility import DERIVED, Column, revealing_columns
from providers.ports.opening import Opening
from providers.ports.tasks import (
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
from providers.records.tasks import TaskBoard, TaskItem

_ID = re.compile(r"[0-9]{1,32}")
_MAX_IDS = 100  # boards or items of one call


def open_port(opening: Opening) -> "BoardTasks":
    """Open the account of a connection; makes no call."""
    return BoardTasks(opening.upstream(), opening.memory(BoardLocks))


class BoardTasks:
    """Boards of one connection; implements `providers.ports.tasks.TaskPort`."""

    max_item_name = 255  # developer.monday.com: `ItemNameTooLongException`

    def __init__(self, upstream: Upstream, locks: BoardLocks) -> None:
        """*locks* belong to the caller, one object per connection, and outlive this object."""
        self._client = BoardClient(upstream)
        self._writer = Writer(self._client, locks)

    async def boards(
        self, query: BoardQuery, *, after: TaskPosition | None, projection: AbstractSet[str]
    ) -> BoardSlice:
        if query.only is not None:
            query = replace(query, only=set(filter(_ID.fullmatch, query.only)))
        fields = projection - {"groups", "columns", "tags"}
        return await BoardList(self._client, query, fields).page(after)

    async def board(self, board_id: str, *, projection: AbstractSet[str]) -> TaskBoard:
        return unwrap((await self.boards_by_id([board_id], projection=projection))[board_id])

    async def boards_by_id(
        self, board_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> Mapping[str, TaskBoard | ProviderFailure]:
        boards: dict[str, response_types.Board] = {}
        for ids in _chunks(board_ids):
            data = await self._client.read(
                documents.boards_by_id(projection), response_types.BoardsData, b=ids, n=len(ids)
            )
            boards |= {board.id: board for board in data.boards or () if _is_board(board)}
        return {
            board_id: mapping.board(boards[board_id], projection)
            if board_id in boards
            else Missing()
            for board_id in board_ids
        }

    async def items(
        self,
        board_id: str,
        query: ItemQuery,
        *,
        after: TaskPosition | None,
        visibility: ItemVisibility,
    ) -> ItemSlice:
        _require_valid_id(board_id)
        visibility = replace(visibility, projection=visibility.projection - {"comments"})
        columns: tuple[Column, ...] = ()
        assignees: tuple[str, ...] = ()
        own = below = None
        if query.assignee_email:
            columns, assignees = await self._columns_and_users(board_id, query.assignee_email)
        elif filters.needs_columns(query) or _is_selective(visibility):
            columns = await self._columns(board_id)
        if _is_selective(visibility):
            own, below = columns, await self._columns_below(columns, visibility)
        rules = filters.rules(query, columns, assignees)
        if rules is None:
            return ItemSlice((), None, None)
        listing = ItemList(
            self._client,
            board_id,
            rules,
            visibility,
            values=_values(visibility, own, below),
            own=own,
            below=below,
        )
        return await listing.page(after, query.limit)

    async def item(self, item_id: str, *, visibility: ItemVisibility) -> TaskItem:
        return unwrap((await self.items_by_id([item_id], visibility=visibility))[item_id])

    async def items_by_id(
        self, item_ids: Sequence[str], *, visibility: ItemVisibility
    ) -> Mapping[str, TaskItem | ProviderFailure]:
        """
        Read items; see `TaskPort.items_by_id`.

        One call reads all of them, or those of one board where some of its columns are hidden.
        """
        items: dict[str, TaskItem] = {}
        if not _is_selective(visibility):
            items = await self._read_items(item_ids, visibility)
        else:
            located = (await self._items(documents.TARGET, item_ids)).values()
            homes = {item.board.id: item.board for item in located if item.board}
            for board_id, board in homes.items():
                own = column_types.columns(board.columns or ())
                below = await self._columns_below(own, visibility)
                ids = [item.id for item in located if item.board and item.board.id == board_id]
                items |= await self._read_items(ids, visibility, own=own, below=below)
        return {item_id: items.get(item_id) or Missing() for item_id in item_ids}

    async def target(self, item_id: str, *, columns: bool = False) -> TaskTarget:
        document = documents.TARGET if columns else documents.PLACE
        return unwrap((await self._targets([item_id], document))[item_id])

    async def targets(self, item_ids: Sequence[str]) -> Mapping[str, TaskTarget | ProviderFailure]:
        return await self._targets(item_ids, documents.PLACE)

    async def create(self, item: NewItem) -> CreatedTask:
        _require_valid_id(item.board_id)
        return await self._writer.create(item)

    async def people(self, values: Sequence[Any]) -> Sequence[str | None]:
        ids = [user_id for value in values for user_id in _person_ids(value)]
        known = [user_id for user_id in dict.fromkeys(ids) if user_id is not None]
        addresses: dict[str, str | None] = {}
        if 0 < len(known) <= _MAX_IDS:
            with suppress(Refused, NeedsReauth):  # without the scope no person is known
                data = await self._client.read(
                    documents.USERS, response_types.UsersData, u=known, n=len(known)
                )
                addresses = {user.id: user.email for user in data.users or () if user is not None}
        return [addresses.get(user_id or "") or None for user_id in ids]

    async def update(self, target: TaskTarget, fields: Mapping[str, str]) -> tuple[str, ...]:
        return await self._writer.update(target, fields)

    async def delete(self, target: TaskTarget) -> None:
        """Delete an item for good."""
        await self._writer.delete(target)

    async def comment(self, target: TaskTarget, body: str) -> str:
        return await self._writer.comment(target, body)

    async def probe(self) -> None:
        """Make one harmless read."""
        await self._client.read(documents.PROBE, response_types.BoardsData)

    async def _read_items(
        self,
        item_ids: Sequence[str],
        visibility: ItemVisibility,
        *,
        own: Iterable[Column] | None = None,
        below: Iterable[Column] | None = None,
    ) -> dict[str, TaskItem]:
        """Read items that have the same columns; those that are gone are left out."""
        values = _values(visibility, own, below)
        document = documents.items_by_id(values, visibility)
        items = await self._items(document, item_ids, **values.variables)
        named = await with_names(self._client, list(items.values()))
        return {
            item_id: mapping.item(item, board_id, visibility, own=own, below=below)
            for item_id, item in zip(items, named, strict=True)
            if (board_id := _board_of(item)) is not None
        }

    async def _targets(
        self, item_ids: Sequence[str], document: str
    ) -> Mapping[str, TaskTarget | ProviderFailure]:
        items = await self._items(document, item_ids)
        targets = {
            item_id: TaskTarget(
                item_id=item.id,
                boards=(board_id,),
                home=item.board.id,
                columns=column_types.columns(item.board.columns or ()),
            )
            for item_id, item in items.items()
            if item.board is not None and (board_id := _board_of(item)) is not None
        }
        return {item_id: targets.get(item_id) or Missing() for item_id in item_ids}

    async def _columns(self, board_id: str) -> tuple[Column, ...]:
        data = await self._client.read(
            documents.BOARD_COLUMNS, response_types.BoardsData, b=[board_id]
        )
        board = next(filter(None, data.boards or ()), None)
        if board is None:
            raise Missing
        return column_types.columns(board.columns or ())

    async def _columns_and_users(
        self, board_id: str, address: str
    ) -> tuple[tuple[Column, ...], tuple[str, ...]]:
        """Return the columns of a board, and the ids of the users with an address."""
        data = await self._client.read(
            documents.BOARD_COLUMNS_AND_USERS, response_types.BoardsData, b=[board_id], e=[address]
        )
        board = next(filter(None, data.boards or ()), None)
        if board is None:
            raise Missing
        users = tuple(user.id for user in data.users or () if user is not None)
        return column_types.columns(board.columns or ()), users

    async def _columns_below(
        self, columns: Iterable[Column], visibility: ItemVisibility
    ) -> tuple[Column, ...] | None:
        """Return the columns of the sub-items; None when sub-items are not wanted."""
        if "sub_items" not in visibility.projection:
            return None
        board_id = column_types.sub_board(columns)
        return await self._columns(board_id) if board_id and _ID.fullmatch(board_id) else ()

    async def _items(
        self, document: str, item_ids: Sequence[str], **variables: object
    ) -> dict[str, response_types.Item]:
        """Read items by their ids; those that are gone are left out."""
        items: dict[str, response_types.Item] = {}
        for ids in _chunks(item_ids):
            data = await self._client.read(
                document, response_types.ItemsData, i=ids, n=len(ids), **variables
            )
            items |= {
                item.id: item for item in data.items or () if item and item.state != "deleted"
            }
        return items


def _person_ids(value: Any) -> Iterator[str | None]:
    """Yield the ids of the people in a value of a people column; None for whatever else it has."""
    members = value.get("personsAndTeams") if isinstance(value, dict) else None
    if not isinstance(members, list) or len(value) != 1:
        yield None
        return
    for member in members:
        is_person = isinstance(member, dict) and member.get("kind") == "person"
        user_id = str(member.get("id")) if is_person else ""
        yield user_id if _ID.fullmatch(user_id) else None


def _chunks(object_ids: Sequence[str]) -> Iterator[list[str]]:
    """Yield the well-formed ones among ids, each once, as many at a time as a call may name."""
    ids = [name for name in dict.fromkeys(object_ids) if _ID.fullmatch(name)]
    for start in range(0, len(ids), _MAX_IDS):
        yield ids[start : start + _MAX_IDS]


def _is_board(board: response_types.Board | None) -> TypeGuard[response_types.Board]:
    return board is not None and board.state != "deleted" and board.type in {None, "board"}


def _require_valid_id(object_id: str) -> None:
    if not _ID.fullmatch(object_id):
        raise Missing


def _board_of(item: response_types.Item) -> str | None:
    """Return the board of an item; of a sub-item, the board of its parent."""
    board = (item.parent_item.board if item.parent_item else None) or item.board
    return board.id if board is not None else None


# Attributes that a column may reveal.
_REVEALED = DERIVED | {"name", "sub_items", "created_at", "updated_at"}


def _is_selective(visibility: ItemVisibility) -> bool:
    """Whether a wanted column type may have hidden columns too."""
    if "column_values" in visibility.projection:
        return bool(visibility.hidden & _REVEALED)
    return len(visibility.hidden & {"status", "priority"}) == 1 and bool(
        visibility.projection & {"status", "priority"}
    )


def _values(
    visibility: ItemVisibility, own: Iterable[Column] | None, below: Iterable[Column] | None
) -> documents.ColumnValueSelection:
    return documents.ColumnValueSelection(
        visibility, own=_visible_ids(own, visibility), below=_visible_ids(below, visibility)
    )


def _visible_ids(columns: Iterable[Column] | None, visibility: ItemVisibility) -> list[str] | None:
    """Return the ids of the columns that may be read; None for all."""
    if columns is None:
        return None
    columns = tuple(columns)
    hidden_ids = revealing_columns(columns, visibility.hidden)
    return [column.id for column in columns if column.id not in hidden_ids]
