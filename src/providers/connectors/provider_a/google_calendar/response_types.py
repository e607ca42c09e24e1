"""Structs that Google Calendar's responses are decoded into."""

from collections.abc import Mapping

from msgspec import field

from providers.connectors.provider_a.gmail.response_types import GoogleStruct


class EventTime(GoogleStruct):
    """A time with an offset, or a whole day; the other is None."""

    date_time: str | None = None
    date: str | None = None


class Person(GoogleStruct):
    """A person; *self* is true for the account's owner, *resource* for a room or a device."""

    self: bool = False
    resource: bool = False
    email: str | None = None
    display_name: str | None = None
    response_status: str | None = None


class BusyPeriod(GoogleStruct):
    """A busy period, RFC 3339."""

    start: str
    end: str


class BusyCalendar(GoogleStruct):
    """Busy periods of a calendar; *errors* says why there are none."""

    busy: tuple[BusyPeriod, ...] = ()
    errors: tuple[object, ...] = ()


class FreeBusyResponse(GoogleStruct):
    """Busy periods by calendar id."""

    calendars: Mapping[str, BusyCalendar] = field(default_factory=dict)


class EntryPoint(GoogleStruct):
    entry_point_type: str = ""
    uri: str | None = None


class Conference(GoogleStruct):
    entry_points: tuple[EntryPoint, ...] = ()


class Event(GoogleStruct):
    """An event; a cancelled one may have only its id and *original_start_time*."""

    id: str
    status: str | None = None
    summary: str | None = None
    description: str | None = None
    location: str | None = None
    start: EventTime | None = None
    end: EventTime | None = None
    original_start_time: EventTime | None = None
    organizer: Person | None = None
    attendees: tuple[Person, ...] = ()
    hangout_link: str | None = None
    conference_data: Conference | None = None
    recurring_event_id: str | None = None
    recurrence: tuple[str, ...] = ()
    transparency: str | None = None


class EventPage(GoogleStruct):
    """A page; it may be short or empty though others follow."""

    items: tuple[Event, ...] = ()
    next_page_token: str | None = None


class CalendarEntry(GoogleStruct):
    """A calendar in the account's calendar list."""

    id: str
    summary: str | None = None
    summary_override: str | None = None
    primary: bool = False
    time_zone: str | None = None


class CalendarPage(GoogleStruct):
    items: tuple[CalendarEntry, ...] = ()
    next_page_token: str | None = None
