"""
Causes for which a connection stops working, with a stable code, a reason and a remedy.

See docs/spec/connection-health.md#causes. A cause explains; whether a connection is dead is decided
elsewhere, by less and by more stable facts.
"""

import socket
import ssl
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Cause(StrEnum):
    """The codes; each is stored, shown and counted by this name."""

    CONSENT_WITHDRAWN = "CONSENT_WITHDRAWN"
    CONSENT_EXPIRED = "CONSENT_EXPIRED"
    CONSENT_UNUSED = "CONSENT_UNUSED"
    PASSWORD_CHANGED = "PASSWORD_CHANGED"  # noqa: S105 - a code
    PASSWORD_EXPIRED = "PASSWORD_EXPIRED"  # noqa: S105
    LOGIN_REFUSED = "LOGIN_REFUSED"
    TOKEN_REFUSED = "TOKEN_REFUSED"  # noqa: S105
    SIGN_IN_REQUIRED = "SIGN_IN_REQUIRED"
    DENIED_BY_POLICY = "DENIED_BY_POLICY"
    ACCOUNT_BLOCKED = "ACCOUNT_BLOCKED"
    SCOPE_MISSING = "SCOPE_MISSING"
    CLIENT_REFUSED = "CLIENT_REFUSED"
    CLIENT_SECRET_EXPIRED = "CLIENT_SECRET_EXPIRED"  # noqa: S105
    CERTIFICATE_INVALID = "CERTIFICATE_INVALID"
    SERVER_NOT_FOUND = "SERVER_NOT_FOUND"

    @property
    def reason(self) -> str:
        """The clause that says what has happened, with the code."""
        return f"{_TEXTS[self][0]} ({self.value})"

    @property
    def remedy(self) -> str:
        """The sentence that says what is needed beside reconnecting; "" for nothing."""
        return _TEXTS[self][1]


# Reason and remedy; short, because messages of errors are cut (docs/spec/errors.md#error-body).
_TEXTS: Mapping[Cause, tuple[str, str]] = MappingProxyType(
    {
        Cause.CONSENT_WITHDRAWN: ("its consent was withdrawn or revoked", ""),
        Cause.CONSENT_EXPIRED: ("its consent was for a limited time", ""),
        Cause.CONSENT_UNUSED: ("its consent was unused for too long", ""),
        Cause.PASSWORD_CHANGED: ("the account's password was changed", ""),
        Cause.PASSWORD_EXPIRED: (
            "the account's password has expired",
            "Its owner must set a new one first.",
        ),
        Cause.LOGIN_REFUSED: ("the server refuses the user name or the password", ""),
        Cause.TOKEN_REFUSED: ("its token is wrong, expired or revoked", ""),
        Cause.SIGN_IN_REQUIRED: ("its owner must sign in again", ""),
        Cause.DENIED_BY_POLICY: (
            "a policy denies access",
            "The account's administrators must allow the application first.",
        ),
        Cause.ACCOUNT_BLOCKED: (
            "the account is disabled, blocked or deleted",
            "Its administrators must enable it first.",
        ),
        Cause.SCOPE_MISSING: ("its consent lacks a permission", ""),
        Cause.CLIENT_REFUSED: (
            "the provider refuses the OAuth client",
            "An operator must correct its id or secret.",
        ),
        Cause.CLIENT_SECRET_EXPIRED: (
            "the secret of the OAuth client has expired",
            "An operator must store a new one.",
        ),
        Cause.CERTIFICATE_INVALID: (
            "the server's certificate is not valid",
            "It must be valid for its name and today, and be trusted by the gateway.",
        ),
        Cause.SERVER_NOT_FOUND: (
            "the name of the server is not known",
            "An operator must correct the address of the server, or the DNS of the gateway.",
        ),
    }
)


EXPIRES_SOON = "EXPIRES_SOON"  # the code of the warning before an end
WARNED_MS = 72 * 60 * 60 * 1000  # before an end; 48 hours are promised


def is_due(expires_at: int | None, now: int) -> bool:
    """Return whether an end is so near at *now*, both in milliseconds, that people are warned."""
    return expires_at is not None and expires_at - now <= WARNED_MS


def renewal_due(status: str, expires_at: int | None) -> int | None:
    """Return from when on an owner is asked to renew a connection: 0 for now; None: never."""
    if status == "needs_reauth":
        return 0
    return None if status != "active" or expires_at is None else expires_at - WARNED_MS


def of_error(error: BaseException | None) -> Cause | None:
    """Return why a server cannot be reached, if *error*, or what led to it, will not pass."""
    for _ in range(_LONGEST_CHAIN):
        match error:
            case None:
                return None
            case ssl.SSLCertVerificationError():
                return Cause.CERTIFICATE_INVALID
            case socket.gaierror() if error.errno in _NO_SUCH_NAME:  # a resolver may be down, too
                return Cause.SERVER_NOT_FOUND
        error = error.__cause__ or error.__context__
    return None


def known(code: str | None) -> Cause | None:
    """Return the cause of a stored *code*; None for none, or for one of another version."""
    return _BY_CODE.get(code or "")


_LONGEST_CHAIN = 10
_NO_SUCH_NAME = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})
_BY_CODE = {cause.value: cause for cause in Cause}
