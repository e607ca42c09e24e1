"""What the project provider refuses, in the words of its wire."""

from sandbox.http import Response, json_response

_HELP = (
    "For more information on API status codes and how to handle them, read the docs on errors:"
    " https://developers.projects.example/docs/errors"
)


class Refused(Exception):
    """A call that is refused: status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def answer(self) -> Response:
        """Return the refusal as the wire words it."""
        return said(self.status, self.message)


def said(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error body."""
    return json_response({"errors": [{"message": message, "help": _HELP}]}, status, headers)


def bad(message: str) -> Refused:
    """Refuse input."""
    return Refused(400, message)


def unknown(kind: str, gid: object) -> Refused:
    """Say that a path names nothing."""
    return Refused(404, f"{kind}: Unknown object: {gid}")


def forbidden(kind: str) -> Refused:
    """Say that this user may not see something."""
    return Refused(403, f"You do not have access to this {kind}.")
