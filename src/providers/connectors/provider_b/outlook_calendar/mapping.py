"""Provider B's calendars and events as records. Source: wire report, 1B.1; decisions 6.6, 16."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from providers.columnar import RecordBuilder, attribute, computed
from providers.connectors.provider_b.outlook_calendar.response_types import (
    Attendee,
    CalendarEntry,
    Event,
    EventTime,
)
from providers.connectors.provider_b.outlook_mail.response_types import Recipient
from providers.failures import Broken
from providers.ports.calendar import Span
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
    """Make a record of a calendar; upstream does not tell its zone."""
    return Calendar(id=entry.id, name=entry.name or "", is_primary=bool(entry.is_default_calendar))


def events(sent: Sequence[Event], wanted: AbstractSet[str]) -> list[EventRecord]:
    """
    Make records of what is wanted of events, and of their times.

    Args:
        sent: Fetched with `calendar_fields.event` for at least *wanted*.
        wanted: Attributes of the record; others stay None.

    Raises:
        Broken: One has no times that can be read.
    """
    spans = [times(one) for one in sent]
    given = {"start_utc": [start for start, _ in spans], "end_utc": [end for _, end in spans]}
    return _EVENTS.records(sent, wanted, given)


def event(one: Event, wanted: AbstractSet[str]) -> EventRecord:
    """Make a record of one event; see `events`."""
    return events([one], wanted)[0]


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


def _moment(when: EventTime | None) -> datetime:
    if when is None or (when.time_zone != "UTC" and when.time_zone.upper() != "UTC"):
        raise Broken
    try:
        # As upstream writes it: setting the zone afterwards would cost several times as much.
        return datetime.fromisoformat(when.date_time + "Z")
    except ValueError:
        read = parse_utc(when.date_time)
    if read is None:
        raise Broken
    return read


def _status(one: Event) -> str:
    if one.is_cancelled:
        return "cancelled"
    return "tentative" if one.show_as == "tentative" else "confirmed"


def _organizer(sent: Recipient | None) -> str | None:
    return (sent.email_address.address or None) if sent else None


def _attendees(sent: Sequence[Attendee] | None) -> tuple[AttendeeRecord, ...]:
    return tuple(
        [
            AttendeeRecord(
                who.address,
                (who.name or None) if who.name != who.address else None,
                _RESPONSES.get(one.status.response if one.status else None, "needsAction"),
            )
            for one in sent or ()
            if (who := one.email_address).address
        ]
    )


def _join_url(one: Event) -> str | None:
    url = one.online_meeting.join_url if one.online_meeting else None
    return url or one.online_meeting_url or None


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
