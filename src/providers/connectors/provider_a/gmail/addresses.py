"""
Address headers, read fast.

The usual forms are taken apart by one pattern; everything else goes to the standard library, which
is many times slower (performance report, 7).
"""

import re
from email.errors import HeaderParseError
from email.header import decode_header
from email.utils import getaddresses
from functools import lru_cache, partial
from inspect import signature

from providers.connectors.provider_a.gmail import charsets
from providers.records.mail import Participant

# Both fit pieces without blanks around them, and only in one way, so that they take linear time.
_PLAIN = re.compile(r'([^<>"(),:;@\\]*)<([^<>\s"(),:;\\]+)>|([^<>\s"(),:;\\]+)')
_QUOTED = re.compile(r'"([^"\\]*)"\s*<([^<>\s"(),:;\\]+)>')
# A header of one quoted name with a comma inside must not be split there.
_PIECE = re.compile(r'(?:[^",]+|"[^"]*"?)+')
# Newer interpreters drop the whole list over one odd address unless told otherwise.
_READ = (
    partial(getaddresses, strict=False)
    if "strict" in signature(getaddresses).parameters
    else getaddresses
)


@lru_cache(maxsize=4096)
def read(header: str) -> tuple[Participant, ...]:
    """Return the mailboxes of an address header, in order; what is none is left out."""
    if not header:
        return ()
    found = []
    for piece in map(str.strip, _PIECE.findall(header) if '"' in header else header.split(",")):
        match = _QUOTED.fullmatch(piece) or _PLAIN.fullmatch(piece)
        if match is None:
            return _slowly(header)
        name, address = (match[1], match[2]) if match.lastindex == 2 else ("", match[3])
        found.append(Participant(email=address, name=decoded(name.strip()) or None))
    return tuple(found)


def decoded(text: str) -> str:
    """Decode the encoded words (RFC 2047) of a header; what cannot be read stays as it is."""
    if "=?" not in text:
        return text
    # How the standard library hands over what stands between encoded words.
    between = "ascii" if text.isascii() else "raw-unicode-escape"
    try:
        return "".join(
            charsets.read(piece, charset)
            if charset
            else charsets.whole(piece if isinstance(piece, str) else piece.decode(between))
            for piece, charset in decode_header(text)
        )
    except (HeaderParseError, LookupError, ValueError):
        return text


def _slowly(header: str) -> tuple[Participant, ...]:
    try:
        pairs = _READ([header])
    except RecursionError:  # comments within comments, thousands deep
        return ()
    return tuple(
        Participant(email=address, name=decoded(name) or None) for name, address in pairs if address
    )
