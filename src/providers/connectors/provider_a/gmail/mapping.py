"""Gmail messages as records: docs/spec/upstream/gmail.md#message-to-email."""

import binascii
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from providers.columnar import RecordBuilder, attribute, constant
from providers.connectors.provider_a.gmail.response_types import Message, ParsedMessage, Part
from providers.ids import are_provider_a_ids
from providers.mail import addresses, charsets, message_parts, parameters
from providers.mail.header_fields import FROM_HEADERS
from providers.records import mail as mail_records
from providers.search_text import unescape
from providers.turns import in_turns

PROVIDER = "PROVIDER_A"
UNREAD_LABEL = "UNREAD"  # not shown as a label: `is_read` says the same

LargeTexts = Mapping[tuple[str, str], str]  # by the ids of the message and of its part


async def emails(
    messages: Sequence[ParsedMessage],
    projection: AbstractSet[str],
    *,
    labels: Mapping[str, str],
    bodies: LargeTexts,
) -> list[mail_records.Email]:
    """
    Make records of messages, in their order, in turns with other work of the event loop.

    Args:
        messages: Read with `requested_fields.message` for at least *projection*.
        projection: Attributes of `Email`; others stay None.
        labels: Label id to name; a label that is not in it keeps its id.
        bodies: Large texts, which were read separately.
    """
    columns: dict[str, Iterable[object]] = {}
    from_headers = projection & FROM_HEADERS.keys()
    if from_headers:
        headers = [parsed.message.payload.headers_by_name() async for parsed in in_turns(messages)]
        for name in from_headers:
            read = FROM_HEADERS[name]
            columns[name] = [read(by_name) async for by_name in in_turns(headers)]
    if "subject" in from_headers:  # its encoded words are decoded already
        columns["subject"] = [by_name.get("subject") for by_name in headers]
    if "sent_at" in from_headers:
        # Without a valid date, a message was sent when it was received.
        columns["sent_at"] = [
            sent_at or parsed.received_at
            for sent_at, parsed in zip(columns["sent_at"], messages, strict=True)
        ]
    if "attachments" in projection:
        attachments = [
            tuple([attachment(parsed.id, file) for file in parsed.leaves.files])
            async for parsed in in_turns(messages)
        ]
        columns["attachments"] = attachments
        columns["has_attachments"] = [parsed.leaves.has_attachments for parsed in messages]
    if "labels" in projection:
        label_ids = [parsed.message.label_ids for parsed in messages]
        names = {ids: label_names(ids, labels) for ids in set(label_ids)}  # few differ
        columns["labels"] = [names[ids] for ids in label_ids]
    if "body" in projection:
        columns["body"] = [_text(parsed, bodies) async for parsed in in_turns(messages)]
    return _EMAILS.records(messages, projection, columns)


def part_text(part: Part, data: str | None = None) -> str:
    """Decode a text part by its charset; *data* (base64url) replaces the part's own data."""
    charset = parameters.charset(part.header("content-type"))
    content = decode_base64url(part.body.data if data is None else data)
    return charsets.decode_or_utf8(content, charset, is_html=part.media_type == "text/html")


def decode_base64url(data: str | None) -> bytes:
    """Decode base64url, padded or not; b"" when *data* is invalid."""
    text = (data or "").rstrip("=")
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""


def attachment(message_id: str, file: Part) -> mail_records.Attachment:
    """Make a record of an attachment; its id is valid for this message alone."""
    return mail_records.Attachment(
        f"{message_id}.{file.part_id or '0'}",
        addresses.decode_words(file.filename) or "noname",
        file.mime_type or None,
        file.body.size,
        message_parts.is_inline(file),
    )


def have_valid_ids(messages: Iterable[Message]) -> bool:
    """Whether all ids of *messages* and their threads have the form of ids."""
    ids = [message.id for message in messages]
    ids += [thread for message in messages if (thread := message.thread_id) is not None]
    return are_provider_a_ids(ids)


def _text(parsed: ParsedMessage, large: LargeTexts) -> str | None:
    parts = parsed.leaves.texts
    if not parts:
        return None
    texts = []
    for part in parts:
        text = large.get((parsed.id, part.part_id))
        texts.append((part.media_type, part_text(part) if text is None else text))
    return message_parts.join_texts(texts)


def label_names(label_ids: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the labels of a message as `Email.labels` shows them."""
    return tuple(
        [names.get(label_id, label_id) for label_id in label_ids if label_id != UNREAD_LABEL]
    )


_EMAILS = RecordBuilder(
    mail_records.Email,
    {
        "id": attribute("message.id"),
        "provider": constant(PROVIDER),
        "thread_id": attribute("message.thread_id"),
        "body_preview": attribute("message.snippet", unescape),
        "body_type": attribute("leaves.body_type"),
        "received_at": attribute("message.received_at"),
        "is_read": attribute("message.label_ids", lambda labels: UNREAD_LABEL not in labels),
        "has_attachments": attribute("leaves.has_attachments"),
    },
    always=frozenset({"id", "provider", "thread_id", "received_at", "is_read", "has_attachments"}),
)
