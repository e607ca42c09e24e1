"""Logins at a mail or calendar server of the owner's own, as they are stored."""

from dataclasses import dataclass, field
from typing import Protocol

from providers.failures import NeedsReauth


@dataclass(frozen=True, slots=True)
class Login:
    """
    User and password at a server of the owner's own.

    Attributes:
        password: With *has_token* an OAuth access token.
        id_key: Key of the connection's ids, `message_ids.KEY_BYTES` bytes; it never changes.
        version: Counts the changes of the login.
        submission: The address of the server for outgoing mail; "" for none.
    """

    username: str
    password: str = field(repr=False)
    id_key: bytes = field(repr=False)
    version: int
    submission: str = ""
    has_token: bool = False


class Logins(Protocol):
    """The stored logins of connections."""

    async def read(self, connection: int) -> Login:
        """Return the login as it is stored now; raises `NeedsReauth` when there is none."""

    async def mark_refused(self, connection: int, login: Login, failure: NeedsReauth) -> None:
        """Note that the server refuses a login, so that its connection is not used any more."""

    async def renew(self, connection: int, login: Login) -> Login | None:
        """Return a login with another token than that of *login*; None when it is a password."""

    async def note_submission(self, connection: int, *, refused: bool) -> None:
        """Note whether the server for outgoing mail refused the login or took it."""
