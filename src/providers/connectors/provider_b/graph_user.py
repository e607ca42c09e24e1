"""
The user of Microsoft Graph whose mailbox and calendars a connection reaches.

Below `/me`, or of a shared connection below `/users/{mailbox}`, where the signed-in person has
rights: docs/spec/upstream/outlook-mail.md#shared-mailboxes.
"""

from typing import Self

import msgspec

from providers.http.client import Upstream
from providers.ports.connection import ConnectionInfo

_VERSION = "v1.0"


class GraphUser(msgspec.Struct, frozen=True):
    """
    A user, and the client that calls below it.

    Attributes:
        root: Segments of the user's path.
    """

    upstream: Upstream
    root: tuple[str, ...] = (_VERSION, "me")

    @classmethod
    def of(cls, info: ConnectionInfo, upstream: Upstream) -> Self:
        """Return the user of a connection."""
        if info.shared_on is None:
            return cls(upstream)
        return cls(upstream, (_VERSION, "users", info.account_email))

    @property
    def messages(self) -> tuple[str, ...]:
        """Segments of the path of its messages."""
        return (*self.root, "messages")
