"""
What the graph asks of calendars: the port of one account, and the ids that callers know.

As in `ports`: reads take *wanted*, attributes of `records_calendar.Event`, and ask upstream for
nothing else beyond what placing an event in time needs. Every method raises members of
`providers.failures` and nothing else, unless it says so.
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from providers.failures import Missing
from providers.records.calendar import Calendar, Event

MAX_EVENTS = 10_000  # of one calendar and range; what lies beyond is told of in a warning


class Span(NamedTuple):
    """From *start* up to, not including, *end*; both UTC. Empty when *end* is not after *start*."""

    start: datetime
    end: datetime

    @property
    def empty(self) -> bool:
        return self.end <= self.start

    def meets(self, start: datetime, end: datetime) -> bool:
        """Say whether something overlaps this; what has no length counts by its start."""
        return start < self.end and (end > self.start or start >= self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventQuery:
    """
    Which events to list. All parts are ANDed; None and empty restrict nothing.

    Attributes:
        calendar_id: One calendar, by the id that callers know.
        allowed: The calendars that exist for the caller; None for all.
        text: Substring, any case, of one of *text_fields*.
        text_fields: A subset of `title`, `description`, `location`.
        addresses: An attendee, or the organiser, has one of these addresses, whatever the case.
        contact_email, contact_name: Substrings, any case, that one attendee has both.
        organizer_counts: Whether *addresses* and *contact_email* look at the organiser too.
        include_cancelled: Whether cancelled events are listed.
        newest_first: By start, descending, rather than ascending.
        by_day: Order by the day of the start alone, so that the order tells no time of day.
        limit, offset: Which part of what is found to return.
    """

    span: Span
    calendar_id: int | None = None
    allowed: AbstractSet[int] | None = None
    text: str | None = None
    text_fields: AbstractSet[str] = frozenset()
    addresses: tuple[str, ...] = ()
    contact_email: str | None = None
    contact_name: str | None = None
    organizer_counts: bool = True
    include_cancelled: bool = False
    newest_first: bool = False
    by_day: bool = False
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True)
class EventList:
    """What one calendar has in a span; *complete* is False when there is more than we read."""

    events: Sequence[Event]
    complete: bool = True


class CalendarPort(Protocol):
    """The calendars of one account. Ids in and out are upstream's own."""

    async def calendars(self) -> Sequence[Calendar]:
        """Return every calendar that the account may read."""

    async def events(
        self, calendar: str, span: Span, *, include_cancelled: bool, wanted: AbstractSet[str]
    ) -> EventList:
        """
        Return what may overlap *span*, series as their single times, in any order.

        More may come than overlaps: the caller looks again. Cancelled ones only when asked for.

        Raises:
            Missing: There is no such calendar.
        """

    async def event(self, calendar: str, event: str, *, wanted: AbstractSet[str]) -> Event:
        """
        Read one event of a calendar, also a cancelled one that upstream still tells of.

        Raises:
            Missing: The calendar has no such event.
        """

    async def busy(self, calendar: str, span: Span, *, own_responses: bool) -> Sequence[Span]:
        """
        Return when a calendar is taken, in any order, overlapping and sticking out as it may.

        Args:
            calendar: Upstream's own id.
            span: In whole seconds.
            own_responses: Whether upstream may be asked what the account's owner declined, which
                is not busy then. Without it what was declined is busy as well.

        Raises:
            Missing: There is no such calendar.
            TooMuch: There is more than we read, and the rest would look free.
        """

    async def probe(self) -> None:
        """Make one harmless read, to see whether the connection works."""


class CalendarKey(NamedTuple):
    """Where a calendar is: the connection's id, and upstream's id of the calendar."""

    connection: int
    calendar: str


class EventKey(NamedTuple):
    """Where an event is: the calendar's id for callers and its place, and upstream's own id."""

    calendar_id: int
    calendar_key: CalendarKey
    event: str


class PublicIdStore(Protocol):
    """The ids that callers know: given out once, never changed, never given to anything else."""

    async def calendar_ids(self, places: Collection[CalendarKey]) -> Mapping[CalendarKey, int]:
        """Return the id of each calendar, giving out new ones; one that is gone is left out."""

    async def calendars(self, calendar_ids: Collection[int]) -> Mapping[int, CalendarKey]:
        """Return where calendars are; an id that was never given out is left out."""

    async def store_events(self, events: Mapping[str, EventKey]) -> None:
        """Remember where events are, by their UUID; what is known already stays as it is."""

    async def event(self, event_id: str) -> EventKey | None:
        """Return where an event is; None for an UUID that was never given out."""


class EventNotVisible(Missing):
    """An event of a calendar that does not exist for the caller: to them, it is missing."""

    def __init__(self, calendar_id: int) -> None:
        super().__init__()
        self.calendar_id = calendar_id


class NoSuchCalendar(Exception):
    """A calendar was named that does not exist for the caller (404)."""

    def __init__(self, calendar_id: int) -> None:
        super().__init__(calendar_id)
        self.calendar_id = calendar_id
