"""The refusal of a request of sign-in."""


class SignInFailed(Exception):
    """
    A request of sign-in that is refused; nothing was granted.

    Attributes:
        error: The word of OAuth (RFC 6749, RFC 8707, RFC 7591).
        message: A sentence that names what was missing.
        status: The HTTP status.
    """

    def __init__(self, error: str, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.error = error
        self.message = message
        self.status = status
