"""
The calendar window of a token and the time range of a call.

All times are aware, UTC; ranges are half-open. Specified in docs/spec/calendar.md#token-window and
docs/spec/calendar.md#default-range.
"""

from datetime import UTC, datetime, time, timedelta

import msgspec

from policy.grants import Grant
from policy.refusals import InvalidInput
from policy.vocabulary import Code

WEEK = timedelta(days=7)
EARLIEST = datetime(1, 1, 2, tzinfo=UTC)  # one day of room for time zone arithmetic
LATEST = datetime(9999, 12, 30, tzinfo=UTC)


class TimeRange(msgspec.Struct, frozen=True):
    """Half-open range from *start* to *end*; empty when *end* is not after *start*."""

    start: datetime
    end: datetime

    @property
    def empty(self) -> bool:
        return self.end <= self.start

    def clamp(self, bounds: "TimeRange") -> "TimeRange":
        """Return the intersection, which may be empty."""
        return TimeRange(max(self.start, bounds.start), min(self.end, bounds.end))

    def whole_days(self) -> "TimeRange":
        """Widen to whole UTC days (docs/spec/calendar.md#ranges-with-hidden-times)."""
        end = _midnight(self.end)
        return TimeRange(_midnight(self.start), end if end == self.end else _shift(end, days=1))


def allowed_range(grant: Grant, now: datetime) -> TimeRange:
    """Return [00:00 today - past days, 24:00 today + future days]; an unset side is unbounded."""
    today = _midnight(now)
    past, future = grant.past_days, grant.future_days
    return TimeRange(
        EARLIEST if past is None else _shift(today, days=-past),
        LATEST if future is None else _shift(today, days=future + 1),
    )


def is_restricted(grant: Grant) -> bool:
    """Return whether the token's window is bounded on any side."""
    return grant.past_days is not None or grant.future_days is not None


def requested_range(
    start: datetime | None, end: datetime | None, *, grant: Grant, now: datetime
) -> TimeRange:
    """
    Fill in the missing ends of a requested range and clamp it to the token's window.

    Returns:
        The range to read; `empty` when an explicit range lies outside the window.

    Raises:
        InvalidInput: `INVALID_RANGE`, *end* is not after *start*, or the end that is missing
            would lie beyond the calendar.
    """
    bounds = allowed_range(grant, now)
    if start is None and end is None and is_restricted(grant):
        return _smart_window(bounds, _midnight(now))
    period = _fill_missing_ends(start, end, _midnight(now))
    if period.empty:
        raise InvalidInput(_cause_of_empty(start, end), code=Code.INVALID_RANGE)
    return period.clamp(bounds)


def _cause_of_empty(start: datetime | None, end: datetime | None) -> str:
    if end is None:
        return f"Without 'to', 'from' must be before {LATEST:%Y-%m-%d}."
    if start is None:
        return f"Without 'from', 'to' must be after {EARLIEST.isoformat()[:10]}."
    return "'to' must be after 'from'."


def _fill_missing_ends(start: datetime | None, end: datetime | None, today: datetime) -> TimeRange:
    if start is None and end is None:
        return TimeRange(today, today + WEEK)
    if start is None and end is not None:
        return TimeRange(today if today < end else _shift(end, days=-7), end)
    assert start is not None  # noqa: S101 - the other cases returned above
    return TimeRange(start, _shift(start, days=7) if end is None else end)


def _smart_window(bounds: TimeRange, today: datetime) -> TimeRange:
    start = max(bounds.start, today - timedelta(days=3))
    end = start + WEEK
    if end > bounds.end:
        end = bounds.end
        start = max(bounds.start, _shift(end, days=-7))
    return TimeRange(start, end)


def _midnight(moment: datetime) -> datetime:
    return datetime.combine(moment.astimezone(UTC).date(), time(), tzinfo=UTC)


def _shift(moment: datetime, *, days: int) -> datetime:
    """Move by *days*, at most to the earliest or latest date."""
    try:
        return min(max(moment + timedelta(days=days), EARLIEST), LATEST)
    except OverflowError:
        return EARLIEST if days < 0 else LATEST
