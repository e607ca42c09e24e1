"""Mail records. Times are UTC; ids are native in a connector's records and prefixed for callers."""

from datetime import datetime

from providers.records.base import Long, Mark, Record


class ParticipantMark(Mark):
    __slots__ = ()


class Participant(Record, ParticipantMark, frozen=True):
    email: str
    name: str | None = None


class AttachmentMark(Mark):
    __slots__ = ()


class Attachment(Record, AttachmentMark, frozen=True, rename="camel"):
    id: str
    name: str
    content_type: str | None = None
    size: Long = 0
    is_inline: bool = False


class Email(Record, frozen=True):
    """
    One message. `body_type` is "text" or "html"; `importance` "low", "normal" or "high".

    Attributes:
        connection_id: The connection that it was read from; not set by connectors.
    """

    id: str
    provider: str
    thread_id: str | None = None
    subject: str | None = None
    from_: Participant | None = None
    to: tuple[Participant, ...] | None = None
    cc: tuple[Participant, ...] | None = None
    bcc: tuple[Participant, ...] | None = None
    body_preview: str | None = None
    body: str | None = None
    body_type: str | None = None
    sent_at: datetime | None = None
    received_at: datetime | None = None
    is_read: bool = False
    has_attachments: bool = False
    attachments: tuple[Attachment, ...] | None = None
    labels: tuple[str, ...] | None = None
    importance: str | None = None
    connection_id: Long | None = None


class StoredDraft(Record, frozen=True):
    """
    A draft in a mailbox.

    Attributes:
        id: Stays the same while the draft is edited, where the provider has such an id.
        version: Another one after each change of the draft.
    """

    id: str
    version: str
    email: Email


class Thread(Record, frozen=True):
    """A conversation; `messages` oldest first, without drafts and trashed ones."""

    id: str
    provider: str
    messages: tuple[Email, ...]

    @property
    def message_count(self) -> int:
        return len(self.messages)


class SentMessage(Record, frozen=True):
    """
    Ids of a message just sent or changed; None where upstream does not tell them.

    Attributes:
        held: Whether it is a draft, which a person is to send.
    """

    email_id: str | None = None
    thread_id: str | None = None
    held: bool = False
