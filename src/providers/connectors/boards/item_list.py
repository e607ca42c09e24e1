"""
Listing of a board's items: docs/spec/upstream/monday.md#item-pages.

A cursor lives for an hour from the first page, a page token of the gateway for a day. So a position
also holds the number of items read; without its cursor, the list is read again, by ids alone, up to
that number. This takes `MAX_RESTORE_CALLS` calls at most: a position further on is refused.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from providers.connectors.boards import documents, mapping, response_types
from providers.connectors.boards.failures import CursorExpired
from providers.connectors.boards.filters import Rule
from providers.connectors.boards.graphql_client import BoardClient
from providers.connectors.boards.people import with_names
from providers.failures import Missing
from providers.item_visibility import Column
from providers.ports.tasks import ItemSlice, ItemVisibility, StalePosition, TaskPosition

CURSOR_SECONDS = 55 * 60  # monday.com keeps cursors for 60 minutes
MAX_CURSOR_LENGTH = 2_000  # characters that fit into a page token
MAX_PAGE = 500  # items
MAX_RESTORE_CALLS = 10  # to find a position again: docs/spec/tasks.md#old-page-tokens
_MOST_SEEN = (MAX_RESTORE_CALLS - 2) * MAX_PAGE  # items up to a position that can be found again


@dataclass(slots=True)
class _Walk:
    """Ids from the start of a list, and for the end of each page its cursor."""

    ids: list[str] = field(default_factory=list)
    ends: list[tuple[int, str | None]] = field(default_factory=list)

    @property
    def cursor(self) -> str | None:
        """The cursor to go on with; None at the start and at the end."""
        return self.ends[-1][1] if self.ends else None

    def add(self, page: response_types.ItemPage) -> None:
        """Add a page; an empty one is the last."""
        self.ids += [item.id for item in page.items]
        self.ends.append((len(self.ids), page.cursor if page.items else None))


class ItemList:
    """The items of one board that match some rules."""

    def __init__(  # noqa: PLR0913 - the listing, and the visible part of its items
        self,
        client: BoardClient,
        board_id: str,
        rules: Rule,
        visibility: ItemVisibility,
        *,
        values: documents.ColumnValueSelection,
        own: tuple[Column, ...] | None,
        below: tuple[Column, ...] | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._board_id = board_id
        self._rules = rules
        self._visibility = visibility
        self._values = values
        self._own, self._below = own, below
        self._clock = clock

    async def page(self, after: TaskPosition | None, limit: int) -> ItemSlice:
        """Return up to *limit* items after a position."""
        if after is None:
            return await self._first(limit)
        if after.cursor is not None and self._clock() - after.at < CURSOR_SECONDS:
            with suppress(CursorExpired):
                return await self._next(after.cursor, after, limit)
        position = await self._restore(after)
        if position.seen == 0:
            return await self._first(limit)
        if position.cursor is None:
            return ItemSlice((), None, None)
        return await self._next(position.cursor, position, limit)

    async def _first(self, limit: int) -> ItemSlice:
        data = await self._client.read(
            documents.first_page(self._values, self._visibility, count=not self._rules),
            response_types.BoardsData,
            b=[self._board_id],
            n=limit,
            q=self._rules or None,
            **self._values.variables,
        )
        board = self._board_of(data.boards)
        if board.state == "deleted" or board.type not in {None, "board"}:
            raise Missing
        start = TaskPosition(0, "", None, int(self._clock()))
        return await self._slice(board.items_page, start, board.items_count)

    async def _next(self, cursor: str, after: TaskPosition, limit: int) -> ItemSlice:
        count = not self._rules
        more = {"b": [self._board_id]} if count else {}
        data = await self._client.read(
            documents.next_page(self._values, self._visibility, count=count),
            response_types.NextItemsData,
            c=cursor,
            n=limit,
            **more,
            **self._values.variables,
        )
        total = self._board_of(data.boards).items_count if count else None
        return await self._slice(data.next_items_page, after, total)

    async def _slice(
        self, page: response_types.ItemPage | None, after: TaskPosition, total: int | None
    ) -> ItemSlice:
        if page is None:
            raise Missing
        items = tuple(
            mapping.item(item, self._board_id, self._visibility, own=self._own, below=self._below)
            for item in await with_names(self._client, page.items)
        )
        position = None
        if page.cursor and items:
            cursor = page.cursor if len(page.cursor) <= MAX_CURSOR_LENGTH else None
            position = TaskPosition(after.seen + len(items), items[-1].id, cursor, after.at)
        return ItemSlice(items, position, total)

    async def _restore(self, lost: TaskPosition) -> TaskPosition:
        """
        Read again up to the last item of *lost*; without that item, up to the one before it.

        Returns:
            A position with a new cursor; the cursor is None when nothing follows.

        Raises:
            StalePosition: Too many items come before it.
        """
        if lost.seen > _MOST_SEEN:
            raise StalePosition
        at = int(self._clock())
        walk = _Walk()
        await self._walk(walk, lost.seen)
        if walk.ids and walk.ids[-1] == lost.last:
            return TaskPosition(len(walk.ids), lost.last, walk.cursor, at)
        if lost.last not in walk.ids and walk.cursor is not None:
            await self._walk(walk, lost.seen + MAX_PAGE)  # items may have been added before it
        # When the item is gone, one item may come twice, so that none is lost.
        is_listed = lost.last in walk.ids
        seen = walk.ids.index(lost.last) + 1 if is_listed else min(lost.seen - 1, len(walk.ids))
        if seen == 0:
            return TaskPosition(0, "", None, at)
        return TaskPosition(seen, lost.last, await self._cursor_after(walk, seen), at)

    async def _walk(self, walk: "_Walk", count: int) -> None:
        """Read ids until *walk* has *count* of them, or all."""
        while len(walk.ids) < count and (walk.cursor is not None or not walk.ends):
            size = min(count - len(walk.ids), MAX_PAGE)
            walk.add(await self._ids(walk.cursor, size))

    async def _cursor_after(self, walk: "_Walk", seen: int) -> str | None:
        """Return the cursor after the first *seen* ids of a walk."""
        before = 0
        cursor: str | None = None
        for end, following in walk.ends:
            if end == seen:
                return following
            if end < seen:
                before, cursor = end, following
        return (await self._ids(cursor, seen - before)).cursor

    async def _ids(self, cursor: str | None, count: int) -> response_types.ItemPage:
        """Read *count* ids after a cursor; None: the first."""
        if cursor is None:
            data = await self._client.read(
                documents.FIRST_IDS,
                response_types.BoardsData,
                b=[self._board_id],
                n=count,
                q=self._rules or None,
            )
            return self._board_of(data.boards).items_page or response_types.ItemPage()
        more = await self._client.read(
            documents.NEXT_IDS, response_types.NextItemsData, c=cursor, n=count
        )
        return more.next_items_page or response_types.ItemPage()

    def _board_of(
        self, boards: tuple[response_types.Board | None, ...] | None
    ) -> response_types.Board:
        board = next(filter(None, boards or ()), None)
        if board is None or board.id != self._board_id:
            raise Missing
        return board
