"""
Writer of MIME parts and headers, as mail programs of different ages write them.

Callers choose charset, transfer encoding, header forms and order. Lines end in CRLF. The same input
gives the same bytes.
"""

import base64
import binascii
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

CRLF = b"\r\n"
WORD_LIMIT = 75  # characters of one encoded word; RFC 2047 section 2
FOLD_AT = 78  # characters; RFC 5322 section 2.1.1

Header = tuple[str, str | bytes]


@dataclass(frozen=True, slots=True)
class Part:
    """A MIME entity: its own headers and its encoded body."""

    headers: tuple[Header, ...]
    body: bytes

    def to_bytes(self) -> bytes:
        """Return headers, the empty line and the body."""
        return (
            b"".join(_header_line(name, value) for name, value in self.headers) + CRLF + self.body
        )


def text(
    content: str,
    *,
    subtype: str = "plain",
    charset: str = "utf-8",
    transfer: str = "quoted-printable",
    declared: str | None = None,
    params: str = "",
) -> Part:
    """
    Build a text part.

    *declared* is the charset that the header names, if it differs from the one used; "" names none.
    Content that *charset* cannot encode is sent as UTF-8 instead.
    """
    lines = content.replace("\r\n", "\n").replace("\n", "\r\n")
    try:
        data = lines.encode(charset)
    except UnicodeEncodeError:
        charset, data = "utf-8", lines.encode()
        transfer = "quoted-printable" if transfer == "7bit" else transfer
    named = charset if declared is None else declared
    kind = f"text/{subtype}" + (f'; charset="{named}"' if named else "") + params
    return Part((("Content-Type", kind), *_transfer_header(transfer)), _encode(data, transfer))


def file(
    name: str,
    kind: str,
    data: bytes,
    *,
    naming: str = "plain",
    disposition: str = "attachment",
    cid: str | None = None,
    transfer: str = "base64",
) -> Part:
    """
    Build an attachment, or an inline part when *disposition* is "inline".

    *naming*: "plain" (ASCII names), "rfc2231" (``filename*=``), "continued" (``filename*0*=``),
    "rfc2047" (an encoded word inside the parameter, as older programs do), "raw8" (plain UTF-8
    bytes), "type-only" (only ``name=`` of Content-Type) or "none".
    """
    headers: list[Header] = [("Content-Type", _content_type(kind, name, naming))]
    headers += _transfer_header(transfer)
    if naming != "type-only":
        headers.append(("Content-Disposition", _content_disposition(disposition, name, naming)))
    if cid is not None:
        headers.append(("Content-ID", f"<{cid}>"))
    return Part(tuple(headers), _encode(data, transfer))


def multipart(
    subtype: str, parts: Sequence[Part], *, boundary: str, preamble: str = "", params: str = ""
) -> Part:
    """Build a multipart; *boundary* must not occur in *parts*."""
    mark = boundary.encode()
    body = preamble.encode() + (CRLF if preamble else b"")
    for part in parts:
        body += b"--" + mark + CRLF + part.to_bytes() + CRLF
    body += b"--" + mark + b"--" + CRLF
    kind = f'multipart/{subtype}; boundary="{boundary}"' + params
    return Part((("Content-Type", kind),), body)


def nested(raw: bytes, *, name: str | None = None) -> Part:
    """Build a message/rfc822 part from a whole mail."""
    headers: list[Header] = [("Content-Type", "message/rfc822")]
    shown = "attachment" if name is None else f'attachment; filename="{name}"'
    headers.append(("Content-Disposition", shown))
    return Part(tuple(headers), raw)


def mail(headers: Iterable[Header], part: Part) -> bytes:
    """Build a whole mail: *headers* in order, then those of *part*, then its body."""
    versions: tuple[Header, ...] = (("MIME-Version", "1.0"),)
    return Part((*headers, *versions, *part.headers), part.body).to_bytes()


def bare(headers: Iterable[Header], body: bytes) -> bytes:
    """Build a mail without MIME headers, as programs before 1993 did."""
    return Part(tuple(headers), body).to_bytes()


def words(value: str, *, charset: str = "utf-8", form: str = "B") -> str:
    """
    Return *value* as header text: itself when ASCII, else encoded words (RFC 2047).

    *form* is "B" or "Q". Words are split between characters and folded onto lines of their own.
    """
    if value.isascii() and "=?" not in value:
        return value
    try:
        value.encode(charset)
    except UnicodeEncodeError:
        charset = "utf-8"
    room = WORD_LIMIT - len(charset) - 7
    pieces: list[str] = []
    rest = value
    while rest:
        take = len(rest)
        while len(_encode_word(rest[:take], charset, form)) > room:
            take -= max(1, take // 8)
        pieces.append(f"=?{charset}?{form}?{_encode_word(rest[:take], charset, form)}?=")
        rest = rest[take:]
    return "\r\n ".join(pieces)


def mailbox(name: str | None, address: str, *, charset: str = "utf-8", form: str = "B") -> str:
    """Return ``Name <address>``, the name quoted or encoded as needed."""
    if not name:
        return address
    if not name.isascii():
        return f"{words(name, charset=charset, form=form)} <{address}>"
    plain = all(letter.isalnum() or letter in " -'" for letter in name)
    return f"{name} <{address}>" if plain else f'"{name}" <{address}>'


def mailboxes(addresses: Iterable[str]) -> str:
    """Join the addresses of a header, folded between them."""
    lines = [""]
    for address in addresses:
        if lines[-1] and len(lines[-1]) + len(address) > FOLD_AT - 2:
            lines.append(address)
        else:
            lines[-1] = f"{lines[-1]}, {address}" if lines[-1] else address
    return ",\r\n ".join(lines)


def wrap(content: str, *, width: int = 72) -> str:
    """Break the lines of *content* at *width*; quoted lines and scripts without spaces stay."""
    done: list[str] = []
    for line in content.split("\n"):
        short = len(line) <= width or line.startswith(">") or " " not in line[:width]
        done += [line] if short else textwrap.wrap(line, width, break_long_words=False)
    return "\n".join(done)


def _header_line(name: str, value: str | bytes) -> bytes:
    raw = value if isinstance(value, bytes) else _fold(name, value).encode("utf-8")
    return name.encode() + b": " + raw + CRLF


def _fold(name: str, value: str) -> str:
    """Fold ASCII text at spaces; text that is folded already stays."""
    if "\n" in value or len(name) + 2 + len(value) <= FOLD_AT or " " not in value:
        return value
    lines = [f"{name}: "]
    for word in value.split(" "):
        fits = len(lines[-1]) + len(word) < FOLD_AT
        if fits or not lines[-1].strip() or lines[-1] == f"{name}: ":
            lines[-1] += word + " "
        else:
            lines.append(word + " ")
    return "\r\n ".join(line.rstrip(" ") for line in lines)[len(name) + 2 :]


def _encode_word(value: str, charset: str, form: str) -> str:
    data = value.encode(charset)
    if form == "B":
        return base64.b64encode(data).decode()
    return quote(data, safe="!*+-/").replace("%20", "_").replace("%", "=").replace("~", "=7E")


def _transfer_header(transfer: str) -> tuple[Header, ...]:
    return (("Content-Transfer-Encoding", transfer),) if transfer else ()


def _encode(data: bytes, transfer: str) -> bytes:
    if transfer == "base64":
        return base64.encodebytes(data).replace(b"\n", CRLF)
    if transfer == "quoted-printable":
        return binascii.b2a_qp(data, istext=True)
    return data


def _content_type(kind: str, name: str, naming: str) -> str:
    if naming in {"plain", "type-only"}:
        return f'{kind}; name="{name}"'
    if naming == "rfc2047":
        return f'{kind};\r\n name="{words(name)}"'
    return kind


def _content_disposition(disposition: str, name: str, naming: str) -> str | bytes:
    if naming == "plain":
        return f'{disposition}; filename="{name}"'
    if naming == "rfc2231":
        return f"{disposition};\r\n filename*=utf-8''{quote(name, safe='')}"
    if naming == "rfc2047":
        return f'{disposition};\r\n filename="{words(name)}"'
    if naming == "raw8":
        return f'{disposition}; filename="{name}"'.encode()
    if naming == "continued":
        escaped = [quote(letter, safe="") for letter in name]
        half = len(escaped) // 2
        first, second = "".join(escaped[:half]), "".join(escaped[half:])
        return f"{disposition};\r\n filename*0*=utf-8''{first};\r\n filename*1*={second}"
    return disposition
