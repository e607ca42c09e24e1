"""Errors of the projects API and their response bodies."""

from sandbox.http import Response, json_response

_HELP = (
    "For more information on API status codes and how to handle them, read the docs on errors:"
    " https://developers.projects.example/docs/errors"
)


class ApiError(Exception):
    """A failed call: HTTP status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def response(self) -> Response:
        """Build the error response."""
        return error_response(self.status, self.message)


def error_response(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """Build an error response."""
    return json_response({"errors": [{"message": message, "help": _HELP}]}, status, headers)


def bad_request(message: str) -> ApiError:
    """Build the error for invalid input."""
    return ApiError(400, message)


def not_found(kind: str, gid: object) -> ApiError:
    """Build the error for an id of the path that does not exist."""
    return ApiError(404, f"{kind}: Unknown object: {gid}")


def forbidden(kind: str) -> ApiError:
    """Build the error for a record that the user cannot see."""
    return ApiError(403, f"You do not have access to this {kind}.")
