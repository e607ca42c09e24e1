"""Error responses as exceptions, and the check of scopes."""

from sandbox.error_bodies import provider_a
from sandbox.http import Response
from sandbox.oauth.tokens import TokenGrant

FULL_SCOPE = "mail.google.com"


class GoogleError(Exception):
    """
    An error response of a Google API.

    Attributes:
        reason: The ``reason`` in ``errors[]``; "" for the default of the status.
    """

    def __init__(self, status: int, message: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.reason = reason

    def response(self) -> Response:
        """Return the error as a response."""
        headers = {}
        if self.status == 403 and self.reason == "insufficientPermissions":
            headers["www-authenticate"] = (
                'Bearer realm="https://accounts.example/", error="insufficient_scope"'
            )
        return provider_a(self.status, reason=self.reason, message=self.message, headers=headers)


class NotFound(GoogleError):
    def __init__(self) -> None:
        super().__init__(404, "Requested entity was not found.", "notFound")


def require_scope(grant: TokenGrant | None, *scopes: str) -> None:
    """
    Check that the token has one of *scopes*, or full access.

    A scope is named by its last path segment (``gmail.modify``).

    Raises:
        GoogleError: 403 insufficientPermissions.
    """
    if not scope_names(grant) & {FULL_SCOPE, *scopes}:
        raise GoogleError(
            403, "Request had insufficient authentication scopes.", "insufficientPermissions"
        )


def scope_names(grant: TokenGrant | None) -> frozenset[str]:
    """Return the last path segments of a token's scopes."""
    scopes = () if grant is None else grant.scopes
    return frozenset(scope.rstrip("/").rsplit("/", 1)[-1] for scope in scopes)
