"""Structs that Graph's mail responses are decoded into."""

from datetime import datetime

import msgspec

from providers.odata import CamelStruct
from providers.records.base import from_epoch_ms, to_epoch_ms, truncate_to_ms
from providers.timestamps import parse_utc


class Address(CamelStruct):
    name: str | None = None
    address: str | None = None


class Recipient(CamelStruct):
    email_address: Address = msgspec.field(default_factory=Address)


class Body(CamelStruct):
    content_type: str = "html"
    content: str | None = None


class Attachment(CamelStruct):
    """An attachment; *kind* is absent in lists that hold nothing but files."""

    id: str
    kind: str = msgspec.field(default="", name="@odata.type")
    name: str | None = None
    content_type: str | None = None
    size: int = 0
    is_inline: bool = False


class Message(CamelStruct):
    """A message; times are ISO texts."""

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
    sent_date_time: str | None = None
    received_date_time: str | None = None
    is_read: bool | None = None
    is_draft: bool | None = None
    has_attachments: bool | None = None
    attachments: tuple[Attachment, ...] | None = None
    categories: tuple[str, ...] | None = None
    importance: str | None = None
    parent_folder_id: str | None = None

    @property
    def sent_ms(self) -> int:
        """The sent time in milliseconds since the epoch; the received time without one."""
        sent = parse_utc(self.sent_date_time) if self.sent_date_time else None
        return self.received_ms if sent is None else to_epoch_ms(sent)

    @property
    def received_at(self) -> datetime | None:
        """The received time in whole milliseconds; None without one, 1970 when it is invalid."""
        if not self.received_date_time:
            return None
        time = parse_utc(self.received_date_time)
        return from_epoch_ms(0) if time is None else truncate_to_ms(time)

    @property
    def received_ms(self) -> int:
        """The received time in milliseconds since the epoch; 0 without one."""
        received = self.received_at
        return 0 if received is None else to_epoch_ms(received)


class MessagePage(CamelStruct):
    """A page; *count* only on the first page, and only when it was requested."""

    value: tuple[Message, ...] = ()
    count: int | None = msgspec.field(default=None, name="@odata.count")
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")


class Folder(CamelStruct):
    id: str
    child_folder_count: int = 0


class FolderPage(CamelStruct):
    value: tuple[Folder, ...] = ()


class Account(CamelStruct):
    mail: str | None = None
    user_principal_name: str | None = None
    proxy_addresses: tuple[str, ...] = ()


class UploadSession(CamelStruct):
    upload_url: str = ""
    next_expected_ranges: tuple[str, ...] = ()

    @property
    def next_offset(self) -> int | None:
        """The position of the first byte that is missing; None when Graph does not tell."""
        first = self.next_expected_ranges[0].partition("-")[0] if self.next_expected_ranges else ""
        return int(first) if first.isascii() and first.isdigit() else None
