"""
Parsing of the raw message that is forwarded: its headers, text and attachments.

Tolerant: unreadable parts are left out or replaced, since the message may contain anything.
"""

import re
from email import message_from_bytes, message_from_string
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
_FIELD = re.compile(rb"[!-9;-~]{1,998}[ \t]{0,9}:")
_BLANK_COLON = re.compile(rb"^([!-9;-~]{1,80})[ \t]{1,9}:", re.MULTILINE)
_END_OF_HEADERS = re.compile(rb"\r?\n\r?\n")
_WITH_PARAMETERS = frozenset({"content-type", "content-disposition"})


class _RawHeaders(Compat32):
    """
    Returns headers unparsed; raw bytes in them as UTF-8.

    The standard library sees the boundary of parts, and no other parameter, nor an encoding: see
    `parameters` and `transfer_encodings`.
    """

    def header_fetch_parse(self, name: str, value: str) -> str:
        text = _decoded(value)
        if name.lower() == "content-transfer-encoding":
            return "8bit"  # so that the library decodes nothing
        if name.lower() not in _WITH_PARAMETERS:
            return text
        kind = parameters.without_comment(text.partition(";")[0])
        boundary = parameters.join(parameters.split(text)).get("boundary", "").replace('"', "")
        return f'{kind}; boundary="{boundary}"' if boundary else kind


class _RawPart(Message):
    """A part; an attached message stays one, since the parser would not keep its bytes."""

    def get_content_type(self) -> str:
        """Return the type as the parser asks for it; see `_type`."""
        kind = super().get_content_type()
        return f"x-{kind}" if kind.startswith("message/") else kind


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
    head = raw if end is None else raw[: end.start()]
    raw = _header_section(head) + raw[len(head) :]
    try:
        return _parse(message_from_bytes(raw, _RawPart, policy=_RawHeaders()), provider)
    except RecursionError:
        raise Broken from None


def _header_section(head: bytes) -> bytes:
    """
    Return the headers without lines that are none, at which the library would begin the body.

    Those behind the last field stay: an empty line is missing before them. The library also ends
    lines at a bare CR, and headers at a blank before a colon.
    """
    lines = _BARE_RETURN.sub(b" ", head).split(b"\n")
    fields, since_field = [], 0
    is_field = False
    for line in lines:
        if not line.startswith((b" ", b"\t")):
            is_field = _FIELD.match(line) is not None
        fields += [line] if is_field else []
        since_field = 0 if is_field else since_field + 1
    return _BLANK_COLON.sub(rb"\1:", b"\n".join(fields + lines[len(lines) - since_field :]))


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

    def __init__(self, message: Message, *, is_behind: bool = False) -> None:
        self.message = message
        self.media_type = _type(message)
        self.filename = _name(message)
        self.disposition = message.get_content_disposition() or ""
        self.has_content_id = bool(_header(message, "Content-ID"))
        self.children = [_Part(part, is_behind=is_behind) for part in _parts(message)]
        if not is_behind:
            self.children += [_Part(part, is_behind=True) for part in _parts_behind(message)]

    @property
    def root(self) -> int:
        if self.media_type != "multipart/related":
            return 0
        identifiers = [_header(child.message, "Content-ID") for child in self.children]
        return message_parts.root_of(_parameter(self.message, "Content-Type", "start"), identifiers)

    @property
    def encoded_size(self) -> int:
        payload = self.message.get_payload()
        return len(payload) if isinstance(payload, str) else 0


def _parts(message: Message) -> list[Message]:
    payload = message.get_payload()
    return [part for part in payload if isinstance(part, Message)] if message.is_multipart() else []


def _parts_behind(message: Message) -> list[Message]:
    """
    Return the parts behind the end of a multipart.

    A part with the boundary of its parent ends both: RFC 2046, 5.1.2 forbids it, and mail has it.
    """
    boundary, epilogue = message.get_boundary(), message.epilogue
    if not boundary or not epilogue or f"--{boundary}" not in epilogue:
        return []
    head = f'Content-Type: multipart/mixed; boundary="{boundary}"\n\n'
    opened = epilogue.replace(f"--{boundary}--", f"--{boundary}")
    return _parts(message_from_string(head + opened, _RawPart, policy=_RawHeaders()))


def _file(part: _Part) -> AttachedFile:
    return AttachedFile(
        name=part.filename or _DEFAULT_NAMES.get(part.media_type, "attachment"),
        media_type=part.media_type,
        content=_bytes(part.message),
        is_inline=message_parts.is_inline(part),
        content_id=_header(part.message, "Content-ID").strip().strip("<>"),
    )


def _type(part: Message) -> str:
    return Message.get_content_type(part)


def _name(part: Message) -> str:
    name = _parameter(part, "Content-Disposition", "filename") or _parameter(
        part, "Content-Type", "name"
    )
    return addresses.decode_words(name.strip())


def _parameter(part: Message, header: str, name: str) -> str:
    """Return a parameter of the first header of its name; "" without one."""
    return parameters.join(parameters.split(_header(part, header))).get(name, "")


def _bytes(part: Message) -> bytes:
    encoding = parameters.without_comment(_header(part, "Content-Transfer-Encoding")).lower()
    content = part.get_payload(decode=True)
    return transfer_encodings.decode(content, encoding) if isinstance(content, bytes) else b""


def _text(part: Message) -> str:
    charset = parameters.charset(_header(part, "Content-Type"))
    return charsets.decode_or_utf8(_bytes(part), charset, is_html=_type(part) == "text/html")


def _header(part: Message, name: str, *, is_repeated: bool = False) -> str:
    """Return a header on one line: the first of its name, or all joined by commas."""
    values = [str(value) for key, value in part.raw_items() if key.lower() == name.lower()]
    texts = (_LINE_END.sub("", _decoded(value)).strip(" \t") for value in values)
    return ", ".join(texts) if is_repeated else next(texts, "")
