"""
Date headers, read fast: the usual form by one pattern, others by the standard library.

The general parser costs more than all the rest of a message (performance report, 7).
"""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_USUAL = re.compile(
    r"(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d)"
    r" ([+-])(\d\d)(\d\d)(?: \([^()]*\))?\s*",
    re.ASCII,
)
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
        start=1,
    )
}


def read(header: str) -> datetime | None:
    """Return a Date header as UTC, None when it is none; without an offset it is UTC already."""
    match = _USUAL.fullmatch(header)
    try:
        if match is None or match[2] not in _MONTHS:
            sent = parsedate_to_datetime(header)
            return sent.replace(tzinfo=UTC) if sent.tzinfo is None else sent.astimezone(UTC)
        day, year, hour, minute, second = (int(match[group]) for group in (1, 3, 4, 5, 6))
        local = datetime(year, _MONTHS[match[2]], day, hour, minute, second, tzinfo=UTC)
        offset = timedelta(hours=int(match[8]), minutes=int(match[9]))
        return local - offset if match[7] == "+" else local + offset
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
