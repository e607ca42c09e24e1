"""Context of one document's execution: the caller, the scopes and the records within reach."""

from dataclasses import dataclass

from sandbox.boards import errors
from sandbox.boards.complexity import QueryComplexity
from sandbox.boards.records import Board, Item, User
from sandbox.boards.store import BoardStore


@dataclass(kw_only=True)
class ExecutionContext:
    """
    The context value of graphql-core.

    Attributes:
        user: The caller.
        scopes: Scopes of the token; empty for a personal token, which may do all that its user may.
        version: The requested API version, ``YYYY-MM``.
        complexity: Cost of this document.
        web_url: Base URL of the web pages of boards, items and users.
    """

    store: BoardStore
    user: User
    scopes: frozenset[str]
    version: str
    complexity: QueryComplexity
    web_url: str = "https://harbourlight.boards.example"

    def require_scope(self, scope: str) -> None:
        """
        Check that the token has *scope*.

        Raises:
            ApiError: The token lacks the scope.
        """
        if self.scopes and scope not in self.scopes:
            raise errors.missing_scope(scope)

    def require_write_scope(self, scope: str) -> None:
        """
        Check that the token has *scope* and that the user may write.

        Raises:
            ApiError: The token lacks the scope, or the user is a viewer.
        """
        self.require_scope(scope)
        if self.user.kind == "view_only":
            raise errors.user_unauthorized()

    def can_see(self, board: Board) -> bool:
        """Whether the user can see a board."""
        return board.kind != "private" or self.user.id in (*board.subscribers, board.creator_id)

    def get_board(self, board_id: object) -> Board:
        """
        Return a board.

        Raises:
            ApiError: No such board, it is deleted, or the user cannot see it.
        """
        board = self.store.boards.find(str(board_id))
        if board is None or not self.can_see(board) or board.state == "deleted":
            raise errors.board_not_found(str(board_id))
        return board

    def get_item(self, item_id: object) -> tuple[Item, Board]:
        """
        Return an active item and its board.

        Raises:
            ApiError: No such item, it is not active, or the user cannot see its board.
        """
        item = self.store.items.find(str(item_id))
        if item is None or item.state != "active":
            raise errors.item_not_found(item_id)
        return item, self.get_board(item.owner)
