"""Ids in management paths: a text that is no id of ours is simply not there."""

import re

_LONG = re.compile(r"[1-9]\d{0,18}", re.ASCII)
_MOST = 2**63 - 1


def long(text: str) -> int:
    """Read a `long` out of a path; what is none becomes 0, which no row ever has."""
    number = int(text) if _LONG.fullmatch(text) else 0
    return number if number <= _MOST else 0
