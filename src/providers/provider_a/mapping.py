"""Provider A's messages as records. Source: wire report, 1A.0; decisions 16."""

import binascii
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from html import unescape

from providers import records
from providers.ids import is_provider_a
from providers.provider_a import addresses, dates
from providers.provider_a.fields import brings
from providers.provider_a.message import Leaves, Message, Part

PROVIDER = "PROVIDER_A"
HIDDEN_LABEL = "UNREAD"  # isRead says it

_NO_LEAVES = Leaves([], [])
_CHARSET = re.compile(r'charset\s*=\s*"?([^\s";]+)', re.IGNORECASE)
_PRIORITIES = {"1": "high", "2": "high", "4": "low", "5": "low"}


def email(
    message: Message,
    wanted: AbstractSet[str],
    *,
    labels: Mapping[str, str],
    body: str | None = None,
) -> records.Email:
    """
    Make a record of what is wanted of a message.

    Args:
        message: Fetched with `fields.message` for at least *wanted*.
        wanted: Attributes of `records.Email`; others stay None.
        labels: Label id to name; a label that is not in it keeps its id.
        body: The text, when it had to be fetched apart.
    """
    root = message.payload
    head = root.head()
    leaves = root.leaves() if brings(wanted) else _NO_LEAVES
    part = body_part(leaves.texts) if {"body", "body_type"} & wanted else None
    text = None
    if part is not None and "body" in wanted:
        text = text_of(part) if body is None else body
    return records.Email(
        id=message.id,
        provider=PROVIDER,
        thread_id=message.thread_id,
        subject=_subject(head) if "subject" in wanted else None,
        from_=_first(head.get("from", "")) if "from_" in wanted else None,
        to=addresses.read(head.get("to", "")) if "to" in wanted else None,
        cc=addresses.read(head.get("cc", "")) if "cc" in wanted else None,
        bcc=addresses.read(head.get("bcc", "")) if "bcc" in wanted else None,
        body_preview=unescape(message.snippet) if "body_preview" in wanted else None,
        body=text,
        body_type=_body_type(part) if part is not None and "body_type" in wanted else None,
        sent_at=_sent(head.get("date", ""), message) if "sent_at" in wanted else None,
        received_at=records.moment(message.received_ms),
        is_read=HIDDEN_LABEL not in message.label_ids,
        has_attachments=not all(one.is_inline for one in leaves.files),
        attachments=_attachments(leaves.files) if "attachments" in wanted else None,
        labels=_labels(message, labels) if "labels" in wanted else None,
        importance=_importance(head) if "importance" in wanted else None,
    )


def body_part(texts: Sequence[Part]) -> Part | None:
    """Return the leaf that is the body: the first of HTML, else the first of plain text."""
    for kind in ("text/html", "text/plain"):
        for leaf in texts:
            if leaf.mime_type.lower() == kind:
                return leaf
    return None


def text_of(part: Part, data: str | None = None) -> str:
    """Read a text part by its charset; *data* (base64url) stands in for bytes kept elsewhere."""
    found = _CHARSET.search(part.header("content-type"))
    content = octets(part.body.data if data is None else data)
    try:
        return content.decode(found[1] if found else "utf-8", "replace")
    except (LookupError, ValueError):
        return content.decode("utf-8", "replace")


def octets(data: str | None) -> bytes:
    """Decode base64url, padded or not; nothing when it is none."""
    text = (data or "").rstrip("=")
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""


def well_formed(message: Message) -> bool:
    """Whether upstream's ids are ids, so that they may be handed on."""
    return is_provider_a(message.id) and (
        message.thread_id is None or is_provider_a(message.thread_id)
    )


def _subject(head: Mapping[str, str]) -> str | None:
    subject = head.get("subject")
    return None if subject is None else addresses.decoded(subject)


def _first(header: str) -> records.Participant | None:
    found = addresses.read(header)
    return found[0] if found else None


def _body_type(part: Part) -> str:
    return "html" if part.mime_type.lower() == "text/html" else "text"


def _sent(date: str, message: Message) -> datetime:
    """Read a Date header; what is not one gives way to the received time."""
    return dates.read(date) or records.moment(message.received_ms)


def _attachments(files: Sequence[Part]) -> tuple[records.Attachment, ...]:
    return tuple(
        records.Attachment(
            id=leaf.part_id or "0",
            name=addresses.decoded(leaf.filename) or "noname",
            content_type=leaf.mime_type or None,
            size=leaf.body.size,
            is_inline=leaf.is_inline,
        )
        for leaf in files
    )


def _labels(message: Message, names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(names.get(one, one) for one in message.label_ids if one != HIDDEN_LABEL)


def _importance(head: Mapping[str, str]) -> str:
    stated = head.get("importance", "").strip().lower()
    if stated in ("low", "normal", "high"):
        return stated
    return _PRIORITIES.get(head.get("x-priority", "").strip()[:1], "normal")
