"""
Parsing of the raw message that is forwarded: its headers, text and attachments.

Tolerant: unreadable parts are left out or replaced, since the message may contain anything.
"""

import re
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from email.policy import Compat32

from providers.failures import Broken
from providers.mail import addresses, charsets, dates, parameters
from providers.mail.compose import AttachedFile
from providers.records import mail as mail_records

_LINE_END = re.compile(r"\r?\n")
_BARE_RETURN = re.compile(rb"\r(?!\n)")
_END_OF_HEADERS = re.compile(rb"\r?\n\r?\n")
_WITH_PARAMETERS = frozenset({"content-type", "content-disposition"})


class _RawHeaders(Compat32):
    """
    Returns headers unparsed; raw bytes in them as UTF-8.

    The standard library sees the boundary of parts, and no other parameter: see `parameters`.
    """

    def header_fetch_parse(self, name: str, value: str) -> str:
        text = _decoded(value)
        if name.lower() not in _WITH_PARAMETERS:
            return text
        kind = text.partition(";")[0]
        boundary = parameters.join(parameters.split(text)).get("boundary", "").replace('"', "")
        return f'{kind}; boundary="{boundary}"' if boundary else kind


def _decoded(value: str) -> str:
    """Return a raw header as text."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def parse(raw: bytes, provider: str) -> tuple[mail_records.Email, tuple[AttachedFile, ...]]:
    """
    Return a message of *provider* with its body and participants, and its attachments.

    Raises:
        Broken: The parts are nested too deeply.
    """
    end = _END_OF_HEADERS.search(raw)
    if end is not None and b"\r" in raw:  # the library ends lines at a bare CR
        raw = _BARE_RETURN.sub(b" ", raw[: end.start()]) + raw[end.start() :]
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
    if _type(part).startswith("multipart/") and part.is_multipart():
        for child in part.get_payload():
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
    name = _parameter(part, "Content-Disposition", "filename") or _parameter(
        part, "Content-Type", "name"
    )
    return addresses.decode_words(name.strip())


def _parameter(part: Message, header: str, name: str) -> str:
    """Return a parameter of the first header of its name; "" without one."""
    for key, value in part.raw_items():
        if key.lower() == header.lower():
            return parameters.join(parameters.split(_decoded(str(value)))).get(name, "")
    return ""


def _bytes(part: Message) -> bytes:
    if part.is_multipart():
        children = part.get_payload()
        return b"".join(child.as_bytes() for child in children if isinstance(child, Message))
    content = part.get_payload(decode=True)  # without it, the library reads any charset
    return content if isinstance(content, bytes) else b""


def _text(part: Message) -> str:
    charset = _parameter(part, "Content-Type", "charset")
    return charsets.decode_or_utf8(_bytes(part), charset, is_html=_type(part) == "text/html")


def _header(part: Message, name: str) -> str:
    """Return a header on one line."""
    return _LINE_END.sub("", str(part.get(name, "")))
