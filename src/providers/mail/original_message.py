"""
Parsing of the raw message that is forwarded: its headers, text and attachments.

Tolerant: unreadable parts are left out or replaced, since the message may contain anything.
"""

from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from email.policy import Compat32
from email.utils import collapse_rfc2231_value

from providers.failures import Broken
from providers.mail import addresses, charsets, dates
from providers.mail.compose import AttachedFile
from providers.records import mail as mail_records

# The standard library splits parameters in quadratic time; a long file name takes some twenty.
_MAX_PARAMETERS = 64
_WITH_PARAMETERS = frozenset({"content-type", "content-disposition"})


class _RawHeaders(Compat32):
    """Returns headers unparsed, without too many parameters; raw bytes in them as UTF-8."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        text = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        if name.lower() in _WITH_PARAMETERS and text.count(";") > _MAX_PARAMETERS:
            return text.partition(";")[0]
        return text


def parse(raw: bytes, provider: str) -> tuple[mail_records.Email, tuple[AttachedFile, ...]]:
    """
    Return a message of *provider* with its body and participants, and its attachments.

    Raises:
        Broken: The parts are nested too deeply.
    """
    try:
        return _parse(message_from_bytes(raw, policy=_RawHeaders()), provider)
    except RecursionError:
        raise Broken from None


def _parse(root: Message, provider: str) -> tuple[mail_records.Email, tuple[AttachedFile, ...]]:
    leaves = list(_leaves(root))
    body = _body(leaves)
    email = mail_records.Email(
        id="",
        provider=provider,
        subject=addresses.decode_words(_header(root, "Subject")),
        from_=next(iter(addresses.parse(_header(root, "From"))), None),
        to=addresses.parse(_header(root, "To")),
        cc=addresses.parse(_header(root, "Cc")),
        sent_at=dates.parse(_header(root, "Date")),
        body=_text(body) if body is not None else "",
        body_type="html" if body is not None and _type(body) == "text/html" else "text",
    )
    return email, tuple(
        _file(leaf)
        for leaf in leaves
        if leaf is not body and (_is_attachment(leaf) or not _type(leaf).startswith("text/"))
    )


def _leaves(part: Message) -> Iterator[Message]:
    """Yield the leaves of a message; an attached message is a leaf."""
    payload = part.get_payload()
    if _type(part).startswith("multipart/") and isinstance(payload, list):
        for child in payload:
            if isinstance(child, Message):
                yield from _leaves(child)
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
        return addresses.decode_words(collapse_rfc2231_value(part.get_filename("") or ""))
    except (ValueError, LookupError):
        return ""


def _bytes(part: Message) -> bytes:
    payload = part.get_payload()
    if isinstance(payload, list):
        return b"".join(child.as_bytes() for child in payload if isinstance(child, Message))
    try:
        content = part.get_payload(decode=True)
    except (ValueError, LookupError):
        content = None
    return content if isinstance(content, bytes) else str(payload).encode("utf-8", "replace")


def _text(part: Message) -> str:
    try:
        charset = part.get_content_charset()
    except (LookupError, ValueError):
        charset = None
    return charsets.decode_or_utf8(_bytes(part), charset)


def _header(part: Message, name: str) -> str:
    """Return a header on one line."""
    return "".join(str(part.get(name, "")).splitlines())
