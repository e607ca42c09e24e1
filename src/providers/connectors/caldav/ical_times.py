"""Dates, times, periods and durations of iCalendar: RFC 5545, 3.3.4 to 3.3.9."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from datetime import date as date_type
from functools import cached_property
from typing import NamedTuple

from providers.connectors.caldav.content_lines import Component, ContentLine
from providers.connectors.caldav.time_zones import Zones, to_local, to_utc

_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z?))?", re.ASCII)
_DURATION = re.compile(
    r"([+-]?)P(?:(\d{1,5})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,7})M)?(?:(\d{1,8})S)?)?",
    re.ASCII,
)
_YEARS = range(1000, 9000)
_DAY = timedelta(days=1)
_HALF_DAY = timedelta(hours=12)


@dataclass(frozen=True)
class EventTime:
    """
    A moment, or a whole day.

    Attributes:
        local: By the clock of *zone*; midnight for a whole day.
        zone: None for a whole day, which is a UTC day: docs/spec/calendar.md#event-object.
    """

    local: datetime
    zone: tzinfo | None

    @property
    def is_day(self) -> bool:
        return self.zone is None

    @cached_property
    def utc(self) -> datetime:
        """The moment; of a whole day, 00:00 UTC."""
        return to_utc(self.local, self.zone or UTC)

    @property
    def stamp(self) -> str:
        """The time as ids contain it: `20260105T090000Z` or `20260105`."""
        return f"{self.utc:%Y%m%d}" if self.is_day else f"{self.utc:%Y%m%dT%H%M%SZ}"

    def at(self, local: datetime) -> "EventTime":
        """Return another time by the same clock."""
        return EventTime(local, self.zone)


@dataclass(frozen=True, slots=True)
class Length:
    """Length of an event: *nominal* by the clock, then *exact* time."""

    nominal: timedelta = timedelta()
    exact: timedelta = timedelta()

    def end_of(self, start: EventTime) -> datetime:
        """Return the end, in UTC, of an event of this length."""
        return start.at(start.local + self.nominal).utc + self.exact


class AddedDate(NamedTuple):
    """A start that is added to a series or excluded; *length*: that of a period, else None."""

    start: EventTime
    length: Length | None


@dataclass(frozen=True, slots=True)
class TimeReader:
    """
    Reads the times of one calendar object.

    Attributes:
        zones: Those of the object.
        floating: Zone of times without one.
    """

    zones: Zones
    floating: tzinfo

    def read(
        self, line: ContentLine, text: str | None = None, *, like: EventTime | None = None
    ) -> EventTime:
        """
        Read the time of a property, or *text*, one of its values.

        A time without a zone, or with an unknown one, is by the clock of *like*.

        Raises:
            ValueError: It is not a time.
        """
        match = _TIME.fullmatch((line.value if text is None else text).strip().upper())
        if match is None or int(match[1]) not in _YEARS:
            raise ValueError("no time")
        day = datetime(int(match[1]), int(match[2]), int(match[3]))  # noqa: DTZ001 - it is local
        if match[4] is None or line.params.get("VALUE", "").upper() == "DATE":
            return EventTime(day, None)
        local = _clock_time(day, match)
        if match[7]:
            return EventTime(local, UTC)
        name = line.params.get("TZID")
        zone = self.zones.find(name) if name else None
        return EventTime(local, zone or (like.zone if like else None) or self.floating)

    def values(self, component: Component, name: str) -> Iterator[tuple[ContentLine, str]]:
        """Yield the values of the properties of a name, which are lists of dates."""
        for line in component.every(name):
            for text in line.value.split(","):
                if text.strip():
                    yield line, text

    def date(self, line: ContentLine, text: str, start: EventTime) -> AddedDate:
        """
        Read a date or period of a series, as a time by the clock of its start.

        Raises:
            ValueError: It is neither.
        """
        begin, _, end = text.partition("/")
        date = self.read(line, begin, like=start)
        return AddedDate(self.by_clock_of(start, date), self._period(line, date, end))

    def by_clock_of(self, start: EventTime, date: EventTime) -> EventTime:
        """
        Return a time of a series by the clock of its start.

        A day stays a day. Programs write the days of a whole-day series as midnight of some zone,
        too.
        """
        if start.zone is None:
            return EventTime(datetime.combine(self._day_of(date), time()), None)
        if date.zone is None or date.zone is start.zone:
            return date
        moved = EventTime(to_local(date.utc, start.zone), start.zone)
        return moved if moved.utc == date.utc else date  # a clock shows some times twice

    def length(self, component: Component, start: EventTime) -> Length:
        """
        Return the length of an event; never negative.

        Raises:
            ValueError: Its end or duration is not valid.
        """
        end_line, duration = component.first("DTEND"), component.first("DURATION")
        if end_line is not None:
            end = self.read(end_line, like=start)
            if start.is_day:
                midnight = self.by_clock_of(start, end).local
                return Length(nominal=max(midnight - start.local, _DAY))
            if end.is_day:
                return Length(nominal=max(end.local - start.local, timedelta()))
            # Every occurrence is as long as the first one: RFC 5545, 3.8.5.3.
            return Length(exact=max(end.utc - start.utc, timedelta()))
        if duration is not None:
            return _at_least(parse_duration(duration.value), _DAY if start.is_day else timedelta())
        return Length(nominal=_DAY) if start.is_day else Length()

    def _period(self, line: ContentLine, start: EventTime, end: str) -> Length | None:
        """Return the length of a period by what is behind its solidus; None if it has none."""
        if not end.strip():
            return None
        if "P" in end.upper():
            return _at_least(parse_duration(end), timedelta())
        return Length(exact=max(self.read(line, end, like=start).utc - start.utc, timedelta()))

    def _day_of(self, date: EventTime) -> date_type:
        if date.zone is not UTC:
            return date.local.date()
        local = to_local(date.utc, self.floating)
        if local.time() == time():
            return local.date()
        return (date.local + _HALF_DAY).date()  # the nearest midnight: that of some zone


def parse_duration(text: str) -> Length:
    """
    Read a duration.

    Raises:
        ValueError: It is not a time.
    """
    match = _DURATION.fullmatch(text.strip().upper())
    if match is None or not any(match.groups()[1:]):
        raise ValueError("no duration")
    sign = -1 if match[1] == "-" else 1
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    return Length(
        sign * timedelta(weeks=weeks, days=days),
        sign * timedelta(hours=hours, minutes=minutes, seconds=seconds),
    )


def _at_least(length: Length, shortest: timedelta) -> Length:
    return length if length.nominal + length.exact >= shortest else Length(nominal=shortest)


def _clock_time(day: datetime, match: re.Match[str]) -> datetime:
    """Return a local time; 24:00 is the end of the day, and a leap second the one before it."""
    if (match[4], match[5]) == ("24", "00") and match[6] in (None, "00"):
        return day + _DAY
    return datetime.combine(day, time(int(match[4]), int(match[5]), min(int(match[6] or 0), 59)))
