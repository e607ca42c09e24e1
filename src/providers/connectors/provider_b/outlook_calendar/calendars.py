"""The calendars of one account of provider B. Source: wire report, 1B; decisions 6."""

import asyncio
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

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

PAGE = 500  # events; upstream gives a thousand at most (wire report 1B.1)
LONGEST = timedelta(days=1825)  # of one question; longer ones are refused

# On every page again; wire report, 6 (17).
PREFER = {
    "prefer": ('IdType="ImmutableId", outlook.timezone="UTC", outlook.body-content-type="text"')
}


class OutlookCalendars:
    """The calendars behind one connection; see `providers.ports.calendar.CalendarPort`."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def calendars(self) -> Sequence[Calendar]:
        """Return every readable calendar; see `CalendarPort.calendars`."""
        found: list[Calendar] = []
        async for page in self._pages(("calendars",), selected_fields.CALENDARS, CalendarPage):
            found += [mapping.calendar(one) for one in page.value]
        if not all(is_provider_b_id(one.id) for one in found):
            raise Broken
        return found

    async def events(
        self, calendar: str, span: Span, *, include_cancelled: bool, wanted: AbstractSet[str]
    ) -> EventList:
        """Return what may overlap a span; see `CalendarPort.events`."""
        params = selected_fields.event(frozenset(wanted), of_list=True)
        found, complete = await self._view(calendar, span, params)
        shown = [one for one in found if include_cancelled or not one.is_cancelled]
        return EventList(mapping.events(shown, wanted), complete=complete)

    async def event(self, calendar: str, event: str, *, wanted: AbstractSet[str]) -> EventRecord:
        """Read one event; see `CalendarPort.event`."""
        # Below its calendar, so that an event that was moved to another is not there any more.
        answer = await self._upstream.call(
            "GET",
            *ROOT,
            "calendars",
            calendar,
            "events",
            event,
            params=selected_fields.event(frozenset(wanted)),
            headers=PREFER,
        )
        return mapping.event(answer.decode(Event), wanted)

    async def busy(self, calendar: str, span: Span, *, own_responses: bool) -> Sequence[Span]:
        """Return when a calendar is taken; see `CalendarPort.busy`."""
        params = selected_fields.busy(own_responses=own_responses)
        found, complete = await self._view(calendar, span, params)
        if not complete:
            raise TooMuch  # the rest would look free
        return [mapping.times(one) for one in found if mapping.is_busy(one)]

    async def probe(self) -> None:
        """Make one harmless read."""
        params = (("$select", "id"), ("$top", "1"))
        await self._upstream.call("GET", *ROOT, "calendars", params=params, headers=PREFER)

    # -- behind

    async def _view(
        self, calendar: str, span: Span, params: selected_fields.Params
    ) -> tuple[list[Event], bool]:
        """
        Read what overlaps a span, series as their single times; say whether that is all.

        What lies over the edge of two questions comes twice.
        """
        parts = await asyncio.gather(
            *(self._piece(calendar, piece, params) for piece in freebusy.split_span(span, LONGEST))
        )
        return [one for found, _ in parts for one in found], all(whole for _, whole in parts)

    async def _piece(
        self, calendar: str, span: Span, params: selected_fields.Params
    ) -> tuple[list[Event], bool]:
        found: list[Event] = []
        options = (
            ("startDateTime", _utc(span.start)),
            ("endDateTime", _utc(span.end)),
            ("$orderby", "start/dateTime"),
            ("$top", str(PAGE)),
            *params,
        )
        async for page in self._pages(("calendars", calendar, "calendarView"), options, EventPage):
            found += page.value
            if len(found) >= MAX_EVENTS and page.next_link:
                return found, False
        return found, True

    def _pages(
        self, path: tuple[str, ...], params: Sequence[tuple[str, str]], shape: type[P]
    ) -> PageIterator[P]:
        return pages(self._upstream, path, params, shape, headers=PREFER)


def _utc(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
