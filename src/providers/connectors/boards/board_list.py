"""Listing of the boards of an account: docs/spec/upstream/monday.md#boards."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from providers.connectors.boards import documents, mapping, response_types
from providers.connectors.boards.graphql_client import BoardClient
from providers.ports.tasks import BoardQuery, BoardSlice, TaskPosition

PAGE = 100  # boards per request
MAX_PAGES = 5  # read for one page of the gateway: docs/spec/paging.md#page-filling

Boards = Sequence[response_types.Board | None]


class BoardList:
    """The boards that match a query: newest first, or by id when the query lists their ids."""

    def __init__(
        self, client: BoardClient, query: BoardQuery, projection: AbstractSet[str]
    ) -> None:
        self._client = client
        self._query = query
        self._projection = projection | {"name"}
        self._chosen = None if query.only is None else sorted(query.only)

    async def page(self, after: TaskPosition | None) -> BoardSlice:
        """Return the boards after a position, up to the query's limit."""
        boards = []
        seen, last = (after.seen, after.last) if after else (0, "")
        number = max(seen - 1, 0) // PAGE
        start = None if after is None else seen - number * PAGE
        for _ in range(MAX_PAGES):
            page, more = await self._read(number)
            for index in range(_start(page, last, start), len(page)):
                board = page[index]
                seen, last = number * PAGE + index + 1, board.id if board else last
                if board is not None and self._is_listed(board):
                    boards.append(mapping.board(board, self._projection))
                if len(boards) == self._query.limit:
                    more = more or index + 1 < len(page)
                    return BoardSlice(tuple(boards), TaskPosition(seen, last) if more else None)
            if not more:
                return BoardSlice(tuple(boards), None)
            number, start = number + 1, None
        return BoardSlice(tuple(boards), TaskPosition(seen, last))

    async def _read(self, number: int) -> tuple[Boards, bool]:
        """Return page *number*, counted from 0, and whether another may follow."""
        if self._chosen is not None:
            ids = self._chosen[number * PAGE : (number + 1) * PAGE]
            return await self._by_id(ids), (number + 1) * PAGE < len(self._chosen)
        data = await self._client.read(
            documents.boards(self._projection),
            response_types.BoardsData,
            n=PAGE,
            p=number + 1,
            s="all" if self._query.archived else "active",
        )
        page = data.boards or ()
        return page, len(page) >= PAGE

    async def _by_id(self, ids: Sequence[str]) -> Boards:
        if not ids:
            return ()
        data = await self._client.read(
            documents.boards_by_id(self._projection),
            response_types.BoardsData,
            b=list(ids),
            n=len(ids),
        )
        boards = {board.id: board for board in data.boards or () if board is not None}
        return list(map(boards.get, ids))

    def _is_listed(self, board: response_types.Board) -> bool:
        states = {"active", "archived"} if self._query.archived else {"active"}
        text = self._query.text
        return (
            board.state in states
            and board.type in {None, "board"}
            and (text is None or text.casefold() in (board.name or "").casefold())
        )


def _start(page: Boards, last: str, start: int | None) -> int:
    """Return the index after board *last*; without that board, the index where it was."""
    if start is None:
        return 0
    after_last = (index for index, board in enumerate(page, 1) if board and board.id == last)
    return next(after_last, max(start - 1, 0))
