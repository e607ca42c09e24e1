"""
Port of one account's calendars, and the store of public ids.

Reads take *projection*, attributes of `Event`; the times are read in any case. The word `ROOMS` in
*projection* admits meeting rooms among the people of an event; without it they are left out,
because a room tells the location. Every method raises members of `providers.failures` and nothing
else, unless it says so.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import NamedTuple, Protocol

import msgspec

from providers.failures import Missing, ProviderFailure, TooMuch, Unreadable
from providers.http.response import Response
from providers.records.calendar import Calendar, Event

ROOMS = "rooms"
MAX_EVENTS = 5000  # of one calendar and range; a warning tells of more
CALENDARS_PER_CALL = 10  # of `CalendarPort.first_pages`


class Span(NamedTuple):
    """From *start* up to, not including, *end*; both UTC. Empty when *end* is not after *start*."""

    start: datetime
    end: datetime

    @property
    def empty(self) -> bool:
        return self.end <= self.start

    def meets(self, start: datetime, end: datetime) -> bool:
        """Return whether start and end overlap the span; an empty one counts by its start."""
        return start < self.end and (end > self.start or start >= self.start)


class CalendarView(msgspec.Struct, frozen=True, kw_only=True):
    """
    View of a caller on the calendars of one connection.

    Attributes:
        calendars: The public ids of those that exist for the caller; None: all.
        hidden: The attributes of `Event`, and `ROOMS`, that are not read for the caller.
    """

    calendars: frozenset[int] | None = None
    hidden: frozenset[str] = frozenset()

    def has(self, calendar_id: int) -> bool:
        """Return whether a calendar of the connection exists for the caller."""
        return self.calendars is None or calendar_id in self.calendars


WHOLE_VIEW = CalendarView()


class BusyQuery(msgspec.Struct, frozen=True, kw_only=True):
    """
    A query for busy times.

    Attributes:
        span: The range; when it is empty, no calendar is read.
        view: The calendars that exist for the caller.
        own_responses: As `CalendarPort.busy`.
    """

    span: Span
    view: CalendarView = WHOLE_VIEW
    own_responses: bool = True


class EventQuery(msgspec.Struct, frozen=True, kw_only=True):
    """
    A listing of events. All parts are ANDed; None and empty restrict nothing.

    Attributes:
        calendar_id: One calendar, by its public id.
        view: What the caller sees of the calendars and their events.
        text: Substring, any case, of one of *text_fields*.
        text_fields: A subset of `title`, `description`, `location`.
        addresses: An attendee or the organizer has one of these addresses, any case.
        contact_email, contact_name: Substrings, any case, that one attendee has both.
        organizer_counts: Whether *addresses* and *contact_email* match the organizer too.
        include_cancelled: Whether cancelled events are listed.
        newest_first: Order by start, descending.
        by_day: Order by the day of the start alone, so that the order reveals no time of day.
        limit, offset: The part of the matches to return.
    """

    span: Span
    calendar_id: int | None = None
    view: CalendarView = WHOLE_VIEW
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


class EventName(NamedTuple):
    """The native ids of a calendar and of an event in it."""

    calendar: str
    event: str


class EventList(msgspec.Struct, frozen=True):
    """
    Events of one calendar.

    Attributes:
        complete: False when there are more than `MAX_EVENTS`.
        read_to_end: False when reading stopped because the events were enough.
        doubts: Why single events may be missing or wrong.
    """

    events: Sequence[Event]
    complete: bool = True
    read_to_end: bool = True
    doubts: tuple[ProviderFailure, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether these are all events."""
        unread = any(isinstance(doubt, Unreadable) for doubt in self.doubts)
        return self.complete and self.read_to_end and not unread

    @property
    def every_doubt(self) -> tuple[ProviderFailure, ...]:
        return self.doubts if self.complete else (*self.doubts, TooMuch())


class BusyTimes(msgspec.Struct, frozen=True):
    """Busy spans of one calendar; *doubts*: why some may be missing or wrong."""

    spans: Sequence[Span]
    doubts: tuple[ProviderFailure, ...] = ()


def _never_enough(_events: Sequence[Event]) -> bool:
    return False


class EventReading(msgspec.Struct, frozen=True, kw_only=True):
    """
    Extent to which a listing reads a calendar.

    Attributes:
        page_size: Events to request at once; None: as many as upstream gives.
        newest_first: Begin with the latest start.
        enough: Is called after each page with all events so far, in upstream's order, and says
            whether the rest is not needed.
    """

    page_size: int | None = None
    newest_first: bool = False
    enough: Callable[[Sequence[Event]], bool] = _never_enough


READ_ALL = EventReading()


class EventSelection(msgspec.Struct, frozen=True, kw_only=True):
    """
    The events to read of a calendar.

    Attributes:
        projection: Attributes of `Event`.
    """

    span: Span
    include_cancelled: bool
    projection: AbstractSet[str]
    reading: EventReading = READ_ALL


class CalendarPort(Protocol):
    """The calendars of one account. Ids are native."""

    async def calendars(self, *, recent: bool = False) -> Sequence[Calendar]:
        """
        List every calendar that the account may read.

        *recent*: a list that was read up to a minute ago serves.
        """

    async def events(
        self, calendar: str, selection: EventSelection, *, first: Response | None = None
    ) -> EventList:
        """
        List the events that may overlap the span, in any order; series as single occurrences.

        Pages are read one after another until the reading has enough; *first* is the first of
        them, when `first_pages` has read it.

        The result may hold events outside the span, which the caller filters out.

        Raises:
            Missing: There is no such calendar.
        """

    async def first_pages(
        self, calendars: Sequence[str], selection: EventSelection
    ) -> Mapping[str, Response]:
        """
        Read the first page of the events of several calendars in one call, by native id.

        A page serves `events` with the same selection. A calendar whose part of the call failed is
        left out; so are all of them where upstream has no such call.
        """

    async def event(self, calendar: str, event: str, *, projection: AbstractSet[str]) -> Event:
        """
        Read one event, also a cancelled one that upstream still has.

        Raises:
            Missing: The calendar has no such event.
        """

    async def events_by_id(
        self, names: Sequence[EventName], *, projection: AbstractSet[str]
    ) -> Mapping[EventName, Event]:
        """Read events together; those that are gone are left out."""

    async def instances(
        self, calendar: str, series: str, span: Span, *, projection: AbstractSet[str]
    ) -> EventList:
        """
        List the instances of a series that may overlap *span*, in any order, not cancelled ones.

        Raises:
            Missing: The calendar has no such series.
        """

    async def busy_together(
        self, calendars: Sequence[Calendar], span: Span
    ) -> Mapping[str, Sequence[Span]]:
        """
        List the busy spans of those calendars that upstream can answer for together, by native id.

        The answers are those of `busy` with the owner's own responses. A calendar whose answer
        could differ is left out; so are all of them where there is no such query.
        """

    async def busy(self, calendar: str, span: Span, *, own_responses: bool) -> BusyTimes:
        """
        List the busy spans of a calendar, in any order; they may overlap and exceed *span*.

        Args:
            calendar: Native id.
            span: In whole seconds.
            own_responses: Whether the owner's own responses may be read. Events that the owner
                declined are not busy then; otherwise they are.

        Raises:
            Missing: There is no such calendar.
            TooMuch: There are more events than we read, and the rest would look free.
        """

    async def probe(self) -> None:
        """Make one read, to test the connection."""


class CalendarKey(NamedTuple):
    """Internal key of a calendar: the connection's id, and the calendar's native id."""

    connection: int
    calendar: str


class EventKey(msgspec.Struct, frozen=True, gc=False):
    """Internal key of an event: its calendar's public id and key, and its native id."""

    calendar_id: int
    calendar_key: CalendarKey
    event: str


class PublicIdStore(Protocol):
    """Store of public ids, which are never changed or reused."""

    async def calendar_ids(self, keys: Collection[CalendarKey]) -> Mapping[CalendarKey, int]:
        """Return calendars' ids, and assign new ones; calendars that are gone are left out."""

    async def calendars(self, calendar_ids: Collection[int]) -> Mapping[int, CalendarKey]:
        """Return the keys of calendars; unknown ids are left out."""

    async def store_events(self, events: Mapping[str, EventKey]) -> None:
        """Store the keys of events, by UUID; known ones stay as they are."""

    async def event(self, event_id: str) -> EventKey | None:
        """Return the key of an event; None for an unknown UUID."""


class EventNotVisible(Missing):
    """The event's calendar does not exist for the caller, for whom the event is missing."""

    def __init__(self, calendar_id: int) -> None:
        super().__init__()
        self.calendar_id = calendar_id


class NoSuchCalendar(Exception):
    """A requested calendar does not exist for the caller (404)."""

    def __init__(self, calendar_id: int) -> None:
        super().__init__(calendar_id)
        self.calendar_id = calendar_id
