"""
Parser of raw messages: a light tree of MIME parts, for both mail protocols.

It accepts every message that the standard library's parser accepts, and puts replacement characters
where bytes cannot be decoded.
"""

import quopri
import re
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import Message
from email.parser import BytesHeaderParser
from functools import cached_property, lru_cache

from sandbox.mail import addresses, charsets
from sandbox.mail.records import StoredMail

_MAX_CACHED_TREES = 4096
_MAX_DEPTH = 40  # levels; a part below is opaque
_END_OF_HEADERS = re.compile(rb"\r?\n\r?\n")
_ANGLED = re.compile(r"<[^<>\s]+>")
_CONTENT = r"(?:[^?=]|=(?!\?[^=])|\?(?!=))*"  # of a word; question marks are an error of senders
_WORD = re.compile(rf"=\?([^?*\s]{{1,80}})(?:\*[^?\s]*)?\?([bBqQ])\?({_CONTENT})\?=")
_WORDS = re.compile(
    rf"=\?([^?*\s]{{1,80}})(?:\*[^?\s]*)?\?[bBqQ]\?{_CONTENT}\?="
    rf"(?:[ \t]+=\?(?i:\1)(?:\*[^?\s]*)?\?[bBqQ]\?{_CONTENT}\?=)*"
    r"(?:[ \t]+(?==\?[^?\s]+\?[bBqQ]\?))?"
)
_INNER_PADDING = re.compile(r"=\s*[A-Za-z0-9+/]")
_BLOCK = re.compile(r"[^=]+")
_BLANK_COLON = re.compile(rb"^([!-9;-~]{1,80})[ \t]{1,9}:", re.MULTILINE)
_CHARSET = re.compile(r"""charset\s*=\s*["']*([\w:.-]+)""", re.IGNORECASE)
_FOLD = re.compile(r"\r?\n[ \t]*")
_HEADERS = BytesHeaderParser(policy=policy.compat32)


@dataclass(frozen=True, slots=True)
class Header:
    """
    One header line, unfolded.

    Attributes:
        raw: The value as it was sent, with its encoded words.
        text: The value with encoded words decoded.
    """

    name: str
    raw: str
    text: str


@dataclass(frozen=True, slots=True)
class Address:
    """A display name (decoded; "" for none) and an address."""

    name: str
    address: str


@dataclass(frozen=True, kw_only=True)
class Part:
    """
    One MIME part, and the parts in it.

    Attributes:
        path: Provider A's part id: "" for the root, then "0", "0.1", …
        content_type: Lower case, "text/plain" when there is none.
        charset: As the part names it; None when it names none.
        filename: Decoded; "" when there is none.
        disposition: "inline", "attachment" or "".
        content_id: Without angle brackets; "" when there is none.
        data: The decoded bytes of a leaf, the raw bytes of an attached message, else empty.
        parts: The parts of a multipart, or the tree of an attached message.
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
        """Return the addresses in every header of this name, in order."""
        return tuple(
            Address(display, address)
            for header in self.header_all(name)
            for display, address in addresses.parse(header.raw, decode)
        )

    def walk(self) -> Iterator["Part"]:
        """Yield this part and all parts below it, depth first."""
        yield self
        for part in self.parts:
            yield from part.walk()

    @property
    def is_multipart(self) -> bool:
        """Whether it is a multipart; an attached message is none."""
        return self.content_type.startswith("multipart/")

    @property
    def is_attachment(self) -> bool:
        """Whether it has a file name or the disposition "attachment", and is no multipart."""
        return not self.is_multipart and bool(self.filename or self.disposition == "attachment")

    @property
    def is_inline(self) -> bool:
        """Whether an attachment is shown in the body, such as an image with a Content-ID."""
        is_shown = self.content_type.startswith(("image/", "audio/", "video/", "text/"))
        return is_shown and (
            self.disposition == "inline"
            or (bool(self.content_id) and self.disposition != "attachment")
        )

    @cached_property
    def text(self) -> str:
        """The leaf's text; an unknown charset or an invalid byte raises nothing."""
        return charsets.decode(self.data, self.charset, is_html=self.content_type == "text/html")

    def walk_outer(self) -> Iterator["Part"]:
        """Yield this part and all below it, except those inside attached messages and reports."""
        yield self
        if not self.content_type.startswith("message/") or not self.path:
            for part in self.parts:
                yield from part.walk_outer()

    def body(self, subtype: str) -> "Part | None":
        """Return the first ``text/<subtype>`` leaf that is not an attachment."""
        wanted = f"text/{subtype}"
        leaves = (part for part in self.walk_outer() if not part.parts and not part.is_attachment)
        return next((leaf for leaf in leaves if leaf.content_type == wanted), None)

    def attachments(self) -> tuple["Part", ...]:
        """Return the attachments in order; an attached message is one part."""
        return tuple(part for part in self.walk_outer() if part.is_attachment)


class MimeTreeCache:
    """Parsed trees of the most recently used messages."""

    def __init__(self) -> None:
        self._trees: OrderedDict[bytes, Part] = OrderedDict()

    def of(self, mail: StoredMail) -> Part:
        """Return the tree of *mail*, parsed if its bytes are new."""
        cached = self._trees.get(mail.raw)
        if cached is not None:
            self._trees.move_to_end(mail.raw)
            return cached
        tree = self._trees[mail.raw] = parse(mail.raw)
        if len(self._trees) > _MAX_CACHED_TREES:
            self._trees.popitem(last=False)
        return tree


def parse(raw: bytes) -> Part:
    """Parse a whole message; of one that exceeds the recursion limit, only the headers."""
    try:
        return _part(message_from_bytes(_with_names(raw), policy=policy.compat32), "", 0)
    except RecursionError:
        return _part(_HEADERS.parsebytes(raw[: end_of_headers(raw)]), "", 0)


def _with_names(raw: bytes) -> bytes:
    """Return a message without blanks before the colons of its headers (RFC 5322, 4.5)."""
    end = end_of_headers(raw)
    return _BLANK_COLON.sub(rb"\1:", raw[:end]) + raw[end:]


@lru_cache(maxsize=4096)
def threading_ids(raw: bytes) -> tuple[str, ...]:
    """
    Return the Message-IDs that decide a message's thread, with angle brackets, without repeats.

    The message's own comes first, then In-Reply-To, then References from the last to the first.
    """
    headers = _HEADERS.parsebytes(raw[: end_of_headers(raw)])
    own = _ANGLED.findall(_unfold(headers.get("Message-ID", "")))[:1]
    answered = _ANGLED.findall(_unfold(headers.get("In-Reply-To", "")))
    earlier = _ANGLED.findall(_unfold(" ".join(map(str, headers.get_all("References", [])))))
    return tuple(dict.fromkeys((*own, *answered, *reversed(earlier))))


def decode(value: str) -> str:
    """Decode the encoded words (RFC 2047) of a header value; an undecodable word stays."""
    if "=?" not in value:
        return value
    return _WORDS.sub(_decode_words, value)


def _decode_words(run: re.Match[str]) -> str:
    """Decode neighbouring words of one charset; a character may be in two of them."""
    words = [(match[1], match[2], match[3]) for match in _WORD.finditer(run[0])]
    data = b"".join(_word_bytes(encoding, text) for _, encoding, text in words)
    if not charsets.is_known(words[0][0]):
        return run[0]
    return charsets.decode(data, words[0][0])


def _word_bytes(encoding: str, text: str) -> bytes:
    if encoding in "qQ":
        return quopri.decodestring(text.replace("_", " ").encode("utf-8", "replace"), header=True)
    signs = re.sub(r"[^A-Za-z0-9+/]", "", text)
    signs = signs[: len(signs) - (len(signs) % 4 == 1)]
    return b64decode(signs + "=" * (-len(signs) % 4))


def end_of_headers(raw: bytes) -> int:
    """Return the offset of the body, after the empty line."""
    match = _END_OF_HEADERS.search(raw)
    return match.end() if match else len(raw)


def _part(message: Message, path: str, depth: int) -> Part:
    payload = message.get_payload() if message.is_multipart() else None
    children = (
        [child for child in payload if isinstance(child, Message)]
        if isinstance(payload, list)
        else []
    )
    content_type = message.get_content_type().split()[0]  # a semicolon may be missing
    if content_type == "message/rfc822" and len(children) == 1 and _is_base64(message):
        # RFC 2046, 5.2.1 forbids it; the parser takes the encoded text for the message's body.
        encoded = str(children[0].get_payload())
        children = [message_from_bytes(_word_bytes("b", encoded), policy=policy.compat32)]
    if children and depth == _MAX_DEPTH:
        content_type, children, data = "application/octet-stream", [], _to_bytes(message)
    elif content_type.startswith("message/") and children:
        data = b"".join(_to_bytes(child) for child in children)
    elif children:
        data = b""
    else:
        data = _payload(message)
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
            _part(child, f"{path}.{number}" if path else str(number), depth + 1)
            for number, child in enumerate(children)
        ),
    )


def _to_bytes(message: Message) -> bytes:
    try:
        return message.as_bytes()
    except (LookupError, ValueError, RecursionError):  # an unknown charset, for example
        return str(message.get_payload()).encode("utf-8", "surrogateescape")


def _headers(message: Message) -> Iterator[Header]:
    for name, value in message.raw_items():
        raw = _unfold(value)
        yield Header(name, raw, decode(raw))


def _unfold(value: object) -> str:
    return _decode_surrogates(_FOLD.sub(" ", str(value)).strip())


def _decode_surrogates(text: str) -> str:
    """Decode eight-bit header bytes, which the parser keeps as surrogates, as UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return _replace_surrogates(text)


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-7 can express but UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def _payload(message: Message) -> bytes:
    try:
        if "Content-Transfer-Encoding" in message:
            stated = str(message["Content-Transfer-Encoding"]).strip()
            message.replace_header("Content-Transfer-Encoding", stated)
        data = message.get_payload(decode=True)
        encoded = str(message.get_payload()) if _is_base64(message) else ""
        if _INNER_PADDING.search(encoded):
            data = b"".join(_word_bytes("b", block) for block in _BLOCK.findall(encoded))
    except (ValueError, LookupError):
        data = None
    return data if isinstance(data, bytes) else str(message.get_payload() or "").encode()


def _is_base64(message: Message) -> bool:
    return str(message.get("Content-Transfer-Encoding", "")).strip().lower() == "base64"


def _charset(message: Message) -> str | None:
    try:
        named = message.get_content_charset()
    except (ValueError, LookupError):
        named = None
    if named is None and (match := _CHARSET.search(str(message.get("Content-Type", "")))):
        return match[1].lower()  # the semicolon before it is missing
    return named


def _filename(message: Message) -> str:
    """Return the file name; the encoded parameter (RFC 2231) comes before the plain one."""
    for header, parameter in (("content-disposition", "filename"), ("content-type", "name")):
        named = Message()  # with raw bytes as UTF-8, which the library replaces
        named[header] = _unfold(_raw_header(message, header))
        try:
            stated = named.get_params([], header)
        except (ValueError, LookupError):
            continue
        values = [value for name, value in stated if name.lower() == parameter]
        for value in sorted(values, key=lambda value: not isinstance(value, tuple)):
            name = decode(_unfold(_rfc2231_value(value))).removeprefix('"')
            if name:
                return name
    return ""


def _raw_header(message: Message, name: str) -> object:
    values = (value for key, value in message.raw_items() if key.lower() == name)
    return next(values, "")


def _rfc2231_value(value: str | tuple[str | None, str | None, str]) -> str:
    if isinstance(value, str):
        return value
    charset, _, text = value
    return charsets.decode(text.encode("raw-unicode-escape", "replace"), charset)
