"""Provider A's calendars and events as records. Source: wire report, 1B.1; decisions 6.6."""

from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta

from providers.failures import Broken, Missing
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
    start, end, all_day = _times(one)
    return EventRecord(
        id=one.id,
        title=one.summary or "" if "title" in wanted else None,
        description=one.description if "description" in wanted else None,
        location=one.location if "location" in wanted else None,
        start_utc=start,
        end_utc=end,
        all_day=all_day if "all_day" in wanted else None,
        status=_status(one) if "status" in wanted else None,
        organizer=_organizer(one) if "organizer" in wanted else None,
        attendees=_attendees(one) if "attendees" in wanted else None,
        join_url=_join_url(one) if "join_url" in wanted else None,
        labels=() if "labels" in wanted else None,  # upstream has colours and no names for them
        is_recurring_event=_is_recurring(one) if "is_recurring_event" in wanted else None,
    )


def moment(text: str) -> datetime:
    """
    Read RFC 3339 as UTC.

    Raises:
        Broken: It is something else.
    """
    try:
        read = datetime.fromisoformat(text)
        return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Broken from None


def _times(one: Event) -> tuple[datetime, datetime, bool]:
    """Return start, end, and whether these are days; of a bare cancelled one, where it was."""
    start = one.start or one.original_start_time
    if start is None or not (start.date or start.date_time):
        raise Missing
    first = _instant(start)
    all_day = start.date is not None
    if one.end is not None and (one.end.date or one.end.date_time):
        return first, max(_instant(one.end), first), all_day
    return first, first + _DAY if all_day else first, all_day


def _instant(when: When) -> datetime:
    return moment(when.date_time or f"{when.date}T00:00:00Z")


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
