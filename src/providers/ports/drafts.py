"""
Port of the drafts of one mailbox: docs/spec/drafts.md.

A draft has an id, the message that it is now, and a version. Ids are native.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from providers.records.mail import Participant, SentMessage

if TYPE_CHECKING:
    from providers.ports.mail import OutgoingFile, SendAttempt


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftChange:
    """
    A change of a draft; what is None stays as it is.

    Attributes:
        body_type: Of the new body: "html" or "text".
        files: Attached besides those that the draft has.
        removed: Ids of attachments that go.
    """

    to: tuple[Participant, ...] | None = None
    cc: tuple[Participant, ...] | None = None
    bcc: tuple[Participant, ...] | None = None
    subject: str | None = None
    body: str | None = None
    body_type: str = "html"
    importance: str | None = None
    files: "tuple[OutgoingFile, ...]" = ()
    removed: tuple[str, ...] = ()


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

    async def update(self, identity: DraftIdentity, change: DraftChange) -> DraftIdentity:
        """
        Change the named members and no other; return the draft as it is then.

        Raises:
            Missing: There is no such draft, or it has no such attachment.
            Stale: It was changed since it was located.
            Impossible: It cannot be changed so.
            UnsafeMessage: A value cannot be written.
        """

    async def send(self, draft_id: str, attempt: "SendAttempt") -> SentMessage:
        """
        Send a draft once, as it is; where it was not sent, it stays. *draft_id* is its own id.

        Raises:
            OutcomeUnknown: It may have been sent.
        """
