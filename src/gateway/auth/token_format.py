"""
The text of an access token: `agw_`, 43 base62 characters, `_`, 6 of its CRC32.

The checksum lets scanners recognise a token and refuses a mistyped one before any storage is
touched. Only the SHA-256 of the text is kept. Decisions 3 and 16.
"""

import hashlib
import re
import secrets
import zlib
from dataclasses import dataclass

PREFIX = "agw_"
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BODY = 43  # base62 characters for 256 bits
CHECK = 6
KEY_ID = 8  # characters shown of a token

_FORM = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{BODY}}}_[0-9A-Za-z]{{{CHECK}}}", re.ASCII)


@dataclass(frozen=True, slots=True)
class GeneratedToken:
    """A new token: its text, to be shown once, and what is stored of it."""

    text: str
    digest: bytes
    key_id: str


def generate() -> GeneratedToken:
    """Make a token of 256 random bits."""
    return from_bits(secrets.randbits(256))


def from_bits(bits: int) -> GeneratedToken:
    """Write the token of *bits*, a number below 2**256."""
    head = PREFIX + base62(bits, BODY)
    text = f"{head}_{checksum(head)}"
    return GeneratedToken(text, _sha256(text), key_id(text))


def digest(text: str) -> bytes | None:
    """Return what *text* is stored under; None when form or checksum are wrong."""
    if not _FORM.fullmatch(text) or checksum(text[: -CHECK - 1]) != text[-CHECK:]:
        return None
    return _sha256(text)


def key_id(text: str) -> str:
    """Return the first 8 characters after the prefix, for display."""
    return text[len(PREFIX) : len(PREFIX) + KEY_ID]


def checksum(head: str) -> str:
    """Return the CRC32 of *head* as 6 base62 characters."""
    return base62(zlib.crc32(head.encode()), CHECK)


def base62(number: int, width: int) -> str:
    """Write *number* most significant digit first, left-padded with `0` to *width*."""
    digits = []
    while number:
        number, digit = divmod(number, 62)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits)).rjust(width, "0")


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
