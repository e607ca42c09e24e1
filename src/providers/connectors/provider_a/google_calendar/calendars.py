"""The calendars of one account of provider A. Source: wire report, 1B; decisions 6."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

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

ROOT = ("calendar", "v3")
PAGE = 2500  # events, the most that upstream gives at once; wire report 1B.1


class GoogleCalendars:
    """The calendars behind one connection; see `providers.ports.calendar.CalendarPort`."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def calendars(self) -> Sequence[Calendar]:
        """Return every readable calendar; see `CalendarPort.calendars`."""
        found: list[Calendar] = []
        path = ("users", "me", "calendarList")
        async for page in self._pages(path, requested_fields.CALENDARS, CalendarPage):
            found += [mapping.calendar(item) for item in page.items]
        return found

    async def events(
        self, calendar: str, span: Span, *, include_cancelled: bool, wanted: AbstractSet[str]
    ) -> EventList:
        """Return what may overlap a span; see `CalendarPort.events`."""
        params = (
            ("showDeleted", "true" if include_cancelled else "false"),
            *requested_fields.events(frozenset(wanted)),
        )
        found, complete = await self._listed(calendar, span, params)
        return EventList(mapping.events(found, wanted), complete)

    async def event(self, calendar: str, event: str, *, wanted: AbstractSet[str]) -> EventRecord:
        """Read one event; see `CalendarPort.event`."""
        answer = await self._upstream.call(
            "GET",
            *ROOT,
            "calendars",
            calendar,
            "events",
            event,
            params=requested_fields.event(frozenset(wanted)),
        )
        return mapping.event(answer.decode(Event), wanted)

    async def busy(self, calendar: str, span: Span, *, own_responses: bool) -> Sequence[Span]:
        """
        Return when a calendar is taken; see `CalendarPort.busy`.

        Upstream's own question for this counts whole days by the calendar's clock, and so would
        contradict the events that callers see.
        """
        params = requested_fields.busy(own_responses=own_responses)
        found, complete = await self._listed(calendar, span, params)
        if not complete:
            raise TooMuch  # the rest would look free
        return [mapping.times(one) for one in found if mapping.is_busy(one)]

    async def probe(self) -> None:
        """Make one harmless read."""
        params = (("fields", "items(id)"), ("maxResults", "1"))
        await self._upstream.call("GET", *ROOT, "users", "me", "calendarList", params=params)

    # -- behind

    async def _listed(
        self, calendar: str, span: Span, params: requested_fields.Params
    ) -> tuple[list[Event], bool]:
        """Read what overlaps a span, series as their single times; say whether that is all."""
        options = (
            ("singleEvents", "true"),
            ("orderBy", "startTime"),
            ("timeMin", _rfc3339(span.start)),
            ("timeMax", _rfc3339(span.end)),
            ("maxResults", str(PAGE)),
            *params,
        )
        found: list[Event] = []
        async for page in self._pages(("calendars", calendar, "events"), options, EventPage):
            found += page.items
            if len(found) >= MAX_EVENTS and page.next_page_token:
                return found, False
        return found, True

    def _pages(
        self, path: tuple[str, ...], params: Sequence[tuple[str, str]], shape: type[P]
    ) -> PageIterator[P]:
        return pages(self._upstream, (*ROOT, *path), params, shape)


def _rfc3339(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
