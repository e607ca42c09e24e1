"""Provider A's messages as records. Source: wire report, 1A.0; decisions 16."""

import binascii
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from html import unescape

from providers.columnar import RecordBuilder, attribute, computed, constant
from providers.connectors.provider_a.gmail import addresses, charsets, dates
from providers.connectors.provider_a.gmail.response_types import Message, ParsedMessage, Part
from providers.ids import are_provider_a_ids
from providers.records import mail as mail_records

PROVIDER = "PROVIDER_A"
UNREAD_LABEL = "UNREAD"  # isRead says it

_CHARSET = re.compile(r'charset\s*=\s*"?([^\s";]+)', re.IGNORECASE)
_PRIORITIES = {"1": "high", "2": "high", "4": "low", "5": "low"}


def emails(
    opened: Sequence[ParsedMessage],
    wanted: AbstractSet[str],
    *,
    labels: Mapping[str, str],
    bodies: Mapping[str, str],
) -> list[mail_records.Email]:
    """
    Make records of what is wanted of messages.

    Args:
        opened: Fetched with `fields.message` for at least *wanted*.
        wanted: Attributes of `records.Email`; others stay None.
        labels: Label id to name; a label that is not in it keeps its id.
        bodies: The texts that had to be fetched apart, by message id.
    """
    given: dict[str, Iterable[object]] = {}
    headed = wanted & _HEADED.keys()
    if headed:
        heads = [one.message.payload.head() for one in opened]
        given |= {name: map(_HEADED[name], heads) for name in headed}
    if "sent_at" in headed:
        # What is no date gives way to the received time.
        given["sent_at"] = [
            sent or one.received_at for sent, one in zip(given["sent_at"], opened, strict=True)
        ]
    if "attachments" in wanted:
        attached = [_attachments(one.leaves.files) for one in opened]
        given["attachments"] = attached
        given["has_attachments"] = [not all(file.is_inline for file in files) for files in attached]
    if "labels" in wanted:
        given["labels"] = [_labels(one.message, labels) for one in opened]
    if "body" in wanted:
        given["body"] = [bodies[one.id] if one.id in bodies else _text(one) for one in opened]
    return _EMAILS.records(opened, wanted, given)


def body_part(one: ParsedMessage) -> Part | None:
    """Return the leaf that is the body: the first of HTML, else the first of plain text."""
    for kind in ("text/html", "text/plain"):
        for leaf in one.leaves.texts:
            if leaf.mime_type.lower() == kind:
                return leaf
    return None


def part_text(part: Part, data: str | None = None) -> str:
    """Read a text part by its charset; *data* (base64url) stands in for bytes kept elsewhere."""
    found = _CHARSET.search(part.header("content-type"))
    content = octets(part.body.data if data is None else data)
    return charsets.text(content, found[1] if found else None)


def octets(data: str | None) -> bytes:
    """Decode base64url, padded or not; nothing when it is none."""
    text = (data or "").rstrip("=")
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""


def have_valid_ids(messages: Iterable[Message]) -> bool:
    """Whether upstream's ids are ids, so that they may be handed on."""
    found = [message.id for message in messages]
    found += [thread for message in messages if (thread := message.thread_id) is not None]
    return are_provider_a_ids(found)


def _subject(head: Mapping[str, str]) -> str | None:
    subject = head.get("subject")
    return None if subject is None else addresses.decoded(subject)


def _first(head: Mapping[str, str]) -> mail_records.Participant | None:
    found = addresses.read(head.get("from", ""))
    return found[0] if found else None


def _people(name: str) -> Callable[[Mapping[str, str]], tuple[mail_records.Participant, ...]]:
    return lambda head: addresses.read(head.get(name, ""))


def _importance(head: Mapping[str, str]) -> str:
    stated = head.get("importance", "").strip().lower()
    if stated in ("low", "normal", "high"):
        return stated
    return _PRIORITIES.get(head.get("x-priority", "").strip()[:1], "normal")


def _text(one: ParsedMessage) -> str | None:
    part = body_part(one)
    return None if part is None else part_text(part)


def _body_type(one: ParsedMessage) -> str | None:
    part = body_part(one)
    if part is None:
        return None
    return "html" if part.mime_type.lower() == "text/html" else "text"


def _attachments(files: Sequence[Part]) -> tuple[mail_records.Attachment, ...]:
    if not files:
        return ()
    return tuple(
        [
            mail_records.Attachment(
                leaf.part_id or "0",
                addresses.decoded(leaf.filename) or "noname",
                leaf.mime_type or None,
                leaf.body.size,
                leaf.is_inline,
            )
            for leaf in files
        ]
    )


def _labels(message: Message, names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        [
            names.get(label_id_, label_id_)
            for label_id_ in message.label_ids
            if label_id_ != UNREAD_LABEL
        ]
    )


# What is read from the message's own headers, by their lower-case names.
_HEADED: Mapping[str, Callable[[Mapping[str, str]], object]] = {
    "subject": _subject,
    "from_": _first,
    "to": _people("to"),
    "cc": _people("cc"),
    "bcc": _people("bcc"),
    "sent_at": lambda head: dates.read(head.get("date", "")),
    "importance": _importance,
}
_EMAILS = RecordBuilder(
    mail_records.Email,
    {
        "id": attribute("message.id"),
        "provider": constant(PROVIDER),
        "thread_id": attribute("message.thread_id"),
        "body_preview": attribute("message.snippet", unescape),
        "body_type": computed(_body_type),
        "received_at": attribute("message.received_at"),
        "is_read": attribute("message.label_ids", lambda labels: UNREAD_LABEL not in labels),
        "has_attachments": attribute(
            "leaves.files", lambda files: not all(file.is_inline for file in files)
        ),
    },
    always=frozenset({"id", "provider", "thread_id", "received_at", "is_read", "has_attachments"}),
)
