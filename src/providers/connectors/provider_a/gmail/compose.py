"""
A message to be sent, written down so that it says what the caller meant and nothing else.

Headers are written here rather than by the standard library, which reads text that looks like an
encoded word (``=?…?=``) as one. What was written is then parsed by the standard library, and sent
only when the headers and recipients are the intended ones. Source: decisions 16 (Header safety).
"""

import re
import secrets
from base64 import b64encode, encodebytes
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.utils import format_datetime, getaddresses
from urllib.parse import quote

from providers.connectors.provider_a.gmail.addresses import decoded
from providers.mail.delivery import CONTROL_CHARACTERS, is_message_id
from providers.ports.mail import UnsafeMessage
from providers.records.mail import Participant

_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@(?:[A-Za-z0-9.-]+|\[[A-Za-z0-9.:]+\])")
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+")
_FOLD = re.compile(r"\r?\n(?=[ \t])")
_LINE = 76  # characters
_WORD_BYTES = 45  # that become 60 characters of base64, 72 with the frame of an encoded word
_PRIORITIES = {"high": "1", "low": "5"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    """
    Something attached.

    Attributes:
        content: The bytes; of a ``message/rfc822``, the whole message.
        content_id: Without angle brackets, for what the body refers to; "" for none.
    """

    name: str
    media_type: str
    content: bytes = field(repr=False)
    is_inline: bool = False
    content_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """
    What is to be sent.

    Attributes:
        sender: The account's address; empty lets upstream fill it in.
        message_id, references: Without angle brackets; *references* oldest first.
    """

    sender: str
    to: Sequence[Participant]
    cc: Sequence[Participant] = ()
    bcc: Sequence[Participant] = ()
    subject: str
    body: str
    body_type: str
    importance: str = "normal"
    message_id: str
    in_reply_to: str = ""
    references: Sequence[str] = ()
    files: Sequence[AttachedFile] = ()


def write(letter: OutgoingMessage) -> bytes:
    """
    Serialise a message (RFC 5322, CRLF).

    Raises:
        UnsafeMessage: It cannot be written so that parsing it gives the same headers and
            recipients.
    """
    headers = list(_headers(letter))
    raw = "".join(f"{name}: {value}\r\n" for name, value in headers).encode("ascii") + _content(
        letter
    )
    _check(raw, letter, [name for name, _ in headers])
    return raw


def addressable(people: Iterable[Participant]) -> list[Participant]:
    """Return those of an original's people that can be written to, their names cleaned."""
    cleaned = (
        Participant(
            email=person.email,
            name=CONTROL_CHARACTERS.sub(" ", person.name) if person.name else None,
        )
        for person in people
    )
    return [one for one in cleaned if _is_writable(one.email)]


def cleaned(text: str) -> str:
    """Replace what may not stand in a header by blanks."""
    return CONTROL_CHARACTERS.sub(" ", text)


# -- headers


def _headers(letter: OutgoingMessage) -> Iterator[tuple[str, str]]:
    if not is_message_id(letter.message_id):
        raise UnsafeMessage
    yield "MIME-Version", "1.0"
    yield "Date", format_datetime(datetime.now(UTC))
    yield "Message-ID", f"<{letter.message_id}>"
    if letter.sender:
        yield "From", _address(letter.sender)
    for name, people in (("To", letter.to), ("Cc", letter.cc), ("Bcc", letter.bcc)):
        if people:
            yield name, ",\r\n ".join(map(_mailbox, people))
    yield "Subject", _text(letter.subject)
    if letter.importance in _PRIORITIES:
        yield "Importance", letter.importance
        yield "X-Priority", _PRIORITIES[letter.importance]
    if letter.in_reply_to:
        yield "In-Reply-To", f"<{letter.in_reply_to}>"
    if letter.references:
        yield "References", "\r\n ".join(f"<{reference}>" for reference in letter.references)


def _mailbox(one: Participant) -> str:
    name = _name(one)
    if not name:
        return _address(one.email)
    if _is_plain(name) and len(name) < 500:
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"\r\n <{_address(one.email)}>'
    return f"{_encoded(name)}\r\n <{_address(one.email)}>"


def _name(one: Participant) -> str:
    if CONTROL_CHARACTERS.search(one.name or ""):
        raise UnsafeMessage
    return " ".join((one.name or "").split())


def _address(address: str) -> str:
    local, _, domain = address.rpartition("@")
    try:
        written = f"{local}@{domain if domain.isascii() else domain.encode('idna').decode()}"
    except UnicodeError:
        raise UnsafeMessage from None
    if len(written) > 320 or not _ADDRESS.fullmatch(written) or "=?" in written:
        raise UnsafeMessage
    return written


def _is_writable(address: str) -> bool:
    try:
        _address(address)
    except UnsafeMessage:
        return False
    return True


def _text(value: str) -> str:
    if CONTROL_CHARACTERS.search(value):
        raise UnsafeMessage
    if not _is_plain(value) or value != " ".join(value.split()):
        return _encoded(value)
    lines = [""]
    for word in value.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= _LINE - len("Subject: "):
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return "\r\n ".join(lines) if max(map(len, lines)) < 900 else _encoded(value)


def _is_plain(value: str) -> bool:
    """Whether a text can stand in a header as it is, and will be read as just that."""
    return value.isascii() and "=?" not in value


def _encoded(value: str) -> str:
    """Write a text as encoded words (RFC 2047), of whole characters each."""
    words: list[str] = []
    piece = b""
    for letter in value:
        octets = letter.encode()
        if len(piece) + len(octets) > _WORD_BYTES:
            words.append(_word(piece))
            piece = b""
        piece += octets
    if piece:
        words.append(_word(piece))
    return "\r\n ".join(words)


def _word(piece: bytes) -> str:
    return f"=?utf-8?b?{b64encode(piece).decode()}?="


# -- content


def _content(letter: OutgoingMessage) -> bytes:
    text = _entity(
        f'text/{"html" if letter.body_type == "html" else "plain"}; charset="utf-8"', letter.body
    )
    if not letter.files:
        return text
    mark = f"=_{secrets.token_hex(16)}"
    parts = [text, *map(_attachment, letter.files)]
    head = f'Content-Type: multipart/mixed; boundary="{mark}"\r\n\r\n'.encode()
    return (
        head
        + b"".join(b"--%b\r\n%b\r\n" % (mark.encode(), part) for part in parts)
        + (f"--{mark}--\r\n".encode())
    )


def _entity(content_type: str, body: str) -> bytes:
    try:
        octets = re.sub(r"\r\n|\r|\n", "\r\n", body).encode()
    except UnicodeEncodeError:
        raise UnsafeMessage from None
    head = f"Content-Type: {content_type}\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    return head.encode() + _base64(octets)


def _attachment(one: AttachedFile) -> bytes:
    known = _MEDIA_TYPE.fullmatch(one.media_type) and not one.media_type.startswith("multipart/")
    media_type = one.media_type if known else "application/octet-stream"
    disposition = "inline" if one.is_inline else "attachment"
    lines = [
        f"Content-Type: {media_type}",
        f"Content-Disposition: {disposition};\r\n {_filename(cleaned(one.name) or 'attachment')}",
    ]
    if re.fullmatch(r"[!-;=?-~]{1,200}", one.content_id):
        lines.append(f"Content-ID: <{one.content_id}>")
    if media_type.startswith("message/"):  # such may not be encoded (RFC 2046, 5.2.1)
        lines.append("Content-Transfer-Encoding: 8bit")
        return "\r\n".join((*lines, "", "")).encode() + one.content
    lines.append("Content-Transfer-Encoding: base64")
    return "\r\n".join((*lines, "", "")).encode() + _base64(one.content)


def _filename(name: str) -> str:
    """Write a file's name plainly when it is plain, else by RFC 2231; both at once confuse."""
    if re.fullmatch(r"[A-Za-z0-9 ._()-]{1,60}", name):
        return f'filename="{name}"'
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending) > 10:
        stem, dot, ending = name, "", ""
    # Sixty characters are at most 720 octets so written, and a line may have 998.
    return f"filename*=UTF-8''{quote(stem[:60] + dot + ending, safe='')}"


def _base64(octets: bytes) -> bytes:
    return encodebytes(octets).replace(b"\n", b"\r\n")


# -- checking


def _check(raw: bytes, letter: OutgoingMessage, names: Sequence[str]) -> None:
    """Read the message as a stranger would, and compare."""
    parsed = message_from_bytes(raw, policy=policy.compat32)
    found = [name.lower() for name in parsed]
    own = len(names)
    if found[:own] != [name.lower() for name in names] or not all(
        name.startswith("content-") for name in found[own:]
    ):
        raise UnsafeMessage
    values = {name.lower(): _FOLD.sub("", str(value)) for name, value in parsed.items()}
    if decoded(values["subject"]) != letter.subject:
        raise UnsafeMessage
    for name, people in (("to", letter.to), ("cc", letter.cc), ("bcc", letter.bcc)):
        intended = [(_name(person), _address(person.email)) for person in people]
        written = getaddresses([values[name]]) if name in values else []
        if [(decoded(one), address) for one, address in written] != intended:
            raise UnsafeMessage
