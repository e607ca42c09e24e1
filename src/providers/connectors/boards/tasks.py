"""The task port of one account of monday.com: docs/spec/upstream/monday.md."""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from providers.connectors.boards import column_types, documents, filters, mapping, response_types
from providers.connectors.boards.board_list import BoardList
from providers.connectors.boards.graphql_client import BoardClient
from providers.connectors.boards.item_list import ItemList
from providers.connectors.boards.writing import BoardLocks, Writer
from providers.failures import Missing
from providers.http.client import Upstream
from providers.item_visibility import DERIVED, Column, revealing_columns
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


class BoardTasks:
    """Boards of one connection; implements `providers.ports.tasks.TaskPort`."""

    def __init__(self, upstream: Upstream, locks: BoardLocks) -> None:
        """*locks* belong to the caller, one object per connection, and outlive this object."""
        self._client = BoardClient(upstream)
        self._writer = Writer(self._client, locks)

    async def boards(
        self, query: BoardQuery, *, after: TaskPosition | None, wanted: AbstractSet[str]
    ) -> BoardSlice:
        """Return boards; see `TaskPort.boards`."""
        if query.only is not None:
            query = replace(query, only=set(filter(_ID.fullmatch, query.only)))
        fields = wanted - {"groups", "columns", "tags"}
        return await BoardList(self._client, query, fields).page(after)

    async def board(self, board_id: str, *, wanted: AbstractSet[str]) -> TaskBoard:
        """Read one board; see `TaskPort.board`."""
        return mapping.board(await self._board(board_id, wanted), wanted)

    async def items(
        self,
        board_id: str,
        query: ItemQuery,
        *,
        after: TaskPosition | None,
        visibility: ItemVisibility,
    ) -> ItemSlice:
        """Return items of a board; see `TaskPort.items`."""
        _require_valid_id(board_id)
        visibility = replace(visibility, wanted=visibility.wanted - {"comments"})
        columns: tuple[Column, ...] = ()
        own = below = None
        if filters.needs_columns(query) or _is_selective(visibility):
            columns = await self._columns(board_id)
            if _is_selective(visibility):
                own, below = columns, await self._columns_below(columns, visibility)
        rules = filters.rules(query, columns)
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
        """Read one item; see `TaskPort.item`."""
        _require_valid_id(item_id)
        own = below = None
        if _is_selective(visibility):
            home = (await self._item(documents.TARGET, item_id)).board
            own = column_types.columns(home.columns or ()) if home else ()
            below = await self._columns_below(own, visibility)
        values = _values(visibility, own, below)
        item = await self._item(documents.item(values, visibility), item_id, **values.variables)
        return mapping.item(item, _board_of(item), visibility, own=own, below=below)

    async def target(self, item_id: str, *, columns: bool = False) -> TaskTarget:
        """Return the boards of an item; see `TaskPort.target`."""
        _require_valid_id(item_id)
        item = await self._item(documents.TARGET if columns else documents.PLACE, item_id)
        if item.board is None:
            raise Missing
        return TaskTarget(
            item_id=item.id,
            boards=(_board_of(item),),
            home=item.board.id,
            columns=column_types.columns(item.board.columns or ()),
        )

    async def create(self, item: NewItem) -> CreatedTask:
        """Create an item; see `TaskPort.create`."""
        _require_valid_id(item.board_id)
        return await self._writer.create(item)

    async def update(self, target: TaskTarget, fields: Mapping[str, str]) -> tuple[str, ...]:
        """Set columns; see `TaskPort.update`."""
        return await self._writer.update(target, fields)

    async def delete(self, target: TaskTarget) -> None:
        """Delete an item for good."""
        await self._writer.delete(target)

    async def comment(self, target: TaskTarget, body: str) -> str:
        """Add a comment; see `TaskPort.comment`."""
        return await self._writer.comment(target, body)

    async def probe(self) -> None:
        """Make one harmless read."""
        await self._client.read(documents.PROBE, response_types.BoardsData)

    async def _board(self, board_id: str, wanted: AbstractSet[str]) -> response_types.Board:
        _require_valid_id(board_id)
        data = await self._client.read(
            documents.boards_by_id(wanted), response_types.BoardsData, b=[board_id], n=1
        )
        board = next(filter(None, data.boards or ()), None)
        if board is None or board.state == "deleted" or board.type not in {None, "board"}:
            raise Missing
        return board

    async def _columns(self, board_id: str) -> tuple[Column, ...]:
        data = await self._client.read(
            documents.BOARD_COLUMNS, response_types.BoardsData, b=[board_id]
        )
        board = next(filter(None, data.boards or ()), None)
        if board is None:
            raise Missing
        return column_types.columns(board.columns or ())

    async def _columns_below(
        self, columns: Iterable[Column], visibility: ItemVisibility
    ) -> tuple[Column, ...] | None:
        """Return the columns of the sub-items; None when sub-items are not wanted."""
        if "sub_items" not in visibility.wanted:
            return None
        board_id = column_types.sub_board(columns)
        return await self._columns(board_id) if board_id and _ID.fullmatch(board_id) else ()

    async def _item(self, document: str, item_id: str, **variables: object) -> response_types.Item:
        data = await self._client.read(document, response_types.ItemsData, i=[item_id], **variables)
        item = next(filter(None, data.items or ()), None)
        if item is None or item.state == "deleted":
            raise Missing
        return item


def _require_valid_id(object_id: str) -> None:
    if not _ID.fullmatch(object_id):
        raise Missing


def _board_of(item: response_types.Item) -> str:
    """Return the board of an item; of a sub-item, the board of its parent."""
    board = (item.parent_item.board if item.parent_item else None) or item.board
    if board is None:
        raise Missing
    return board.id


# Attributes that a column may reveal.
_REVEALED = DERIVED | {"name", "sub_items", "created_at", "updated_at"}


def _is_selective(visibility: ItemVisibility) -> bool:
    """Whether a wanted column type may have hidden columns too."""
    if "column_values" in visibility.wanted:
        return bool(visibility.hidden & _REVEALED)
    return len(visibility.hidden & {"status", "priority"}) == 1 and bool(
        visibility.wanted & {"status", "priority"}
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
