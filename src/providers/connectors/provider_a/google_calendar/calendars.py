"""The calendar port of one account of Google Calendar."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

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
from providers.paging import PageIterator
from providers.ports.calendar import MAX_EVENTS, READ_ALL, EventList, EventReading, Span
from providers.records.calendar import Calendar
from providers.records.calendar import Event as EventRecord
from providers.timestamps import format_utc

ROOT = ("calendar", "v3")
PAGE = 2500  # events, the maximum


class GoogleCalendars:
    """Calendars of one connection; implements `providers.ports.calendar.CalendarPort`."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def calendars(self) -> Sequence[Calendar]:
        """Return every readable calendar; see `CalendarPort.calendars`."""
        calendars: list[Calendar] = []
        path = ("users", "me", "calendarList")
        async for page in self._pages(path, requested_fields.CALENDARS, CalendarPage):
            calendars += map(mapping.calendar, page.items)
        return calendars

    async def events(
        self,
        calendar: str,
        span: Span,
        *,
        include_cancelled: bool,
        wanted: AbstractSet[str],
        reading: EventReading = READ_ALL,
    ) -> EventList:
        """Return the events that may overlap a span; see `CalendarPort.events`."""
        params = (
            ("showDeleted", "true" if include_cancelled else "false"),
            *requested_fields.events(frozenset(wanted)),
        )
        read = partial(self._read, calendar, params=params, wanted=wanted)
        if reading.newest_first:
            return await newest_first.read(read, span, reading)
        return await read(span, reading)

    async def event(self, calendar: str, event: str, *, wanted: AbstractSet[str]) -> EventRecord:
        """Read one event; see `CalendarPort.event`."""
        response = await self._upstream.call(
            "GET",
            *ROOT,
            "calendars",
            calendar,
            "events",
            event,
            params=requested_fields.event(frozenset(wanted)),
        )
        return mapping.event(response.decode(Event), wanted)

    async def busy_together(
        self, calendars: Sequence[Calendar], span: Span
    ) -> Mapping[str, Sequence[Span]]:
        """Ask Google's free/busy query; see `CalendarPort.busy_together`."""
        return await freebusy_query.busy(self._upstream, calendars, span)

    async def busy(self, calendar: str, span: Span, *, own_responses: bool) -> Sequence[Span]:
        """Return the busy times of a calendar, from its events; see `CalendarPort.busy`."""
        params = requested_fields.busy(own_responses=own_responses)
        events: list[Event] = []
        async for page in self._pages_of(calendar, span, params, PAGE):
            events += page.items
            if page.next_page_token and len(events) >= MAX_EVENTS:
                raise TooMuch  # the rest would look free
        return [mapping.times(event) for event in events if mapping.is_busy(event)]

    async def probe(self) -> None:
        """Make one harmless read."""
        params = (("fields", "items(id)"), ("maxResults", "1"))
        await self._upstream.call("GET", *ROOT, "users", "me", "calendarList", params=params)

    async def _read(
        self,
        calendar: str,
        span: Span,
        reading: EventReading,
        *,
        params: requested_fields.Params,
        wanted: AbstractSet[str],
    ) -> EventList:
        """Read the events of a span by their start, until there are enough."""
        records: list[EventRecord] = []
        size = min(reading.page_size or PAGE, PAGE)
        async for page in self._pages_of(calendar, span, params, size):
            records += mapping.events(page.items, wanted)
            if page.next_page_token and reading.enough(records):
                return EventList(records, read_to_end=False)
            if page.next_page_token and len(records) >= MAX_EVENTS:
                return EventList(records, complete=False)
        return EventList(records)

    def _pages_of(
        self, calendar: str, span: Span, params: requested_fields.Params, size: int
    ) -> PageIterator[EventPage]:
        """Return the pages of events and occurrences that overlap a span, by ascending start."""
        options = (
            ("singleEvents", "true"),
            ("orderBy", "startTime"),
            ("timeMin", format_utc(span.start)),
            ("timeMax", format_utc(span.end)),
            ("maxResults", str(size)),
            *params,
        )
        return self._pages(("calendars", calendar, "events"), options, EventPage)

    def _pages(
        self, path: tuple[str, ...], params: Sequence[tuple[str, str]], shape: type[P]
    ) -> PageIterator[P]:
        return pages(self._upstream, (*ROOT, *path), params, shape)
