"""Content-Transfer-Encodings, decoded as far as they go: what is malformed is left out."""

import binascii
import quopri
import re
from base64 import b64decode

_OTHER_SIGNS = re.compile(rb"[^A-Za-z0-9+/=]+")
_BLANKS_AT_END = (b" \r", b" \n", b"\t\r", b"\t\n")
_PADDING = re.compile(rb"=+")
UUENCODED = frozenset({"x-uuencode", "x-uue", "uuencode", "uue"})


def decode(content: bytes, encoding: str, *, is_cut: bool = False) -> bytes:
    """Decode a part by its encoding, in lower case; *is_cut*: its end is missing."""
    if encoding == "base64":
        decoder = Base64Decoder()
        return decoder.decode(content, final=not is_cut)
    if encoding == "quoted-printable":
        return decode_quoted_printable(content)
    return UuDecoder().decode(content, final=True) if encoding in UUENCODED else content


def decode_quoted_printable(content: bytes) -> bytes:
    """Decode whole lines; blanks at the end of one are left out (RFC 2045, 6.7, rule 3)."""
    if not any(sign in content for sign in _BLANKS_AT_END) and content[-1:] not in b" \t":
        return quopri.decodestring(content)
    lines = (
        line[:-1].rstrip(b" \t") + b"\r" if line.endswith(b"\r") else line.rstrip(b" \t")
        for line in content.split(b"\n")
    )
    return quopri.decodestring(b"\n".join(lines))


def decode_base64(content: bytes) -> bytes:
    """
    Decode base64 with or without its padding; other signs are ignored.

    What follows padding is decoded for itself: blocks of base64 are joined by some senders.
    """
    blocks = _PADDING.split(_OTHER_SIGNS.sub(b"", content))
    return b"".join(map(_decode_block, blocks))


def _decode_block(signs: bytes) -> bytes:
    if len(signs) % 4 == 1:  # it holds no whole byte
        signs = signs[:-1]
    return b64decode(signs + b"=" * (-len(signs) % 4))


class Base64Decoder:
    """Decoder of base64 that arrives in pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def decode(self, piece: bytes, *, final: bool) -> bytes:
        """Return the bytes of whole groups so far, and of the rest when *piece* is the last one."""
        signs = self._rest + _OTHER_SIGNS.sub(b"", piece)
        padded = signs.rfind(b"=") + 1
        usable = len(signs) if final else len(signs) - (len(signs) - padded) % 4
        self._rest = signs[usable:]
        return decode_base64(signs[:usable])


def base64_size(first: bytes, last: bytes, size: int) -> int | None:
    """
    Return the bytes that base64 of *size* bytes holds; None: its lines are not of one length.

    *first* and *last* are its beginning and its end, of more than a line.
    """
    length = first.find(b"\r\n")
    stride = length + 2
    if length <= 0 or length % 4:
        return None
    trimmed = last.rstrip()
    end = size - (len(last) - len(trimmed))
    start = size - len(last)
    breaks = [match.start() for match in re.finditer(rb"\r\n", trimmed)]
    if any((start + offset) % stride != length for offset in breaks):
        return None
    if b"=" in first[:-1].rstrip(b"=\r\n") or b"=" in trimmed.rstrip(b"="):
        return None  # blocks of base64 follow each other
    signs = end - 2 * (end // stride)
    padding = len(trimmed) - len(trimmed.rstrip(b"="))
    if signs % 4 or padding > 2 or end % stride > length:
        return None
    return signs // 4 * 3 - padding


class UuDecoder:
    """Decoder of uuencoded lines that arrive in pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def decode(self, piece: bytes, *, final: bool) -> bytes:
        """Return the bytes of whole lines so far, and of the rest when *piece* is the last one."""
        lines = re.split(rb"\r?\n", self._rest + piece)
        self._rest = b"" if final else lines.pop()
        return b"".join(map(_decode_uu_line, lines))


def _decode_uu_line(line: bytes) -> bytes:
    if line[:6] == b"begin " or line in (b"end", b"`", b""):
        return b""
    try:
        return binascii.a2b_uu(line)
    except binascii.Error:
        return b""
