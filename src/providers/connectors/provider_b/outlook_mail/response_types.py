"""Structs that Graph's mail responses are decoded into."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, TypeVar, cast

import msgspec

from providers.failures import Broken
from providers.http.response import Response, decode_json
from providers.odata import CamelStruct, with_members
from providers.records.base import from_epoch_ms, to_epoch_ms, truncate_to_ms
from providers.records.mail import Attachment as AttachmentRecord
from providers.timestamps import parse_utc

_Time = Annotated[datetime, msgspec.Meta(tz=True)]
T = TypeVar("T")


class Address(CamelStruct):
    name: str | None = None
    address: str | None = None


class Recipient(CamelStruct):
    email_address: Address = msgspec.field(default_factory=Address)


class Body(CamelStruct):
    content_type: str = "html"
    content: str | None = None


class Attachment(CamelStruct):
    """An attachment that was read alone; *kind* tells files from links to files."""

    id: str
    kind: str = msgspec.field(default="", name="@odata.type")
    name: str | None = None
    content_type: str | None = None
    size: int = 0
    is_inline: bool = False


class AttachmentPage(CamelStruct):
    value: tuple[Attachment, ...] = ()


class Message(CamelStruct):
    """
    A message, decoded by `decode_message` or `decode_page`.

    Attributes:
        sent_at: UTC; None without a valid one.
        received_at: UTC in whole milliseconds; None without one, 1970 when it is invalid.
        attachments: Records already, because Graph's members are those of the record. A name may
            be "".
    """

    id: str
    etag: str | None = msgspec.field(default=None, name="@odata.etag")
    conversation_id: str | None = None
    subject: str | None = None
    from_: Recipient | None = msgspec.field(default=None, name="from")
    sender: Recipient | None = None
    to_recipients: tuple[Recipient, ...] | None = None
    cc_recipients: tuple[Recipient, ...] | None = None
    bcc_recipients: tuple[Recipient, ...] | None = None
    reply_to: tuple[Recipient, ...] | None = None
    body_preview: str | None = None
    body: Body | None = None
    sent_at: _Time | None = msgspec.field(default=None, name="sentDateTime")
    received_at: _Time | None = msgspec.field(default=None, name="receivedDateTime")
    is_read: bool | None = None
    is_draft: bool | None = None
    has_attachments: bool | None = None
    attachments: tuple[AttachmentRecord, ...] | None = None
    categories: tuple[str, ...] | None = None
    importance: str | None = None
    parent_folder_id: str | None = None

    @property
    def sent_ms(self) -> int:
        """The sent time in milliseconds since the epoch; the received time without one."""
        return self.received_ms if self.sent_at is None else to_epoch_ms(self.sent_at)

    @property
    def received_ms(self) -> int:
        """The received time in milliseconds since the epoch; 0 without one."""
        return 0 if self.received_at is None else to_epoch_ms(self.received_at)


class MessagePage(CamelStruct):
    """A page; *count* only on the first page, and only when it was requested."""

    value: tuple[Message, ...] = ()
    count: int | None = msgspec.field(default=None, name="@odata.count")
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")


class Removed(CamelStruct):
    """Why an object has left: *reason* is "changed" or "deleted"."""

    reason: str = ""


class DeltaEntry(CamelStruct):
    """A message or a folder that has come, changed or, with *removed*, left."""

    id: str
    removed: Removed | None = msgspec.field(default=None, name="@removed")
    received: str | None = msgspec.field(default=None, name="receivedDateTime")
    is_draft: bool | None = None
    parent_folder_id: str | None = None

    @property
    def received_ms(self) -> int:
        """The received time in milliseconds since the epoch; 0 without one."""
        time = parse_utc(self.received or "")
        return 0 if time is None else to_epoch_ms(time)


class DeltaPage(CamelStruct):
    """A page of a delta query; it has one of the links."""

    value: tuple[DeltaEntry, ...] = ()
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")
    delta_link: str | None = msgspec.field(default=None, name="@odata.deltaLink")


class Folder(CamelStruct):
    id: str
    child_folder_count: int = 0


class FolderPage(CamelStruct):
    value: tuple[Folder, ...] = ()


class UploadSession(CamelStruct):
    upload_url: str = ""
    next_expected_ranges: tuple[str, ...] = ()

    @property
    def next_offset(self) -> int | None:
        """The position of the first byte that is missing; None when Graph does not tell."""
        first = self.next_expected_ranges[0].partition("-")[0] if self.next_expected_ranges else ""
        return int(first) if first.isascii() and first.isdigit() else None


@lru_cache(maxsize=256)
def message_of(members: AbstractSet[str]) -> type[Message]:
    """Return the type of messages of which only some members, by their JSON names, are decoded."""
    return with_members(Message, members)


@lru_cache(maxsize=256)
def page_of(members: AbstractSet[str]) -> type[MessagePage]:
    """Return the type of pages of `message_of`."""
    values: Any = tuple[message_of(members), ...]  # type: ignore[misc]  # a type made at run time
    page: Any = msgspec.defstruct("MessagePage", [("value", values, ())], bases=(MessagePage,))
    return cast("type[MessagePage]", page)


def decode_message(response: Response, shape: type[Message] = Message) -> Message:
    """
    Decode a message; *shape* is of `message_of`.

    Raises:
        Broken: As `Response.decode`.
    """
    message = _decode(response, shape)
    _normalize_times([message])
    return message


def decode_page(response: Response, shape: type[MessagePage] = MessagePage) -> MessagePage:
    """
    Decode a page of messages; *shape* is of `page_of`.

    Raises:
        Broken: As `Response.decode`.
    """
    page = _decode(response, shape)
    _normalize_times(page.value)
    return page


def _decode(response: Response, shape: type[T]) -> T:
    """Decode a response; one with times that are not in RFC 3339, or nulls, is read slowly."""
    try:
        return msgspec.json.decode(response.body, type=shape)
    except msgspec.ValidationError:
        return _convert(response.decode(dict[str, Any]), shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Broken from None


def _convert(decoded: dict[str, Any], shape: type[T]) -> T:
    messages = decoded.get("value", [decoded])
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict):
            continue
        sent, received = message.get("sentDateTime"), message.get("receivedDateTime")
        if isinstance(sent, str):
            message["sentDateTime"] = parse_utc(sent)
        if isinstance(received, str):
            invalid = from_epoch_ms(0) if received else None
            message["receivedDateTime"] = parse_utc(received) or invalid
        files = message.get("attachments")
        for file in files if isinstance(files, list) else ():
            if isinstance(file, dict) and file.get("name") is None:
                file["name"] = ""
    return decode_json(msgspec.json.encode(decoded), shape)


def _normalize_times(messages: Iterable[Message]) -> None:
    for message in messages:
        sent, received = message.sent_at, message.received_at
        if sent is not None and sent.tzinfo is not UTC:
            message.sent_at = parse_utc(sent.isoformat())
        if received is not None and (received.tzinfo is not UTC or received.microsecond):
            time = parse_utc(received.isoformat())
            message.received_at = from_epoch_ms(0) if time is None else truncate_to_ms(time)
