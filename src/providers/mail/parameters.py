"""
Parameters of MIME headers, such as the name of a file: RFC 2045, 5.1; RFC 2231.

The standard library's reading raises on texts that strangers can write (`filename*` beside
`filename*0*`, the charset `undefined`), and knows codecs that take quadratic time.
"""

import re
from collections.abc import Iterable, Iterator
from email.utils import unquote
from itertools import groupby
from operator import itemgetter
from urllib.parse import unquote_to_bytes

from providers.mail import charsets

MAX_PARAMETERS = 64  # of one header; a long file name takes some twenty

# A name, and a quoted or plain value; of an unfinished quotation, what stands before a semicolon.
_PARAMETER = re.compile(r';\s*([^\s;="]{1,100})\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)', re.DOTALL)
# A name that is continued or encoded: `filename*`, `filename*0`, `filename*0*`.
_EXTENDED = re.compile(r"([^*]+)\*(?:([0-9]{1,4})(\*)?)?")
# Also where no semicolon stands before it.
_CHARSET = re.compile(r'\bcharset\s{0,9}=\s{0,9}"?([^\s";]{1,80})', re.IGNORECASE)
_WHOLE = -1  # in place of the number of a piece: the value is encoded and not continued


def split(header: str) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a header as they are written: their names and unquoted values."""
    for number, match in enumerate(_PARAMETER.finditer(header)):
        if number == MAX_PARAMETERS:
            return
        yield match[1], _unquoted(without_comment(match[2]))


def _unquoted(value: str) -> str:
    is_open = value.startswith('"') and (len(value) == 1 or not value.endswith('"'))
    return value[1:] if is_open else unquote(value)


def without_comment(text: str) -> str:
    """Return a value without blanks around it and a comment behind it (RFC 2045, 5.1)."""
    text = text.strip()
    start = text.rfind("(") if text.endswith(")") else -1
    # `a(1).pdf` is a name, although parentheses are not characters of one.
    return text[:start].rstrip() if start >= 0 and not text[:start][-1:].strip() else text


def charset(content_type: str) -> str:
    """Return the charset that a Content-Type names; "" without one."""
    stated = join(split(content_type)).get("charset", "")
    match = None if stated else _CHARSET.search(content_type)
    return match[1] if match else stated


def join(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """
    Return parameters by lower-case name; continued and encoded ones are joined.

    The first of a name counts, and one that is encoded or continued before a plain one, which is
    for older readers (RFC 2231, 4; RFC 6266, 4.3).
    """
    joined: dict[str, str] = {}
    pieces: dict[str, list[tuple[int, str, bool]]] = {}
    for name, value in pairs:
        extended = _EXTENDED.fullmatch(name.lower())
        if extended is None:
            joined.setdefault(name.lower(), value)
        else:
            number = _WHOLE if extended[2] is None else int(extended[2])
            is_encoded = number == _WHOLE or extended[3] is not None
            pieces.setdefault(extended[1], []).append((number, value, is_encoded))
    for name, continued in pieces.items():
        ordered = sorted(continued)
        value = _value(ordered[:1] if ordered[0][0] == _WHOLE else ordered)
        if value:
            joined[name] = value
    return joined


def _value(pieces: list[tuple[int, str, bool]]) -> str:
    """Return the value of pieces in their order; the first encoded one begins with the charset."""
    is_encoded = any(encoded for _, _, encoded in pieces)
    text = b""
    for encoded, run in groupby(pieces, itemgetter(2)):  # some senders cut within %C3
        value = "".join(value for _, value, _ in run)
        text += unquote_to_bytes(value) if encoded else value.encode("utf-8", "surrogateescape")
    charset, *rest = text.split(b"'", 2)
    if not is_encoded or len(rest) < 2:
        return charsets.decode_or_utf8(text, None)
    return charsets.decode_or_utf8(rest[1], charset.decode("latin-1"))
