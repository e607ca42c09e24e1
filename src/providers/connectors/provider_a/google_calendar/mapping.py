"""Provider A's calendars and events as records. Source: wire report, 1B.1; decisions 6.6."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta

from providers.columnar import RecordBuilder, attribute, computed, constant
from providers.connectors.provider_a.google_calendar.response_types import (
    CalendarEntry,
    Event,
    EventTime,
    Person,
)
from providers.failures import Broken, Missing
from providers.ports.calendar import Span
from providers.records.calendar import Attendee, Calendar
from providers.records.calendar import Event as EventRecord

_RESPONSES = frozenset({"accepted", "declined", "tentative"})
_DAY = timedelta(days=1)


def calendar(entry: CalendarEntry) -> Calendar:
    """Make a record of an entry of the calendar list."""
    return Calendar(
        id=entry.id,
        name=entry.summary_override or entry.summary or "",
        is_primary=entry.primary,
        time_zone=entry.time_zone,
    )


def events(sent: Iterable[Event], wanted: AbstractSet[str]) -> list[EventRecord]:
    """
    Make records of what is wanted of events, and of their times.

    What has no time is left out: nobody could say whether it is in a range.

    Args:
        sent: Fetched with `calendar_fields` for at least *wanted*.
        wanted: Attributes of the record; others stay None.

    Raises:
        Broken: The times of one cannot be read.
    """
    timed = [one for one in sent if _start(one) is not None]
    spans = [times(one) for one in timed]
    given = {"start_utc": [start for start, _ in spans], "end_utc": [end for _, end in spans]}
    return _EVENTS.records(timed, wanted, given)


def event(one: Event, wanted: AbstractSet[str]) -> EventRecord:
    """
    Make a record of one event; see `events`.

    Raises:
        Missing: It has no time at all.
        Broken: Its times cannot be read.
    """
    found = events([one], wanted)
    if not found:
        raise Missing
    return found[0]


def times(one: Event) -> Span:
    """
    Return from when to when an event is; of a bare cancelled one, when it was.

    Raises:
        Missing: It has no time at all.
        Broken: Its times cannot be read.
    """
    start = _start(one)
    if start is None:
        raise Missing
    first = _instant(start)
    if one.end is not None and (one.end.date or one.end.date_time):
        return Span(first, max(_instant(one.end), first))
    return Span(first, first + _DAY if start.date else first)


def is_busy(one: Event) -> bool:
    """Whether an event, none that is cancelled, takes time."""
    declined = any(person.self and person.response_status == "declined" for person in one.attendees)
    return not declined and one.transparency != "transparent" and _start(one) is not None


def _start(one: Event) -> EventTime | None:
    start = one.start or one.original_start_time
    return start if start is not None and (start.date or start.date_time) else None


def _is_all_day(one: Event) -> bool:
    start = _start(one)
    return start is not None and start.date is not None


def _instant(when: EventTime) -> datetime:
    try:
        read = datetime.fromisoformat(when.date_time or f"{when.date}T00:00:00Z")
        return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Broken from None


def _status(one: Event) -> str:
    return one.status if one.status in ("tentative", "cancelled") else "confirmed"


def _organizer(person: Person | None) -> str | None:
    return (person.email or None) if person else None


def _attendees(people: Iterable[Person]) -> tuple[Attendee, ...]:
    return tuple(
        [
            Attendee(
                person.email,
                None if person.display_name in ("", person.email) else person.display_name,
                _response(person),
            )
            for person in people
            if person.email
        ]
    )


def _response(person: Person) -> str:
    known = person.response_status in _RESPONSES
    return person.response_status or "" if known else "needsAction"


def _join_url(one: Event) -> str | None:
    if one.hangout_link:
        return one.hangout_link
    points = one.conference_data.entry_points if one.conference_data else ()
    return next(
        (point.uri for point in points if point.entry_point_type == "video" and point.uri), None
    )


def _is_recurring(one: Event) -> bool:
    return bool(one.recurring_event_id or one.recurrence)


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
        "labels": constant(()),  # upstream has colours and no names for them
        "is_recurring_event": computed(_is_recurring),
    },
    always=frozenset({"id"}),
)
