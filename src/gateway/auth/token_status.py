"""Whether an access token is active, revoked or expired."""

from enum import StrEnum
from typing import Protocol


class Status(StrEnum):
    ACTIVE = "active"
    REVOKED = "revoked"
    EXPIRED = "expired"


class _Lifetime(Protocol):
    @property
    def revoked_at(self) -> int | None: ...
    @property
    def expires_at(self) -> int | None: ...


def status(token: _Lifetime, now: int) -> Status:
    """Return the status of *token* at *now*, in milliseconds."""
    if token.revoked_at is not None:
        return Status.REVOKED
    if token.expires_at is not None and token.expires_at <= now:
        return Status.EXPIRED
    return Status.ACTIVE
