"""Who calls, with what, and what is at hand: the context of one document's execution."""

from dataclasses import dataclass

from sandbox.boards import errors
from sandbox.boards.complexity import Meter
from sandbox.boards.records import Board, Item, User
from sandbox.boards.store import BoardStore


@dataclass(kw_only=True)
class Desk:
    """
    The context.

    Attributes:
        scopes: Of the token; empty for a personal token, which may do what its user may.
        version: The API version asked for, ``YYYY-MM``.
        places: The address that the provider's own pages are under.
    """

    store: BoardStore
    me: User
    scopes: frozenset[str]
    version: str
    meter: Meter
    places: str = "https://harbourlight.boards.example"

    def need(self, scope: str) -> None:
        """
        Demand a scope.

        Raises:
            Refused: The token lacks it.
        """
        if self.scopes and scope not in self.scopes:
            raise errors.lacks_scope(scope)

    def need_write(self, scope: str) -> None:
        """
        Demand a scope that changes something.

        Raises:
            Refused: The token lacks it, or its user only looks.
        """
        self.need(scope)
        if self.me.kind == "view_only":
            raise errors.not_allowed()

    def sees(self, board: Board) -> bool:
        """Whether the user sees a board."""
        return board.kind != "private" or self.me.id in (*board.subscribers, board.creator_id)

    def board(self, board_id: object) -> Board:
        """
        Return a board that may be written to.

        Raises:
            Refused: There is none for this user, or it is deleted.
        """
        board = self.store.boards.find(str(board_id))
        if board is None or not self.sees(board) or board.state == "deleted":
            raise errors.no_board(str(board_id))
        return board

    def item(self, item_id: object) -> tuple[Item, Board]:
        """
        Return an active item and its board.

        Raises:
            Refused: There is none for this user.
        """
        item = self.store.items.find(str(item_id))
        if item is None or item.state != "active":
            raise errors.no_item(item_id)
        return item, self.board(item.owner)
