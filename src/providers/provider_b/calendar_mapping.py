"""Provider B's calendars and events as records. Source: wire report, 1B.1; decisions 6.6, 16."""

from collections.abc import Set as AbstractSet
from datetime import datetime

from providers.failures import Broken
from providers.ports_calendar import Span
from providers.provider_b import mapping
from providers.provider_b.calendar_shapes import Attendee, Entry, Event, When
from providers.provider_b.message import moment
from providers.records_calendar import Attendee as AttendeeRecord
from providers.records_calendar import Calendar
from providers.records_calendar import Event as EventRecord

_RESPONSES = {
    "accepted": "accepted",
    "organizer": "accepted",
    "declined": "declined",
    "tentativelyAccepted": "tentative",
}
_FREE = frozenset({"free", "workingElsewhere"})
_SERIES = frozenset({"occurrence", "exception", "seriesMaster"})


def calendar(entry: Entry) -> Calendar:
    """Make a record of a calendar; upstream does not tell its zone."""
    return Calendar(id=entry.id, name=entry.name or "", is_primary=bool(entry.is_default_calendar))


def event(one: Event, wanted: AbstractSet[str]) -> EventRecord:
    """
    Make a record of what is wanted of an event, and of its times.

    Args:
        one: Fetched with `calendar_fields.event` for at least *wanted*.
        wanted: Attributes of the record; others stay None.

    Raises:
        Broken: It has no times that can be read.
    """
    span = times(one)
    return EventRecord(
        id=one.id,
        title=one.subject or "" if "title" in wanted else None,
        description=_description(one) if "description" in wanted else None,
        location=_location(one) if "location" in wanted else None,
        start_utc=span.start,
        end_utc=span.end,
        all_day=bool(one.is_all_day) if "all_day" in wanted else None,
        status=_status(one) if "status" in wanted else None,
        organizer=_organizer(one) if "organizer" in wanted else None,
        attendees=_attendees(one) if "attendees" in wanted else None,
        join_url=_join_url(one) if "join_url" in wanted else None,
        labels=one.categories or () if "labels" in wanted else None,
        is_recurring_event=one.type in _SERIES if "is_recurring_event" in wanted else None,
    )


def times(one: Event) -> Span:
    """
    Return from when to when an event is.

    Raises:
        Broken: Upstream does not tell, or not in UTC, as it was asked.
    """
    start, end = _moment(one.start), _moment(one.end)
    return Span(start, max(start, end))


def is_busy(one: Event) -> bool:
    """Whether an event takes time; what upstream calls unknown does (decisions 16)."""
    declined = one.response_status is not None and one.response_status.response == "declined"
    return not (one.is_cancelled or declined or one.show_as in _FREE)


def _moment(when: When | None) -> datetime:
    if when is None or when.time_zone.upper() != "UTC":
        raise Broken
    try:
        read = moment(when.date_time)
    except OverflowError:
        read = None
    if read is None:
        raise Broken
    return read


def _description(one: Event) -> str | None:
    return (one.body.content or None) if one.body else None


def _location(one: Event) -> str | None:
    return (one.location.display_name or None) if one.location else None


def _status(one: Event) -> str:
    if one.is_cancelled:
        return "cancelled"
    return "tentative" if one.show_as == "tentative" else "confirmed"


def _organizer(one: Event) -> str | None:
    found = mapping.participant(one.organizer) if one.organizer else None
    return found.email if found else None


def _attendees(one: Event) -> tuple[AttendeeRecord, ...]:
    return tuple(
        [
            AttendeeRecord(email=who.address, name=mapping.name(who), response=_response(attendee))
            for attendee in one.attendees or ()
            if (who := attendee.email_address).address
        ]
    )


def _response(attendee: Attendee) -> str:
    response = attendee.status.response if attendee.status else None
    return _RESPONSES.get(response or "", "needsAction")


def _join_url(one: Event) -> str | None:
    url = one.online_meeting.join_url if one.online_meeting else None
    return url or one.online_meeting_url or None
