"""The calendar port of one account of Google Calendar."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from providers.calendar import shared_calls
from providers.calendar.calendar_memory import CalendarMemory
from providers.calendar.readable_events import ReadableEvents
from providers.connectors.provider_a import batch
from providers.connectors.provider_a.google_calendar import (
    freebusy_query,
    mapping,
    newest_first,
    requested_fields,
)
from providers.connectors.provider_a.google_calendar.response_types import (
    CalendarPage,
    Event,
    EventPage,
)
from providers.connectors.provider_a.paging import P, pages
from providers.failures import TooMuch
from providers.http.client import Upstream
from providers.http.response import Response
from providers.paging import PageIterator
from providers.ports.calendar import (
    MAX_EVENTS,
    READ_ALL,
    BusyTimes,
    EventList,
    EventName,
    EventReading,
    EventSelection,
    Span,
)
from providers.ports.opening import Opening
from providers.records.calendar import Calendar
from providers.records.calendar import Event as EventRecord
from providers.timestamps import format_utc
from providers.turns import mapped

ROOT = ("calendar", "v3")
PAGE = 2500  # events, the maximum


def open_port(opening: Opening) -> "GoogleCalendars":
    """Open the account of a connection; makes no call."""
    return GoogleCalendars(opening.upstream(), opening.memory(CalendarMemory))


class GoogleCalendars:
    """Calendars of one connection; implements `providers.ports.calendar.CalendarPort`."""

    def __init__(self, upstream: Upstream, memory: CalendarMemory) -> None:
        """*memory* belongs to the caller, one per connection, and outlives this object."""
        self._upstream = upstream
        self._memory = memory

    async def calendars(self, *, recent: bool = False) -> Sequence[Calendar]:
        return await self._memory.calendars(self._list_calendars, recent=recent)

    async def _list_calendars(self) -> Sequence[Calendar]:
        calendars: list[Calendar] = []
        path = ("users", "me", "calendarList")
        async for page in self._pages(path, requested_fields.CALENDARS, CalendarPage):
            calendars += await mapped(page.items, partial(map, mapping.calendar))
        return calendars

    async def events(
        self, calendar: str, selection: EventSelection, *, first: Response | None = None
    ) -> EventList:
        span, reading = selection.span, selection.reading
        params = _list_params(selection)
        read = partial(self._read, calendar, params=params, projection=selection.projection)
        if reading.newest_first:
            page = await read(span, newest_first.ONE_PAGE, first=first)
            return await newest_first.read(page, read, span, reading)
        return await read(span, reading, first=first)

    async def first_pages(
        self, calendars: Sequence[str], selection: EventSelection
    ) -> Mapping[str, Response]:
        reading = selection.reading
        params = (
            *_page_params(
                selection.span, newest_first.ONE_PAGE if reading.newest_first else reading
            ),
            *_list_params(selection),
        )
        return await shared_calls.first_pages(
            calendars, self._memory, lambda names: batch.event_pages(self._upstream, names, params)
        )

    async def event(
        self, calendar: str, event: str, *, projection: AbstractSet[str]
    ) -> EventRecord:
        response = await self._upstream.call(
            "GET",
            *ROOT,
            "calendars",
            calendar,
            "events",
            event,
            params=requested_fields.event(frozenset(projection)),
        )
        return mapping.event(await response.decoded(Event), projection)

    async def events_by_id(
        self, names: Sequence[EventName], *, projection: AbstractSet[str]
    ) -> Mapping[EventName, EventRecord]:
        params = requested_fields.event(frozenset(projection))
        events = await batch.events(self._upstream, names, params)
        return {
            name: record
            for name, event in events.items()
            for record in mapping.events([event], projection)
        }

    async def instances(
        self, calendar: str, series: str, span: Span, *, projection: AbstractSet[str]
    ) -> EventList:
        options = (
            ("timeMin", format_utc(span.start)),
            ("timeMax", format_utc(span.end)),
            ("maxResults", str(PAGE)),
            ("showDeleted", "false"),
            *requested_fields.events(frozenset(projection)),
        )
        path = ("calendars", calendar, "events", series, "instances")
        records: list[EventRecord] = []
        readable = ReadableEvents()
        make = partial(mapping.events, projection=projection)
        async for page in self._pages(path, options, EventPage):
            records += await readable.make(make, page.items, mapping.times)
            if page.next_page_token and len(records) >= MAX_EVENTS:
                return EventList(records, complete=False, doubts=readable.doubts)
        return EventList(records, doubts=readable.doubts)

    async def busy_together(
        self, calendars: Sequence[Calendar], span: Span
    ) -> Mapping[str, Sequence[Span]]:
        return await freebusy_query.busy(self._upstream, calendars, span)

    async def busy(self, calendar: str, span: Span, *, own_responses: bool) -> BusyTimes:
        params = requested_fields.busy(own_responses=own_responses)
        events: list[Event] = []
        async for page in self._pages_of(calendar, span, params, READ_ALL):
            events += page.items
            if page.next_page_token and len(events) >= MAX_EVENTS:
                raise TooMuch  # the rest would look free
        busy = list(filter(mapping.is_busy, events))
        readable = ReadableEvents()
        return BusyTimes(await readable.make(_times, busy, mapping.times), readable.doubts)

    async def probe(self) -> None:
        """Make one harmless read."""
        params = (("fields", "items(id)"), ("maxResults", "1"))
        await self._upstream.call("GET", *ROOT, "users", "me", "calendarList", params=params)

    async def _read(  # noqa: PLR0913 - as `events`
        self,
        calendar: str,
        span: Span,
        reading: EventReading,
        *,
        params: requested_fields.Params,
        projection: AbstractSet[str],
        first: Response | None = None,
    ) -> EventList:
        """Read the events of a span by their start, until there are enough."""
        records: list[EventRecord] = []
        readable = ReadableEvents()
        make = partial(mapping.events, projection=projection)
        async for page in self._pages_of(calendar, span, params, reading, first):
            records += await readable.make(make, page.items, mapping.times)
            if page.next_page_token and reading.enough(records):
                return EventList(records, read_to_end=False, doubts=readable.doubts)
            if page.next_page_token and len(records) >= MAX_EVENTS:
                return EventList(records, complete=False, doubts=readable.doubts)
        return EventList(records, doubts=readable.doubts)

    def _pages_of(
        self,
        calendar: str,
        span: Span,
        params: requested_fields.Params,
        reading: EventReading,
        first: Response | None = None,
    ) -> PageIterator[EventPage]:
        """Return the pages of events and occurrences that overlap a span, by ascending start."""
        options = (*_page_params(span, reading), *params)
        return self._pages(("calendars", calendar, "events"), options, EventPage, first)

    def _pages(
        self,
        path: tuple[str, ...],
        params: Sequence[tuple[str, str]],
        shape: type[P],
        first: Response | None = None,
    ) -> PageIterator[P]:
        return pages(self._upstream, (*ROOT, *path), params, shape, first)


def _page_params(span: Span, reading: EventReading) -> requested_fields.Params:
    """Return the options of a page of events and occurrences, by ascending start."""
    return (
        ("singleEvents", "true"),
        ("orderBy", "startTime"),
        ("timeMin", format_utc(span.start)),
        ("timeMax", format_utc(span.end)),
        ("maxResults", str(min(reading.page_size or PAGE, PAGE))),
    )


def _list_params(selection: EventSelection) -> requested_fields.Params:
    return (
        ("showDeleted", "true" if selection.include_cancelled else "false"),
        *requested_fields.events(frozenset(selection.projection)),
    )


def _times(events: Sequence[Event]) -> list[Span]:
    return list(map(mapping.times, events))
