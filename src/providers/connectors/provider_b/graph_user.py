"""
The user of Microsoft Graph whose mailbox and calendars a connection reaches.

Below `/me`, or of a shared connection below `/users/{mailbox}`, where the signed-in person has
rights: docs/spec/upstream/outlook-mail.md#shared-mailboxes.
"""

from typing import Any, Self

import msgspec

from providers.connectors.provider_b.failures import SEND_AS_DENIED
from providers.dry_run import READ_METHODS
from providers.failures import Inaccessible, ReadOnlyGrant, Refused
from providers.http.client import Response, Upstream
from providers.ports.connection import ConnectionInfo

_VERSION = "v1.0"
_READS_ONLY = "The person whose rights the shared mailbox is opened with may only read it."
_SENDS_NOT = "The person whose rights the shared mailbox is opened with may not send from it."


class GraphUser(msgspec.Struct, frozen=True):
    """
    A user, and the client that calls below it.

    Attributes:
        root: Segments of the user's path.
        shared: Address of the mailbox, of somebody else than the person who signed in; "": own.
    """

    upstream: Upstream
    root: tuple[str, ...] = (_VERSION, "me")
    shared: str = ""

    @classmethod
    def of(cls, info: ConnectionInfo, upstream: Upstream) -> Self:
        """Return the user of a connection."""
        if info.shared_on is None:
            return cls(upstream)
        return cls(upstream, (_VERSION, "users", info.account_email), info.account_email)

    @property
    def messages(self) -> tuple[str, ...]:
        """Segments of the path of its messages."""
        return (*self.root, "messages")

    @property
    def author(self) -> dict[str, object]:
        """Members of a draft that say whom it is from; Graph adds who sends on behalf."""
        return {"from": {"emailAddress": {"address": self.shared}}} if self.shared else {}

    async def call(self, method: str, *segments: str, **options: Any) -> Response:
        """
        Call as `Upstream.call`.

        Raises:
            ReadOnlyGrant: The person may not make this change in a mailbox of somebody else.
            ProviderFailure: Any other failure.
        """
        try:
            return await self.upstream.call(method, *segments, **options)
        except Refused as failure:
            if not self.shared or method in READ_METHODS:
                raise
            if failure.word == SEND_AS_DENIED:
                raise ReadOnlyGrant(_SENDS_NOT, status=403, word=failure.word) from failure
            if isinstance(failure, Inaccessible) and failure.status == 403:
                raise ReadOnlyGrant(_READS_ONLY, status=403, word=failure.word) from failure
            raise
