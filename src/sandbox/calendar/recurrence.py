"""
The starts of a series, in order, from its rules and its added and dropped dates.

Rules are expanded in local time of the series' zone, so that a clock change moves no occurrence
(RFC 5545, 3.8.5).
"""

import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from heapq import merge
from itertools import islice, takewhile

from dateutil.rrule import rrulestr

from sandbox.calendar.records import EventTime, Recurrence, from_local, load_zone

MAX_STARTS = 40_000  # of one series: days of `MAX_SPAN`; FREQ=SECONDLY ends with them
# Rules are expanded this far from their first start, so that a rule that never matches ends.
MAX_SPAN = timedelta(days=36525)
MAX_SPAN_BY_HOUR = timedelta(days=1000)
_BY_HOUR = re.compile(r"FREQ=(HOURLY|MINUTELY|SECONDLY)")
_RULE = re.compile(r"[A-Z0-9=;,+-]+", re.ASCII)
_DAYS = re.compile(r"BY(?:MONTH|MONTHDAY|YEARDAY|WEEKNO)=[0-9,+-]+")
_COUNT = re.compile(r"COUNT=(\d+);?")
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_UNTIL = re.compile(r"UNTIL=(\d{8})(?:T(\d{6})(Z?))?", re.IGNORECASE)


class SeriesStarts:
    """
    The starts of one series, expanded on demand.

    The first start belongs to the series even if no rule produces it.
    """

    def __init__(self, first: EventTime, recurrence: Recurrence) -> None:
        """
        Raises:
            ValueError: A rule is invalid.
        """
        self._starts: list[EventTime] = []
        self._instants: list[datetime] = []
        self._remaining = _expand(first, recurrence)

    def between(self, since: datetime | None, until: datetime) -> list[EventTime]:
        """Return the starts in [since, until), in order."""
        self._expand_until(until)
        low = 0 if since is None else bisect_left(self._instants, since)
        return self._starts[low : bisect_left(self._instants, until)]

    def __contains__(self, start: object) -> bool:
        if not isinstance(start, EventTime):
            return False
        instant = start.instant
        # Equal days of different zones begin at different instants.
        margin = timedelta(days=1) if start.is_day else timedelta()
        until = instant.replace(microsecond=999_999) + margin
        return start in self.between(instant - margin, until)

    def _expand_until(self, until: datetime) -> None:
        while not self._instants or self._instants[-1] < until:
            if len(self._starts) == MAX_STARTS:
                return
            start = next(self._remaining, None)
            if start is None:
                return
            self._starts.append(start)
            self._instants.append(start.instant)


def check_rule(rule: str, first: EventTime) -> None:
    """
    Check that *rule* can be expanded from *first*.

    Raises:
        ValueError: The rule is invalid.
    """
    _parse_rule(rule, first)


def localise_until(rule: str, clock: tzinfo) -> str:
    """Convert the UNTIL of a rule from UTC to local time of *clock*; a local one stays."""

    def localise(until: re.Match[str]) -> str:
        if not until[3]:
            return until[0]
        instant = datetime.strptime(f"{until[1]}{until[2]}", "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        return f"UNTIL={instant.astimezone(clock):%Y%m%dT%H%M%S}"

    return _UNTIL.sub(localise, rule)


def expand_rule(rule: str, first: EventTime, until: datetime) -> list[EventTime]:
    """
    Return the starts that *rule* alone produces in [*first*, *until*), in order.

    Raises:
        ValueError: The rule is invalid.
    """
    starts = _event_times(_parse_rule(rule, first), first)
    return list(islice(takewhile(lambda start: start.instant < until, starts), MAX_STARTS))


def _expand(first: EventTime, recurrence: Recurrence) -> Iterator[EventTime]:
    rules = [_event_times(_parse_rule(rule, first), first) for rule in recurrence.rules]
    added = sorted({first, *recurrence.added}, key=_instant)
    dropped = set(recurrence.dropped)
    # A dropped whole day removes every start on it, also from a timed series.
    days = {start.day for start in dropped if start.is_day}
    return _without_dropped(merge(added, *rules, key=_instant), dropped, days)


def _without_dropped(
    starts: Iterable[EventTime], dropped: Container[EventTime], days: Container[date | None]
) -> Iterator[EventTime]:
    """Yield ordered *starts* without repeats and without the dropped ones."""
    last: EventTime | None = None
    for start in starts:
        if start == last or start in dropped or start.local.date() in days:
            continue
        last = start
        yield start


def _event_times(local_times: Iterator[datetime], first: EventTime) -> Iterator[EventTime]:
    return (from_local(local, first.zone, is_day=first.is_day) for local in local_times)


def _parse_rule(text: str, first: EventTime) -> Iterator[datetime]:
    """Return a rule's starts as naive local times; UNTIL is converted to local time."""
    plain = _complete(re.sub(r"\s", "", text).upper(), first.local)
    if not _RULE.fullmatch(plain) or "INTERVAL=0" in plain:
        raise ValueError(f"not a recurrence rule: {text}")
    # COUNT is applied last, because a rule with COUNT cannot have UNTIL and each rule gets one.
    counts = [int(count) for count in _COUNT.findall(plain)]
    without_count = _COUNT.sub("", plain).strip(";")
    last = first.local + (MAX_SPAN_BY_HOUR if _BY_HOUR.search(plain) else MAX_SPAN)
    bounded = _UNTIL.sub(lambda until: _local_until(until, first, last), without_count)
    bounded = bounded if "UNTIL=" in bounded else f"{bounded};UNTIL={last:%Y%m%dT%H%M%S}"
    try:
        starts = iter(rrulestr(bounded, dtstart=_begin(plain, first.local)))
        if not _matches_any_day(plain, first.local):
            return iter(())
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"not a recurrence rule: {text}") from error
    later = (start for start in starts if start >= first.local)
    starts = takewhile(lambda start: start <= last, later)
    return islice(starts, counts[0]) if counts else starts


def _complete(rule: str, first: datetime) -> str:
    """
    Drop what says nothing, and name the weekday of the first start where it counts.

    dateutil takes a whole week for `BYWEEKNO` alone (RFC 5545, 3.3.10), and knows no RFC 7529.
    """
    parts = [part for part in rule.split(";") if part and not part.endswith("=")]
    parts = [part for part in parts if part not in {"RSCALE=GREGORIAN", "SKIP=OMIT"}]
    names = {part.partition("=")[0] for part in parts}
    by_week = "FREQ=YEARLY" in parts and "BYWEEKNO" in names
    by_position = "FREQ=WEEKLY" in parts and "BYSETPOS" in names
    if (by_week or by_position) and not names & {"BYDAY", "BYMONTHDAY", "BYYEARDAY"}:
        parts.append(f"BYDAY={_WEEKDAYS[first.weekday()]}")
    return ";".join(parts)


def _begin(rule: str, first: datetime) -> datetime:
    """Return where to begin a rule: positions in a week are those of the whole week."""
    if "FREQ=WEEKLY" not in rule or "BYSETPOS" not in rule:
        return first
    week = re.search(r"WKST=([A-Z]{2})", rule)
    first_day = _WEEKDAYS.index(week[1]) if week and week[1] in _WEEKDAYS else 0
    return first - timedelta(days=(first.weekday() - first_day) % 7)


def _matches_any_day(rule: str, first: datetime) -> bool:
    """
    Whether a rule's BY parts match any day at all.

    The yearly expansion of a rule that matches none ends; a daily or hourly one would not.
    """
    day_parts = _DAYS.findall(rule)
    if not day_parts or "FREQ=YEARLY" in rule:
        return True
    yearly = rrulestr(";".join(("FREQ=YEARLY", *day_parts)), dtstart=first)
    return next(iter(yearly), None) is not None


def _local_until(match: re.Match[str], first: EventTime, last: datetime) -> str:
    """Return UNTIL as naive local time, at most *last*; a date includes its whole day."""
    day = datetime.strptime(match[1], "%Y%m%d")  # noqa: DTZ007 - the zone is added below
    if match[2] is None or first.is_day:
        until = datetime.combine(day, time(23, 59, 59))
    else:
        clock = datetime.strptime(match[2], "%H%M%S").time()  # noqa: DTZ007 - a clock time
        until = datetime.combine(day, clock)
        if match[3]:
            until = until.replace(tzinfo=UTC).astimezone(load_zone(first.zone)).replace(tzinfo=None)
    return f"UNTIL={min(until, last):%Y%m%dT%H%M%S}"


def _instant(start: EventTime) -> datetime:
    return start.instant
