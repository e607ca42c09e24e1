"""
Calendar records: docs/spec/calendar.md#event-object.

Times are UTC. A whole-day event lasts from 00:00 UTC to 00:00 UTC, whatever its calendar's zone.
"""

from datetime import datetime
from typing import Literal

from providers.records.base import Long, Mark, Record

AttendeeResponse = Literal["accepted", "declined", "tentative", "needsAction"]


class AttendeeMark(Mark):
    __slots__ = ()


class Attendee(Record, AttendeeMark, frozen=True):
    """An invited person."""

    email: str
    name: str | None = None
    response: AttendeeResponse | None = None


class Event(Record, frozen=True):
    """
    One event, or one occurrence of a series.

    Attributes:
        id: The native id in a connector's records, the public UUID in those of `MergedCalendars`.
        calendar_id: The public id of its calendar; None in a connector's records.
        start_utc, end_utc: Always set by connectors, because events are ordered by them.
        status: "confirmed", "tentative" or "cancelled".
        organizer: An address.
        series: The native id of the series that it is an instance of, or that it is itself; None
            for a single event.
        connection_id: The connection of its calendar; None in a connector's records.
    """

    id: str
    calendar_id: int | None = None
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
    series: str | None = None
    connection_id: Long | None = None

    @property
    def recurring_id(self) -> str | None:
        """Its id if it belongs to a series."""
        return self.id if self.series else None

    @property
    def guests(self) -> str | None:
        """The addresses of its attendees, separated by commas; None without any."""
        return ",".join(attendee.email for attendee in self.attendees or ()) or None


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
