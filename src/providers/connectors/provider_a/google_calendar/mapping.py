"""Google calendars and events as records: docs/spec/upstream/google-calendar.md#event-fields."""

from collections.abc import Container, Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta

from msgspec import structs

from providers.columnar import RecordBuilder, attribute, computed, constant
from providers.connectors.provider_a.google_calendar.response_types import (
    CalendarEntry,
    Event,
    EventTime,
    Person,
)
from providers.failures import Broken, Missing
from providers.ports.calendar import ROOMS, Span
from providers.records.calendar import Attendee, AttendeeResponse, Calendar
from providers.records.calendar import Event as EventRecord

_RESPONSES: Mapping[str | None, AttendeeResponse] = {
    "accepted": "accepted",
    "declined": "declined",
    "tentative": "tentative",
}
_ROOM_DOMAIN = "@resource.calendar.google.com"
_DAY = timedelta(days=1)


def calendar(entry: CalendarEntry) -> Calendar:
    """Return a calendar."""
    return Calendar(
        id=entry.id,
        name=entry.summary_override or entry.summary or "",
        is_primary=entry.primary,
        time_zone=entry.time_zone,
    )


def events(native: Iterable[Event], projection: AbstractSet[str]) -> list[EventRecord]:
    """
    Make records of events, in their order, without events that have no time.

    Args:
        native: Read with `requested_fields.events` for at least *projection*.
        projection: Attributes of the record; others stay None, except the id and the times. Without
            `ROOMS`, meeting rooms are left out.

    Raises:
        Broken: The times of an event are invalid.
    """
    timed = [event for event in native if _start(event) is not None]
    if ROOMS not in projection:
        timed = list(map(_without_rooms, timed))
    spans = [times(event) for event in timed]
    columns = {"start_utc": [start for start, _ in spans], "end_utc": [end for _, end in spans]}
    return _EVENTS.records(timed, projection, columns)


def event(native: Event, projection: AbstractSet[str]) -> EventRecord:
    """
    Make a record of one event; see `events`.

    Raises:
        Missing: It has no time.
        Broken: Its times are invalid.
    """
    records = events([native], projection)
    if not records:
        raise Missing
    return records[0]


def times(event: Event) -> Span:
    """
    Return the time of an event; of a cancelled occurrence, its original time.

    Raises:
        Missing: It has no time.
        Broken: Its times are invalid.
    """
    start = _start(event)
    if start is None:
        raise Missing
    start_utc = _instant(start)
    if event.end is not None and (event.end.date or event.end.date_time):
        return Span(start_utc, max(_instant(event.end), start_utc))
    return Span(start_utc, start_utc + _DAY if start.date else start_utc)


def is_busy(event: Event) -> bool:
    """Whether an event that is not cancelled takes time."""
    declined = any(
        person.self and person.response_status == "declined" for person in event.attendees
    )
    return not declined and event.transparency != "transparent" and _start(event) is not None


def _without_rooms(event: Event) -> Event:
    """Return an event without the rooms among its attendees, and without one as organizer."""
    rooms = {person.email for person in event.attendees if person.resource}
    people = [person for person in event.attendees if not _is_room(person, rooms)]
    organizer = event.organizer
    if organizer is not None and _is_room(organizer, rooms):
        organizer = None
    return structs.replace(event, attendees=tuple(people), organizer=organizer)


def _is_room(person: Person, rooms: Container[str | None]) -> bool:
    return person.email in rooms or (person.email or "").lower().endswith(_ROOM_DOMAIN)


def _start(event: Event) -> EventTime | None:
    start = event.start or event.original_start_time
    return start if start is not None and (start.date or start.date_time) else None


def _is_all_day(event: Event) -> bool:
    start = _start(event)
    return start is not None and start.date is not None


def _instant(event_time: EventTime) -> datetime:
    try:
        time = datetime.fromisoformat(event_time.date_time or f"{event_time.date}T00:00:00Z")
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Broken from None


def _status(event: Event) -> str:
    return event.status if event.status in ("tentative", "cancelled") else "confirmed"


def _organizer(person: Person | None) -> str | None:
    return (person.email or None) if person else None


def _attendees(people: Iterable[Person]) -> tuple[Attendee, ...]:
    return tuple(
        [
            Attendee(
                person.email,
                None if person.display_name in ("", person.email) else person.display_name,
                _RESPONSES.get(person.response_status, "needsAction"),
            )
            for person in people
            if person.email
        ]
    )


def _join_url(event: Event) -> str | None:
    if event.hangout_link:
        return event.hangout_link
    points = event.conference_data.entry_points if event.conference_data else ()
    return next(
        (point.uri for point in points if point.entry_point_type == "video" and point.uri), None
    )


def _series(event: Event) -> str | None:
    return event.recurring_event_id or (event.id if event.recurrence else None)


def _is_recurring(event: Event) -> bool:
    return bool(event.recurring_event_id or event.recurrence)


_EVENTS = RecordBuilder(
    EventRecord,
    {
        "id": attribute("id"),
        "title": attribute("summary", lambda summary: summary or ""),
        "description": attribute("description"),
        "location": attribute("location"),
        "all_day": computed(_is_all_day),
        "status": computed(_status),
        "organizer": attribute("organizer", _organizer),
        "attendees": attribute("attendees", _attendees),
        "join_url": computed(_join_url),
        "labels": constant(()),  # Google has colours without names
        "is_recurring_event": computed(_is_recurring),
        "series": computed(_series),
    },
    always=frozenset({"id"}),
)
