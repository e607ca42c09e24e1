"""Fetched messages as records: docs/spec/upstream/imap.md#message-to-email."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from providers.columnar import Column, RecordBuilder, attribute, computed, constant
from providers.connectors.imap import modified_utf7
from providers.connectors.imap.body_structure import Part, Structure
from providers.mail import charsets, message_parts, transfer_encodings
from providers.mail.header_fields import FROM_HEADERS
from providers.records import mail as mail_records
from providers.search_text import html_to_text
from providers.turns import in_turns

PROVIDER = "IMAP"
MAX_PREVIEW = 200  # characters
_FOLD = re.compile(r"\r?\n[ \t]")
_LINE_END = re.compile(r"\r?\n")  # other breaks of lines are characters: RFC 5322, 2.2
_LONG = 50_000  # characters of headers; some ten milliseconds
_CHARACTERS_PER_PART = 20  # that take as long to be mapped
_BLANKS = re.compile(r"\s+")
_MESSAGE_ID = re.compile(rb"<([^<>]{1,500})>")
_BARE_ID = re.compile(rb"[^\s<>@]{1,250}@[^\s<>@]{1,249}")

Headers = Mapping[str, str]  # by lower-case name
_ADDRESSED = frozenset({"from", "to", "cc", "bcc"})


@dataclass(slots=True, kw_only=True)
class FetchedMessage:
    """
    A message as the server sent it.

    Attributes:
        id, thread_id: Native ids; the thread's is None where it was not asked for.
        folder_label: The label of its folder; None where the folder says nothing of the message.
        labels: The labels that a server of Gmail tells, in its spelling.
        flags: In the server's spelling.
        headers: By lower-case name; address headers that are repeated are joined.
        preview: The beginning of the first text, encoded; None where it was not asked for.
        bodies: The texts, encoded, by section; None where they were not asked for.
        charsets: Those that headers of texts name and the server does not report, by section.
    """

    id: str
    received_at: datetime
    folder_label: str | None
    flags: frozenset[str]
    structure: Structure
    headers: Mapping[str, str] = field(default_factory=dict)
    thread_id: str | None = None
    labels: tuple[str, ...] = ()
    preview: bytes | None = None
    bodies: dict[str, bytes] | None = None
    charsets: dict[str, str] = field(default_factory=dict)

    @property
    def is_read(self) -> bool:
        return "\\seen" in self.flags


def emails(
    messages: Sequence[FetchedMessage], projection: AbstractSet[str]
) -> list[mail_records.Email]:
    """Make records of messages, in their order; attributes that are not wanted stay None."""
    return _EMAILS.records(messages, projection)


async def emails_in_turns(
    messages: Sequence[FetchedMessage], projection: AbstractSet[str]
) -> list[mail_records.Email]:
    """Do as `emails`; large messages are mapped in turns with other work of the event loop."""
    headers = sum(len(text) for message in messages for text in message.headers.values())
    parts = sum(len(message.structure.parts) for message in messages)
    size = headers + _CHARACTERS_PER_PART * parts
    if size <= _LONG:
        return emails(messages, projection)
    return [
        email async for message in in_turns(messages) for email in emails([message], projection)
    ]


def parse_headers(block: bytes) -> dict[str, str]:
    """Return the headers of a block by lower-case name; the first of each name counts."""
    by_name: dict[str, list[str]] = {}
    text = _FOLD.sub(" ", charsets.decode_or_utf8(block, None))
    for line in _LINE_END.split(text):
        name, colon, value = line.partition(":")
        key = name.rstrip(" \t").lower()
        if not colon:
            continue
        if key not in by_name:
            by_name[key] = [value.strip()]
        elif key in _ADDRESSED:
            by_name[key].append(value.strip())
    return {key: ", ".join(values) for key, values in by_name.items()}


def message_ids(text: str) -> list[bytes]:
    """Return the Message-IDs in a header, without their brackets; one alone may have none."""
    content = text.encode("utf-8", "replace")
    angled = [b" ".join(match.split()) for match in _MESSAGE_ID.findall(content)]
    identifiers = [identifier for identifier in angled if identifier]
    if not identifiers and _BARE_ID.fullmatch(content.strip()):
        return [content.strip()]
    return identifiers


def only_parent(headers: Headers) -> bytes | None:
    """Return the Message-ID of the parent where nothing else tells the thread."""
    if message_ids(headers.get("references", "")):
        return None
    return next(iter(message_ids(headers.get("in-reply-to", ""))), None)


def thread_root(headers: Headers) -> bytes | None:
    """Return the Message-ID that the message's thread begins with; None: it has none."""
    for name in ("references", "in-reply-to", "message-id"):
        known = message_ids(headers.get(name, ""))
        if known:
            return known[0]
    return None


def texts_without_charset(message: FetchedMessage) -> list[Part]:
    """Return the texts that were read whose charset neither the server nor the bytes tell."""
    contents = message.bodies
    texts = message.structure.arrangement.texts
    if contents is None:
        contents = {part.section: message.preview or b"" for part in texts[:1]}
    return [
        part
        for part in texts
        if charsets.is_unstated(part.charset)
        and not charsets.is_utf8(_decoded(part, contents.get(part.section, b"")), is_cut=True)
    ]


def _decoded(part: Part, content: bytes) -> bytes:
    return transfer_encodings.decode(content, part.encoding, is_cut=len(content) < part.size)


def _text(message: FetchedMessage, part: Part, content: bytes, *, is_cut: bool = False) -> str:
    decoded = transfer_encodings.decode(content, part.encoding, is_cut=is_cut)
    charset = message.charsets.get(part.section) or part.charset
    is_html = part.media_type == "text/html"
    return charsets.decode_or_utf8(decoded, charset, is_html=is_html, is_cut=is_cut)


def _body(message: FetchedMessage) -> str | None:
    texts, bodies = message.structure.arrangement.texts, message.bodies
    if not texts or bodies is None:
        return None
    return message_parts.join_texts(
        [(part.media_type, _text(message, part, bodies.get(part.section, b""))) for part in texts]
    )


def _preview(message: FetchedMessage) -> str:
    texts = message.structure.arrangement.texts
    if not texts:
        return ""
    content = message.preview
    if content is None and message.bodies is not None:
        content = message.bodies.get(texts[0].section)
    return "" if content is None else preview_text(message, content)


def preview_text(message: FetchedMessage, content: bytes) -> str:
    """Return the preview of the first text, of which *content* is the beginning."""
    part = message.structure.arrangement.texts[0]
    is_cut = len(content) < part.size
    text = _text(message, part, content, is_cut=is_cut)
    visible = html_to_text(text, is_cut=is_cut) if part.media_type == "text/html" else text
    return _BLANKS.sub(" ", visible).strip()[:MAX_PREVIEW]


def _labels(message: FetchedMessage) -> tuple[str, ...]:
    keywords = sorted(flag for flag in message.flags if not flag.startswith(("\\", "$")))
    folder = () if message.folder_label is None else (message.folder_label,)
    labels = [label for label in gmail_label_names(message.labels) if label[:1] != "\\"]
    return tuple(dict.fromkeys([*folder, *labels, *map(modified_utf7.decode, keywords)]))


def gmail_label_names(labels: Sequence[str]) -> list[str]:
    """Return labels that a server of Gmail tells as other calls of it write them."""
    return [modified_utf7.decode(_GMAIL_LABELS.get(label.upper(), label)) for label in labels]


# The system labels of Gmail: as other calls than IMAP's write them -> as its server does.
GMAIL_SYSTEM_LABELS = MappingProxyType(
    {
        "INBOX": "\\Inbox",
        "SENT": "\\Sent",
        "DRAFT": "\\Draft",
        "STARRED": "\\Starred",
        "IMPORTANT": "\\Important",
    }
)
_GMAIL_LABELS = {name.upper(): label for label, name in GMAIL_SYSTEM_LABELS.items()}


def _attachments(message: FetchedMessage) -> tuple[mail_records.Attachment, ...]:
    return tuple([attachment(message.id, part) for part in message.structure.arrangement.files])


def attachment(message_id: str, part: Part) -> mail_records.Attachment:
    """Make a record of an attachment; its id is valid for this message alone."""
    return mail_records.Attachment(
        f"{message_id}.{part.section}",
        part.filename or "noname",
        part.media_type or None,
        part.decoded_size,
        message_parts.is_inline(part),
    )


def _from_header(name: str) -> Column:
    """Return the column of an attribute that is read from the headers."""
    read = FROM_HEADERS[name]
    return computed(lambda message: read(message.headers))


_EMAILS = RecordBuilder(
    mail_records.Email,
    {
        "id": attribute("id"),
        "provider": constant(PROVIDER),
        "thread_id": attribute("thread_id"),
        "subject": _from_header("subject"),
        "from_": _from_header("from_"),
        "to": _from_header("to"),
        "cc": _from_header("cc"),
        "bcc": _from_header("bcc"),
        "body_preview": computed(_preview),
        "body": computed(_body),
        "body_type": attribute("structure.arrangement.body_type"),
        # Without a valid date, a message was sent when it was received.
        "sent_at": computed(
            lambda message: FROM_HEADERS["sent_at"](message.headers) or message.received_at
        ),
        "received_at": attribute("received_at"),
        "is_read": attribute("is_read"),
        "has_attachments": attribute("structure.arrangement.has_attachments"),
        "attachments": computed(_attachments),
        "labels": computed(_labels),
        "importance": _from_header("importance"),
    },
    always=frozenset({"id", "provider", "thread_id", "received_at", "is_read", "has_attachments"}),
)
