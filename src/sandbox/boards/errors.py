"""What the board provider refuses, with the code words of its wire."""

from typing import Any

from graphql import GraphQLError

_STATUSES = {
    "InvalidBoardIdException": 404,
    "InvalidItemIdException": 404,
    "ResourceNotFoundException": 404,
    "UserUnauthorizedException": 403,
    "missingRequiredPermissions": 403,
    "COMPLEXITY_BUDGET_EXHAUSTED": 429,
    "ComplexityException": 429,
    "Resource is currently locked": 423,
}
_ADVICE = (
    "Please check our API documentation for the correct data structure for this column."
    " https://developer.boards.example/api-reference/docs/change-column-values"
)


class Refused(GraphQLError):
    """An application error: its code, the status it stands for, and what belongs to it."""

    def __init__(self, code: str, message: str, **data: Any) -> None:
        super().__init__(
            message,
            extensions={"code": code, "status_code": _STATUSES.get(code, 200), "error_data": data},
        )


class BadColumnValue(Refused):
    """A value that its column cannot take; nothing of the call is applied."""

    def __init__(self, kind: str, problem: str = "invalid value") -> None:
        super().__init__("ColumnValueException", f"{problem}. {_ADVICE}", column_type=kind)


def no_board(board_id: str) -> Refused:
    """Say that there is no such board for this user."""
    return Refused("InvalidBoardIdException", "This board does not exist.", board_id=board_id)


def no_item(item_id: object) -> Refused:
    """Say that there is no such item for this user."""
    return Refused("InvalidItemIdException", "This item does not exist.", item_id=str(item_id))


def no_column(column_id: str) -> Refused:
    """Say that the board has no such column."""
    return Refused(
        "InvalidColumnIdException",
        "This column ID doesn't exist for the board",
        column_id=column_id,
    )


def not_allowed() -> Refused:
    """Say that this user may not."""
    return Refused("UserUnauthorizedException", "User unauthorized to perform action")


def lacks_scope(scope: str) -> Refused:
    """Say that the token lacks a scope."""
    return Refused(
        "missingRequiredPermissions",
        "The token does not have the required permissions.",
        required_scopes=[scope],
    )
