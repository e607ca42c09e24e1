"""Output types of the calendar surface."""

from datetime import datetime
from enum import StrEnum

import strawberry

from graph.scalars import Long
from policy.vocabulary import Surface
from providers.catalogue.tables import KINDS


@strawberry.enum(graphql_name_from="value", description="The status of an event.")
class EventStatus(StrEnum):
    CONFIRMED = "confirmed"
    TENTATIVE = "tentative"
    CANCELLED = "cancelled"


@strawberry.enum(graphql_name_from="value", description="The response of an attendee.")
class AttendeeResponse(StrEnum):
    ACCEPTED = "accepted"
    DECLINED = "declined"
    TENTATIVE = "tentative"
    NEEDS_ACTION = "needsAction"


@strawberry.enum(graphql_name_from="value", description="The calendar provider that holds it.")
class CalendarProvider(StrEnum):
    locals().update({code: code for code in KINDS[Surface.CALENDAR]})


_ACCESS_INFO = "The active restrictions of the access token in words; null when there are none."
_MY_EMAIL = "The address of the first connected account; null when none is known."
_WARNINGS = "One sentence per account or calendar that could not be read; null when all were."


@strawberry.type(description="An attendee of an event.")
class Attendee:
    email: str = strawberry.field(description="The e-mail address.")
    name: str | None = strawberry.field(description="The display name.")
    response: AttendeeResponse | None = strawberry.field(description="The attendee's response.")


@strawberry.type(description="One event, or one time of a series.")
class Event:
    id: str = strawberry.field(description="A UUID that never changes.")
    title: str | None = strawberry.field(description="The title; empty when there is none.")
    description: str | None = strawberry.field(description="The description.")
    location: str | None = strawberry.field(description="The location.")
    start_utc: datetime | None = strawberry.field(
        description="The start; an all-day event starts at 00:00 UTC of its date."
    )
    end_utc: datetime | None = strawberry.field(description="The end (exclusive).")
    all_day: bool | None = strawberry.field(description="Whether it is an all-day event.")
    status: EventStatus | None = strawberry.field(description="The status of the event.")
    organizer: str | None = strawberry.field(description="The organizer's e-mail address.")
    attendees: list[Attendee] | None = strawberry.field(description="The attendees.")
    join_url: str | None = strawberry.field(description="The link to its video conference.")
    labels: list[str] | None = strawberry.field(description="Labels or categories.")
    is_recurring_event: bool | None = strawberry.field(
        description="Whether it is an occurrence of a recurring event."
    )


@strawberry.type(description="The position of a page in all matching events.")
class EventPageMeta:
    count: int = strawberry.field(description="The number of events on this page.")
    offset: int = strawberry.field(description="The number of matching events before this page.")
    total_count: int = strawberry.field(
        description="The number of matching events that are known; all, on the last page."
    )
    total_count_exact: bool = strawberry.field(
        description="Whether the total count is the number of all matching events."
    )
    has_more: bool = strawberry.field(description="Whether there is another page.")
    from_: datetime = strawberry.field(name="from", description="The start of the range read.")
    to: datetime = strawberry.field(description="The end of the range read.")


@strawberry.type(description="A page of events over all calendars.")
class EventPage:
    events: list[Event] = strawberry.field(description="The events, in order.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    current_user_calendar_email: str | None = strawberry.field(description=_MY_EMAIL)
    auth_warnings: list[str] | None = strawberry.field(description=_WARNINGS)
    meta: EventPageMeta = strawberry.field(
        description="The position of this page in all matching events."
    )


@strawberry.type(description="An event.")
class EventAnswer:
    event: Event = strawberry.field(description="The event.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    current_user_calendar_email: str | None = strawberry.field(description=_MY_EMAIL)


@strawberry.type(description="A period of time.")
class TimePeriod:
    start_utc: datetime = strawberry.field(description="The start of the period.")
    end_utc: datetime = strawberry.field(description="The end of the period (exclusive).")
    duration_minutes: int = strawberry.field(description="Whole minutes, rounded down.")


@strawberry.type(description="Busy and free times of one calendar.")
class FreeBusyCalendar:
    calendar_id: Long = strawberry.field(description="The calendar's id.")
    calendar_name: str = strawberry.field(description="The calendar's name.")
    busy: list[TimePeriod] = strawberry.field(
        description="The busy periods, ordered by start; they neither overlap nor touch."
    )
    free: list[TimePeriod] = strawberry.field(description="The free periods, ordered by start.")


@strawberry.type(
    description="Busy and free times per calendar; a calendar that could not be read is left out."
)
class FreeBusyAnswer:
    calendars: list[FreeBusyCalendar] = strawberry.field(description="Ordered by calendar id.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    auth_warnings: list[str] | None = strawberry.field(description=_WARNINGS)


@strawberry.type(description="A calendar of a connected account.")
class Calendar:
    calendar_id: Long = strawberry.field(description="The calendar's id; it never changes.")
    calendar_name: str = strawberry.field(description="The calendar's name.")
    provider: CalendarProvider = strawberry.field(description="The provider's code.")
    account_email: str = strawberry.field(description="The address of its account.")
    is_primary: bool = strawberry.field(description="Whether it is the account's primary calendar.")
    time_zone: str | None = strawberry.field(
        description="Its IANA time zone; null when the provider does not tell it."
    )


@strawberry.type(description="The calendars that a token may use.")
class CalendarList:
    calendars: list[Calendar] = strawberry.field(description="Ordered by calendar id.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    auth_warnings: list[str] | None = strawberry.field(description=_WARNINGS)
