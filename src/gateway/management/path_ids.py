"""Ids in management paths."""

import re

_LONG = re.compile(r"[1-9]\d{0,18}", re.ASCII)
_MAX_LONG = 2**63 - 1


def row_id(text: str) -> int:
    """Parse a `long` of a path; a text that is not one becomes 0, which no row has."""
    number = int(text) if _LONG.fullmatch(text) else 0
    return number if number <= _MAX_LONG else 0
