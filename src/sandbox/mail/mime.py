"""
Raw messages as a light tree that both mail wires share.

Tolerant: whatever the standard library's parser accepts comes out, with replacement characters
where bytes cannot be read. Trees are kept, by message and change, so each is parsed once.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import collapse_rfc2231_value, getaddresses
from functools import cached_property, partial
from inspect import signature
from typing import Protocol

_MOST_TREES = 4096
_DEEPEST = 40  # levels; what lies below is one opaque part
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_ANGLED = re.compile(r"<[^<>\s]+>")
_FOLD = re.compile(r"\r?\n[ \t]*")
_HEADERS = BytesHeaderParser(policy=policy.compat32)
# Newer interpreters drop the whole list over one odd address unless told otherwise.
_READ_ADDRESSES = (
    partial(getaddresses, strict=False)
    if "strict" in signature(getaddresses).parameters
    else getaddresses
)


@dataclass(frozen=True, slots=True)
class Header:
    """
    One header line, unfolded.

    Attributes:
        raw: The value as it was sent, encoded words and all.
        text: The value with encoded words decoded.
    """

    name: str
    raw: str
    text: str


@dataclass(frozen=True, slots=True)
class Address:
    """A display name (decoded, may be empty) and an address."""

    name: str
    address: str


@dataclass(frozen=True, kw_only=True)
class Part:
    """
    A node of the tree.

    Attributes:
        path: Provider A's part id: "" for the root, then "0", "0.1", …
        content_type: Lower case, "text/plain" when there is none.
        charset: As named by the part, None when it names none.
        filename: Decoded; "" when there is none.
        disposition: "inline", "attachment" or "".
        content_id: Without angle brackets; "" when there is none.
        data: The decoded bytes of a leaf; of an attached message, its raw bytes.
        parts: The children of a multipart (and of an attached message, its tree).
    """

    path: str
    headers: tuple[Header, ...]
    content_type: str
    charset: str | None
    filename: str
    disposition: str
    content_id: str
    data: bytes = field(repr=False)
    parts: tuple["Part", ...]

    def header(self, name: str) -> str | None:
        """Return the decoded value of the first header of this name (any case)."""
        wanted = name.lower()
        return next((header.text for header in self.headers if header.name.lower() == wanted), None)

    def header_all(self, name: str) -> tuple[Header, ...]:
        """Return every header of this name (any case), in order."""
        wanted = name.lower()
        return tuple(header for header in self.headers if header.name.lower() == wanted)

    def addresses(self, name: str) -> tuple[Address, ...]:
        """Return the mailboxes in every header of this name, in order."""
        raw = [one.raw for one in self.header_all(name)]
        try:
            pairs = _READ_ADDRESSES(raw)
        except RecursionError:  # comments within comments, thousands deep
            return ()
        return tuple(
            Address(decode(display), address) for display, address in pairs if address or display
        )

    def walk(self) -> Iterator["Part"]:
        """Yield this part and all below it, depth first."""
        yield self
        for part in self.parts:
            yield from part.walk()

    @property
    def is_multipart(self) -> bool:
        """Whether it is a container of parts (an attached message is not)."""
        return self.content_type.startswith("multipart/")

    @property
    def is_attachment(self) -> bool:
        """Whether it is a leaf with a file name, or one that says so."""
        return not self.is_multipart and bool(self.filename or self.disposition == "attachment")

    @property
    def is_inline(self) -> bool:
        """Whether an attachment belongs into the body (an image with a Content-ID, say)."""
        return self.disposition == "inline" or (
            bool(self.content_id) and self.disposition != "attachment"
        )

    @cached_property
    def text(self) -> str:
        """The leaf's text by its charset; unknown charsets and bad bytes never raise."""
        return _text(self.data, self.charset)

    def own(self) -> Iterator["Part"]:
        """Yield this part and all below it, without what is inside attached messages, reports."""
        yield self
        if not self.content_type.startswith("message/") or not self.path:
            for part in self.parts:
                yield from part.own()

    def body(self, subtype: str) -> "Part | None":
        """Return the first ``text/<subtype>`` leaf that is not an attachment."""
        wanted = f"text/{subtype}"
        leaves = (one for one in self.own() if not one.parts and not one.is_attachment)
        return next((leaf for leaf in leaves if leaf.content_type == wanted), None)

    def attachments(self) -> tuple["Part", ...]:
        """Return the attachments, attached messages whole, in order."""
        return tuple(one for one in self.own() if one.is_attachment)


class Keyed(Protocol):
    """What a tree is kept by."""

    @property
    def seq(self) -> int: ...
    @property
    def change(self) -> int: ...
    @property
    def raw(self) -> bytes: ...


class MimeTreeCache:
    """Trees of stored messages, the ones used last kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, tuple[bytes, Part]] = OrderedDict()

    def of(self, mail: Keyed) -> Part:
        """Return the tree of *mail*, parsing it the first time only."""
        kept = self._kept.get(mail.seq)
        if kept is not None and (kept[0] is mail.raw or kept[0] == mail.raw):
            self._kept.move_to_end(mail.seq)
            return kept[1]
        tree = parse(mail.raw)
        self._kept[mail.seq] = (mail.raw, tree)
        if len(self._kept) > _MOST_TREES:
            self._kept.popitem(last=False)
        return tree


def parse(raw: bytes) -> Part:
    """Parse a whole message; one that nests beyond all reason is read as its head alone."""
    try:
        return _part(message_from_bytes(raw, policy=policy.compat32), "", 0)
    except RecursionError:
        return _part(_HEADERS.parsebytes(raw[: _end_of_head(raw)]), "", 0)


def threading_ids(raw: bytes) -> tuple[str, ...]:
    """
    Return the ids that tell a message's thread: its own, then whom it answers, nearest first.

    The ids keep their angle brackets.
    """
    head = _HEADERS.parsebytes(raw[: _end_of_head(raw)])
    own = _ANGLED.findall(_unfold(head.get("Message-ID", "")))[:1]
    answered = _ANGLED.findall(_unfold(head.get("In-Reply-To", "")))
    earlier = _ANGLED.findall(_unfold(" ".join(map(str, head.get_all("References", [])))))
    return tuple(dict.fromkeys((*own, *answered, *reversed(earlier))))


def decode(value: str) -> str:
    """Decode the encoded words (RFC 2047) of a header value; what cannot be read stays."""
    if "=?" not in value:
        return value
    try:
        return "".join(_words(decode_header(value)))
    except (HeaderParseError, LookupError, ValueError):
        return value


def _end_of_head(raw: bytes) -> int:
    found = _HEAD_END.search(raw)
    return found.end() if found else len(raw)


def _part(message: Message, path: str, depth: int) -> Part:
    payload = message.get_payload() if message.is_multipart() else None
    children = (
        [one for one in payload if isinstance(one, Message)] if isinstance(payload, list) else []
    )
    content_type = message.get_content_type()
    if children and depth == _DEEPEST:
        content_type, children, data = "application/octet-stream", [], _written(message)
    elif content_type.startswith("message/") and children:
        data = b"".join(_written(child) for child in children)
    elif children:
        data = b""
    else:
        data = _bytes(message)
    return Part(
        path=path,
        headers=tuple(_headers(message)),
        content_type=content_type,
        charset=_charset(message),
        filename=_filename(message),
        disposition=(message.get_content_disposition() or ""),
        content_id=_unfold(message.get("Content-ID", "")).strip().strip("<>"),
        data=data,
        parts=tuple(
            _part(one, f"{path}.{place}" if path else str(place), depth + 1)
            for place, one in enumerate(children)
        ),
    )


def _written(message: Message) -> bytes:
    try:
        return message.as_bytes()
    except (LookupError, ValueError, RecursionError):  # a charset that does not exist, say
        return str(message.get_payload()).encode("utf-8", "surrogateescape")


def _headers(message: Message) -> Iterator[Header]:
    for name, value in message.raw_items():
        raw = _unfold(value)
        yield Header(name, raw, decode(raw))


def _unfold(value: object) -> str:
    text = _FOLD.sub(" ", str(value)).strip()
    return _repair(text)


def _repair(text: str) -> str:
    """Read raw eight-bit header bytes, which the parser keeps as surrogates, as UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return _whole(text)


def _whole(text: str) -> str:
    """Replace halves of characters, which UTF-7 can name and no answer can hold."""
    return text.encode("utf-8", "replace").decode()


def _words(pieces: Iterable[tuple[bytes | str, str | None]]) -> Iterator[str]:
    for piece, charset in pieces:
        yield piece if isinstance(piece, str) else _text(piece, charset or "ascii")


def _bytes(message: Message) -> bytes:
    try:
        data = message.get_payload(decode=True)
    except (ValueError, LookupError):
        data = None
    return data if isinstance(data, bytes) else str(message.get_payload() or "").encode()


def _charset(message: Message) -> str | None:
    try:
        return message.get_content_charset()
    except (ValueError, LookupError):
        return None


def _filename(message: Message) -> str:
    try:
        name = message.get_filename("") or ""
    except (ValueError, LookupError):
        return ""
    return decode(_unfold(collapse_rfc2231_value(name)))


def _text(data: bytes, charset: str | None) -> str:
    for codec in (charset, "utf-8", "windows-1252"):
        if codec:
            try:
                return _whole(data.decode(codec, "strict" if codec == "utf-8" else "replace"))
            except (LookupError, ValueError):  # a charset with a NUL in its name, say
                continue
    return data.decode("utf-8", "replace")
