"""
The times of a calendar file: days, moments, periods, by the zones that the file means.

Source: RFC 5545, 3.3.4 to 3.3.6, 3.3.9.
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
    How the times of one event are read.

    Attributes:
        zone: Whose clock a time without a zone is told by.
        clock: When the event's zone is like none that is known: what its own definition makes.
            Every time is then told by it, written as if that were UTC (see `calendarseries`).
    """

    zones: ZoneTable
    zone: str
    clock: tzinfo | None = None

    def span(self, component: Component) -> tuple[EventTime, EventTime]:
        """
        Return start and end.

        Raises:
            ValueError: There is no start, a time cannot be read, or the end is before the start.
        """
        line = component.first("DTSTART")
        if line is None:
            raise ValueError("it has no start")
        start = self.when(line, self.zone)
        end_line, length = component.first("DTEND"), component.first("DURATION")
        if end_line is not None:
            end = _like(start, self.when(end_line, start.zone))
        elif length is not None:
            end = _after(start, parse_duration(length.value))
        else:
            end = start.later(timedelta(days=1)) if start.is_day else start
        if start.is_day and end.instant == start.instant:
            end = start.later(timedelta(days=1))
        if end.instant < start.instant:
            raise ValueError("it ends before it starts")
        if end.local.year not in YEARS:
            raise ValueError(OUT_OF_RANGE)
        return start, end

    def when(self, line: Line, otherwise: str) -> EventTime:
        """
        Read a line that holds one time; one without any zone is in *otherwise*.

        Raises:
            ValueError: It cannot be read.
        """
        return self.read(line.value.strip(), line, otherwise)

    def read(self, text: str, line: Line, otherwise: str) -> EventTime:
        """As `when`, one of the times of a line."""
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

    def period(self, line: Line, text: str, start: EventTime) -> tuple[EventTime, EventTime | None]:
        """Read a date of a series that starts at *start*, and the end that it has of its own."""
        first, slash, last = text.partition("/")
        when = _of_its_kind(self.read(first, line, start.zone), start)
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


def read_dates(component: Component, name: str) -> Iterator[tuple[Line, str]]:
    """Yield every value of the lines that hold several."""
    for line in component.every(name):
        for text in line.value.split(","):
            if text.strip():
                yield line, text.strip()


def _after(start: EventTime, length: Duration) -> EventTime:
    """Add a duration: days by the clock, hours as they pass."""
    later = start.later(length.days)
    if start.is_day:
        return later
    return from_instant(later.instant + length.exact, start.zone)


def _of_its_kind(when: EventTime, start: EventTime) -> EventTime:
    """Make a date of a timed series one of its times, and a time of whole days a day."""
    if when.is_day == start.is_day:
        return when
    if start.is_day:
        return from_local(when.local, when.zone, is_day=True)
    return from_local(datetime.combine(when.local, start.local.time()), start.zone)


def _like(start: EventTime, end: EventTime) -> EventTime:
    """Make an end that is of another kind than its start one of the same."""
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
    """Read ``T093000`` behind a date; a second that is inserted (60) counts as the one before."""
    digits = text[9:15]
    is_clock = len(digits) == 6 and digits.isascii() and digits.isdecimal()
    if text[8] not in "Tt" or not is_clock or text[15:] not in {"", "Z", "z"}:
        raise ValueError(f"not a time: {text}")
    return time(int(digits[:2]), int(digits[2:4]), min(int(digits[4:]), 59))
