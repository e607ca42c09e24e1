"""
What the calendar connectors return; see `records`.

Times are UTC. A whole day is 00:00 UTC to 00:00 UTC of its dates, wherever its calendar lies.
Source: contract, "Calendar objects"; decisions 6.
"""

from datetime import datetime

from providers.records.base import Record


class Attendee(Record, frozen=True):
    """Somebody asked. *response*: "accepted", "declined", "tentative" or "needsAction"."""

    email: str
    name: str | None = None
    response: str | None = None


class Event(Record, frozen=True):
    """
    One event, or one time of a series.

    Attributes:
        id: Upstream's own from a connector; the UUID that callers know from `MergedCalendars`.
        start_utc, end_utc: Always there from a connector, because the order goes by them.
        status: "confirmed", "tentative" or "cancelled".
        organizer: An address.
    """

    id: str
    title: str | None = None
    description: str | None = None
    location: str | None = None
    start_utc: datetime | None = None
    end_utc: datetime | None = None
    all_day: bool | None = None
    status: str | None = None
    organizer: str | None = None
    attendees: tuple[Attendee, ...] | None = None
    join_url: str | None = None
    labels: tuple[str, ...] | None = None
    is_recurring_event: bool | None = None


class Calendar(Record, frozen=True):
    """One calendar of an account. *time_zone* is None where upstream does not tell it."""

    id: str
    name: str
    is_primary: bool = False
    time_zone: str | None = None


class NamedCalendar(Record, frozen=True):
    """A calendar as callers know it: *calendar_id* is ours and never changes."""

    calendar_id: int
    calendar_name: str
    provider: str
    account_email: str
    is_primary: bool = False
    time_zone: str | None = None


class TimePeriod(Record, frozen=True):
    """A stretch of time, half-open. *duration_minutes* is rounded down."""

    start_utc: datetime
    end_utc: datetime
    duration_minutes: int


class FreeBusyCalendar(Record, frozen=True):
    """When one calendar is taken, and the rest of the range; both by start."""

    calendar_id: int
    calendar_name: str
    busy: tuple[TimePeriod, ...]
    free: tuple[TimePeriod, ...]
