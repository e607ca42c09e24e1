"""
Parsing of date headers: the usual form by a pattern, others by the standard library.

The standard library's parser takes longer than all the rest of a message.
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

_USUAL = re.compile(
    r"(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d)"
    r" ([+-]\d{4})(?: \([^()]*\))?\s*",
    re.ASCII,
)
_MONTHS = {
    name: f"{number:02}"
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
        start=1,
    )
}
_MAX_CACHED = 100  # characters of a header, so that the cache stays small


def parse(header: str) -> datetime | None:
    """Return a Date header as UTC, also assumed without an offset; None when it is no date."""
    return _parse_cached(header) if len(header) <= _MAX_CACHED else _parse(header)


def _parse(header: str) -> datetime | None:
    match = _USUAL.fullmatch(header)
    try:
        if match is None or match[2] not in _MONTHS:
            sent = parsedate_to_datetime(header)
            return sent.replace(tzinfo=UTC) if sent.tzinfo is None else sent.astimezone(UTC)
        day, month, year, clock, zone = match.groups()
        sent = datetime.fromisoformat(f"{year}-{_MONTHS[month]}-{day:0>2}T{clock}{zone}")
        return sent if sent.tzinfo is UTC else sent.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


_parse_cached = lru_cache(maxsize=2048)(_parse)
