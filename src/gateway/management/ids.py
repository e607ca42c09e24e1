"""Ids in management paths: a text that is no id of ours is simply not there."""

import re

_LONG = re.compile(r"[1-9]\d{0,18}", re.ASCII)
_NAME = re.compile(r"[0-9A-Za-z-]{1,36}", re.ASCII)
_MOST = 2**63 - 1


def long(text: str) -> int:
    """Read a `long` out of a path; what is none becomes 0, which no row ever has."""
    number = int(text) if _LONG.fullmatch(text) else 0
    return number if number <= _MOST else 0


def name(text: str) -> str:
    """Read an operator's id; what cannot be one becomes the empty text, which no row ever has."""
    return text if _NAME.fullmatch(text) else ""
