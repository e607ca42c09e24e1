"""
Serialization of outgoing messages, safe from header injection: docs/spec/email.md#header-safety.

Headers are not written by the standard library, which takes text that looks like an encoded word
(``=?…?=``) for one. The result is parsed again, and is returned only when it has the intended
headers and recipients. Names and addresses are written in the forms that `addresses` reads at once:
the parser of the standard library takes 0.3 s for 500 recipients with long names.
"""

import re
import secrets
from base64 import b64encode
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.utils import format_datetime
from urllib.parse import quote

from providers.mail import addresses
from providers.mail.delivery import CONTROL_CHARACTERS, is_message_id
from providers.ports.mail import OutgoingFile, StoredContent, UnsafeMessage
from providers.records.mail import Participant
from providers.web_addresses import ascii_host

_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@(?:[A-Za-z0-9.-]+|\[[A-Za-z0-9.:]+\])")
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+")
_FOLD = re.compile(r"\r?\n(?=[ \t])")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_MAX_ADDRESS = 320  # characters
_MAX_FILENAME = 255  # characters, as of an attachment that a caller names
_LINE = 76  # characters
_LINE_BYTES = 57  # in a line of base64
_WORD_BYTES = 45  # 60 characters of base64, 72 with the delimiters of an encoded word
_PRIORITIES = {"high": "1", "low": "5"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    """
    An attachment.

    Attributes:
        content: The bytes, or where they are stored; of a ``message/rfc822``, the whole message.
        content_id: Without angle brackets, for references from the body; "" for none.
    """

    name: str
    media_type: str
    content: bytes | StoredContent = field(repr=False)
    is_inline: bool = False
    content_id: str = ""

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.size


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """
    A message to send.

    Attributes:
        sender: The account's address; "" lets the provider fill it in.
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


@dataclass(frozen=True, slots=True)
class SerializedMessage:
    """
    A message as it is sent (RFC 5322, CRLF).

    Attributes:
        pieces: In order; stored contents stand for their base64.
    """

    pieces: Sequence[bytes | StoredContent] = field(repr=False)

    @property
    def size(self) -> int:
        """The number of bytes, base64 included."""
        return sum(
            len(piece) if isinstance(piece, bytes) else _base64_size(piece.size)
            for piece in self.pieces
        )

    @property
    def is_in_memory(self) -> bool:
        """Whether no file is stored elsewhere."""
        return all(isinstance(piece, bytes) for piece in self.pieces)

    def whole(self) -> bytes:
        """Return the message without what is stored elsewhere."""
        return b"".join(piece for piece in self.pieces if isinstance(piece, bytes))

    async def chunks(self) -> AsyncIterator[bytes]:
        """
        Yield the message from its start.

        Raises:
            Missing: A stored file is gone.
        """
        for piece in self.pieces:
            if isinstance(piece, bytes):
                yield piece
                continue
            rest = b""
            async for chunk in piece.chunks():
                rest += chunk
                usable = len(rest) - len(rest) % _LINE_BYTES
                yield _base64(rest[:usable])
                rest = rest[usable:]
            yield _base64(rest)


def serialize(message: OutgoingMessage) -> SerializedMessage:
    """
    Serialize a message.

    Raises:
        UnsafeMessage: No serialization parses to the same headers and recipients.
    """
    headers = list(_headers(message))
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    serialized = SerializedMessage((head.encode("ascii"), *_content(message)))
    _check(serialized.whole(), message, [name for name, _ in headers])
    return serialized


def attached(files: Iterable[OutgoingFile]) -> tuple[AttachedFile, ...]:
    """Return the caller's attachments as those of a message."""
    return tuple(
        AttachedFile(name=file.name, media_type=file.media_type, content=file.content)
        for file in files
    )


def addressable(people: Iterable[Participant]) -> list[Participant]:
    """Return the participants with a valid address, without control characters in their names."""
    return [
        Participant(
            email=person.email, name=blank_control_characters(person.name) if person.name else None
        )
        for person in people
        if _is_valid(person.email)
    ]


def blank_control_characters(text: str) -> str:
    """Replace control characters, which are not allowed in a header, by blanks."""
    return CONTROL_CHARACTERS.sub(" ", text)


# -- headers


def _headers(message: OutgoingMessage) -> Iterator[tuple[str, str]]:
    if not is_message_id(message.message_id):
        raise UnsafeMessage
    yield "MIME-Version", "1.0"
    yield "Date", format_datetime(datetime.now(UTC))
    yield "Message-ID", f"<{message.message_id}>"
    if message.sender:
        yield "From", written_address(message.sender)
    for name, people in (("To", message.to), ("Cc", message.cc), ("Bcc", message.bcc)):
        if people:
            yield name, ",\r\n ".join(map(_mailbox, people))
    yield "Subject", _text(message.subject)
    if message.importance in _PRIORITIES:
        yield "Importance", message.importance
        yield "X-Priority", _PRIORITIES[message.importance]
    if message.in_reply_to:
        yield "In-Reply-To", f"<{message.in_reply_to}>"
    if message.references:
        yield "References", "\r\n ".join(f"<{reference}>" for reference in message.references)


def _mailbox(person: Participant) -> str:
    name = _name(person)
    if not name:
        return written_address(person.email)
    if _is_plain(name) and len(name) < 500 and not {*name} & {'"', "\\"}:
        return f'"{name}"\r\n <{written_address(person.email)}>'
    return f"{_encoded_words(name)}\r\n <{written_address(person.email)}>"


def _name(person: Participant) -> str:
    if CONTROL_CHARACTERS.search(person.name or ""):
        raise UnsafeMessage
    return " ".join((person.name or "").split())


def written_address(address: str) -> str:
    """
    Return an address as headers and envelopes have it: ASCII, the domain in A-labels.

    Raises:
        UnsafeMessage: It cannot be written so.
    """
    if len(address) > _MAX_ADDRESS:  # first: IDNA takes quadratic time
        raise UnsafeMessage(address)
    local, _, domain = address.rpartition("@")
    try:
        written = f"{local}@{ascii_host(domain)}"
    except UnicodeError:
        raise UnsafeMessage(address) from None
    if len(written) > _MAX_ADDRESS or not _ADDRESS.fullmatch(written) or "=?" in written:
        raise UnsafeMessage(address)
    return written


def _is_valid(address: str) -> bool:
    try:
        written_address(address)
    except UnsafeMessage:
        return False
    return True


def _text(value: str) -> str:
    if CONTROL_CHARACTERS.search(value):
        raise UnsafeMessage
    if not _is_plain(value) or value != " ".join(value.split()):
        return _encoded_words(value)
    lines = [""]
    for word in value.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= _LINE - len("Subject: "):
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return "\r\n ".join(lines) if max(map(len, lines)) < 900 else _encoded_words(value)


def _is_plain(value: str) -> bool:
    """Whether a text needs no encoding in a header."""
    return value.isascii() and "=?" not in value


def _encoded_words(value: str) -> str:
    """Return encoded words (RFC 2047), each of whole characters."""
    content, words, start = value.encode(), [], 0
    while start < len(content):
        end = start + _WORD_BYTES
        while end < len(content) and content[end] & 0xC0 == 0x80:  # inside a character of UTF-8
            end -= 1
        words.append(_word(content[start:end]))
        start = end
    return "\r\n ".join(words)


def _word(piece: bytes) -> str:
    return f"=?utf-8?b?{b64encode(piece).decode()}?="


# -- content


def _content(message: OutgoingMessage) -> Iterator[bytes | StoredContent]:
    text = _text_part("html" if message.body_type == "html" else "plain", message.body)
    if not message.files:
        yield text
        return
    boundary = f"=_{secrets.token_hex(16)}".encode()
    yield b'Content-Type: multipart/mixed; boundary="%b"\r\n\r\n' % boundary
    yield b"--%b\r\n%b\r\n" % (boundary, text)
    for file in message.files:
        yield b"--%b\r\n" % boundary
        yield from _attachment(file)
        yield b"\r\n"
    yield b"--%b--\r\n" % boundary


def _text_part(subtype: str, body: str) -> bytes:
    try:
        content = body.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n").encode()
    except UnicodeEncodeError:
        raise UnsafeMessage from None
    content_type = f'Content-Type: text/{subtype}; charset="utf-8"'
    head = f"{content_type}\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    return head.encode() + _base64(content)


def _attachment(file: AttachedFile) -> Iterator[bytes | StoredContent]:
    valid = _MEDIA_TYPE.fullmatch(file.media_type) and not file.media_type.startswith("multipart/")
    media_type = file.media_type if valid else "application/octet-stream"
    disposition = "inline" if file.is_inline else "attachment"
    name = _filename(blank_control_characters(file.name) or "attachment")
    lines = [f"Content-Type: {media_type}", f"Content-Disposition: {disposition};\r\n {name}"]
    if re.fullmatch(r"[!-;=?-~]{1,200}", file.content_id):
        lines.append(f"Content-ID: <{file.content_id}>")
    # Messages may not be encoded (RFC 2046, 5.2.1).
    is_message = media_type.startswith("message/")
    lines.append(f"Content-Transfer-Encoding: {'8bit' if is_message else 'base64'}")
    yield "\r\n".join((*lines, "", "")).encode()
    if not isinstance(file.content, bytes):
        yield file.content
    else:
        yield _LINE_END.sub(b"\r\n", file.content) if is_message else _base64(file.content)


def _filename(name: str) -> str:
    """Return the parameters of a file name: plain if possible, else by RFC 2231, never both."""
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending) > 10:
        stem, dot, ending = name, "", ""
    name = stem[: _MAX_FILENAME - len(dot + ending)] + dot + ending
    if re.fullmatch(r"[A-Za-z0-9 ._()-]+", name):
        return f'filename="{name}"'
    # Sixty characters have at most 720 octets in this encoding; a line may have 998.
    pieces = [quote(name[at : at + 60], safe="") for at in range(0, len(name), 60)]
    if len(pieces) == 1:
        return f"filename*=UTF-8''{pieces[0]}"
    pieces[0] = f"UTF-8''{pieces[0]}"
    return ";\r\n ".join(f"filename*{number}*={piece}" for number, piece in enumerate(pieces))


def _base64(content: bytes) -> bytes:
    encoded = b64encode(content)
    lines = [encoded[at : at + _LINE] for at in range(0, len(encoded), _LINE)]
    return b"\r\n".join((*lines, b""))


def _base64_size(size: int) -> int:
    """Return the length of `_base64` of *size* bytes."""
    lines, rest = divmod(size, _LINE_BYTES)
    return lines * (_LINE + 2) + (-(-rest // 3) * 4 + 2 if rest else 0)


# -- checking


def _check(raw: bytes, message: OutgoingMessage, names: Sequence[str]) -> None:
    """Compare the parsed message with the intended one, of which *names* are the headers."""
    head, end, _ = raw.partition(b"\r\n\r\n")
    parsed = message_from_bytes(head + end, policy=policy.compat32)
    parsed_names = [name.lower() for name in parsed]
    content_names = parsed_names[len(names) :]
    if parsed_names[: len(names)] != [name.lower() for name in names] or not all(
        name.startswith("content-") for name in content_names
    ):
        raise UnsafeMessage
    values = {name.lower(): _FOLD.sub("", str(value)) for name, value in parsed.items()}
    if addresses.decode_words(values["subject"]) != message.subject:
        raise UnsafeMessage
    for name, people in (("to", message.to), ("cc", message.cc), ("bcc", message.bcc)):
        intended = [(_name(person) or None, written_address(person.email)) for person in people]
        written = addresses.parse(values.get(name, ""))
        if [(person.name, person.email) for person in written] != intended:
            raise UnsafeMessage
