"""Texts out of letters, by the charset they name: always texts that can be written again."""

import codecs
import re

# Codecs of the language rather than of mail: they read escapes, or take quadratic time.
_NO_CHARSETS = frozenset({"unicode-escape", "raw-unicode-escape", "punycode", "idna"})
_HALVES = re.compile("[\ud800-\udfff]")


def text(octets: bytes, charset: str | None) -> str:
    """Read *octets*, as UTF-8 if need be; what cannot be read comes as U+FFFD."""
    try:
        return read(octets, charset or "utf-8")
    except (LookupError, ValueError):
        return octets.decode("utf-8", "replace")


def read(octets: bytes, charset: str) -> str:
    """
    Read *octets*; what cannot be read comes as U+FFFD.

    Raises:
        LookupError, ValueError: Nobody names_including the charset, or it is none.
    """
    if codecs.lookup(charset).name in _NO_CHARSETS:
        raise LookupError(charset)
    return whole(octets.decode(charset, "replace"))


def whole(found: str) -> str:
    """Replace halves of characters, which UTF-7 can name and no answer can hold."""
    return found if found.isascii() else _HALVES.sub("\ufffd", found)
