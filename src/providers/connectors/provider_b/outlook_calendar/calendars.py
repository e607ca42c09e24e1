"""The calendar port of one account of Outlook."""

from collections.abc import AsyncIterator, Mapping, Sequence
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
from providers.ports.calendar import MAX_EVENTS, READ_ALL, EventList, EventReading, Span
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
        self,
        calendar: str,
        span: Span,
        *,
        include_cancelled: bool,
        wanted: AbstractSet[str],
        reading: EventReading = READ_ALL,
    ) -> EventList:
        """Return the events that may overlap a span; see `CalendarPort.events`."""
        params = selected_fields.event(frozenset(wanted), of_list=True)
        records: list[EventRecord] = []
        async for events, has_more in self._views(calendar, span, params, reading):
            listed = [event for event in events if include_cancelled or not event.is_cancelled]
            records += mapping.events(listed, wanted)
            if has_more and reading.enough(records):
                return EventList(records, read_to_end=False)
            if has_more and len(records) >= MAX_EVENTS:
                return EventList(records, complete=False)
        return EventList(records)

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

    async def busy_together(
        self, calendars: Sequence[Calendar], span: Span
    ) -> Mapping[str, Sequence[Span]]:
        """Return nothing: Graph's schedules are of mailboxes; see `CalendarPort.busy_together`."""
        del calendars, span
        return {}

    async def busy(self, calendar: str, span: Span, *, own_responses: bool) -> Sequence[Span]:
        """Return the busy times of a calendar; see `CalendarPort.busy`."""
        params = selected_fields.busy(own_responses=own_responses)
        events: list[Event] = []
        async for page, has_more in self._views(calendar, span, params, READ_ALL):
            events += page
            if has_more and len(events) >= MAX_EVENTS:
                raise TooMuch  # the rest would look free
        return [mapping.times(event) for event in events if mapping.is_busy(event)]

    async def probe(self) -> None:
        """Make one harmless read."""
        params = (("$select", "id"), ("$top", "1"))
        await self._upstream.call("GET", *ROOT, "calendars", params=params, headers=PREFER)

    async def _views(
        self, calendar: str, span: Span, params: selected_fields.Params, reading: EventReading
    ) -> AsyncIterator[tuple[tuple[Event, ...], bool]]:
        """
        Yield the pages of events and occurrences that overlap a span, and whether more follow.

        An event on the border of two calendar views comes twice.
        """
        parts = list(freebusy.split_span(span, MAX_RANGE))
        order = "start/dateTime"
        if reading.newest_first:
            parts.reverse()
            order += " desc"
        for number, part in enumerate(parts, 1):
            options = (
                ("startDateTime", format_utc(part.start)),
                ("endDateTime", format_utc(part.end)),
                ("$orderby", order),
                ("$top", str(min(reading.page_size or PAGE, PAGE))),
                *params,
            )
            path = ("calendars", calendar, "calendarView")
            async for page in self._pages(path, options, EventPage):
                yield page.value, bool(page.next_link) or number < len(parts)

    def _pages(
        self, path: tuple[str, ...], params: Sequence[tuple[str, str]], shape: type[P]
    ) -> PageIterator[P]:
        return pages(self._upstream, path, params, shape, headers=PREFER)
