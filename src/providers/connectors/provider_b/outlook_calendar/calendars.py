"""The calendar port of one account of Outlook."""

import asyncio
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import timedelta

from providers.calendar import freebusy
from providers.connectors.provider_b.account_cache import ROOT
from providers.connectors.provider_b.outlook_calendar import mapping, selected_fields
from providers.connectors.provider_b.outlook_calendar.response_types import (
    CalendarPage,
    Event,
    EventPage,
)
from providers.connectors.provider_b.paging import P, pages
from providers.failures import Broken, TooMuch
from providers.http.client import Upstream
from providers.ids import is_provider_b_id
from providers.paging import PageIterator
from providers.ports.calendar import MAX_EVENTS, EventList, Span
from providers.records.calendar import Calendar
from providers.records.calendar import Event as EventRecord
from providers.timestamps import format_utc

PAGE = 1000  # events, the maximum
MAX_RANGE = timedelta(days=1825)  # of one calendar view; Graph refuses longer ones

# Sent with every page, because links to further pages do not contain it.
PREFER = {
    "prefer": ('IdType="ImmutableId", outlook.timezone="UTC", outlook.body-content-type="text"')
}


class OutlookCalendars:
    """Calendars of one connection; implements `providers.ports.calendar.CalendarPort`."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def calendars(self) -> Sequence[Calendar]:
        """Return every readable calendar; see `CalendarPort.calendars`."""
        calendars: list[Calendar] = []
        async for page in self._pages(("calendars",), selected_fields.CALENDARS, CalendarPage):
            calendars += map(mapping.calendar, page.value)
        if not all(is_provider_b_id(calendar.id) for calendar in calendars):
            raise Broken
        return calendars

    async def events(
        self, calendar: str, span: Span, *, include_cancelled: bool, wanted: AbstractSet[str]
    ) -> EventList:
        """Return the events that may overlap a span; see `CalendarPort.events`."""
        params = selected_fields.event(frozenset(wanted), of_list=True)
        events, complete = await self._overlapping(calendar, span, params)
        listed = [event for event in events if include_cancelled or not event.is_cancelled]
        return EventList(mapping.events(listed, wanted), complete=complete)

    async def event(self, calendar: str, event: str, *, wanted: AbstractSet[str]) -> EventRecord:
        """Read one event; see `CalendarPort.event`."""
        # The path contains the calendar, so that an event moved to another calendar is missing.
        response = await self._upstream.call(
            "GET",
            *ROOT,
            "calendars",
            calendar,
            "events",
            event,
            params=selected_fields.event(frozenset(wanted)),
            headers=PREFER,
        )
        return mapping.event(response.decode(Event), wanted)

    async def busy(self, calendar: str, span: Span, *, own_responses: bool) -> Sequence[Span]:
        """Return the busy times of a calendar; see `CalendarPort.busy`."""
        params = selected_fields.busy(own_responses=own_responses)
        events, complete = await self._overlapping(calendar, span, params)
        if not complete:
            raise TooMuch  # the rest would look free
        return [mapping.times(event) for event in events if mapping.is_busy(event)]

    async def probe(self) -> None:
        """Make one harmless read."""
        params = (("$select", "id"), ("$top", "1"))
        await self._upstream.call("GET", *ROOT, "calendars", params=params, headers=PREFER)

    async def _overlapping(
        self, calendar: str, span: Span, params: selected_fields.Params
    ) -> tuple[list[Event], bool]:
        """
        Read the events and occurrences that overlap a span; return whether these are all.

        An event on the border of two calendar views comes twice.
        """
        parts = freebusy.split_span(span, MAX_RANGE)
        views = await asyncio.gather(*(self._view(calendar, part, params) for part in parts))
        events = [event for view, _ in views for event in view]
        return events, all(complete for _, complete in views)

    async def _view(
        self, calendar: str, span: Span, params: selected_fields.Params
    ) -> tuple[list[Event], bool]:
        events: list[Event] = []
        options = (
            ("startDateTime", format_utc(span.start)),
            ("endDateTime", format_utc(span.end)),
            ("$orderby", "start/dateTime"),
            ("$top", str(PAGE)),
            *params,
        )
        async for page in self._pages(("calendars", calendar, "calendarView"), options, EventPage):
            events += page.value
            if len(events) >= MAX_EVENTS and page.next_link:
                return events, False
        return events, True

    def _pages(
        self, path: tuple[str, ...], params: Sequence[tuple[str, str]], shape: type[P]
    ) -> PageIterator[P]:
        return pages(self._upstream, path, params, shape, headers=PREFER)
