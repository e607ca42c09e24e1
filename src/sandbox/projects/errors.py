"""What the project provider refuses, in the words of its wire."""

from sandbox.http import Response, json_response

_HELP = (
    "For more information on API status codes and how to handle them, read the docs on errors:"
    " https://developers.projects.example/docs/errors"
)


class ApiError(Exception):
    """A call that is refused: status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def answer(self) -> Response:
        """Return the refusal as the wire words it."""
        return error_response(self.status, self.message)


def error_response(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error body."""
    return json_response({"errors": [{"message": message, "help": _HELP}]}, status, headers)


def bad_request(message: str) -> ApiError:
    """Refuse input."""
    return ApiError(400, message)


def not_found(kind: str, gid: object) -> ApiError:
    """Say that a path names nothing."""
    return ApiError(404, f"{kind}: Unknown object: {gid}")


def forbidden(kind: str) -> ApiError:
    """Say that this user may not see something."""
    return ApiError(403, f"You do not have access to this {kind}.")
