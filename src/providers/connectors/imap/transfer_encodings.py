"""Content-Transfer-Encodings, decoded as far as they go: what is malformed is left out."""

import binascii
import quopri
import re
from base64 import b64decode

_OTHER_SIGNS = re.compile(rb"[^A-Za-z0-9+/]+")
_UUENCODED = frozenset({"x-uuencode", "x-uue", "uuencode", "uue"})


def decode(content: bytes, encoding: str, *, is_cut: bool = False) -> bytes:
    """Decode a part by its encoding, in lower case; *is_cut*: its end is missing."""
    if encoding == "base64":
        signs = base64_signs(content)
        return decode_base64(signs[: len(signs) - len(signs) % 4] if is_cut else signs)
    if encoding == "quoted-printable":
        return quopri.decodestring(content)
    return _decode_uu(content) if encoding in _UUENCODED else content


def base64_signs(content: bytes) -> bytes:
    """Return what counts of base64: neither line ends nor padding."""
    return _OTHER_SIGNS.sub(b"", content)


def decode_base64(content: bytes) -> bytes:
    """Decode base64 with or without its padding; other signs are ignored."""
    signs = base64_signs(content)
    if len(signs) % 4 == 1:  # it holds no whole byte
        signs = signs[:-1]
    return b64decode(signs + b"=" * (-len(signs) % 4))


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
    signs = end - 2 * (end // stride)
    padding = len(trimmed) - len(trimmed.rstrip(b"="))
    if signs % 4 or padding > 2 or end % stride > length:
        return None
    return signs // 4 * 3 - padding


def _decode_uu(content: bytes) -> bytes:
    decoded = []
    for line in content.splitlines():
        if line[:6] == b"begin " or line in (b"end", b"`", b""):
            continue
        try:
            decoded.append(binascii.a2b_uu(line))
        except binascii.Error:
            continue
    return b"".join(decoded)
