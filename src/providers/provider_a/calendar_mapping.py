"""Provider A's calendars and events as records. Source: wire report, 1B.1; decisions 6.6."""

from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta

from providers.failures import Broken, Missing
from providers.ports_calendar import Span
from providers.provider_a.calendar_shapes import Entry, Event, Person, When
from providers.records_calendar import Attendee, Calendar
from providers.records_calendar import Event as EventRecord

_RESPONSES = frozenset({"accepted", "declined", "tentative"})
_DAY = timedelta(days=1)


def calendar(entry: Entry) -> Calendar:
    """Make a record of an entry of the calendar list."""
    return Calendar(
        id=entry.id,
        name=entry.summary_override or entry.summary or "",
        is_primary=entry.primary,
        time_zone=entry.time_zone,
    )


def event(one: Event, wanted: AbstractSet[str]) -> EventRecord:
    """
    Make a record of what is wanted of an event, and of its times.

    Args:
        one: Fetched with `calendar_fields` for at least *wanted*.
        wanted: Attributes of the record; others stay None.

    Raises:
        Missing: It has no time at all.
        Broken: Its times cannot be read.
    """
    span, all_day = times(one), _is_all_day(one)
    return EventRecord(
        id=one.id,
        title=one.summary or "" if "title" in wanted else None,
        description=one.description if "description" in wanted else None,
        location=one.location if "location" in wanted else None,
        start_utc=span.start,
        end_utc=span.end,
        all_day=all_day if "all_day" in wanted else None,
        status=_status(one) if "status" in wanted else None,
        organizer=_organizer(one) if "organizer" in wanted else None,
        attendees=_attendees(one) if "attendees" in wanted else None,
        join_url=_join_url(one) if "join_url" in wanted else None,
        labels=() if "labels" in wanted else None,  # upstream has colours and no names for them
        is_recurring_event=_is_recurring(one) if "is_recurring_event" in wanted else None,
    )


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


def _start(one: Event) -> When | None:
    start = one.start or one.original_start_time
    return start if start is not None and (start.date or start.date_time) else None


def _is_all_day(one: Event) -> bool:
    start = _start(one)
    return start is not None and start.date is not None


def _instant(when: When) -> datetime:
    try:
        read = datetime.fromisoformat(when.date_time or f"{when.date}T00:00:00Z")
        return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Broken from None


def _status(one: Event) -> str:
    return one.status if one.status in ("tentative", "cancelled") else "confirmed"


def _organizer(one: Event) -> str | None:
    return (one.organizer.email or None) if one.organizer else None


def _attendees(one: Event) -> tuple[Attendee, ...]:
    return tuple(
        Attendee(
            email=person.email,
            name=None if person.display_name in ("", person.email) else person.display_name,
            response=_response(person),
        )
        for person in one.attendees
        if person.email
    )


def _response(person: Person) -> str:
    known = person.response_status in _RESPONSES
    return person.response_status or "" if known else "needsAction"


def _join_url(one: Event) -> str | None:
    if one.hangout_link:
        return one.hangout_link
    points = one.conference_data.entry_points if one.conference_data else ()
    return next((one.uri for one in points if one.entry_point_type == "video" and one.uri), None)


def _is_recurring(one: Event) -> bool:
    return bool(one.recurring_event_id or one.recurrence)
