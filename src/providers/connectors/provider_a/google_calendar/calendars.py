"""The calendar port of one account of Google Calendar."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from providers.connectors.provider_a.google_calendar import mapping, requested_fields
from providers.connectors.provider_a.google_calendar.response_types import (
    CalendarPage,
    Event,
    EventPage,
)
from providers.connectors.provider_a.paging import P, pages
from providers.failures import TooMuch
from providers.http.client import Upstream
from providers.paging import PageIterator
from providers.ports.calendar import MAX_EVENTS, EventList, Span
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
        self, calendar: str, span: Span, *, include_cancelled: bool, wanted: AbstractSet[str]
    ) -> EventList:
        """Return the events that may overlap a span; see `CalendarPort.events`."""
        params = (
            ("showDeleted", "true" if include_cancelled else "false"),
            *requested_fields.events(frozenset(wanted)),
        )
        events, complete = await self._overlapping(calendar, span, params)
        return EventList(mapping.events(events, wanted), complete)

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

    async def busy(self, calendar: str, span: Span, *, own_responses: bool) -> Sequence[Span]:
        """
        Return the busy times of a calendar; see `CalendarPort.busy`.

        Google's free/busy query takes whole-day events in the calendar's time zone, which would
        contradict the events that callers see.
        """
        params = requested_fields.busy(own_responses=own_responses)
        events, complete = await self._overlapping(calendar, span, params)
        if not complete:
            raise TooMuch  # the rest would look free
        return [mapping.times(event) for event in events if mapping.is_busy(event)]

    async def probe(self) -> None:
        """Make one harmless read."""
        params = (("fields", "items(id)"), ("maxResults", "1"))
        await self._upstream.call("GET", *ROOT, "users", "me", "calendarList", params=params)

    async def _overlapping(
        self, calendar: str, span: Span, params: requested_fields.Params
    ) -> tuple[list[Event], bool]:
        """Read the events and occurrences that overlap a span; return whether these are all."""
        options = (
            ("singleEvents", "true"),
            ("orderBy", "startTime"),
            ("timeMin", format_utc(span.start)),
            ("timeMax", format_utc(span.end)),
            ("maxResults", str(PAGE)),
            *params,
        )
        events: list[Event] = []
        async for page in self._pages(("calendars", calendar, "events"), options, EventPage):
            events += page.items
            if len(events) >= MAX_EVENTS and page.next_page_token:
                return events, False
        return events, True

    def _pages(
        self, path: tuple[str, ...], params: Sequence[tuple[str, str]], shape: type[P]
    ) -> PageIterator[P]:
        return pages(self._upstream, (*ROOT, *path), params, shape)
