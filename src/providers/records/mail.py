"""
What every connector returns: frozen records, decoded once, never changed.

A GraphQL type of the same name is a view over its record, so attribute names are the snake_case of
the schema's field names (`from_` for `from`). A member that was not wanted, or that upstream does
not tell, is None; sequences are tuples. Times are aware, UTC. Source: contract, "Resources and
their fields"; decisions 6, 7.2, 8.
"""

from datetime import UTC, datetime, timedelta
from typing import ClassVar

import msgspec

NULLS = 64  # spare nulls of every record: `null_0`, `null_1` …


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """
    Root of all records.

    Attributes:
        is_record: Tells a record from everything else; never encoded. With it come the spare
            nulls, which `graph.execution.plan` reads in place of what a caller may not see.
    """

    is_record: ClassVar[msgspec.UnsetType] = msgspec.UNSET


for _number in range(NULLS):
    setattr(Record, f"null_{_number}", None)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds(moment: datetime) -> int:
    """Return an aware time as milliseconds since the epoch, rounded down."""
    since = moment - EPOCH
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000


def moment(received_ms: int) -> datetime:
    """Return milliseconds since the epoch as UTC."""
    return EPOCH + timedelta(0, 0, 0, received_ms)  # by keyword it would cost half as much again


def whole_milliseconds(moment: datetime) -> datetime:
    """Return an aware time without what lies below its milliseconds."""
    rest = moment.microsecond % 1000
    return moment.replace(microsecond=moment.microsecond - rest) if rest else moment


# -- email ---------------------------------------------------------------------------------------


class Participant(Record, frozen=True):
    email: str
    name: str | None = None


class Attachment(Record, frozen=True):
    id: str
    name: str
    content_type: str | None = None
    size: int = 0
    is_inline: bool = False


class Email(Record, frozen=True):
    """One message. `body_type` is "text" or "html"; `importance` "low", "normal" or "high"."""

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


class Thread(Record, frozen=True):
    """A conversation; `messages` oldest first, without drafts and trashed ones."""

    id: str
    provider: str
    messages: tuple[Email, ...]

    @property
    def message_count(self) -> int:
        return len(self.messages)


class SentMessage(Record, frozen=True):
    """What is known of a message just sent, prefixed; provider B tells neither."""

    email_id: str | None = None
    thread_id: str | None = None
