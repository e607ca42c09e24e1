"""Outlook calendars and events as records: docs/spec/upstream/outlook-calendar.md#event-fields."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from msgspec import structs

from providers.columnar import RecordBuilder, attribute, computed
from providers.connectors.provider_b.outlook_calendar.response_types import (
    Attendee,
    CalendarEntry,
    Event,
    EventTime,
)
from providers.connectors.provider_b.outlook_mail.response_types import Recipient
from providers.failures import Broken
from providers.ports.calendar import ROOMS, Span
from providers.records.calendar import Attendee as AttendeeRecord
from providers.records.calendar import Calendar
from providers.records.calendar import Event as EventRecord
from providers.timestamps import parse_utc

_RESPONSES: Mapping[str | None, str] = {
    "accepted": "accepted",
    "organizer": "accepted",
    "declined": "declined",
    "tentativelyAccepted": "tentative",
}
_FREE = frozenset({"free", "workingElsewhere"})
_SERIES = frozenset({"occurrence", "exception", "seriesMaster"})


def calendar(entry: CalendarEntry) -> Calendar:
    """Return a calendar; Graph does not tell its time zone."""
    return Calendar(id=entry.id, name=entry.name or "", is_primary=bool(entry.is_default_calendar))


def events(native: Sequence[Event], wanted: AbstractSet[str]) -> list[EventRecord]:
    """
    Make records of events, in their order.

    Args:
        native: Read with `selected_fields.event` for at least *wanted*.
        wanted: Attributes of the record; others stay None, except the id and the times. Without
            `ROOMS`, meeting rooms are left out.

    Raises:
        Broken: The times of an event are missing or invalid.
    """
    if ROOMS not in wanted:
        native = list(map(_without_rooms, native))
    spans = [times(event) for event in native]
    columns = {"start_utc": [start for start, _ in spans], "end_utc": [end for _, end in spans]}
    return _EVENTS.records(native, wanted, columns)


def event(native: Event, wanted: AbstractSet[str]) -> EventRecord:
    """Make a record of one event; see `events`."""
    return events([native], wanted)[0]


def times(event: Event) -> Span:
    """
    Return the time of an event.

    Raises:
        Broken: The times are missing, invalid or not in UTC, which was requested.
    """
    start, end = _instant(event.start), _instant(event.end)
    return Span(start, max(start, end))


def is_busy(event: Event) -> bool:
    """Whether an event takes time: docs/spec/upstream/outlook-calendar.md#free-and-busy-times."""
    declined = event.response_status is not None and event.response_status.response == "declined"
    return not (event.is_cancelled or declined or event.show_as in _FREE)


def _without_rooms(event: Event) -> Event:
    """Return an event without the rooms among its attendees, and without one as organizer."""
    rooms = {
        _address(attendee) for attendee in event.attendees or () if attendee.type == "resource"
    }
    if not rooms:
        return event
    people = [person for person in event.attendees or () if _address(person) not in rooms]
    organizer = event.organizer
    if organizer is not None and _address(organizer) in rooms:
        organizer = None
    return structs.replace(event, attendees=tuple(people), organizer=organizer)


def _address(person: Recipient) -> str:
    return (person.email_address.address or "").casefold()


def _instant(event_time: EventTime | None) -> datetime:
    if event_time is None or (
        event_time.time_zone != "UTC" and event_time.time_zone.upper() != "UTC"
    ):
        raise Broken
    try:
        # Several times faster than setting the time zone after parsing.
        return datetime.fromisoformat(event_time.date_time + "Z")
    except ValueError:
        time = parse_utc(event_time.date_time)
    if time is None:
        raise Broken
    return time


def _status(event: Event) -> str:
    if event.is_cancelled:
        return "cancelled"
    return "tentative" if event.show_as == "tentative" else "confirmed"


def _organizer(organizer: Recipient | None) -> str | None:
    return (organizer.email_address.address or None) if organizer else None


def _attendees(attendees: Sequence[Attendee] | None) -> tuple[AttendeeRecord, ...]:
    return tuple(
        [
            AttendeeRecord(
                who.address,
                (who.name or None) if who.name != who.address else None,
                _RESPONSES.get(
                    attendee.status.response if attendee.status else None, "needsAction"
                ),
            )
            for attendee in attendees or ()
            if (who := attendee.email_address).address
        ]
    )


def _join_url(event: Event) -> str | None:
    url = event.online_meeting.join_url if event.online_meeting else None
    return url or event.online_meeting_url or None


_EVENTS = RecordBuilder(
    EventRecord,
    {
        "id": attribute("id"),
        "title": attribute("subject", lambda subject: subject or ""),
        "description": attribute("body", lambda body: (body.content or None) if body else None),
        "location": attribute(
            "location", lambda place: (place.display_name or None) if place else None
        ),
        "all_day": attribute("is_all_day", bool),
        "status": computed(_status),
        "organizer": attribute("organizer", _organizer),
        "attendees": attribute("attendees", _attendees),
        "join_url": computed(_join_url),
        "labels": attribute("categories", lambda names: names or ()),
        "is_recurring_event": attribute("type", _SERIES.__contains__),
    },
    always=frozenset({"id"}),
)
