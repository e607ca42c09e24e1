"""
Pages of a board's items: cursors while they live, and how to go on after they died.

A cursor is good for an hour from the first page, our page tokens for a day. So a position also says
how far the reader came; when the cursor is gone, the list is walked again by ids alone up to there.
Source: wire report, 1C and 6.40.
"""

import time
from collections.abc import Callable

from providers.connectors.boards import documents, mapping, response_types
from providers.connectors.boards.failures import CursorExpired
from providers.connectors.boards.filters import Rule
from providers.connectors.boards.graphql_client import BoardClient
from providers.failures import Missing
from providers.item_visibility import Column
from providers.ports.tasks import ItemSlice, ItemVisibility, TaskPosition

CURSOR_SECONDS = 55 * 60  # upstream keeps them for 60 minutes
LONGEST_CURSOR = 2_000  # characters that a page token has room for
WIDEST = 500  # items a page may have upstream


class ItemList:
    """One board's items under some rules."""

    def __init__(  # noqa: PLR0913 - what a list is of, and what of it is to be seen
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
        self._board = board_id
        self._rules = rules
        self._sight = visibility
        self._values = values
        self._own, self._below = own, below
        self._clock = clock

    async def page(self, after: TaskPosition | None, limit: int) -> ItemSlice:
        """Return up to *limit* items after a position."""
        if after is None:
            return await self._first(limit)
        fresh = after.cursor is not None and self._clock() - after.at < CURSOR_SECONDS
        if after.cursor is not None and fresh:
            try:
                return await self._next(after.cursor, after, limit)
            except CursorExpired:
                pass
        place = await self._found_again(after)
        if place.seen == 0:
            return await self._first(limit)
        if place.cursor is None:
            return ItemSlice((), None, None)
        return await self._next(place.cursor, place, limit)

    async def _first(self, limit: int) -> ItemSlice:
        found = await self._client.read(
            documents.first_page(self._values, self._sight, count=not self._rules),
            response_types.BoardsData,
            b=[self._board],
            n=limit,
            q=self._rules or None,
            **self._values.variables,
        )
        board = self._only(found.boards)
        if board.state == "deleted" or board.type not in {None, "board"}:
            raise Missing
        start = TaskPosition(0, "", None, int(self._clock()))
        return self._slice(board.items_page, start, board.items_count)

    async def _next(self, cursor: str, after: TaskPosition, limit: int) -> ItemSlice:
        count = not self._rules
        more = {"b": [self._board]} if count else {}
        found = await self._client.read(
            documents.next_page(self._values, self._sight, count=count),
            response_types.NextItemsData,
            c=cursor,
            n=limit,
            **more,
            **self._values.variables,
        )
        total = self._only(found.boards).items_count if count else None
        return self._slice(found.next_items_page, after, total)

    def _slice(
        self, page: response_types.ItemPage | None, after: TaskPosition, total: int | None
    ) -> ItemSlice:
        if page is None:
            raise Missing
        items = tuple(
            mapping.item(item, self._board, self._sight, own=self._own, below=self._below)
            for item in page.items
        )
        position = None
        if page.cursor and items:
            cursor = page.cursor if len(page.cursor) <= LONGEST_CURSOR else None
            position = TaskPosition(after.seen + len(items), items[-1].id, cursor, after.at)
        return ItemSlice(items, position, total)

    async def _found_again(self, lost: TaskPosition) -> TaskPosition:
        """
        Walk to behind the last item that was seen; where it is gone, to those before it.

        Returns:
            A position with a living cursor, or with none when nothing follows.
        """
        at = int(self._clock())
        ids, cursor = await self._walk(lost.seen)
        if ids and ids[-1] == lost.last:
            return TaskPosition(len(ids), lost.last, cursor, at)
        if lost.last not in ids and cursor is not None:  # something came before it, perhaps
            ids, _ = await self._walk(lost.seen + WIDEST)
        # Without it, one item may come twice, so that none is lost.
        seen = ids.index(lost.last) + 1 if lost.last in ids else min(lost.seen - 1, len(ids))
        if seen == 0:
            return TaskPosition(0, "", None, at)
        _, cursor = await self._walk(seen)
        return TaskPosition(seen, lost.last, cursor, at)

    async def _walk(self, count: int) -> tuple[list[str], str | None]:
        """Read the ids of the first *count* items, and the cursor behind them."""
        found = await self._client.read(
            documents.FIRST_IDS,
            response_types.BoardsData,
            b=[self._board],
            n=min(count, WIDEST),
            q=self._rules or None,
        )
        page = self._only(found.boards).items_page or response_types.ItemPage()
        ids = [item.id for item in page.items]
        while page.cursor and page.items and len(ids) < count:
            more = await self._client.read(
                documents.NEXT_IDS,
                response_types.NextItemsData,
                c=page.cursor,
                n=min(count - len(ids), WIDEST),
            )
            page = more.next_items_page or response_types.ItemPage()
            ids += [item.id for item in page.items]
        return ids, page.cursor

    def _only(self, boards: tuple[response_types.Board | None, ...] | None) -> response_types.Board:
        found = next((board for board in boards or () if board is not None), None)
        if found is None or found.id != self._board:
            raise Missing
        return found
