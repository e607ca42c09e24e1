"""
The calendars of several accounts as one.

No upstream knows `offset` or all of the filters, so ranges are read up to the asked page, then
filtered and sorted here: docs/spec/calendar.md#reading-of-a-page. A calendar that cannot be read is
left out and reported, never treated as empty.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

import msgspec

from providers import fanout
from providers.calendar import event_matching, event_reading, freebusy
from providers.calendar.catalogue import CALENDARS, CalendarCatalogue, CalendarSource, Views
from providers.calendar.merged_events import EventPage, MergedEvents, widened
from providers.failures import Missing, ProviderFailure
from providers.http.response import Response
from providers.ports.calendar import (
    BusyQuery,
    BusyTimes,
    CalendarKey,
    CalendarPort,
    EventList,
    EventQuery,
    EventSelection,
    NoSuchCalendar,
    PublicIdStore,
    Span,
)
from providers.ports.connection import ConnectionInfo
from providers.records.calendar import FreeBusyCalendar, NamedCalendar

# The part of the time of a call for the query of all calendars; the rest is for single ones.
_TOGETHER_SHARE = 0.4

T = TypeVar("T")


class CalendarList(msgspec.Struct, frozen=True, kw_only=True):
    """Calendars in id order. *warnings*: the accounts whose calendars are missing."""

    calendars: tuple[NamedCalendar, ...]
    warnings: tuple[fanout.ConnectionWarning, ...]


class FreeBusyList(msgspec.Struct, frozen=True, kw_only=True):
    """Calendars in id order. *warnings*: accounts and calendars that are missing."""

    calendars: tuple[FreeBusyCalendar, ...]
    warnings: tuple[fanout.ConnectionWarning, ...]


class MergedCalendars(MergedEvents):
    """The calendars that a caller may use."""

    def __init__(
        self,
        connections: Sequence[tuple[ConnectionInfo, CalendarPort]],
        ids: PublicIdStore,
        *,
        timeout_seconds: float = fanout.CONNECTION_TIMEOUT_SECONDS,
    ) -> None:
        """Take the usable connections and their ports; the timeout is that of each call."""
        catalogue = CalendarCatalogue(connections, ids, timeout_seconds=timeout_seconds)
        super().__init__(catalogue, ids, timeout_seconds=timeout_seconds)

    async def calendars(self, views: Views) -> CalendarList:
        """
        List the calendars of every account that exist for the caller.

        Raises:
            Throttled, TimedOut, AllFailed: Every account failed; see `combined_failure`.
        """
        sources, warnings = await self._catalogue.find(views)
        return CalendarList(
            calendars=tuple(source.named for source in sources), warnings=tuple(warnings)
        )

    async def events(
        self, queries: Mapping[int, EventQuery], *, projection: AbstractSet[str]
    ) -> EventPage:
        """
        List the events of all calendars that match a query.

        Args:
            queries: Connection -> which of its events, in which order; the others are not asked.
                They have one calendar, limit, offset and direction.
            projection: Attributes of `Event`; the times are always set.

        Raises:
            NoSuchCalendar: The requested calendar does not exist for the caller.
            Throttled, TimedOut, AllFailed: No calendar could be read.
        """
        first = next(iter(queries.values()))
        only = None if first.calendar_id is None else (first.calendar_id,)
        views = {name: query.view for name, query in queries.items()}
        if any(query.span.empty for query in queries.values()):
            named = await self._catalogue.require(only or (), views)
            views = {name: view for name, view in views.items() if not queries[name].span.empty}
            if not views or not named <= views.keys():
                return EventPage(events=(), total=0, total_exact=True, warnings=())
        sources, warnings = await self._catalogue.find(views, only=only, recent=only is None)
        results = await self._listed_events(sources, queries, projection)
        if only is None and any(isinstance(result, Missing) for result in results):
            known = [source.key for source in sources]
            sources, warnings = await self._catalogue.find(views)
            if [source.key for source in sources] != known:
                results = await self._listed_events(sources, queries, projection)
        lists, failed = _split_results(sources, results, warnings, named=only is not None)
        failed += _doubts((source, listed.every_doubt) for source, listed in lists)
        exact = not failed and all(listed.exact for _, listed in lists)
        return await self._page(lists, queries, exact=exact, warnings=tuple(failed))

    async def free_busy(
        self,
        queries: Mapping[int, BusyQuery],
        *,
        calendar_ids: Sequence[int] | None = None,
        account: str | None = None,
    ) -> FreeBusyList:
        """
        Return the busy and free periods of each calendar.

        Args:
            queries: Connection -> what is read of its calendars; the others are not asked.
            calendar_ids: Requested calendars; None: all.
            account: The address of the account whose calendars are read; None: all accounts.

        Raises:
            NoSuchCalendar: The first requested id that does not exist for the caller.
            Throttled, TimedOut, AllFailed: No calendar could be read.
        """
        views = {name: query.view for name, query in queries.items()}
        sources, warnings = await self._catalogue.find(views, only=calendar_ids, account=account)
        answered = await self._busy_together(sources, queries)

        async def read(source: CalendarSource) -> BusyTimes:
            query = queries[source.key.connection]
            if source.key in answered or query.span.empty:
                return BusyTimes(answered.get(source.key, ()))
            return await source.port.busy(
                source.calendar.id, widened(query.span), own_responses=query.own_responses
            )

        results = await self._read_all(sources, read)
        busy, failed = _split_results(sources, results, warnings, named=calendar_ids is not None)
        failed += _doubts((source, times.doubts) for source, times in busy)
        return FreeBusyList(
            calendars=tuple(
                _free_busy(source, times.spans, queries[source.key.connection].span)
                for source, times in busy
            ),
            warnings=tuple(failed),
        )

    async def _listed_events(
        self,
        sources: Sequence[CalendarSource],
        queries: Mapping[int, EventQuery],
        projection: AbstractSet[str],
    ) -> list[EventList | ProviderFailure]:
        """Read the events of calendars: the first pages of an account together, then the rest."""
        accounts: dict[int, list[CalendarSource]] = {}
        for source in sources:
            accounts.setdefault(source.key.connection, []).append(source)
        read: dict[CalendarKey, EventList | ProviderFailure] = {}
        for results in await asyncio.gather(
            *(
                _EventReader(queries[name], projection, self._timeout_seconds).read(calendars)
                for name, calendars in accounts.items()
            )
        ):
            read |= results
        return [read[source.key] for source in sources]

    async def _busy_together(
        self, sources: Sequence[CalendarSource], queries: Mapping[int, BusyQuery]
    ) -> Mapping[CalendarKey, Sequence[Span]]:
        """Return the busy spans that upstreams answer together; failures come again singly."""
        ports = {
            source.key.connection: source.port
            for source in sources
            if queries[source.key.connection].own_responses
            and not queries[source.key.connection].span.empty
        }
        calendars = {
            connection: [
                source.calendar for source in sources if source.key.connection == connection
            ]
            for connection in ports
        }
        results = await fanout.gather_results(
            [
                port.busy_together(calendars[connection], widened(queries[connection].span))
                for connection, port in ports.items()
            ],
            self._timeout_seconds * _TOGETHER_SHARE,
        )
        return {
            CalendarKey(connection, calendar): spans
            for connection, result in zip(ports, results, strict=True)
            if not isinstance(result, ProviderFailure)
            for calendar, spans in result.items()
        }

    async def _read_all(
        self, sources: Sequence[CalendarSource], read: Callable[[CalendarSource], Awaitable[T]]
    ) -> list[T | ProviderFailure]:
        return await fanout.gather_results(
            [read(source) for source in sources], self._timeout_seconds
        )


class _EventReader:
    """Reads the events of a query from the calendars of an account."""

    def __init__(
        self, query: EventQuery, projection: AbstractSet[str], timeout_seconds: float
    ) -> None:
        self._selection = EventSelection(
            span=widened(query.span),
            include_cancelled=query.include_cancelled,
            projection=frozenset(
                (projection - query.view.hidden) | event_matching.needed_attributes(query)
            ),
            reading=event_reading.reading_for(query),
        )
        self._timeout_seconds = timeout_seconds

    async def read(
        self, sources: Sequence[CalendarSource]
    ) -> Mapping[CalendarKey, EventList | ProviderFailure]:
        """Return the events of *sources*, which are calendars of one account, or the failures."""
        pages = await self._first_pages(sources) if len(sources) > 1 else {}
        results = await fanout.gather_results(
            [
                source.port.events(
                    source.calendar.id, self._selection, first=pages.get(source.calendar.id)
                )
                for source in sources
            ],
            self._timeout_seconds,
        )
        return dict(zip((source.key for source in sources), results, strict=True))

    async def _first_pages(self, sources: Sequence[CalendarSource]) -> Mapping[str, Response]:
        """Return the pages that upstream answers together; failures come again singly."""
        names = [source.calendar.id for source in sources]
        try:
            return await fanout.with_timeout(
                sources[0].port.first_pages(names, self._selection),
                self._timeout_seconds * _TOGETHER_SHARE,
            )
        except ProviderFailure:
            return {}


def _split_results(
    sources: Sequence[CalendarSource],
    results: Sequence[T | ProviderFailure],
    warnings: Sequence[fanout.ConnectionWarning],
    *,
    named: bool,
) -> tuple[list[tuple[CalendarSource, T]], list[fanout.ConnectionWarning]]:
    """
    Separate results from failures; the failures are appended to *warnings*.

    Args:
        sources: The calendars that were read.
        results: One per source.
        warnings: Earlier failures.
        named: Whether the caller named the calendars: then a missing one is an error.

    Raises:
        NoSuchCalendar: A named calendar is gone.
        Throttled, TimedOut, AllFailed: Every calendar failed.
    """
    read: list[tuple[CalendarSource, T]] = []
    failed = list(warnings)
    for source, result in zip(sources, results, strict=True):
        if named and isinstance(result, Missing):
            raise NoSuchCalendar(source.calendar_id)
        if isinstance(result, ProviderFailure):
            failed.append(source.warning(result))
        else:
            read.append((source, result))
    if sources and not read:
        raise fanout.combined_failure(failed, of=CALENDARS)
    return read, failed


def _doubts(
    lists: Iterable[tuple[CalendarSource, Sequence[ProviderFailure]]],
) -> list[fanout.ConnectionWarning]:
    return [source.warning(doubt) for source, doubts in lists for doubt in doubts]


def _free_busy(source: CalendarSource, taken: Sequence[Span], span: Span) -> FreeBusyCalendar:
    busy = freebusy.merge_busy(taken, span)
    free = () if span.empty else freebusy.free_spans(busy, span)
    return FreeBusyCalendar(
        calendar_id=source.calendar_id,
        calendar_name=source.calendar.name,
        busy=freebusy.to_periods(busy),
        free=freebusy.to_periods(free),
    )
