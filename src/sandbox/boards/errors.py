"""Application errors of the boards API and their codes."""

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


class ApiError(GraphQLError):
    """An application error: code, HTTP-like status and ``error_data``."""

    def __init__(self, code: str, message: str, **data: Any) -> None:
        super().__init__(
            message,
            extensions={"code": code, "status_code": _STATUSES.get(code, 200), "error_data": data},
        )


class BadColumnValue(ApiError):
    """A value that its column cannot take; nothing of the call is applied."""

    def __init__(self, column_type: str, problem: str = "invalid value") -> None:
        super().__init__("ColumnValueException", f"{problem}. {_ADVICE}", column_type=column_type)


def board_not_found(board_id: str) -> ApiError:
    """Build the error for a board that does not exist for this user."""
    return ApiError("InvalidBoardIdException", "This board does not exist.", board_id=board_id)


def item_not_found(item_id: object) -> ApiError:
    """Build the error for an item that does not exist for this user."""
    return ApiError("InvalidItemIdException", "This item does not exist.", item_id=str(item_id))


def column_not_found(column_id: str) -> ApiError:
    """Build the error for a column that the board does not have."""
    return ApiError(
        "InvalidColumnIdException",
        "This column ID doesn't exist for the board",
        column_id=column_id,
    )


def user_unauthorized() -> ApiError:
    """Build the error for an action that the user may not take."""
    return ApiError("UserUnauthorizedException", "User unauthorized to perform action")


def missing_scope(scope: str) -> ApiError:
    """Build the error for a scope that the token lacks."""
    return ApiError(
        "missingRequiredPermissions",
        "The token does not have the required permissions.",
        required_scopes=[scope],
    )
