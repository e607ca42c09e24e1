"""Provider B's calendar JSON, decoded typed. Source: wire report, 1B."""

import msgspec

from providers.connectors.provider_b.outlook_mail.response_types import Body, Recipient
from providers.odata import CamelStruct


class When(CamelStruct):
    """A time without an offset, by the clock of *time_zone*."""

    date_time: str
    time_zone: str = "UTC"


class Response(CamelStruct):
    response: str | None = None


class Attendee(Recipient):
    status: Response | None = None


class Place(CamelStruct):
    display_name: str | None = None


class Meeting(CamelStruct):
    join_url: str | None = None


class Event(CamelStruct):
    id: str
    subject: str | None = None
    body: Body | None = None
    location: Place | None = None
    start: When | None = None
    end: When | None = None
    is_all_day: bool | None = None
    is_cancelled: bool | None = None
    show_as: str | None = None
    response_status: Response | None = None
    organizer: Recipient | None = None
    attendees: tuple[Attendee, ...] | None = None
    online_meeting: Meeting | None = None
    online_meeting_url: str | None = None
    categories: tuple[str, ...] | None = None
    type: str | None = None


class Events(CamelStruct):
    value: tuple[Event, ...] = ()
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")


class Entry(CamelStruct):
    id: str
    name: str | None = None
    is_default_calendar: bool | None = None


class Entries(CamelStruct):
    value: tuple[Entry, ...] = ()
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")
