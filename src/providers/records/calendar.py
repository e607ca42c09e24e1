"""
Calendar records: docs/spec/calendar.md#event-object.

Times are UTC. A whole-day event lasts from 00:00 UTC to 00:00 UTC, whatever its calendar's zone.
"""

from datetime import datetime

from providers.records.base import Record


class Attendee(Record, frozen=True):
    """An invited person. *response*: "accepted", "declined", "tentative" or "needsAction"."""

    email: str
    name: str | None = None
    response: str | None = None


class Event(Record, frozen=True):
    """
    One event, or one occurrence of a series.

    Attributes:
        id: The native id in a connector's records, the public UUID in those of `MergedCalendars`.
        start_utc, end_utc: Always set by connectors, because events are ordered by them.
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
    """One calendar of an account. *time_zone* is None when upstream does not tell it."""

    id: str
    name: str
    is_primary: bool = False
    time_zone: str | None = None


class NamedCalendar(Record, frozen=True):
    """A calendar under its public id, which never changes."""

    calendar_id: int
    calendar_name: str
    provider: str
    account_email: str
    is_primary: bool = False
    time_zone: str | None = None


class TimePeriod(Record, frozen=True):
    """A period of time, half-open. *duration_minutes* is rounded down."""

    start_utc: datetime
    end_utc: datetime
    duration_minutes: int


class FreeBusyCalendar(Record, frozen=True):
    """Busy and free periods of one calendar in a range; both in order of their start."""

    calendar_id: int
    calendar_name: str
    busy: tuple[TimePeriod, ...]
    free: tuple[TimePeriod, ...]
