"""
Parsing of address headers.

A pattern parses the usual forms; other headers go to the standard library, which is many times
slower.
"""

import re
from email.errors import HeaderParseError
from email.header import decode_header
from email.utils import getaddresses
from functools import lru_cache, partial
from inspect import signature

from providers.mail import charsets
from providers.records.mail import Participant

# Both match stripped pieces, and in one way only, so that they take linear time.
_ADDRESS = r'([^<>\s"(),:;\\\[\]]+(?:\[[0-9A-Za-z.:]+\])?)'
_PLAIN = re.compile(rf'([^<>"(),:;@\\]*)<{_ADDRESS}>|{_ADDRESS}')
_QUOTED = re.compile(rf'"([^"\\]*)"\s*<{_ADDRESS}>')
# A header of one quoted name with a comma inside must not be split there.
_PIECE = re.compile(r'(?:[^",]+|"[^"]*"?)+')
# Characters of a text with encoded words: the standard library takes quadratic time. A line of a
# header has at most 998 characters (RFC 5322, 2.1.1).
_MAX_ENCODED = 16_384
_MAX_CACHED = 1_000  # characters of a header, so that the cache stays small
# Newer Python versions drop the whole list because of one odd address unless *strict* is off.
_getaddresses = (
    partial(getaddresses, strict=False)
    if "strict" in signature(getaddresses).parameters
    else getaddresses
)


def parse(header: str) -> tuple[Participant, ...]:
    """Return the mailboxes of an address header, in order, without entries that have no address."""
    return _parse_cached(header) if len(header) <= _MAX_CACHED else _parse(header)


def _parse(header: str) -> tuple[Participant, ...]:
    if not header:
        return ()
    participants = []
    for piece in map(str.strip, _PIECE.findall(header) if '"' in header else header.split(",")):
        match = _QUOTED.fullmatch(piece) or _PLAIN.fullmatch(piece)
        if match is None:
            return _parse_slowly(header)
        name, address = (match[1], match[2]) if match.lastindex == 2 else ("", match[3])
        participants.append(Participant(email=address, name=decode_words(name.strip()) or None))
    return tuple(participants)


_parse_cached = lru_cache(maxsize=4096)(_parse)


def decode_words(text: str) -> str:
    """
    Decode the encoded words (RFC 2047) of a header.

    Text that cannot be decoded or has more than 16,384 characters is returned unchanged.
    """
    if "=?" not in text or len(text) > _MAX_ENCODED:
        return text
    # The encoding in which the standard library returns the text between encoded words.
    between = "ascii" if text.isascii() else "raw-unicode-escape"
    try:
        return "".join(
            charsets.decode(piece, charset)
            if charset
            else charsets.replace_surrogates(
                piece if isinstance(piece, str) else piece.decode(between)
            )
            for piece, charset in decode_header(text)
        )
    except (HeaderParseError, LookupError, ValueError):
        return text


def _parse_slowly(header: str) -> tuple[Participant, ...]:
    try:
        pairs = _getaddresses([header])
    except RecursionError:  # comments nested thousands deep
        return ()
    return tuple(
        Participant(email=address, name=decode_words(name) or None)
        for name, address in pairs
        if address
    )
