"""Output types of the calendar surface."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import strawberry

from graph.output_types import AccessInfo, HasMore, masked, output, output_of, visible
from graph.scalars import Long
from policy.vocabulary import CalendarField, Surface
from providers.catalogue.tables import KINDS
from providers.records import calendar as records
from providers.records.base import Record


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


MyEmail = Annotated[
    str | None, visible("The address of the first connected account; null when none is known.")
]
Warnings = Annotated[
    tuple[str, ...] | None,
    visible("One sentence per account or calendar that could not be read; null when all were."),
]


@output_of(records.Attendee)
class Attendee:
    """An attendee of an event."""

    email = visible("The e-mail address.")
    name = visible("The display name.")
    response = visible("The attendee's response.", graphql_type=AttendeeResponse | None)


@output_of(records.Event)
class Event:
    """One event, or one time of a series."""

    id = visible("A UUID that never changes.")
    title = masked(CalendarField.TITLE, "The title; empty when there is none.")
    description = masked(CalendarField.DESCRIPTION, "The description.")
    location = masked(CalendarField.LOCATION, "The location.")
    start_utc = masked(
        CalendarField.TIMES, "The start; an all-day event starts at 00:00 UTC of its date."
    )
    end_utc = masked(CalendarField.TIMES, "The end (exclusive).")
    all_day = masked(CalendarField.TIMES, "Whether it is an all-day event.")
    status = masked(
        CalendarField.STATUS, "The status of the event.", graphql_type=EventStatus | None
    )
    organizer = masked(CalendarField.ORGANIZER, "The organizer's e-mail address.")
    attendees = masked(CalendarField.ATTENDEES, "The attendees.")
    join_url = masked(CalendarField.JOIN_URL, "The link to its video conference.")
    labels = masked(CalendarField.LABELS, "Labels or categories.")
    is_recurring_event = masked(
        CalendarField.RECURRENCE, "Whether it is an occurrence of a recurring event."
    )
    connection_id = masked(
        CalendarField.CONNECTION_ID,
        "The connection of the account whose calendar has it.",
        graphql_type=Long | None,
    )


@output
class EventPageMeta(Record, frozen=True, kw_only=True):
    """The position of a page in all matching events."""

    count: Annotated[int, visible("The number of events on this page.")]
    offset: Annotated[int, visible("The number of matching events before this page.")]
    total_count: Annotated[
        int, visible("The number of matching events that are known; all, on the last page.")
    ]
    total_count_exact: Annotated[
        bool, visible("Whether the total count is the number of all matching events.")
    ]
    has_more: HasMore
    from_: Annotated[datetime, visible("The start of the range read.")]
    to: Annotated[datetime, visible("The end of the range read.")]


@output
class EventPage(Record, frozen=True, kw_only=True):
    """A page of events over all calendars."""

    events: Annotated[tuple[records.Event, ...], visible("The events, in order.")]
    access_info: AccessInfo
    current_user_calendar_email: MyEmail
    auth_warnings: Warnings
    meta: Annotated[EventPageMeta, visible("The position of this page in all matching events.")]


@output
class EventAnswer(Record, frozen=True, kw_only=True):
    """An event."""

    event: Annotated[records.Event, visible("The event.")]
    access_info: AccessInfo
    current_user_calendar_email: MyEmail


@output_of(records.TimePeriod)
class TimePeriod:
    """A period of time."""

    start_utc = visible("The start of the period.")
    end_utc = visible("The end of the period (exclusive).")
    duration_minutes = visible("Whole minutes, rounded down.")


@output_of(records.FreeBusyCalendar)
class FreeBusyCalendar:
    """Busy and free times of one calendar."""

    calendar_id = visible("The calendar's id.", graphql_type=Long)
    calendar_name = visible("The calendar's name.")
    busy = visible("The busy periods, ordered by start; they neither overlap nor touch.")
    free = visible("The free periods, ordered by start.")


@output
class FreeBusyAnswer(Record, frozen=True, kw_only=True):
    """Busy and free times per calendar; a calendar that could not be read is left out."""

    calendars: Annotated[tuple[records.FreeBusyCalendar, ...], visible("Ordered by calendar id.")]
    access_info: AccessInfo
    auth_warnings: Warnings


@output_of(records.NamedCalendar)
class Calendar:
    """A calendar of a connected account."""

    calendar_id = visible("The calendar's id; it never changes.", graphql_type=Long)
    calendar_name = visible("The calendar's name.")
    provider = visible("The provider's code.", graphql_type=CalendarProvider)
    account_email = visible("The address of its account.")
    is_primary = visible("Whether it is the account's primary calendar.")
    time_zone = visible("Its IANA time zone; null when the provider does not tell it.")


@output
class CalendarList(Record, frozen=True, kw_only=True):
    """The calendars that a token may use."""

    calendars: Annotated[tuple[records.NamedCalendar, ...], visible("Ordered by calendar id.")]
    access_info: AccessInfo
    auth_warnings: Warnings
