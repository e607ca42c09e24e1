"""
From iCalendar to the events of one calendar object: RFC 4791, 4.1.

An object holds one event, or one series with its overrides: all have the same UID.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from providers.connectors.caldav.bounded_rules import Work
from providers.connectors.caldav.content_lines import (
    Component,
    ContentLine,
    NotCalendar,
    parse_calendar,
)
from providers.connectors.caldav.ical_times import AddedDate, EventTime, Length, TimeReader
from providers.connectors.caldav.people import Person, has_unread, join_url, people
from providers.connectors.caldav.recurrence import NotExpandable, Rule, Series, parse_rule
from providers.connectors.caldav.time_zones import Zones, to_utc
from providers.connectors.caldav.zone_definitions import defined_zones
from providers.ports.calendar import Span

_FREE_STATES = frozenset({"FREE", "WORKINGELSEWHERE"})
_MAX_RULES = 20  # of one series
_MAX_DATES = 2000  # added or excluded, of one series


@dataclass(frozen=True, slots=True, kw_only=True)
class EventContent:
    """
    The content of an event, or of one occurrence of a series.

    Attributes:
        is_free: Whether it takes no time.
    """

    start: EventTime
    length: Length
    title: str
    description: str | None
    location: str | None
    status: str
    organizer: Person | None
    attendees: tuple[Person, ...]
    join_url: str | None
    labels: tuple[str, ...]
    is_free: bool


@dataclass(frozen=True, slots=True)
class Override:
    """An occurrence that differs; *and_following*: the later ones differ like it."""

    original: EventTime
    content: EventContent
    and_following: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarObject:
    """
    An event or a series.

    Attributes:
        name: Last segment of its address.
        content: None when only some occurrences of a series are known, as to their guests.
        series: None for a single event.
        overrides: By their original starts.
        is_whole: False when a part of it could not be read, so that events may be missing.
        zones_are_known: False when times were read by the calendar's zone instead of theirs.
        unread_people: Those of "attendees" and "organizer" that lack people.
    """

    name: str
    content: EventContent | None = None
    series: Series | None = None
    overrides: tuple[Override, ...] = ()
    is_whole: bool = True
    zones_are_known: bool = True
    unread_people: frozenset[str] = frozenset()


def parse_object(name: str, text: str, floating: tzinfo) -> CalendarObject:
    """
    Read a calendar object.

    Args:
        name: Last segment of its address.
        text: iCalendar.
        floating: Zone of times without one.
    """
    try:
        calendar = parse_calendar(text)
    except NotCalendar:
        return CalendarObject(name=name, is_whole=False)
    events = [part for part in calendar.components if part.name == "VEVENT"]
    if not events:
        return CalendarObject(name=name)
    zones = Zones(defined_zones(calendar))
    return _ObjectReader(TimeReader(zones, floating)).read(name, events)


class _ObjectReader:
    """Reads the events of one object; what cannot be read is left out, and told."""

    def __init__(self, times: TimeReader) -> None:
        self._times = times
        self._is_whole = True
        self._work = Work()  # of finding the occurrences that a day names

    def read(self, name: str, events: Sequence[Component]) -> CalendarObject:
        masters = [event for event in events if event.first("RECURRENCE-ID") is None]
        # A server should refuse an object with several UIDs (RFC 4791, 4.1).
        uid = (masters or events)[0].text("UID")
        own = [event for event in events if event.text("UID") == uid]
        self._is_whole = len(own) == len(events)
        revisions = [event for event in own if event.first("RECURRENCE-ID") is None]
        content: EventContent | None = None
        series: Series | None = None
        master = max(reversed(revisions), key=_revision, default=None)
        if master is not None:
            try:
                content = self._content(master)
                series = self._series(master, content)
            except (ValueError, OverflowError):
                self._is_whole = False
        overrides = self._overrides(own, master, content, series)
        return CalendarObject(
            name=name,
            content=content,
            series=series,
            overrides=overrides,
            is_whole=self._is_whole,
            zones_are_known=not self._times.zones.unknown,
            unread_people=frozenset(
                member
                for member, line in (("attendees", "ATTENDEE"), ("organizer", "ORGANIZER"))
                if any(has_unread(event, line) for event in own)
            ),
        )

    def _series(self, event: Component, content: EventContent) -> Series | None:
        """Return the series that an event begins."""
        start = content.start
        rules: list[Rule] = []
        lines = list(event.every("RRULE"))
        if len(lines) > _MAX_RULES or event.first("EXRULE") is not None:
            self._is_whole = False
        for line in lines[:_MAX_RULES]:
            try:
                rules.append(parse_rule(line.value, start, self._times.floating))
            except NotExpandable:
                self._is_whole = False
        excluded = self._dates(event, "EXDATE", start)
        added = [
            (start.at(datetime.combine(date.local, start.local.time())), length)
            if date.is_day
            else (date, length)
            for date, length in self._dates(event, "RDATE", start)
        ]
        if not rules and not added and event.first("RRULE") is None:
            return None
        return Series(
            start,
            tuple(rules),
            tuple(date for date, _ in added),
            frozenset(date for date, _ in excluded),
            {date.utc: length for date, length in added if length is not None},
        )

    def _dates(self, event: Component, name: str, start: EventTime) -> list[AddedDate]:
        """Return the dates of a property, without those that cannot be read."""
        dates: list[AddedDate] = []
        for line, text in self._times.values(event, name):
            try:
                dates.append(self._times.date(line, text, start))
            except (ValueError, OverflowError):
                self._is_whole = False
        if len(dates) > _MAX_DATES:
            raise ValueError("too many dates")
        return dates

    def _overrides(
        self,
        events: Sequence[Component],
        master: Component | None,
        content: EventContent | None,
        series: Series | None,
    ) -> tuple[Override, ...]:
        """Return the newest revision of each override that the master does not exclude."""
        newest: dict[datetime, tuple[_Revision, Override]] = {}
        for event in events:
            line = event.first("RECURRENCE-ID")
            if line is None:
                continue
            try:
                original = self._original(line, content, series)
                changed = self._content(event)
            except (ValueError, OverflowError):
                self._is_whole = False
                continue
            revision = _revision(event)
            if master and series and revision < _revision(master) and series.excludes(original):
                continue
            known = newest.get(original.utc)
            if known is None or revision >= known[0]:
                and_following = line.params.get("RANGE", "").upper() == "THISANDFUTURE"
                newest[original.utc] = revision, Override(original, changed, and_following)
        return tuple(override for _, override in newest.values())

    def _original(
        self, line: ContentLine, content: EventContent | None, series: Series | None
    ) -> EventTime:
        """Return the start of the occurrence that an override replaces, as its series has it."""
        if content is None:
            return self._times.read(line)
        start = content.start
        original = self._times.by_clock_of(start, self._times.read(line, like=start))
        if not original.is_day or start.zone is None:
            return original
        likely = start.at(datetime.combine(original.local, start.local.time()))
        if series is None:
            return likely
        midnight = to_utc(original.local, start.zone)
        of_day = series.starts(Span(midnight, midnight + timedelta(days=1)), self._work)
        is_likely = not of_day or likely.utc in {occurrence.utc for occurrence in of_day}
        return likely if is_likely else of_day[0]

    def _content(self, event: Component) -> EventContent:
        """
        Return the content of an event.

        Raises:
            ValueError: Its start is not valid.
        """
        line = event.first("DTSTART")
        if line is None:
            raise ValueError("no start")
        start = self._times.read(line)
        status = event.text("STATUS").lower()
        state = event.text("X-MICROSOFT-CDO-BUSYSTATUS").upper()
        return EventContent(
            start=start,
            length=self._length(event, start),
            title=event.text("SUMMARY"),
            description=event.text("DESCRIPTION") or None,
            location=event.text("LOCATION") or None,
            status=status if status in ("tentative", "cancelled") else "confirmed",
            organizer=next(people(event, "ORGANIZER"), None),
            attendees=tuple(people(event, "ATTENDEE")),
            join_url=join_url(event),
            labels=tuple(
                dict.fromkeys(label for line in event.every("CATEGORIES") for label in line.texts)
            ),
            is_free=event.text("TRANSP").upper() == "TRANSPARENT" or state in _FREE_STATES,
        )

    def _length(self, event: Component, start: EventTime) -> Length:
        try:
            return self._times.length(event, start)
        except (ValueError, OverflowError):
            self._is_whole = False
            return Length(nominal=timedelta(days=1)) if start.is_day else Length()


_Revision = tuple[int, str]


def _revision(event: Component) -> _Revision:
    """Return what orders the revisions of an event: RFC 5546, 2.1.5."""
    sequence = event.text("SEQUENCE")
    number = int(sequence) if sequence.isascii() and sequence.isdecimal() else 0
    return number, event.text("DTSTAMP").upper()
