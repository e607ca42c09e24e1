"""Results of the calendar root fields, in the shape of the output types."""

from datetime import datetime

from providers.records.base import Record
from providers.records.calendar import Event, FreeBusyCalendar, NamedCalendar


class EventPageMetaView(Record, frozen=True):
    count: int
    offset: int
    total_count: int
    total_count_exact: bool
    has_more: bool
    from_: datetime
    to: datetime


class EventPageView(Record, frozen=True):
    events: tuple[Event, ...]
    access_info: str | None
    current_user_calendar_email: str | None
    auth_warnings: tuple[str, ...] | None
    meta: EventPageMetaView


class EventAnswerView(Record, frozen=True):
    event: Event
    access_info: str | None
    current_user_calendar_email: str | None


class FreeBusyAnswerView(Record, frozen=True):
    calendars: tuple[FreeBusyCalendar, ...]
    access_info: str | None
    auth_warnings: tuple[str, ...] | None


class CalendarListView(Record, frozen=True):
    calendars: tuple[NamedCalendar, ...]
    access_info: str | None
    auth_warnings: tuple[str, ...] | None
