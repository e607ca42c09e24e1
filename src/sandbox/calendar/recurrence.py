"""
The starts of a series, in order: what its rules, added and dropped dates give.

Rules are followed by the clock of the zone the series was planned in, so that a clock change moves
none of its times. Source: RFC 5545, 3.8.5.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta, tzinfo
from heapq import merge
from itertools import islice, takewhile

from dateutil.rrule import rrulestr

from sandbox.calendar.records import EventTime, Recurrence, from_local, load_zone

MAX_STARTS = 20_000  # of one series, so that a rule by the second ends
# Rules are followed so far from their first time: one that never comes true has to end too.
MAX_SPAN = timedelta(days=36525)
MAX_SPAN_BY_HOUR = timedelta(days=1000)
_BY_HOUR = re.compile(r"FREQ=(HOURLY|MINUTELY|SECONDLY)")
_RULE = re.compile(r"[A-Z0-9=;,+-]+", re.ASCII)
_DAYS = re.compile(r"BY(?:MONTH|MONTHDAY|YEARDAY|WEEKNO)=[0-9,+-]+")
_COUNT = re.compile(r"COUNT=(\d+);?")
_UNTIL = re.compile(r"UNTIL=(\d{8})(?:T(\d{6})(Z?))?", re.IGNORECASE)


class SeriesStarts:
    """
    The starts of one series, found as far as they were asked for.

    The first start belongs to it whether the rules give it or not.
    """

    def __init__(self, first: EventTime, recurrence: Recurrence) -> None:
        """
        Raises:
            ValueError: A rule cannot be read.
        """
        self._found: list[EventTime] = []
        self._instants: list[datetime] = []
        self._coming = _starts(first, recurrence)

    def between(self, since: datetime | None, until: datetime) -> list[EventTime]:
        """Return the starts in [since, until), in order."""
        self._find(until)
        low = 0 if since is None else bisect_left(self._instants, since)
        return self._found[low : bisect_left(self._instants, until)]

    def __contains__(self, start: object) -> bool:
        if not isinstance(start, EventTime):
            return False
        at = start.instant
        near = timedelta(days=1) if start.is_day else timedelta()  # a day begins by its own zone
        until = at.replace(microsecond=999_999) + near
        return any(one == start for one in self.between(at - near, until))

    def _find(self, until: datetime) -> None:
        while not self._instants or self._instants[-1] < until:
            if len(self._found) == MAX_STARTS:
                return
            expand_rule = next(self._coming, None)
            if expand_rule is None:
                return
            self._found.append(expand_rule)
            self._instants.append(expand_rule.instant)


def check_rule(rule: str, first: EventTime) -> None:
    """
    Pass when *rule* can be followed from *first* on.

    Raises:
        ValueError: It cannot.
    """
    _rule(rule, first)


def localise_until(rule: str, clock: tzinfo) -> str:
    """Write the end of a rule, when that is a moment at UTC, as *clock* shows it."""

    def told(found: re.Match[str]) -> str:
        if not found[3]:
            return found[0]
        instant = datetime.strptime(f"{found[1]}{found[2]}", "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        return f"UNTIL={instant.astimezone(clock):%Y%m%dT%H%M%S}"

    return _UNTIL.sub(told, rule)


def expand_rule(rule: str, first: EventTime, until: datetime) -> list[EventTime]:
    """
    Return what *rule* alone gives from *first* on, before *until*.

    Raises:
        ValueError: It cannot be followed.
    """
    told = _followed(_rule(rule, first), first)
    return list(islice(takewhile(lambda one: one.instant < until, told), MAX_STARTS))


def _starts(first: EventTime, recurrence: Recurrence) -> Iterator[EventTime]:
    rules = [_followed(_rule(rule, first), first) for rule in recurrence.rules]
    added = sorted({first, *recurrence.added}, key=_instant)
    dropped = set(recurrence.dropped)
    # A day among the dropped ones of a timed series takes out whatever starts on it.
    days = {one.day for one in dropped if one.is_day}

    def told() -> Iterator[EventTime]:
        last: EventTime | None = None
        for start in merge(added, *rules, key=_instant):
            if start == last or start in dropped or start.local.date() in days:
                continue
            last = start
            yield start

    return told()


def _followed(local: Iterator[datetime], first: EventTime) -> Iterator[EventTime]:
    for found in local:
        yield from_local(found, first.zone, is_day=first.is_day)


def _rule(text: str, first: EventTime) -> Iterator[datetime]:
    """Read a rule as naive local times; its UNTIL counts by the clock of the series."""
    plain = re.sub(r"\s", "", text).upper()
    if not _RULE.fullmatch(plain) or "INTERVAL=0" in plain:
        raise ValueError(f"not a recurrence rule: {text}")
    # The count is kept apart, so that every rule can have an end.
    counts = [int(found) for found in _COUNT.findall(plain)]
    endless = _COUNT.sub("", plain).strip(";")
    last = first.local + (MAX_SPAN_BY_HOUR if _BY_HOUR.search(plain) else MAX_SPAN)
    ending = _UNTIL.sub(lambda found: _local_until(found, first, last), endless)
    ending = ending if "UNTIL=" in ending else f"{ending};UNTIL={last:%Y%m%dT%H%M%S}"
    try:
        told = iter(rrulestr(ending, dtstart=first.local))
        if not _comes_true(plain, first.local):
            return iter(())
    except (KeyError, TypeError, AttributeError, IndexError) as problem:
        raise ValueError(f"not a recurrence rule: {text}") from problem
    told = takewhile(lambda found: found <= last, told)
    return islice(told, counts[0]) if counts else told


def _comes_true(rule: str, first: datetime) -> bool:
    """
    Whether there is any day that a rule wants.

    Its days are asked for year by year: day by day there is no end to finding none.
    """
    wanted = _DAYS.findall(rule)
    if not wanted or "FREQ=YEARLY" in rule:
        return True
    yearly = rrulestr(";".join(("FREQ=YEARLY", *wanted)), dtstart=first)
    return next(iter(yearly), None) is not None


def _local_until(found: re.Match[str], first: EventTime, last: datetime) -> str:
    """Write UNTIL as a naive local time; a day means all of it."""
    day = datetime.strptime(found[1], "%Y%m%d")  # noqa: DTZ007 - the zone is added below
    if found[2] is None or first.is_day:
        until = datetime.combine(day, time(23, 59, 59))
    else:
        clock = datetime.strptime(found[2], "%H%M%S").time()  # noqa: DTZ007 - a clock time
        until = datetime.combine(day, clock)
        if found[3]:
            until = until.replace(tzinfo=UTC).astimezone(load_zone(first.zone)).replace(tzinfo=None)
    return f"UNTIL={min(until, last):%Y%m%dT%H%M%S}"


def _instant(start: EventTime) -> datetime:
    return start.instant
