"""Dates, times, periods and durations of iCalendar: RFC 5545, 3.3.4 to 3.3.9."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import cached_property

from providers.connectors.caldav.content_lines import Component, ContentLine
from providers.connectors.caldav.time_zones import Zones, find_zone, to_local, to_utc

_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?", re.ASCII)
_DURATION = re.compile(
    r"([+-]?)P(?:(\d{1,5})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,7})M)?(?:(\d{1,8})S)?)?",
    re.ASCII,
)
_YEARS = range(1000, 9000)
_DAY = timedelta(days=1)


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


@dataclass(frozen=True, slots=True)
class TimeReader:
    """
    Reads the times of one calendar object.

    Attributes:
        zones: The zones that the object defines.
        floating: Zone of times without one.
    """

    zones: Zones
    floating: tzinfo

    def read(self, line: ContentLine, text: str | None = None) -> EventTime:
        """
        Read the time of a property, or *text*, one of its values.

        Raises:
            ValueError: It is no time.
        """
        match = _TIME.fullmatch((line.value if text is None else text).strip().upper())
        if match is None or int(match[1]) not in _YEARS:
            raise ValueError("no time")
        day = datetime(int(match[1]), int(match[2]), int(match[3]))  # noqa: DTZ001 - it is local
        if match[4] is None:
            return EventTime(day, None)
        seconds = min(int(match[6]), 59)  # a leap second
        local = datetime.combine(day, time(int(match[4]), int(match[5]), seconds))
        if match[7]:
            return EventTime(local, UTC)
        name = line.params.get("TZID")
        zone = find_zone(name, self.zones) if name else None
        return EventTime(local, zone or self.floating)

    def dates(self, component: Component, name: str, start: EventTime) -> Iterator[EventTime]:
        """Yield the added or excluded dates of a series, as times by the clock of its start."""
        for line in component.every(name):
            for text in line.value.split(","):
                if text.strip():
                    yield _by_clock_of(start, self.read(line, text.partition("/")[0]))

    def length(self, component: Component, start: EventTime) -> Length:
        """
        Return the length of an event; never negative.

        Raises:
            ValueError: Its end or duration is not valid.
        """
        end_line, duration = component.first("DTEND"), component.first("DURATION")
        if end_line is not None:
            end = self.read(end_line)
            if start.is_day:
                midnight = datetime.combine(end.local, time())
                return Length(nominal=max(midnight - start.local, _DAY))
            if end.is_day:
                return Length(nominal=max(end.local - start.local, timedelta()))
            # Every occurrence is as long as the first one: RFC 5545, 3.8.5.3.
            return Length(exact=max(end.utc - start.utc, timedelta()))
        if duration is not None:
            return _at_least(parse_duration(duration.value), _DAY if start.is_day else timedelta())
        return Length(nominal=_DAY) if start.is_day else Length()


def parse_duration(text: str) -> Length:
    """
    Read a duration.

    Raises:
        ValueError: It is none.
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


def _by_clock_of(start: EventTime, date: EventTime) -> EventTime:
    """Return a date of a series by the clock of its start; a day stays a day."""
    if start.zone is None:
        return EventTime(datetime.combine(date.local, time()), None)
    if date.zone is None:
        return date
    if date.zone is start.zone:
        return date
    return EventTime(to_local(date.utc, start.zone), start.zone)
