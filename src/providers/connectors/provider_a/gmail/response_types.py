"""Structs that Gmail's responses are decoded into."""

from datetime import datetime
from functools import lru_cache

import msgspec

from providers.mail import parameters
from providers.mail.message_parts import Arrangement
from providers.records.base import Long, from_epoch_ms

_ADDRESSED = frozenset({"to", "cc", "bcc", "reply-to", "from"})


class GoogleStruct(msgspec.Struct, rename="camel", gc=False):
    """Base of Google's responses; members that were not requested keep their defaults."""


class Header(GoogleStruct):
    name: str = ""
    value: str = ""


class PartBody(GoogleStruct):
    """The bytes of a part: *data* is base64url; a large one has only an *attachment_id*."""

    size: Long = 0
    data: str | None = None
    attachment_id: str | None = None


class Part(GoogleStruct):
    """A node of a message; *part_id* is "" at the root."""

    part_id: str = ""
    mime_type: str = ""
    filename: str = ""
    headers: tuple[Header, ...] = ()
    body: PartBody = msgspec.field(default_factory=PartBody)
    parts: "tuple[Part, ...]" = ()

    def header(self, name: str) -> str:
        """Return the value of the first header of this lower-case name, "" when there is none."""
        for header in self.headers:
            if header.name.lower() == name:
                return header.value
        return ""

    def headers_by_name(self) -> dict[str, str]:
        """Return the headers by lower-case name: repeated address headers joined, others first."""
        by_name = {header.name.lower(): header.value for header in reversed(self.headers)}
        if len(by_name) < len(self.headers):
            for name in _ADDRESSED & by_name.keys():
                same = [header.value for header in self.headers if header.name.lower() == name]
                by_name[name] = ", ".join(same)
        return by_name

    @property
    def media_type(self) -> str:
        """The type in lower case."""
        return self.mime_type.lower()

    @property
    def disposition(self) -> str:
        """The Content-Disposition without parameters, lower case; "" without one."""
        for header in self.headers:
            if header.name.lower() == "content-disposition":
                return parameters.without_comment(header.value.partition(";")[0]).lower()
        return ""

    @property
    def has_content_id(self) -> bool:
        """Whether the body can refer to the part."""
        return bool(self.header("content-id"))

    @property
    def encoded_size(self) -> int:
        """Bytes of the part, which Gmail decodes; at least those that came."""
        return max(self.body.size, len(self.body.data or ""))

    @property
    def children(self) -> "tuple[Part, ...]":
        """Return the parts in a container; an attached message is not a container."""
        return self.parts if self.media_type.startswith("multipart/") else ()

    @property
    def root(self) -> int:
        """The first part: the root's headers, which name another, are not always asked for."""
        return 0

    def is_truncated(self) -> bool:
        """Return whether a container came without its parts, because it lies too deep."""
        stack = [self]
        while stack:
            part = stack.pop()
            if part.parts:
                stack.extend(part.children)
            elif part.mime_type.startswith("multipart/"):
                return True
        return False


NO_LEAVES: Arrangement[Part] = Arrangement()
_MAX_DIGITS = 14  # of milliseconds since the epoch: until the year 5138


class Message(GoogleStruct):
    """A message; *internal_date* is its received time, milliseconds since the epoch, as text."""

    id: str = ""
    thread_id: str | None = None
    label_ids: tuple[str, ...] = ()
    snippet: str = ""
    internal_date: str = "0"
    payload: Part = msgspec.field(default_factory=Part)

    @property
    def received_ms(self) -> int:
        """The received time, 0 when it cannot be read."""
        return _epoch_ms(self.internal_date)

    @property
    def received_at(self) -> datetime:
        """The received time, 1970 when it cannot be read."""
        return _received_at(self.internal_date)


def _epoch_ms(date: str) -> int:
    return int(date) if date.isdecimal() and len(date) <= _MAX_DIGITS else 0


@lru_cache(maxsize=2048)  # a message is sorted, filtered and shown by its time
def _received_at(date: str) -> datetime:
    return from_epoch_ms(_epoch_ms(date))


class ParsedMessage(msgspec.Struct, frozen=True, gc=False):
    """A message and its leaves, which are empty unless a wanted attribute needs them."""

    message: Message
    leaves: Arrangement[Part] = NO_LEAVES

    @property
    def id(self) -> str:
        return self.message.id

    @property
    def received_at(self) -> datetime:
        return self.message.received_at


class MessageReference(GoogleStruct):
    id: str
    thread_id: str | None = None


class DraftReference(GoogleStruct):
    id: str
    message: MessageReference | None = None


class DraftPage(GoogleStruct):
    """Drafts that match; `drafts` is absent when there is none."""

    drafts: tuple[DraftReference, ...] = ()
    next_page_token: str | None = None


class MessagePage(GoogleStruct):
    """A page of ids; `messages` is absent when nothing matches."""

    messages: tuple[MessageReference, ...] = ()
    next_page_token: str | None = None
    result_size_estimate: int = 0


class ThreadResponse(GoogleStruct):
    id: str = ""
    messages: tuple[Message, ...] = ()


class Label(GoogleStruct):
    id: str
    name: str
    type: str = "user"


class LabelsResponse(GoogleStruct):
    labels: tuple[Label, ...] = ()


class SendAs(GoogleStruct):
    send_as_email: str = ""
    verification_status: str = "accepted"


class SendAsList(GoogleStruct):
    send_as: tuple[SendAs, ...] = ()


class Profile(GoogleStruct):
    email_address: str = ""
    history_id: str = ""


class HistoryMessage(GoogleStruct):
    """A message of a record; its labels are those of then or of now, or absent."""

    id: str
    label_ids: tuple[str, ...] | None = None


class HistoryEntry(GoogleStruct):
    """One message of a record, and the labels that it got or lost."""

    message: HistoryMessage
    label_ids: tuple[str, ...] = ()


class HistoryRecord(GoogleStruct):
    messages_added: tuple[HistoryEntry, ...] = ()
    messages_deleted: tuple[HistoryEntry, ...] = ()
    labels_added: tuple[HistoryEntry, ...] = ()
    labels_removed: tuple[HistoryEntry, ...] = ()


class HistoryPage(GoogleStruct):
    """Records, oldest first; `history` is absent when there is none."""

    history: tuple[HistoryRecord, ...] = ()
    next_page_token: str | None = None
    history_id: str = ""


class RawMessage(GoogleStruct):
    """The bytes of a message, base64url."""

    id: str = ""
    thread_id: str | None = None
    raw: str = ""


class RawDraft(GoogleStruct):
    message: RawMessage
