"""
A raw message read for passing it on: its text and what is attached to it.

Tolerant: whatever cannot be read is left out or replaced, since the message may be anything.
"""

from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from email.policy import Compat32
from email.utils import collapse_rfc2231_value

from providers.connectors.provider_a.gmail import addresses, charsets, dates
from providers.connectors.provider_a.gmail.compose import AttachedFile
from providers.connectors.provider_a.gmail.mapping import PROVIDER, octets
from providers.connectors.provider_a.gmail.response_types import GoogleStruct
from providers.failures import Broken
from providers.records import mail as mail_records


class _AsWritten(Compat32):
    """Gives headers as they were written; raw bytes in them, which few may send, as UTF-8."""

    def header_fetch_parse(self, name: str, value: str) -> str:  # noqa: ARG002 - of every header
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class Raw(GoogleStruct):
    """A message as its bytes, base64url."""

    raw: str = ""


def read(message: Raw) -> tuple[mail_records.Email, tuple[AttachedFile, ...]]:
    """
    Return the message with its body and people, and its attachments.

    Raises:
        Broken: It is nested beyond all reason.
    """
    try:
        return _read(message_from_bytes(octets(message.raw), policy=_AsWritten()))
    except RecursionError:
        raise Broken from None


def _read(root: Message) -> tuple[mail_records.Email, tuple[AttachedFile, ...]]:
    leaves = list(_leaves(root))
    body = _body(leaves)
    email = mail_records.Email(
        id="",
        provider=PROVIDER,
        subject=addresses.decoded(_header(root, "Subject")),
        from_=next(iter(addresses.read(_header(root, "From"))), None),
        to=addresses.read(_header(root, "To")),
        cc=addresses.read(_header(root, "Cc")),
        sent_at=dates.read(_header(root, "Date")),
        body=_text(body) if body is not None else "",
        body_type="html" if body is not None and _type(body) == "text/html" else "text",
    )
    return email, tuple(
        _file(leaf)
        for leaf in leaves
        if leaf is not body and (_is_attachment(leaf) or not _type(leaf).startswith("text/"))
    )


def _leaves(part: Message) -> Iterator[Message]:
    """Yield the leaves; an attached message is one."""
    payload = part.get_payload()
    if _type(part).startswith("multipart/") and isinstance(payload, list):
        for one in payload:
            if isinstance(one, Message):
                yield from _leaves(one)
    else:
        yield part


def _body(leaves: list[Message]) -> Message | None:
    for kind in ("text/html", "text/plain"):
        for leaf in leaves:
            if _type(leaf) == kind and not _is_attachment(leaf):
                return leaf
    return None


def _is_attachment(part: Message) -> bool:
    return bool(_name(part)) or _disposition(part) == "attachment"


def _file(part: Message) -> AttachedFile:
    return AttachedFile(
        name=_name(part) or ("message.eml" if _type(part) == "message/rfc822" else "attachment"),
        media_type=_type(part),
        content=_bytes(part),
        is_inline=_disposition(part) == "inline",
        content_id=_header(part, "Content-ID").strip().strip("<>"),
    )


def _type(part: Message) -> str:
    return part.get_content_type()


def _disposition(part: Message) -> str:
    return part.get_content_disposition() or ""


def _name(part: Message) -> str:
    try:
        return addresses.decoded(collapse_rfc2231_value(part.get_filename("") or ""))
    except (ValueError, LookupError):
        return ""


def _bytes(part: Message) -> bytes:
    payload = part.get_payload()
    if isinstance(payload, list):
        return b"".join(one.as_bytes() for one in payload if isinstance(one, Message))
    try:
        content = part.get_payload(decode=True)
    except (ValueError, LookupError):
        content = None
    return content if isinstance(content, bytes) else str(payload).encode("utf-8", "replace")


def _text(part: Message) -> str:
    return charsets.text(_bytes(part), _charset(part))


def _charset(part: Message) -> str | None:
    try:
        return part.get_content_charset()
    except (LookupError, ValueError):
        return None


def _header(part: Message, name: str) -> str:
    """Return a header on one line."""
    return "".join(str(part.get(name, "")).splitlines())
