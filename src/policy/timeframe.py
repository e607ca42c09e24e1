"""
Calendar bounds: the window a token may look into, and the range a call means.

All times are aware, UTC. Ranges are half-open. Source: contract, "Smart default window"; decisions
6.1, 6.2 and 16.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from policy.grants import Grant
from policy.refusals import InvalidInput
from policy.vocabulary import Code

WEEK = timedelta(days=7)
EARLIEST = datetime(1, 1, 2, tzinfo=UTC)  # a day from the edge: room for zone arithmetic
LATEST = datetime(9999, 12, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From *start* up to, not including, *end*. Empty when *end* is not after *start*."""

    start: datetime
    end: datetime

    @property
    def empty(self) -> bool:
        return self.end <= self.start

    def clamp(self, bounds: "TimeRange") -> "TimeRange":
        """Return what both have in common; empty when that is nothing."""
        return TimeRange(max(self.start, bounds.start), min(self.end, bounds.end))

    def whole_days(self) -> "TimeRange":
        """Widen to whole UTC days, so that the edges reveal no time of day (decisions 16)."""
        end = _midnight(self.end)
        return TimeRange(_midnight(self.start), end if end == self.end else _shift(end, days=1))


def allowed_range(grant: Grant, now: datetime) -> TimeRange:
    """Return [00:00 today - past, 24:00 today + future]; an unset side is as far as dates go."""
    today = _midnight(now)
    past, future = grant.past_days, grant.future_days
    return TimeRange(
        EARLIEST if past is None else _shift(today, days=-past),
        LATEST if future is None else _shift(today, days=future + 1),
    )


def is_restricted(grant: Grant) -> bool:
    """Say whether the token has any timeframe at all."""
    return grant.past_days is not None or grant.future_days is not None


def requested_range(
    start: datetime | None, end: datetime | None, *, grant: Grant, now: datetime
) -> TimeRange:
    """
    Fill in the ends a caller left out, then keep what the token's window allows.

    Returns:
        The range to read; `empty` when an explicit range lies outside the window.

    Raises:
        InvalidInput: `INVALID_RANGE`, *end* is not after *start*.
    """
    bounds = allowed_range(grant, now)
    if start is None and end is None and is_restricted(grant):
        return _smart(bounds, _midnight(now))
    filled = _filled(start, end, _midnight(now))
    if filled.empty:
        raise InvalidInput("'to' must be after 'from'.", code=Code.INVALID_RANGE)
    return filled.clamp(bounds)


def _filled(start: datetime | None, end: datetime | None, today: datetime) -> TimeRange:
    if start is None and end is None:
        return TimeRange(today, today + WEEK)
    if start is None and end is not None:
        return TimeRange(today if today < end else _shift(end, days=-7), end)
    assert start is not None  # noqa: S101 - the two cases above leave only this one
    return TimeRange(start, _shift(start, days=7) if end is None else end)


def _smart(bounds: TimeRange, today: datetime) -> TimeRange:
    start = max(bounds.start, today - timedelta(days=3))
    end = start + WEEK
    if end > bounds.end:
        end = bounds.end
        start = max(bounds.start, _shift(end, days=-7))
    return TimeRange(start, end)


def _midnight(moment: datetime) -> datetime:
    return datetime.combine(moment.astimezone(UTC).date(), time(), tzinfo=UTC)


def _shift(moment: datetime, *, days: int) -> datetime:
    """Move by *days*, stopping at the edges of what a date can be."""
    try:
        return min(max(moment + timedelta(days=days), EARLIEST), LATEST)
    except OverflowError:
        return EARLIEST if days < 0 else LATEST
