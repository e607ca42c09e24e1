"""A call that provider A refuses, raised where it is known and worded in one place."""

from sandbox.error_bodies import provider_a
from sandbox.http import Response
from sandbox.oauth.tokens import TokenGrant

FULL_SCOPE = "mail.google.com"


class GoogleError(Exception):
    """
    A error.

    Attributes:
        reason: The word in ``errors[]``; "" for the status' usual one.
    """

    def __init__(self, status: int, message: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.reason = reason

    def response(self) -> Response:
        """Word it."""
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
    Pass when the token has any of *scopes* (last path segments, as ``gmail.modify``).

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
