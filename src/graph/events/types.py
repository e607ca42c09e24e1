"""Output types of the calendar surface."""

from datetime import datetime

import strawberry

from graph.events.enums import AttendeeResponse, CalendarProvider, EventStatus
from graph.scalars import Long

_ACCESS_INFO = "The active restrictions of the access token in words; null when there are none."
_MY_EMAIL = "The address of the first connected account; null when none is known."
_WARNINGS = "One sentence per account or calendar that could not be read; null when all were."


@strawberry.type(description="Somebody who was asked to an event.")
class Attendee:
    email: str = strawberry.field(description="The e-mail address.")
    name: str | None = strawberry.field(description="The display name.")
    response: AttendeeResponse | None = strawberry.field(description="What they answered.")


@strawberry.type(description="One event, or one time of a series.")
class Event:
    id: str = strawberry.field(description="An UUID that never changes.")
    title: str | None = strawberry.field(description="The title; empty when there is none.")
    description: str | None = strawberry.field(description="The description.")
    location: str | None = strawberry.field(description="Where it is.")
    start_utc: datetime | None = strawberry.field(
        description="When it starts; a whole day starts at 00:00 UTC of its date."
    )
    end_utc: datetime | None = strawberry.field(description="When it ends; not part of it.")
    all_day: bool | None = strawberry.field(description="Whether it takes whole days.")
    status: EventStatus | None = strawberry.field(description="Whether it takes place.")
    organizer: str | None = strawberry.field(description="The organiser's e-mail address.")
    attendees: list[Attendee] | None = strawberry.field(description="Who was asked.")
    join_url: str | None = strawberry.field(description="Where its video conference is.")
    labels: list[str] | None = strawberry.field(description="Labels or categories.")
    is_recurring_event: bool | None = strawberry.field(
        description="Whether it is one time of a series."
    )


@strawberry.type(description="Which part of the matching events a page holds.")
class EventPageMeta:
    count: int = strawberry.field(description="How many events the page holds.")
    offset: int = strawberry.field(description="How many matching events come before it.")
    total_count: int = strawberry.field(description="How many events match.")
    has_more: bool = strawberry.field(description="Whether more follow.")
    from_: datetime = strawberry.field(name="from", description="The start of the range read.")
    to: datetime = strawberry.field(description="The end of the range read.")


@strawberry.type(description="A page of events over all calendars.")
class EventPage:
    events: list[Event] = strawberry.field(description="The events, in order.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    current_user_calendar_email: str | None = strawberry.field(description=_MY_EMAIL)
    auth_warnings: list[str] | None = strawberry.field(description=_WARNINGS)
    meta: EventPageMeta = strawberry.field(description="Which part of them this is.")


@strawberry.type(description="One event.")
class EventAnswer:
    event: Event = strawberry.field(description="The event.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    current_user_calendar_email: str | None = strawberry.field(description=_MY_EMAIL)


@strawberry.type(description="A stretch of time.")
class TimePeriod:
    start_utc: datetime = strawberry.field(description="Its start.")
    end_utc: datetime = strawberry.field(description="Its end; not part of it.")
    duration_minutes: int = strawberry.field(description="Whole minutes, rounded down.")


@strawberry.type(description="When one calendar is taken, and when not.")
class FreeBusyCalendar:
    calendar_id: Long = strawberry.field(description="The calendar's id.")
    calendar_name: str = strawberry.field(description="The calendar's name.")
    busy: list[TimePeriod] = strawberry.field(
        description="When it is taken, by start; nothing overlaps or touches."
    )
    free: list[TimePeriod] = strawberry.field(description="The rest of the range, by start.")


@strawberry.type(description="When calendars are taken; one that could not be read is left out.")
class FreeBusyAnswer:
    calendars: list[FreeBusyCalendar] = strawberry.field(description="By calendar id.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    auth_warnings: list[str] | None = strawberry.field(description=_WARNINGS)


@strawberry.type(description="A calendar of a connected account.")
class Calendar:
    calendar_id: Long = strawberry.field(description="The calendar's id; it never changes.")
    calendar_name: str = strawberry.field(description="The calendar's name.")
    provider: CalendarProvider = strawberry.field(description="The provider that holds it.")
    account_email: str = strawberry.field(description="The address of its account.")
    is_primary: bool = strawberry.field(description="Whether it is its account's own calendar.")
    time_zone: str | None = strawberry.field(
        description="Its IANA time zone; null when the provider does not tell it."
    )


@strawberry.type(description="The calendars that a token may use.")
class CalendarList:
    calendars: list[Calendar] = strawberry.field(description="By calendar id.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    auth_warnings: list[str] | None = strawberry.field(description=_WARNINGS)
