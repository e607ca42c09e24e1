"""The calendar port of one account of Outlook."""

from collections.abc import AsyncIterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import timedelta
from functools import partial

from providers.calendar import freebusy, shared_calls
from providers.calendar.calendar_memory import CalendarMemory
from providers.calendar.readable_events import ReadableEvents
from providers.connectors.provider_b import batch
from providers.connectors.provider_b.graph_user import GraphUser
from providers.connectors.provider_b.outlook_calendar import mapping, selected_fields
from providers.connectors.provider_b.outlook_calendar.response_types import (
    CalendarEntry,
    CalendarPage,
    Event,
    EventPage,
    page_of,
)
from providers.connectors.provider_b.paging import P, pages
from providers.failures import NOT_SHARED, Broken, Inaccessible, Missing, TooMuch
from providers.http.response import Response
from providers.ids import is_provider_b_id
from providers.paging import PageIterator
from providers.ports.calendar import (
    MAX_EVENTS,
    READ_ALL,
    ROOMS,
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
from providers.turns import in_turns

PAGE = 1000  # events, the maximum
MAX_RANGE = timedelta(days=1825)  # of one calendar view; Graph refuses longer ones

# Sent with every page, because links to further pages do not contain it.
PREFER = {
    "prefer": ('IdType="ImmutableId", outlook.timezone="UTC", outlook.body-content-type="text"')
}


def open_port(opening: Opening) -> "OutlookCalendars":
    """Open the account of a connection; makes no call."""
    return OutlookCalendars(
        GraphUser.of(opening.info, opening.upstream()), opening.memory(CalendarMemory)
    )


class OutlookCalendars:
    """Calendars of one connection; implements `providers.ports.calendar.CalendarPort`."""

    def __init__(self, user: GraphUser, memory: CalendarMemory) -> None:
        """*memory* belongs to the caller, one per connection, and outlives this object."""
        self._user = user
        self._memory = memory

    async def calendars(self, *, recent: bool = False) -> Sequence[Calendar]:
        return await self._memory.calendars(self._list_calendars, recent=recent)

    async def _list_calendars(self) -> Sequence[Calendar]:
        calendars: list[Calendar] = []
        try:
            async for page in self._pages(("calendars",), selected_fields.CALENDARS, CalendarPage):
                calendars += [_checked(entry) async for entry in in_turns(page.value)]
        except Missing:
            # People whom a calendar is shared with may open it, and not list the mailbox's.
            if not self._user.shared or calendars:
                raise
            default = await self._read_default()
            return [_checked(default.decode(CalendarEntry))]
        return calendars

    async def _read_default(self) -> Response:
        path = (*self._user.root, "calendar")
        params = selected_fields.CALENDAR
        try:
            return await self._user.upstream.call("GET", *path, params=params, headers=PREFER)
        except Missing as failure:
            if not self._user.shared:
                raise
            raise Inaccessible(NOT_SHARED, status=404) from failure

    async def events(
        self, calendar: str, selection: EventSelection, *, first: Response | None = None
    ) -> EventList:
        projection, reading = selection.projection, selection.reading
        params = selected_fields.event(frozenset(projection), of_list=True)
        shape = _page_type(projection)
        records: list[EventRecord] = []
        readable = ReadableEvents()
        async for events, has_more in self._views(
            calendar, selection.span, params, reading, shape=shape, first=first
        ):
            all_listed = selection.include_cancelled
            listed = [event for event in events if all_listed or not event.is_cancelled]
            records += await readable.make(
                partial(mapping.events, projection=projection), listed, mapping.times
            )
            if has_more and reading.enough(records):
                return EventList(records, read_to_end=False, doubts=readable.doubts)
            if has_more and len(records) >= MAX_EVENTS:
                return EventList(records, complete=False, doubts=readable.doubts)
        return EventList(records, doubts=readable.doubts)

    async def first_pages(
        self, calendars: Sequence[str], selection: EventSelection
    ) -> Mapping[str, Response]:
        parts = _parts(selection.span, selection.reading)
        if not parts:
            return {}
        params = (
            *_view_params(parts[0], selection.reading),
            *selected_fields.event(frozenset(selection.projection), of_list=True),
        )
        return await shared_calls.first_pages(
            calendars,
            self._memory,
            lambda names: batch.event_pages(self._user, names, params, headers=PREFER),
        )

    async def event(
        self, calendar: str, event: str, *, projection: AbstractSet[str]
    ) -> EventRecord:
        # The path contains the calendar, so that an event moved to another calendar is missing.
        response = await self._user.upstream.call(
            "GET",
            *self._user.root,
            "calendars",
            calendar,
            "events",
            event,
            params=selected_fields.event(frozenset(projection)),
            headers=PREFER,
        )
        return mapping.event(await response.decoded(Event), projection)

    async def events_by_id(
        self, names: Sequence[EventName], *, projection: AbstractSet[str]
    ) -> Mapping[EventName, EventRecord]:
        params = selected_fields.event(frozenset(projection))
        events = await batch.events(self._user, names, params, headers=PREFER)
        return {name: mapping.event(event, projection) for name, event in events.items()}

    async def instances(
        self, calendar: str, series: str, span: Span, *, projection: AbstractSet[str]
    ) -> EventList:
        options = (
            ("startDateTime", format_utc(span.start)),
            ("endDateTime", format_utc(span.end)),
            ("$top", str(PAGE)),
            *selected_fields.event(frozenset(projection), of_list=True),
        )
        path = ("calendars", calendar, "events", series, "instances")
        records: list[EventRecord] = []
        readable = ReadableEvents()
        async for page in self._pages(path, options, _page_type(projection)):
            listed = [event for event in page.value if not event.is_cancelled]
            records += await readable.make(
                partial(mapping.events, projection=projection), listed, mapping.times
            )
            if page.next_link and len(records) >= MAX_EVENTS:
                return EventList(records, complete=False, doubts=readable.doubts)
        return EventList(records, doubts=readable.doubts)

    async def busy_together(
        self, calendars: Sequence[Calendar], span: Span
    ) -> Mapping[str, Sequence[Span]]:
        del calendars, span
        return {}

    async def busy(self, calendar: str, span: Span, *, own_responses: bool) -> BusyTimes:
        params = selected_fields.busy(own_responses=own_responses)
        events: list[Event] = []
        async for page, has_more in self._views(calendar, span, params, READ_ALL):
            events += page
            if has_more and len(events) >= MAX_EVENTS:
                raise TooMuch  # the rest would look free
        busy = list(filter(mapping.is_busy, events))
        readable = ReadableEvents()
        return BusyTimes(await readable.make(_times, busy, mapping.times), readable.doubts)

    async def probe(self) -> None:
        """Make one harmless read."""
        await self._read_default()

    async def _views(  # noqa: PLR0913 - keyword-only, but for what is read
        self,
        calendar: str,
        span: Span,
        params: selected_fields.Params,
        reading: EventReading,
        *,
        shape: type[EventPage] = EventPage,
        first: Response | None = None,
    ) -> AsyncIterator[tuple[tuple[Event, ...], bool]]:
        """
        Yield the pages of events and occurrences that overlap a span, and whether more follow.

        An event on the border of two calendar views comes twice.
        """
        parts = _parts(span, reading)
        for number, part in enumerate(parts, 1):
            options = (*_view_params(part, reading), *params)
            path = ("calendars", calendar, "calendarView")
            known = first if number == 1 else None
            async for page in self._pages(path, options, shape, known):
                yield page.value, bool(page.next_link) or number < len(parts)

    def _pages(
        self,
        path: tuple[str, ...],
        params: Sequence[tuple[str, str]],
        shape: type[P],
        first: Response | None = None,
    ) -> PageIterator[P]:
        return pages(
            self._user,
            path,
            params,
            lambda response: response.decode(shape),
            headers=PREFER,
            known=first,
        )


def _checked(entry: CalendarEntry) -> Calendar:
    if not is_provider_b_id(entry.id):
        raise Broken
    return mapping.calendar(entry)


def _page_type(projection: AbstractSet[str]) -> type[EventPage]:
    members = selected_fields.members_of_list(projection)
    return page_of(members, with_rooms=ROOMS in projection)


def _parts(span: Span, reading: EventReading) -> list[Span]:
    """Return the calendar views to read, in their order."""
    parts = list(freebusy.split_span(span, MAX_RANGE))
    return parts[::-1] if reading.newest_first else parts


def _view_params(span: Span, reading: EventReading) -> selected_fields.Params:
    """Return the options of a page of events and occurrences, by start."""
    return (
        ("startDateTime", format_utc(span.start)),
        ("endDateTime", format_utc(span.end)),
        ("$orderby", "start/dateTime desc" if reading.newest_first else "start/dateTime"),
        ("$top", str(min(reading.page_size or PAGE, PAGE))),
    )


def _times(events: Sequence[Event]) -> list[Span]:
    return list(map(mapping.times, events))
