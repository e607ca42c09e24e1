"""
The events of a calendar file, ready for the calendar store.

Source: RFC 5545, 3.6.1, 3.8.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from providers.sandbox import calendarlines
from providers.sandbox.calendarlines import Component, Length, Line
from providers.sandbox.calendarmembers import content_of, number
from providers.sandbox.calendarrecords import (
    Content,
    NewEvent,
    Override,
    Recurrence,
    When,
    by_clock,
    moment,
)
from providers.sandbox.calendarstore import YEARS
from providers.sandbox.calendarzones import Zones, known
from providers.sandbox.recurrence import Series, check, following

# Rules that take out (EXRULE) are followed so far; the rules that put in need no end.
_EXCLUDED = timedelta(days=3660)


@dataclass(frozen=True, slots=True)
class Unusable:
    """Something that does not come in: what it is called, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarFile:
    """
    What one calendar of a file holds.

    Attributes:
        name: As the file calls it; "" when it does not.
        zone: The one it says it is in; None when it does not.
        events: In the order of the file.
    """

    name: str
    zone: str | None
    events: tuple[NewEvent, ...]
    unusable: tuple[Unusable, ...]


def read(data: bytes, *, zone: str, account: str) -> CalendarFile:
    """
    Read a file: all its calendars as one.

    *zone* is where times without a zone are; *account* is the address whose answers count.

    Raises:
        ValueError: It is no calendar file at all.
    """
    roots = calendarlines.read(calendarlines.decode(data))
    calendars = [one for one in roots if one.name == "VCALENDAR"]
    loose = Component("VCALENDAR", inner=[one for one in roots if one.name != "VCALENDAR"])
    if not roots:
        raise ValueError("It is no calendar file: nothing begins in it.")
    parts = [*calendars, loose] if loose.inner else calendars
    own_zone = next((found for one in parts if (found := known(one.text("X-WR-TIMEZONE")))), None)
    definitions = [inner for one in parts for inner in one.inner if inner.name == "VTIMEZONE"]
    reader = _Reader(Zones(definitions), own_zone or zone, account)
    for one in parts:
        reader.calendar(one)
    return CalendarFile(
        name=next((one.text("X-WR-CALNAME", "NAME") for one in parts), ""),
        zone=own_zone,
        events=tuple(reader.events()),
        unusable=tuple(reader.unusable),
    )


@dataclass(frozen=True, slots=True)
class _Event:
    """One VEVENT, read."""

    uid: str
    name: str
    sequence: int
    original: When | None
    content: Content
    recurrence: Recurrence | None
    overrides: tuple[Override, ...]
    created_ms: int | None


class _Reader:
    def __init__(self, zones: Zones, zone: str, account: str) -> None:
        self._zones = zones
        self._zone = zone
        self._account = account
        self._found: list[_Event] = []
        self.unusable: list[Unusable] = []

    def calendar(self, component: Component) -> None:
        """Take in what one VCALENDAR holds."""
        calls_off = component.text("METHOD").upper() == "CANCEL"
        for broken in component.broken:
            self._refuse("VCALENDAR", f"a line that cannot be read: {broken[:60]}")
        for place, inner in enumerate(component.inner, 1):
            if inner.name == "VTIMEZONE":
                continue
            name = inner.text("SUMMARY") or inner.text("UID") or f"{inner.name} {place}"
            if inner.name != "VEVENT":
                self._refuse(name, f"a {inner.name} is no event")
                continue
            try:
                self._found.append(self._event(inner, name, calls_off=calls_off))
            except ValueError as problem:
                self._refuse(name, str(problem))
            except OverflowError:
                self._refuse(name, "a time that is out of range")

    def events(self) -> Iterator[NewEvent]:
        """Put series and what differs from them together."""
        masters: dict[str, _Event] = {}
        for one in self._found:
            if one.original is not None:
                continue
            old = masters.get(one.uid)
            if old is not None:
                self._refuse(one.name, "another version of the same event is taken")
            if old is None or one.sequence > old.sequence:
                masters[one.uid] = one
        changed: dict[str, dict[When, _Event]] = {}
        for one in self._found:
            if one.original is None:
                continue
            master = masters.get(one.uid)
            if master is None or master.recurrence is None:
                yield _alone(one)
            else:
                original = _occurrence_of(master, one.original)
                changed.setdefault(one.uid, {})[original] = one
        for uid, master in masters.items():
            yield _whole(master, changed.get(uid, {}))

    # One event

    def _event(self, component: Component, name: str, *, calls_off: bool) -> _Event:
        for broken in component.broken:
            self._refuse(name, f"a line that cannot be read: {broken[:60]}")
        start, end = self._span(component)
        content = content_of(component, start, end, account=self._account)
        if calls_off:
            content = replace(content, status="cancelled")
        recurrence, overrides = self._recurrence(component, name, content)
        line = component.first("RECURRENCE-ID")
        if line is not None and line.params.get("RANGE", "").upper() == "THISANDFUTURE":
            self._refuse(name, "changes all that follow too; taken for one time alone")
        source = "\n".join(component.source)
        return _Event(
            uid=component.text("UID") or f"{hashlib.sha256(source.encode()).hexdigest()[:24]}@ics",
            name=name,
            sequence=number(component.text("SEQUENCE")),
            original=None if line is None else self._when(line, start.zone),
            content=content,
            recurrence=recurrence,
            overrides=overrides,
            created_ms=self._entered(component),
        )

    def _span(self, component: Component) -> tuple[When, When]:
        line = component.first("DTSTART")
        if line is None:
            raise ValueError("it has no start")
        start = self._when(line, self._zone)
        ending, long = component.first("DTEND"), component.first("DURATION")
        if ending is not None:
            end = _like(start, self._when(ending, start.zone))
        elif long is not None:
            end = _after(start, calendarlines.duration(long.value))
        else:
            end = start.later(timedelta(days=1)) if start.is_day else start
        if start.is_day and end.instant == start.instant:
            end = start.later(timedelta(days=1))
        if end.instant < start.instant:
            raise ValueError("it ends before it starts")
        if start.local.year not in YEARS or end.local.year not in YEARS:
            raise ValueError("a time that is out of range")
        return start, end

    def _recurrence(
        self, component: Component, name: str, content: Content
    ) -> tuple[Recurrence | None, tuple[Override, ...]]:
        start = content.start
        rules = []
        for line in component.every("RRULE"):
            try:
                rule = "".join(line.value.split())
                check(rule, start)
                rules.append(rule)
            except ValueError:
                self._refuse(name, f"a rule that cannot be followed: {line.value[:60]}")
        added, overrides = [], []
        for line, text in self._dates(component, "RDATE"):
            try:
                when, end = self._period(line, text, start)
            except (ValueError, OverflowError):
                self._refuse(name, f"a date that cannot be read: {text[:60]}")
                continue
            added.append(when)
            if end is not None:
                longer = replace(content.at(when), end=end)
                overrides.append(Override(original=when, content=longer))
        dropped = []
        for line, text in self._dates(component, "EXDATE"):
            try:
                dropped.append(self._read(text, line, start.zone))
            except (ValueError, OverflowError):
                self._refuse(name, f"a date that cannot be read: {text[:60]}")
        for line in component.every("EXRULE"):
            try:
                until = max(start.instant, datetime.now(UTC)) + _EXCLUDED
                dropped += following(line.value, start, until)
            except ValueError:
                self._refuse(name, f"a rule that cannot be followed: {line.value[:60]}")
        if not rules and not added:
            return None, ()
        made = Recurrence(rules=tuple(rules), added=tuple(added), dropped=tuple(dropped))
        return made, tuple(overrides)

    # Times

    def _dates(self, component: Component, name: str) -> Iterator[tuple[Line, str]]:
        for line in component.every(name):
            for text in line.value.split(","):
                if text.strip():
                    yield line, text.strip()

    def _period(self, line: Line, text: str, start: When) -> tuple[When, When | None]:
        first, slash, last = text.partition("/")
        when = _of_its_kind(self._read(first, line, start.zone), start)
        if not slash:
            return when, None
        if "P" in last.upper():
            return when, _after(when, calendarlines.duration(last))
        return when, self._read(last, line, start.zone)

    def _when(self, line: Line, otherwise: str) -> When:
        return self._read(line.value.strip(), line, otherwise)

    def _read(self, text: str, line: Line, otherwise: str) -> When:
        """Read a day or a moment; one without any zone is in *otherwise*."""
        place = otherwise
        tzid = line.params.get("TZID")
        if len(text) == 8 and _day(text).year in YEARS:
            return When(place, day=_day(text))
        clock = datetime.combine(_day(text[:8]), _clock(text))
        if clock.year not in YEARS:
            raise ValueError("a time that is out of range")
        if text[-1:] in {"Z", "z"}:
            return moment(clock.replace(tzinfo=UTC), "UTC" if tzid is None else place)
        if tzid is not None:
            place = self._zones.name(tzid, clock.year) or otherwise
        return by_clock(clock, place)

    def _entered(self, component: Component) -> int | None:
        for name in ("CREATED", "LAST-MODIFIED", "DTSTAMP"):
            line = component.first(name)
            if line is None:
                continue
            try:
                return int(self._when(line, "UTC").instant.timestamp() * 1000)
            except (ValueError, OverflowError):
                continue
        return None

    def _refuse(self, name: str, reason: str) -> None:
        self.unusable.append(Unusable(name, reason))


# Putting together


def _alone(one: _Event) -> NewEvent:
    """Return an occurrence whose series is not in the file, as an event of its own."""
    original = one.original or one.content.start
    uid = f"{one.uid}_{original.stamp}"
    return NewEvent(uid=uid, content=one.content, created_ms=one.created_ms)


def _whole(master: _Event, changed: dict[When, _Event]) -> NewEvent:
    overrides = {one.original: one for one in master.overrides}
    for original, one in changed.items():
        overrides[original] = Override(
            original=original,
            content=one.content,
            cancelled=one.content.status == "cancelled",
        )
    return NewEvent(
        uid=master.uid,
        content=master.content,
        recurrence=master.recurrence,
        overrides=tuple(overrides.values()),
        created_ms=master.created_ms,
    )


def _occurrence_of(master: _Event, original: When) -> When:
    """Return the start of the series that is meant, which some name by its day alone."""
    if not original.is_day or master.content.start.is_day or master.recurrence is None:
        return original
    day = original.instant - timedelta(days=1)
    series = Series(master.content.start, master.recurrence)
    near = series.between(day, day + timedelta(days=3))
    return next((one for one in near if one.local.date() == original.day), original)


# Times


def _after(start: When, long: Length) -> When:
    """Add a duration: days by the clock, hours as they pass."""
    later = start.later(long.days)
    if start.is_day:
        return later
    return moment(later.instant + long.exact, start.zone)


def _of_its_kind(when: When, start: When) -> When:
    """Make a date of a timed series one of its times, and a time of whole days a day."""
    if when.is_day == start.is_day:
        return when
    if start.is_day:
        return by_clock(when.local, when.zone, is_day=True)
    return by_clock(datetime.combine(when.local, start.local.time()), start.zone)


def _like(start: When, end: When) -> When:
    """Make an end that is of another kind than its start one of the same."""
    if start.is_day == end.is_day:
        return end
    return by_clock(end.local, end.zone, is_day=start.is_day)


def _day(text: str) -> date:
    if not text.isdecimal():
        raise ValueError(f"not a date: {text}")
    try:
        return date(int(text[:4]), int(text[4:6]), int(text[6:8]))
    except ValueError:
        raise ValueError(f"not a date: {text}") from None


def _clock(text: str) -> time:
    """Read ``T093000`` behind a date; a second that is inserted (60) counts as the one before."""
    digits = text[9:15]
    if text[8:9] not in {"T", "t"} or not digits.isdecimal() or text[15:] not in {"", "Z", "z"}:
        raise ValueError(f"not a time: {text}")
    if len(digits) != 6:
        raise ValueError(f"not a time: {text}")
    return time(int(digits[:2]), int(digits[2:4]), min(int(digits[4:]), 59))
