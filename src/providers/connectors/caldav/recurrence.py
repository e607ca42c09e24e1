"""
Starts of a series within a range: RFC 5545, 3.3.10 and 3.8.5.

Rules are expanded by dateutil, in local time, so that a clock change moves no occurrence. The work
is bounded: a rule without COUNT begins shortly before the range, and every rule ends behind the
range, or where the work of its event is used up (`bounded_rules`).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta, tzinfo
from itertools import count, islice
from types import MappingProxyType

from providers.connectors.caldav.bounded_rules import (
    WEEKDAYS,
    WORK_OF_START,
    BoundedRule,
    PastLastPeriod,
    Work,
    bounded_rule,
    periods_between,
    work_of_period,
)
from providers.connectors.caldav.ical_times import EventTime, Length
from providers.connectors.caldav.time_zones import to_local
from providers.ports.calendar import MAX_EVENTS, Span

MAX_STEPS = 20_000  # starts of a rule, from its first one
MAX_COUNTED_YEARS = 100  # of a rule with COUNT, whose starts are counted from its first one
_CYCLE = 400  # years after which the calendar repeats, weekdays included
_LAST_YEAR = 9999
_DAY = timedelta(days=1)

# Starts of rules without further parts are computed; others above daily become daily ones.
_STEPS: Mapping[str, timedelta] = MappingProxyType(
    {
        "WEEKLY": timedelta(weeks=1),
        "DAILY": timedelta(days=1),
        "HOURLY": timedelta(hours=1),
        "MINUTELY": timedelta(minutes=1),
        "SECONDLY": timedelta(seconds=1),
    }
)
_ABOVE_DAILY = frozenset({"HOURLY", "MINUTELY", "SECONDLY"})
_VALUE = re.compile(r"[A-Z0-9+,-]+", re.ASCII)
_CALENDARS = (None, "GREGORIAN")
_DAYS_OF_YEAR = frozenset({"BYDAY", "BYMONTHDAY", "BYYEARDAY"})
_PARTS = frozenset(
    {
        *("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYMONTH", "BYMONTHDAY", "BYDAY"),
        *("BYSETPOS", "BYYEARDAY", "BYWEEKNO", "BYHOUR", "BYMINUTE", "BYSECOND"),
    }
)
_UNTIL = re.compile(r"(\d{8})(?:T(\d{6})(Z?))?", re.ASCII)
_MAX_PART = 400  # characters; lists of hours, minutes and seconds multiply


class NotExpandable(ValueError):
    """A rule is not valid, or gives more starts than are computed."""


@dataclass(frozen=True, slots=True)
class Rule:
    """
    A recurrence rule.

    Attributes:
        parts: By name, without COUNT and UNTIL.
        until: Local time of the last possible start; None: there is no end.
    """

    frequency: str
    interval: int
    parts: tuple[tuple[str, str], ...]
    count: int | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Series:
    """
    The starts of a series, by the clock of its first one.

    Attributes:
        first: It belongs to the series even if no rule gives it.
        added: Further starts.
        excluded: Starts that are left out; a day leaves out every start on it.
        lengths: By moment of an added start that has a length of its own.
    """

    first: EventTime
    rules: tuple[Rule, ...] = ()
    added: tuple[EventTime, ...] = ()
    excluded: frozenset[EventTime] = frozenset()
    lengths: Mapping[datetime, Length] = field(default_factory=dict)

    def excludes(self, start: EventTime) -> bool:
        """Return whether a start is left out."""
        day = start.local.date()
        return any(
            excluded.local.date() == day if excluded.is_day else excluded.utc == start.utc
            for excluded in self.excluded
        )

    def starts(self, span: Span, work: Work) -> list[EventTime]:
        """
        Return the starts in a span, in order; not more than one above `MAX_EVENTS`.

        *work* is what the rules may cost; it tells whether one of them was cut.
        """
        starts = {start.utc: start for start in (self.first, *self.added)}
        for rule in self.rules:
            if len(starts) > MAX_EVENTS:
                work.was_cut = True
                break
            for start in _starts_of(rule, self.first, span, work):
                starts.setdefault(start.utc, start)
        excluded = {start.utc for start in self.excluded if not start.is_day}
        days = {start.local.date() for start in self.excluded if start.is_day}
        ordered = (
            starts[moment]
            for moment in sorted(starts)
            if span.start <= moment < span.end
            and moment not in excluded
            and starts[moment].local.date() not in days
        )
        return list(islice(ordered, MAX_EVENTS + 1))

    def start_at(self, moment: datetime) -> EventTime | None:
        """Return the start at a moment, as `starts` gives it; None when there is none."""
        return next(iter(self.starts(Span(moment, moment + timedelta(seconds=1)), Work())), None)


def parse_rule(text: str, first: EventTime, floating: tzinfo = UTC) -> Rule:
    """
    Read a rule of a series that begins at *first*; *floating*: zone of times without one.

    Raises:
        NotExpandable: It is not valid, or divides an hour by more than its interval.
    """
    parts = _parts("".join(text.split()).upper())
    frequency = parts.pop("FREQ", "")
    try:
        interval, count = int(parts.pop("INTERVAL", "1")), int(parts.pop("COUNT", "-1"))
        until = _until(parts.pop("UNTIL", None), first, floating)
        if frequency in _ABOVE_DAILY and parts.keys() - {"WKST"}:
            parts = _daily_parts(frequency, interval, parts, first.local)
            frequency, interval = "DAILY", 1
        if interval < 1 or count == 0:
            raise NotExpandable
        _complete(frequency, parts, WEEKDAYS[first.local.weekday()])
        listed = tuple(parts.items())
        rule = Rule(frequency, min(interval, 100_000), listed, max(count, 0) or None, until)
        _rule_of(rule, first.local, first.local, periods=1)  # raises when a part is not valid
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError):
        raise NotExpandable from None
    if _starts_a_day(parts) > 24:
        raise NotExpandable
    return rule


def _daily_parts(
    frequency: str, interval: int, parts: Mapping[str, str], start: datetime
) -> dict[str, str]:
    """
    Return the parts of the daily rule with the same starts as one of hours or minutes.

    Raises:
        NotExpandable: There is none, or it has no starts.
    """
    whole = {"HOURLY": 24, "MINUTELY": 60}.get(frequency, 0)
    if not whole or whole % interval or parts.keys() & {"BYSETPOS", "BYWEEKNO"}:
        raise NotExpandable
    name, begin = ("BYHOUR", start.hour) if whole == 24 else ("BYMINUTE", start.minute)
    stepped = range(begin % interval, whole, interval)
    listed = [int(number) for number in parts.get(name, "").split(",") if number]
    numbers = sorted(set(stepped) & set(listed)) if listed else stepped
    hours = parts.get("BYHOUR", ",".join(map(str, range(24))))
    if not numbers:
        raise NotExpandable
    return {**parts, "BYHOUR": hours, name: ",".join(map(str, numbers))}


def _parts(plain: str) -> dict[str, str]:
    """
    Return the parts of a rule; empty ones restrict nothing.

    Raises:
        NotExpandable: A part is not known, or is one of another calendar (RFC 7529).
    """
    parts: dict[str, str] = {}
    for part in plain.split(";"):
        name, equals, listed = part.partition("=")
        value = ",".join(filter(None, listed.split(",")))
        if value:
            parts[name] = value
        elif name and not equals:
            raise NotExpandable
    if parts.pop("RSCALE", None) not in _CALENDARS or parts.pop("SKIP", "OMIT") != "OMIT":
        raise NotExpandable
    if not parts.keys() <= _PARTS or max(map(len, parts.values()), default=0) > _MAX_PART:
        raise NotExpandable
    if not all(map(_VALUE.fullmatch, parts.values())):
        raise NotExpandable
    return parts


def _complete(frequency: str, parts: dict[str, str], weekday: str) -> None:
    """
    Name the weekday of the first start where it counts and dateutil would take none, or all.

    Without it a week is one of `BYWEEKNO` as a whole, and dateutil takes a `WEEKLY` set of one.
    """
    by_week = frequency == "YEARLY" and "BYWEEKNO" in parts and not parts.keys() & _DAYS_OF_YEAR
    if by_week or (_is_weekly_set(frequency, parts) and "BYDAY" not in parts):
        parts["BYDAY"] = weekday
    if frequency == "WEEKLY" and parts == {"BYDAY": weekday}:
        del parts["BYDAY"]


def _is_weekly_set(frequency: str, parts: Mapping[str, str]) -> bool:
    return frequency == "WEEKLY" and "BYSETPOS" in parts


def _starts_of(rule: Rule, first: EventTime, span: Span, work: Work) -> list[EventTime]:
    """Return the starts that a rule gives in a span, in order, and some nearby ones."""
    zone = first.zone or UTC
    begin, end = (to_local(moment, zone) for moment in (_clamped(span.start), _clamped(span.end)))
    last = end + _DAY if rule.until is None else min(end + _DAY, rule.until)
    if rule.frequency in _STEPS and not dict(rule.parts).keys() - {"WKST"}:
        most = min(MAX_EVENTS, int(work.left / WORK_OF_START)) + 1
        starts = list(islice(_stepped(rule, first, begin - _DAY, last), most))
        work.left = max(0.0, work.left - WORK_OF_START * len(starts))
        work.was_cut |= len(starts) == most and starts[-1].utc < span.end
        return starts
    goal = last
    if rule.count:
        start = first.local
        last = min(last, _years_later(start.replace(day=1), MAX_COUNTED_YEARS))
    else:
        start = _fast_forward(rule, first.local, begin - _DAY)
    if last < start:
        return []
    if _is_weekly_set(rule.frequency, dict(rule.parts)):
        start = _week_begin(start, dict(rule.parts).get("WKST", "MO"))
    starts, is_whole = _expanded(rule, first, (start, begin - _DAY, last), work)
    work.was_cut |= not is_whole or last < goal
    return starts


def _expanded(
    rule: Rule, first: EventTime, times: tuple[datetime, datetime, datetime], work: Work
) -> tuple[list[EventTime], bool]:
    """
    Expand a rule in the years near the last one that dates can have.

    *times* are where the rule begins, the first start to return, and the last one. The second of
    the returned values tells whether these are all starts.
    """
    begin, earliest, last = times
    shift = (_LAST_YEAR - last.year) // _CYCLE * _CYCLE
    parts = dict(rule.parts)
    needed = periods_between(rule.frequency, rule.interval, begin, last)
    each = work_of_period(rule.frequency, rule.interval, parts, _starts_a_day(parts))
    periods = min(needed, int(work.left / each))
    work.left -= periods * each
    if not periods:
        return [], False
    shifted = _rule_of(rule, _years_later(begin, shift), _years_later(last, shift), periods=periods)
    most = min(MAX_STEPS, int(work.left / WORK_OF_START))
    starts: list[EventTime] = []
    number = before = 0
    try:
        for number, moved in enumerate(shifted, 1):
            local = _years_later(moved, -shift)
            if local < first.local:  # of the week in which the series begins
                before += 1
                continue
            if local >= earliest:
                starts.append(first.at(local))
            if number - before == rule.count:
                break
            if number >= most or len(starts) > MAX_EVENTS:
                return starts, False
    except PastLastPeriod:
        return starts, periods == needed
    except IndexError:  # dateutil: a week of a month that has fewer
        return starts, False
    finally:
        work.left = max(0.0, work.left - WORK_OF_START * number)
    return starts, True


def _stepped(rule: Rule, first: EventTime, begin: datetime, last: datetime) -> Iterator[EventTime]:
    """Yield the starts of a rule with a frequency above daily, from *begin* to *last*."""
    step = rule.interval * _STEPS[rule.frequency]
    for number in count(max(0, -((first.local - begin) // step))):
        start = first.local + number * step
        if start > last or (rule.count is not None and number >= rule.count):
            return
        yield first.at(start)


def _rule_of(rule: Rule, start: datetime, last: datetime, *, periods: int) -> BoundedRule:
    parts = dict(rule.parts)
    return bounded_rule(
        rule.frequency, rule.interval, parts, start=start, last=last, periods=periods
    )


def _fast_forward(rule: Rule, start: datetime, goal: datetime) -> datetime:
    """Return a start from which the rule gives the same starts from *goal* on."""
    if goal <= start:
        return start
    if rule.frequency in ("DAILY", "WEEKLY"):
        period = rule.interval * (_DAY if rule.frequency == "DAILY" else 7 * _DAY)
        return start + (goal - start) // period * period
    if (start.month, start.day) == (2, 29):
        return start
    # A multiple of the interval, in years: that is one of months too.
    return _years_later(
        start, max(0, (goal.year - 1 - start.year)) // rule.interval * rule.interval
    )


def _week_begin(start: datetime, first_weekday: str) -> datetime:
    """Return the same time on the first day of a week: a set of its days is one of all of them."""
    return start - (start.weekday() - WEEKDAYS.index(first_weekday)) % 7 * _DAY


def _years_later(local: datetime, years: int) -> datetime:
    return local.replace(year=local.year + years)


def _clamped(moment: datetime) -> datetime:
    """Return a moment that the clock of every zone can show."""
    return min(max(moment, datetime(1000, 1, 1, tzinfo=UTC)), datetime(9000, 1, 1, tzinfo=UTC))


def _until(text: str | None, first: EventTime, floating: tzinfo) -> datetime | None:
    """
    Return UNTIL by the clock of the first start; a date includes its whole day.

    Of a whole-day series it is a day; one that is written as midnight of the zone *floating* is
    the day that begins then.
    """
    if text is None:
        return None
    match = _UNTIL.fullmatch(text)
    if match is None:
        raise NotExpandable
    day = datetime.strptime(match[1], "%Y%m%d")  # noqa: DTZ007 - it is local
    if match[2] is None:
        return datetime.combine(day, time(23, 59, 59))
    clock = datetime.strptime(match[2], "%H%M%S").time()  # noqa: DTZ007 - it is local
    local = datetime.combine(day, clock)
    if match[3]:
        moved = to_local(local.replace(tzinfo=UTC), first.zone or floating)
        local = moved if first.zone or moved.time() == time() else local
    return local if first.zone else datetime.combine(local, time(23, 59, 59))


def _starts_a_day(parts: dict[str, str]) -> int:
    product = 1
    for name in ("BYHOUR", "BYMINUTE", "BYSECOND"):
        product *= parts.get(name, "").count(",") + 1
    return product
