"""
Reader of calendar files: events for the calendar store.

See RFC 5545, 3.6.1, 3.8.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from sandbox.calendar.records import EventContent, EventTime, NewEvent, Override, Recurrence
from sandbox.calendar.recurrence import check_rule, expand_rule, localise_until
from sandbox.importing import ical_components
from sandbox.importing.ical_components import Component
from sandbox.importing.ical_properties import email_address, parse_integer, read_content
from sandbox.importing.ical_series import FileEvent, assemble_series
from sandbox.importing.ical_times import OUT_OF_RANGE, TimeReader, read_dates
from sandbox.importing.ical_zones import NoMatchingZone, ZoneTable, iana_zone

# Horizon of exclusion rules (EXRULE), which are expanded; inclusion rules stay rules.
_EXCLUDED = timedelta(days=3660)


@dataclass(frozen=True, slots=True)
class SkippedEvent:
    """An event that is not imported, and the reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarFile:
    """
    Content of a calendar file.

    Attributes:
        name: Name of the calendar, "" for none.
        zone: Time zone of the calendar, None when it states none.
        events: In the order of the file.
    """

    name: str
    zone: str | None
    events: tuple[NewEvent, ...]
    unusable: tuple[SkippedEvent, ...]


def read(data: bytes, *, zone: str, account: str) -> CalendarFile:
    """
    Read a file; its calendars are merged into one.

    *zone* applies to times without a zone; *account* is the owner's address.

    Raises:
        ValueError: It is not a calendar file.
    """
    roots = ical_components.read(ical_components.decode(data))
    calendars = [root for root in roots if root.name == "VCALENDAR"]
    loose = Component("VCALENDAR", inner=[root for root in roots if root.name != "VCALENDAR"])
    if not roots:
        raise ValueError("It is no calendar file: nothing begins in it.")
    parts = [*calendars, loose] if loose.inner else calendars
    own_zone = next(
        (zone_name for part in parts if (zone_name := iana_zone(part.text("X-WR-TIMEZONE")))), None
    )
    definitions = [inner for part in parts for inner in part.inner if inner.name == "VTIMEZONE"]
    zones = ZoneTable(definitions)
    reader = _Reader(zones, own_zone or zone, account)
    for part in parts:
        reader.calendar(part)
    events, outdated = assemble_series(reader.events)
    for event in outdated:
        reader.refuse(event.name, "a newer version of the same event is taken")
    for name in zones.unknown:
        reader.refuse(name, f"an unknown time zone; its times are taken in {own_zone or zone}")
    return CalendarFile(
        name=next((part.text("X-WR-CALNAME", "NAME") for part in parts), ""),
        zone=own_zone,
        events=tuple(events),
        unusable=tuple(reader.unusable),
    )


class _Reader:
    def __init__(self, zones: ZoneTable, zone: str, account: str) -> None:
        self._times = TimeReader(zones, zone)
        self._account = account
        self.events: list[FileEvent] = []
        self.unusable: list[SkippedEvent] = []

    def calendar(self, component: Component) -> None:
        """Read the components of one VCALENDAR."""
        is_cancellation = component.text("METHOD").upper() == "CANCEL"
        for broken in component.broken:
            self.refuse("VCALENDAR", f"a line that cannot be read: {broken[:60]}")
        for place, inner in enumerate(component.inner, 1):
            if inner.name == "VTIMEZONE":
                continue
            name = inner.text("SUMMARY") or inner.text("UID") or f"{inner.name} {place}"
            if inner.name != "VEVENT":
                self.refuse(name, f"a {inner.name} is no event")
                continue
            try:
                self.events.append(self._event(inner, name, is_cancellation=is_cancellation))
            except ValueError as problem:
                self.refuse(name, str(problem))
            except OverflowError:
                self.refuse(name, OUT_OF_RANGE)

    def refuse(self, name: str, reason: str) -> None:
        """Report a skipped event or line."""
        self.unusable.append(SkippedEvent(name, reason))

    def _event(self, component: Component, name: str, *, is_cancellation: bool) -> FileEvent:
        for broken in component.broken:
            self.refuse(name, f"a line that cannot be read: {broken[:60]}")
        try:
            events = self._read_event(component, name, self._times)
        except NoMatchingZone as unlike:
            events = self._read_event(component, name, replace(self._times, clock=unlike.clock))
        if is_cancellation:
            events = replace(events, content=replace(events.content, status="cancelled"))
        return events

    def _read_event(self, component: Component, name: str, times: TimeReader) -> FileEvent:
        start, end = times.span(component)
        content = read_content(component, start, end, account=self._account)
        for guest in component.every("ATTENDEE"):
            if not email_address(guest):
                self.refuse(name, f"an attendee without an address: {guest.value[:60]}")
        recurrence, overrides = self._recurrence(component, name, content, times)
        line = component.first("RECURRENCE-ID")
        original = None if line is None else times.when(line, start.zone)
        scope = "" if line is None else line.params.get("RANGE", "").upper()
        source = "\n".join(component.source)
        return FileEvent(
            uid=component.text("UID") or f"{hashlib.sha256(source.encode()).hexdigest()[:24]}@ics",
            name=name,
            sequence=parse_integer(component.text("SEQUENCE")),
            original=original,
            changes_later=scope == "THISANDFUTURE",
            content=content,
            recurrence=recurrence,
            overrides=overrides,
            created_ms=self._created_ms(component),
            clock=times.clock,
        )

    def _recurrence(
        self, component: Component, name: str, content: EventContent, times: TimeReader
    ) -> tuple[Recurrence | None, tuple[Override, ...]]:
        start = content.start
        rules = tuple(self._rules(component, name, start, times))
        added, overrides = [], []
        for line, text in read_dates(component, "RDATE"):
            try:
                when, end = times.period(line, text, start)
            except NoMatchingZone:
                raise
            except (ValueError, OverflowError):
                self.refuse(name, f"a date that cannot be read: {text[:60]}")
                continue
            added.append(when)
            if end is not None:
                longer = replace(content.starting_at(when), end=end)
                overrides.append(Override(original=when, content=longer))
        dropped = tuple(self._exclusions(component, name, start, times))
        if not rules and not added:
            return None, ()
        recurrence = Recurrence(rules=rules, added=tuple(added), dropped=dropped)
        return recurrence, tuple(overrides)

    def _rules(
        self, component: Component, name: str, start: EventTime, times: TimeReader
    ) -> Iterator[str]:
        for line in component.every("RRULE"):
            rule = "".join(line.value.split())
            try:
                if times.clock is not None:
                    rule = localise_until(rule, times.clock)
                check_rule(rule, start)
            except ValueError:
                self.refuse(name, f"a rule that cannot be followed: {line.value[:60]}")
            else:
                yield rule

    def _exclusions(
        self, component: Component, name: str, start: EventTime, times: TimeReader
    ) -> Iterator[EventTime]:
        for line, text in read_dates(component, "EXDATE"):
            try:
                yield times.excluded(line, text, start)
            except NoMatchingZone:
                raise
            except (ValueError, OverflowError):
                self.refuse(name, f"a date that cannot be read: {text[:60]}")
        for line in component.every("EXRULE"):
            until = max(start.instant, datetime.now(UTC)) + _EXCLUDED
            try:
                yield from expand_rule(line.value, start, until)
            except ValueError:
                self.refuse(name, f"a rule that cannot be followed: {line.value[:60]}")

    def _created_ms(self, component: Component) -> int | None:
        for name in ("CREATED", "LAST-MODIFIED", "DTSTAMP"):
            line = component.first(name)
            if line is None:
                continue
            try:
                return int(self._times.when(line, "UTC").instant.timestamp() * 1000)
            except (ValueError, OverflowError):
                continue
        return None
