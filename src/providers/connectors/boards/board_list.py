"""The list of boards, page by page, oldest position kept. Source: wire report, 1C."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from providers.connectors.boards import documents, mapping, response_types
from providers.connectors.boards.graphql_client import BoardClient
from providers.ports.tasks import BoardQuery, BoardSlice, TaskPosition

PAGE = 100  # boards asked for at once
MOST_PAGES = 5  # read for one page of ours; decisions 0, "Page filling"

Found = Sequence[response_types.Board | None]


class BoardList:
    """The boards of an account that a query asks for, newest first; chosen ones by id."""

    def __init__(self, client: BoardClient, query: BoardQuery, wanted: AbstractSet[str]) -> None:
        self._client = client
        self._query = query
        self._wanted = wanted | {"name"}
        self._chosen = None if query.only is None else sorted(query.only)

    async def page(self, after: TaskPosition | None) -> BoardSlice:
        """Return up to the query's limit after a position."""
        boards = []
        seen, last = (after.seen, after.last) if after else (0, "")
        number = max(seen - 1, 0) // PAGE
        start = None if after is None else seen - number * PAGE
        for _ in range(MOST_PAGES):
            page, more = await self._read(number)
            for place in range(_start(page, last, start), len(page)):
                board = page[place]
                seen, last = number * PAGE + place + 1, board.id if board else last
                if board is not None and self._is_listed(board):
                    boards.append(mapping.board(board, self._wanted))
                if len(boards) == self._query.limit:
                    more = more or place + 1 < len(page)
                    return BoardSlice(tuple(boards), TaskPosition(seen, last) if more else None)
            if not more:
                return BoardSlice(tuple(boards), None)
            number, start = number + 1, None
        return BoardSlice(tuple(boards), TaskPosition(seen, last))

    async def _read(self, number: int) -> tuple[Found, bool]:
        """Return a page, counted from 0, and whether another may follow."""
        if self._chosen is not None:
            ids = self._chosen[number * PAGE : (number + 1) * PAGE]
            return await self._by_id(ids), (number + 1) * PAGE < len(self._chosen)
        found = await self._client.read(
            documents.boards(self._wanted),
            response_types.BoardsData,
            n=PAGE,
            p=number + 1,
            s="all" if self._query.archived else "active",
        )
        page = found.boards or ()
        return page, len(page) >= PAGE

    async def _by_id(self, ids: Sequence[str]) -> Found:
        if not ids:
            return ()
        found = await self._client.read(
            documents.boards_by_id(self._wanted), response_types.BoardsData, b=list(ids), n=len(ids)
        )
        known = {board.id: board for board in found.boards or () if board is not None}
        return [known.get(id_) for id_ in ids]

    def _is_listed(self, board: response_types.Board) -> bool:
        states = {"active", "archived"} if self._query.archived else {"active"}
        text = self._query.text
        return (
            board.state in states
            and board.type in {None, "board"}
            and (text is None or text.casefold() in (board.name or "").casefold())
        )


def _start(page: Found, last: str, start: int | None) -> int:
    """Return where to go on: behind the last one seen, else where that was."""
    if start is None:
        return 0
    places = [place for place, one in enumerate(page, 1) if one is not None and one.id == last]
    return places[0] if places else max(start - 1, 0)
