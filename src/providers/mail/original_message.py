"""
Parsing of the raw message that is forwarded: its headers, text and attachments.

Tolerant: unreadable parts are left out or replaced, since the message may contain anything.
"""

import re
from email import message_from_bytes
from email.message import Message
from email.policy import Compat32

from providers.failures import Broken
from providers.mail import addresses, charsets, dates, message_parts, parameters, transfer_encodings
from providers.mail.compose import AttachedFile
from providers.mail.message_parts import arrange
from providers.records import mail as mail_records

_DEFAULT_NAMES = {"message/rfc822": "message.eml", "text/calendar": "invite.ics"}
_LINE_END = re.compile(r"\r?\n")
_BARE_RETURN = re.compile(rb"\r(?!\n)")
_BLANK_COLON = re.compile(rb"^([!-9;-~]{1,80})[ \t]{1,9}:", re.MULTILINE)
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
    if (
        end is not None
    ):  # the library ends lines at a bare CR, and headers at a blank before a colon
        head = _BARE_RETURN.sub(b" ", raw[: end.start()])
        raw = _BLANK_COLON.sub(rb"\1:", head) + raw[end.start() :]
    try:
        return _parse(message_from_bytes(raw, policy=_RawHeaders()), provider)
    except RecursionError:
        raise Broken from None


def _parse(root: Message, provider: str) -> tuple[mail_records.Email, tuple[AttachedFile, ...]]:
    parts = arrange(_Part(root))
    email = mail_records.Email(
        id="",
        provider=provider,
        subject=addresses.decode_words(_header(root, "Subject")),
        from_=next(iter(addresses.parse(_header(root, "From"))), None),
        to=addresses.parse(_header(root, "To", is_repeated=True)),
        cc=addresses.parse(_header(root, "Cc", is_repeated=True)),
        sent_at=dates.parse(_header(root, "Date")),
        body=message_parts.join_texts(
            [(part.media_type, _text(part.message)) for part in parts.texts]
        )
        if parts.texts
        else "",
        body_type=parts.body_type or "text",
    )
    return email, tuple(map(_file, parts.files))


class _Part:
    """A part of a raw message, as `message_parts` reads it."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.media_type = message.get_content_type()
        self.filename = _name(message)
        self.disposition = message.get_content_disposition() or ""
        self.has_content_id = bool(_header(message, "Content-ID"))
        payload = message.get_payload() if self.media_type.startswith("multipart/") else ""
        parts = payload if isinstance(payload, list) else []
        self.children = [_Part(part) for part in parts if isinstance(part, Message)]

    @property
    def encoded_size(self) -> int:
        payload = self.message.get_payload()
        return len(payload) if isinstance(payload, str) else 0


def _file(part: _Part) -> AttachedFile:
    return AttachedFile(
        name=part.filename or _DEFAULT_NAMES.get(part.media_type, "attachment"),
        media_type=part.media_type,
        content=_bytes(part.message),
        is_inline=message_parts.is_inline(part),
        content_id=_header(part.message, "Content-ID").strip().strip("<>"),
    )


def _type(part: Message) -> str:
    return part.get_content_type()


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
    encoding = _header(part, "Content-Transfer-Encoding").strip().lower()
    if part.is_multipart():
        children = part.get_payload()
        content = b"".join(child.as_bytes() for child in children if isinstance(child, Message))
        # Messages may not be encoded (RFC 2046, 5.2.1), and the library does not decode them.
        return transfer_encodings.decode(content, encoding)
    if transfer_encodings.is_by_line(encoding):
        text = part.get_payload()
        return transfer_encodings.decode(str(text).encode("ascii", "ignore"), encoding)
    content_bytes = part.get_payload(decode=True)  # without it, the library reads any charset
    return content_bytes if isinstance(content_bytes, bytes) else b""


def _text(part: Message) -> str:
    charset = _parameter(part, "Content-Type", "charset")
    return charsets.decode_or_utf8(_bytes(part), charset, is_html=_type(part) == "text/html")


def _header(part: Message, name: str, *, is_repeated: bool = False) -> str:
    """Return a header on one line: the first of its name, or all joined by commas."""
    values = [str(value) for key, value in part.raw_items() if key.lower() == name.lower()]
    texts = (_LINE_END.sub("", _decoded(value)).strip(" \t") for value in values)
    return ", ".join(texts) if is_repeated else next(texts, "")
