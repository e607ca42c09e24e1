"""Structs that Graph's calendar responses are decoded into."""

from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any, cast

import msgspec

from providers.connectors.provider_b.outlook_mail.response_types import Body, Recipient
from providers.odata import CamelStruct, with_members


class EventTime(CamelStruct):
    """A time without an offset, in *time_zone*."""

    date_time: str
    time_zone: str | None = "UTC"


class ResponseStatus(CamelStruct):
    response: str | None = None


class Attendee(Recipient):
    type: str | None = None
    status: ResponseStatus | None = None


class Location(CamelStruct):
    display_name: str | None = None


class OnlineMeeting(CamelStruct):
    join_url: str | None = None


class Event(CamelStruct):
    id: str
    subject: str | None = None
    body: Body | None = None
    location: Location | None = None
    start: EventTime | None = None
    end: EventTime | None = None
    is_all_day: bool | None = None
    is_cancelled: bool | None = None
    show_as: str | None = None
    response_status: ResponseStatus | None = None
    organizer: Recipient | None = None
    attendees: tuple[Attendee, ...] | None = None
    online_meeting: OnlineMeeting | None = None
    online_meeting_url: str | None = None
    categories: tuple[str, ...] | None = None
    type: str | None = None
    series_master_id: str | None = None


class EventPage(CamelStruct):
    value: tuple[Event, ...] = ()
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")


@lru_cache(maxsize=256)
def page_of(members: AbstractSet[str], *, with_rooms: bool) -> type[EventPage]:
    """
    Return the type of pages of events of which only some members, by JSON names, are decoded.

    *with_rooms*: whether the rooms among the attendees stay, so that none has to be recognized.
    """
    types: dict[str, Any] = {}
    if with_rooms:
        attendee = with_members(Attendee, frozenset({"emailAddress", "status"}))
        types["attendees"] = tuple[attendee, ...] | None  # type: ignore[valid-type]  # made here
    events: Any = tuple[with_members(Event, members, types), ...]  # type: ignore[misc]  # as above
    page: Any = msgspec.defstruct("EventPage", [("value", events, ())], bases=(EventPage,))
    return cast("type[EventPage]", page)


class CalendarEntry(CamelStruct):
    id: str
    name: str | None = None
    is_default_calendar: bool | None = None


class CalendarPage(CamelStruct):
    value: tuple[CalendarEntry, ...] = ()
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")
