"""Decoding of mail bytes by their declared charset; the result can always be encoded as UTF-8."""

import codecs
import re

# Codecs of Python rather than of mail: they interpret escapes, or take quadratic time.
_NO_CHARSETS = frozenset({"unicode-escape", "raw-unicode-escape", "punycode", "idna"})
_SURROGATES = re.compile("[\ud800-\udfff]")


def decode_or_utf8(content: bytes, charset: str | None) -> str:
    """Decode *content*, as UTF-8 when the charset is unknown; invalid bytes become U+FFFD."""
    try:
        return decode(content, charset or "utf-8")
    except (LookupError, ValueError):
        return content.decode("utf-8", "replace")


def decode(content: bytes, charset: str) -> str:
    """
    Decode *content*; invalid bytes become U+FFFD.

    Raises:
        LookupError, ValueError: The charset is unknown or not allowed.
    """
    if codecs.lookup(charset).name in _NO_CHARSETS:
        raise LookupError(charset)
    return replace_surrogates(content.decode(charset, "replace"))


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-7 can encode and UTF-8 cannot."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)
