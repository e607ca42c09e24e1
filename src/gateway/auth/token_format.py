"""
The text of an access token: `agw_`, 43 base62 characters, `_`, 6 characters of a CRC32.

Secret scanners recognize a token by the checksum, and a mistyped one is refused before any storage
is read. Only the SHA-256 of the text is stored. See docs/spec/tokens.md#token-text.
"""

import hashlib
import re
import secrets
import zlib

import msgspec

PREFIX = "agw_"
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BODY_LENGTH = 43  # base62 characters for 256 bits
CHECKSUM_LENGTH = 6
KEY_ID_LENGTH = 8  # characters shown of a token

_PATTERN = re.compile(
    rf"{PREFIX}[0-9A-Za-z]{{{BODY_LENGTH}}}_[0-9A-Za-z]{{{CHECKSUM_LENGTH}}}", re.ASCII
)


class GeneratedToken(msgspec.Struct, frozen=True):
    """A new token: its text, to be shown once, and its stored digest and key id."""

    text: str
    digest: bytes
    key_id: str


def generate() -> GeneratedToken:
    """Generate a token of 256 random bits."""
    return from_bits(secrets.randbits(256))


def from_bits(bits: int) -> GeneratedToken:
    """Build the token of *bits*, a number below 2**256."""
    head = PREFIX + base62(bits, BODY_LENGTH)
    text = f"{head}_{checksum(head)}"
    return GeneratedToken(text, _sha256(text), key_id(text))


def digest(text: str) -> bytes | None:
    """Return the SHA-256 of a token's text; None when form or checksum are wrong."""
    if (
        not _PATTERN.fullmatch(text)
        or checksum(text[: -CHECKSUM_LENGTH - 1]) != text[-CHECKSUM_LENGTH:]
    ):
        return None
    return _sha256(text)


def key_id(text: str) -> str:
    """Return the first 8 characters after the prefix, for display."""
    return text[len(PREFIX) : len(PREFIX) + KEY_ID_LENGTH]


def checksum(head: str) -> str:
    """Return the CRC32 of *head* as 6 base62 characters."""
    return base62(zlib.crc32(head.encode()), CHECKSUM_LENGTH)


def base62(number: int, width: int) -> str:
    """Write *number* most significant digit first, left-padded with `0` to *width*."""
    digits = []
    while number:
        number, digit = divmod(number, 62)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits)).rjust(width, "0")


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
