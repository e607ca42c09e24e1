"""
Port of the drafts of one mailbox: docs/spec/drafts.md.

A draft has an id, the message that it is now, and a version. Ids are native.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol


class DraftIdentity(NamedTuple):
    """
    A draft as it is now.

    Attributes:
        id: Of the draft.
        message_id: Of the message in it, which `MailPort` reads.
        version: Another one after each change; visible ASCII without quotation marks.
    """

    id: str
    message_id: str
    version: str


class DraftPort(Protocol):
    """The drafts of one connection; every method raises members of `providers.failures`."""

    async def identities(self, message_ids: Sequence[str]) -> Mapping[str, DraftIdentity]:
        """Return the drafts whose messages these are, by message id; others are left out."""

    async def locate(self, draft_id: str) -> DraftIdentity:
        """
        Find a draft by its id, or by the id of its message.

        Raises:
            Missing: There is none: it was sent or deleted, or the id is of another message.
        """
