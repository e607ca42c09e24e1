"""
From iCalendar to the events of one calendar object: RFC 4791, 4.1.

An object holds one event, or one series with its overrides: all have the same UID.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from types import MappingProxyType

from providers.connectors.caldav.content_lines import (
    Component,
    ContentLine,
    NotCalendar,
    parse_calendar,
)
from providers.connectors.caldav.ical_times import EventTime, Length, TimeReader
from providers.connectors.caldav.recurrence import NotExpandable, Rule, Series, parse_rule
from providers.connectors.caldav.time_zones import defined_zones
from providers.records.calendar import AttendeeResponse

_RESPONSES: Mapping[str, AttendeeResponse] = MappingProxyType(
    {"ACCEPTED": "accepted", "DECLINED": "declined", "TENTATIVE": "tentative"}
)
_FREE_STATES = frozenset({"FREE", "WORKINGELSEWHERE"})
_ROOMS = frozenset({"ROOM", "RESOURCE"})
_MAX_PEOPLE = 1000
_MAX_RULES = 20  # of one series
_MAX_DATES = 2000  # added or excluded, of one series


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who is invited. *response* is that of `records.calendar.Attendee`."""

    email: str
    name: str | None
    response: AttendeeResponse
    is_room: bool


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
    """

    name: str
    content: EventContent | None = None
    series: Series | None = None
    overrides: tuple[Override, ...] = ()
    is_whole: bool = True


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
        times = TimeReader(defined_zones(calendar), floating)
    except NotCalendar:
        return CalendarObject(name=name, is_whole=False)
    events = [part for part in calendar.components if part.name == "VEVENT"]
    masters = [event for event in events if event.first("RECURRENCE-ID") is None]
    if not events:
        return CalendarObject(name=name)
    is_whole = len(masters) < 2  # another one has another UID, which a server should refuse
    content: EventContent | None = None
    series: Series | None = None
    for master in masters[:1]:
        try:
            content = _content(master, times)
            series, is_expandable = _series(master, content, times)
            is_whole = is_whole and is_expandable
        except (ValueError, OverflowError):
            is_whole = False
    overrides, are_all_read = _overrides(events, times)
    return CalendarObject(
        name=name,
        content=content,
        series=series,
        overrides=overrides,
        is_whole=is_whole and are_all_read,
    )


def _series(
    event: Component, content: EventContent, times: TimeReader
) -> tuple[Series | None, bool]:
    """Return the series that an event begins, and whether all of its parts were read."""
    start = content.start
    is_whole = event.first("EXRULE") is None
    rules: list[Rule] = []
    lines = list(event.every("RRULE"))
    is_whole = is_whole and len(lines) <= _MAX_RULES
    for line in lines[:_MAX_RULES]:
        try:
            rules.append(parse_rule(line.value, start))
        except NotExpandable:
            is_whole = False
    excluded = list(times.dates(event, "EXDATE", start))
    added = [
        start.at(datetime.combine(date.local, start.local.time())) if date.is_day else date
        for date in times.dates(event, "RDATE", start)
    ]
    if max(len(added), len(excluded)) > _MAX_DATES:
        raise ValueError("too many dates")
    if not rules and not added and event.first("RRULE") is None:
        return None, is_whole
    return Series(start, tuple(rules), tuple(added), frozenset(excluded)), is_whole


def _overrides(events: Sequence[Component], times: TimeReader) -> tuple[tuple[Override, ...], bool]:
    """Return the overrides, and whether all were read."""
    overrides: dict[str, Override] = {}
    is_whole = True
    for event in events:
        line = event.first("RECURRENCE-ID")
        if line is None:
            continue
        try:
            original = times.read(line)
            and_following = line.params.get("RANGE", "").upper() == "THISANDFUTURE"
            overrides[original.stamp] = Override(original, _content(event, times), and_following)
        except (ValueError, OverflowError):
            is_whole = False
    return tuple(overrides.values()), is_whole


def _content(event: Component, times: TimeReader) -> EventContent:
    """
    Return the content of an event.

    Raises:
        ValueError: Its times are not valid.
    """
    line = event.first("DTSTART")
    if line is None:
        raise ValueError("no start")
    start = times.read(line)
    status = event.text("STATUS").lower()
    state = event.text("X-MICROSOFT-CDO-BUSYSTATUS").upper()
    return EventContent(
        start=start,
        length=times.length(event, start),
        title=event.text("SUMMARY"),
        description=event.text("DESCRIPTION") or None,
        location=event.text("LOCATION") or None,
        status=status if status in ("tentative", "cancelled") else "confirmed",
        organizer=next(_people(event, "ORGANIZER"), None),
        attendees=tuple(_people(event, "ATTENDEE")),
        join_url=_join_url(event),
        labels=tuple(
            dict.fromkeys(label for line in event.every("CATEGORIES") for label in line.texts)
        ),
        is_free=event.text("TRANSP").upper() == "TRANSPARENT" or state in _FREE_STATES,
    )


def _people(event: Component, name: str) -> Iterator[Person]:
    """Yield the people of a property, each address once."""
    addresses: set[str] = set()
    for line in event.every(name):
        email = _address(line)
        if not email or email.casefold() in addresses or len(addresses) == _MAX_PEOPLE:
            continue
        addresses.add(email.casefold())
        shown = line.params.get("CN", "").strip()
        yield Person(
            email,
            shown if shown and shown != email else None,
            _RESPONSES.get(line.params.get("PARTSTAT", "").upper(), "needsAction"),
            line.params.get("CUTYPE", "").upper() in _ROOMS,
        )


def _address(line: ContentLine) -> str:
    """Return the e-mail address of a person; "" when it has none."""
    value = line.value.strip()
    if value.lower().startswith("mailto:"):
        return value[len("mailto:") :].strip()
    return line.params.get("EMAIL", "").strip() or (
        value if "@" in value and ":" not in value else ""
    )


def _join_url(event: Component) -> str | None:
    url = event.text("CONFERENCE", "X-GOOGLE-CONFERENCE", "X-MICROSOFT-SKYPETEAMSMEETINGURL")
    return url if url.lower().startswith(("https://", "http://")) else None
