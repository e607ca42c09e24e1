"""
Timestamps of the tables: whole milliseconds since the epoch, UTC.

One form for both databases and for the raw reads of the request path.
"""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Linux alone has a clock that goes on while the machine is suspended.
_UPTIME_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_MILLISECOND = timedelta(milliseconds=1)

LAST_USE_MS = 60_000  # resolution of `lastUsedAt`, in milliseconds

ClockMs = Callable[[], int]  # gives milliseconds since the epoch


def now_ms() -> int:
    """Return the current time."""
    return time.time_ns() // 1_000_000


def uptime() -> float:
    """Return seconds that also pass while the machine is suspended, from an arbitrary start."""
    return time.clock_gettime(_UPTIME_CLOCK)


def to_ms(moment: datetime) -> int:
    """Convert *moment*; a naive one is UTC. Fractions of a millisecond are dropped."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // _MILLISECOND


def from_ms(milliseconds: int) -> datetime:
    """Convert to an aware UTC datetime."""
    return EPOCH + timedelta(milliseconds=milliseconds)


def to_text(milliseconds: int) -> str:
    """Format as `YYYY-MM-DDTHH:MM:SSZ`; the fraction is written only when it is not zero."""
    moment = from_ms(milliseconds).replace(tzinfo=None)
    return moment.isoformat(timespec="milliseconds" if milliseconds % 1000 else "seconds") + "Z"


def optional_text(milliseconds: int | None) -> str | None:
    """Format as `to_text`; None stays None."""
    return None if milliseconds is None else to_text(milliseconds)


_PATTERN = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:([Zz])|([+\- ])(\d\d):?(\d\d))?)?",
    re.ASCII,
)


def parse(text: str) -> int:
    """
    Parse an input time with `Z`, with an offset, without either (UTC), or a date alone (00:00 UTC).

    A blank before the offset is read as an un-encoded `+` (docs/spec/requests.md#times).

    Raises:
        ValueError: Any other form, or a day, hour or year that does not exist in UTC.
    """
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise ValueError("not a time")
    year, month, day, hour, minute, second, fraction, _, sign, hours, minutes = match.groups()
    moment = datetime(
        int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0),
        int((fraction or "0").ljust(6, "0")[:6]), tzinfo=UTC,
    )  # fmt: skip
    if not sign:
        return to_ms(moment)
    if int(hours) > 23 or int(minutes) > 59:
        raise ValueError("not an offset")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    try:
        return to_ms(moment + offset if sign == "-" else moment - offset)
    except OverflowError:
        raise ValueError("not a year") from None
