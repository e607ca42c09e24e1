"""Provider A's calendar JSON, decoded typed. Source: wire report, 1B."""

from providers.connectors.provider_a.gmail.response_types import Wire


class When(Wire):
    """A moment with an offset, or a whole day; the other is absent."""

    date_time: str | None = None
    date: str | None = None


class Person(Wire):
    """*self* tells the account's owner."""

    self: bool = False
    email: str | None = None
    display_name: str | None = None
    response_status: str | None = None


class EntryPoint(Wire):
    entry_point_type: str = ""
    uri: str | None = None


class Conference(Wire):
    entry_points: tuple[EntryPoint, ...] = ()


class Event(Wire):
    """An event; one that was cancelled may have nothing but its id and *original_start_time*."""

    id: str
    status: str | None = None
    summary: str | None = None
    description: str | None = None
    location: str | None = None
    start: When | None = None
    end: When | None = None
    original_start_time: When | None = None
    organizer: Person | None = None
    attendees: tuple[Person, ...] = ()
    hangout_link: str | None = None
    conference_data: Conference | None = None
    recurring_event_id: str | None = None
    recurrence: tuple[str, ...] = ()
    transparency: str | None = None


class Events(Wire):
    """A page; it may be short, or empty, though there are more."""

    items: tuple[Event, ...] = ()
    next_page_token: str | None = None


class Entry(Wire):
    """A calendar on the account's list."""

    id: str
    summary: str | None = None
    summary_override: str | None = None
    primary: bool = False
    time_zone: str | None = None


class Entries(Wire):
    items: tuple[Entry, ...] = ()
    next_page_token: str | None = None
