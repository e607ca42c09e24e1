"""Modified UTF-7 (RFC 3501, 5.1.3): names of folders, and labels as keywords."""

import base64
import binascii
import re

_SHIFTED = re.compile(r"&([A-Za-z0-9+,]*)-")
_PRINTABLE = re.compile(r"[ -~]")
# A keyword is an atom: no blanks, no brackets, no wildcards.
_ATOM = re.compile(r"[!#$'+,\-./0-9:;<=>?@A-Z\[^_`a-z|}~]")


def decode(name: bytes | str) -> str:
    """Decode a folder's name or a keyword; what is malformed stays as it is."""

    def decoded(match: re.Match[str]) -> str:
        if not match[1]:
            return "&"
        shifted = match[1].replace(",", "/")
        try:
            raw = base64.b64decode(shifted + "=" * (-len(shifted) % 4))
            return raw.decode("utf-16-be")
        except (binascii.Error, UnicodeDecodeError):
            return match[0]

    text = name.decode("utf-8", "replace") if isinstance(name, bytes) else name
    return _SHIFTED.sub(decoded, text)


def encode(name: str) -> str:
    """Write a folder's name."""
    return _encode(name, _PRINTABLE)


def encode_keyword(label: str) -> str:
    """Write a label as a keyword; signs that keywords cannot have are shifted."""
    return _encode(label, _ATOM)


def _encode(text: str, plain: re.Pattern[str]) -> str:
    pieces: list[str] = []
    shifted = ""
    for character in [*text, ""]:
        if character and character != "&" and not plain.match(character):
            shifted += character
            continue
        if shifted:
            packed = base64.b64encode(shifted.encode("utf-16-be")).decode().rstrip("=")
            pieces.append(f"&{packed.replace('/', ',')}-")
            shifted = ""
        pieces.append("&-" if character == "&" else character)
    return "".join(pieces)
