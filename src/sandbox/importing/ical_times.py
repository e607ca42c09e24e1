"""
Dates, times and periods of a calendar file, in the time zones of the file.

See RFC 5545, 3.3.4 to 3.3.6, 3.3.9.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from sandbox.calendar.records import EventTime, from_instant, from_local
from sandbox.calendar.store import YEARS
from sandbox.importing.ical_components import Component, Duration, Line, parse_duration
from sandbox.importing.ical_zones import ZoneTable

OUT_OF_RANGE = "a time that is out of range"


@dataclass(frozen=True, slots=True)
class TimeReader:
    """
    Reader of the times of one event.

    Attributes:
        zone: Time zone of times without one.
        clock: Time zone by the file's own definition, when no IANA zone matches. Every time is
            then converted to it and stored as if UTC (see `ical_series`).
    """

    zones: ZoneTable
    zone: str
    clock: tzinfo | None = None

    def span(self, component: Component) -> tuple[EventTime, EventTime]:
        """
        Return start and end.

        An end before the start counts as the start.

        Raises:
            ValueError: The start is missing, or a time is malformed.
        """
        line = component.first("DTSTART")
        if line is None:
            raise ValueError("it has no start")
        start = self.when(line, self.zone)
        end_line, length = component.first("DTEND"), component.first("DURATION")
        if end_line is not None:
            end = _match_end_type(start, self.when(end_line, start.zone))
        elif length is not None:
            end = _after(start, parse_duration(length.value))
        else:
            end = start.later(timedelta(days=1)) if start.is_day else start
        if start.is_day and end.instant == start.instant:
            end = start.later(timedelta(days=1))
        if end.instant < start.instant:
            end = start.later(timedelta(days=1)) if start.is_day else start
        if end.local.year not in YEARS:
            raise ValueError(OUT_OF_RANGE)
        return start, end

    def when(self, line: Line, otherwise: str) -> EventTime:
        """
        Read the time of a line; *otherwise* is the zone of a time without one.

        Raises:
            ValueError: It is malformed or out of range.
        """
        return self.read(line.value.strip(), line, otherwise)

    def read(self, text: str, line: Line, otherwise: str) -> EventTime:
        """Read one of several times of a line, like `when`."""
        day = _day(text[:8])
        if day.year not in YEARS:
            raise ValueError(OUT_OF_RANGE)
        if len(text) == 8:
            return EventTime(otherwise, day=day)
        local = datetime.combine(day, _clock(text))
        if text[-1] in "Zz":
            return self._at_utc(local, line, otherwise)
        if self.clock is not None:
            return from_local(local, "UTC")
        tzid = line.params.get("TZID")
        named = None if tzid is None else self.zones.name(tzid, day.year)
        return from_local(local, named or otherwise)

    def excluded(self, line: Line, text: str, start: EventTime) -> EventTime:
        """Read an excluded date of the series at *start*; of a whole-day series it is a day."""
        when = self.read(text, line, start.zone)
        return day_of(when, start.zone) if start.is_day else when

    def period(self, line: Line, text: str, start: EventTime) -> tuple[EventTime, EventTime | None]:
        """Read an added date of the series at *start*, and its own end, if any."""
        first, slash, last = text.partition("/")
        when = _match_type(self.read(first, line, start.zone), start)
        if not slash:
            return when, None
        if "P" in last.upper():
            return when, _after(when, parse_duration(last))
        return when, self.read(last, line, start.zone)

    def _at_utc(self, local: datetime, line: Line, otherwise: str) -> EventTime:
        instant = local.replace(tzinfo=UTC)
        if self.clock is not None:
            return from_local(instant.astimezone(self.clock).replace(tzinfo=None), "UTC")
        return from_instant(instant, otherwise if "TZID" in line.params else "UTC")


def day_of(when: EventTime, zone: str) -> EventTime:
    """Return the day that a time names in a whole-day series: midnight of some zone is one."""
    if when.is_day:
        return when
    if when.zone != "UTC":
        return from_local(when.local, when.zone, is_day=True)
    local = from_instant(when.instant, zone).local
    if local.time() != time():
        local = when.local + timedelta(hours=12)  # the nearest midnight
    return from_local(local, zone, is_day=True)


def read_dates(component: Component, name: str) -> Iterator[tuple[Line, str]]:
    """Yield (line, value) for each comma-separated value of the lines *name*."""
    for line in component.every(name):
        for text in line.value.split(","):
            if text.strip():
                yield line, text.strip()


def _after(start: EventTime, length: Duration) -> EventTime:
    """Add a duration: days in local time, hours as elapsed time."""
    later = start.later(length.days)
    if start.is_day:
        return later
    return from_instant(later.instant + length.exact, start.zone)


def _match_type(when: EventTime, start: EventTime) -> EventTime:
    """Convert between date and time, so that the value has the type of *start*."""
    if when.is_day == start.is_day:
        return when
    if start.is_day:
        return from_local(when.local, when.zone, is_day=True)
    return from_local(datetime.combine(when.local, start.local.time()), start.zone)


def _match_end_type(start: EventTime, end: EventTime) -> EventTime:
    """Convert an end between date and time, to the type of *start*."""
    if start.is_day == end.is_day:
        return end
    return from_local(end.local, end.zone, is_day=start.is_day)


def _day(text: str) -> date:
    if len(text) != 8 or not (text.isascii() and text.isdecimal()):
        raise ValueError(f"not a date: {text}")
    try:
        return date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        raise ValueError(f"not a date: {text}") from None


def _clock(text: str) -> time:
    """Parse ``T093000`` after a date; a leap second (60) counts as 59."""
    digits = text[9:15]
    is_clock = len(digits) == 6 and digits.isascii() and digits.isdecimal()
    if text[8] not in "Tt" or not is_clock or text[15:] not in {"", "Z", "z"}:
        raise ValueError(f"not a time: {text}")
    return time(int(digits[:2]), int(digits[2:4]), min(int(digits[4:]), 59))
