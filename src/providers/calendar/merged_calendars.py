"""
The calendars of several accounts as one.

No upstream knows `offset` or all of the filters, so ranges are read up to the asked page, then
filtered and sorted here: docs/spec/calendar.md#reading-of-a-page. A calendar that cannot be read is
left out and reported, never treated as empty.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha1
from operator import itemgetter
from typing import TypeVar
from uuid import UUID

from msgspec import structs

from providers import fanout
from providers.calendar import event_matching, event_reading, freebusy
from providers.calendar.catalogue import CALENDARS, CalendarCatalogue, CalendarSource
from providers.failures import Missing, ProviderFailure, TooMuch
from providers.ports.calendar import (
    CalendarKey,
    CalendarPort,
    EventKey,
    EventList,
    EventNotVisible,
    EventQuery,
    NoSuchCalendar,
    PublicIdStore,
    Span,
)
from providers.ports.connection import ConnectionInfo
from providers.records.base import EPOCH
from providers.records.calendar import Event, FreeBusyCalendar, NamedCalendar

# Whole-day events are days of the calendar's time zone upstream and UTC days here. So more is read
# on either side of a range, at least the largest offset from UTC.
TIME_ZONE_MARGIN = timedelta(days=1)

# UUID namespace of event ids. Changing it changes the id of every event:
# docs/spec/calendar.md#event-ids.
_EVENTS = UUID("6f1c1c0e-52d5-5c8e-9a2b-7b1f0a6a4d11")
_VARIANTS = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}

# The part of the time of a call for the query of all calendars; the rest is for single ones.
_TOGETHER_SHARE = 0.4

T = TypeVar("T")

_Match = tuple[str, Event, CalendarSource]  # public id, event with its native id, calendar


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarList:
    """Calendars in id order. *warnings*: the accounts whose calendars are missing."""

    calendars: tuple[NamedCalendar, ...]
    warnings: tuple[fanout.ConnectionWarning, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """
    Result of `MergedCalendars.events`.

    Attributes:
        events: In the requested order, with public ids.
        total: Number of the matches that are known: all, or at least one more than the page's end.
        total_exact: Whether these are all.
        warnings: The accounts and calendars whose events are missing.
    """

    events: tuple[Event, ...]
    total: int
    total_exact: bool
    warnings: tuple[fanout.ConnectionWarning, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeBusyList:
    """Calendars in id order. *warnings*: accounts and calendars that are missing."""

    calendars: tuple[FreeBusyCalendar, ...]
    warnings: tuple[fanout.ConnectionWarning, ...]


class MergedCalendars:
    """The calendars that a caller may use."""

    def __init__(
        self,
        connections: Sequence[tuple[ConnectionInfo, CalendarPort]],
        ids: PublicIdStore,
        *,
        timeout_seconds: float = fanout.CONNECTION_TIMEOUT_SECONDS,
    ) -> None:
        """Take the usable connections and their ports; the timeout is that of each call."""
        self._catalogue = CalendarCatalogue(connections, ids, timeout_seconds=timeout_seconds)
        self._ids = ids
        self._timeout_seconds = timeout_seconds

    async def calendars(self, *, allowed: AbstractSet[int] | None = None) -> CalendarList:
        """
        List the calendars of every account.

        Args:
            allowed: Ids that exist for the caller; None: all.

        Raises:
            Throttled, TimedOut, AllFailed: Every account failed; see `combined_failure`.
        """
        sources, warnings = await self._catalogue.find(allowed=allowed)
        return CalendarList(
            calendars=tuple(source.named for source in sources), warnings=tuple(warnings)
        )

    async def events(self, query: EventQuery, *, wanted: AbstractSet[str]) -> EventPage:
        """
        List the events of all calendars that match a query.

        Args:
            query: Which events, in which order.
            wanted: Attributes of `Event`; the times are always set.

        Raises:
            NoSuchCalendar: The requested calendar does not exist for the caller.
            Throttled, TimedOut, AllFailed: No calendar could be read.
        """
        only = None if query.calendar_id is None else (query.calendar_id,)
        if query.span.empty:
            await self._catalogue.require(only or (), query.allowed)
            return EventPage(events=(), total=0, total_exact=True, warnings=())
        sources, warnings = await self._catalogue.find(only=only, allowed=query.allowed)
        fields = frozenset(wanted | event_matching.needed_attributes(query))
        span, reading = _widened(query.span), event_reading.reading_for(query)
        results = await self._read_all(
            sources,
            lambda source: source.port.events(
                source.calendar.id,
                span,
                include_cancelled=query.include_cancelled,
                wanted=fields,
                reading=reading,
            ),
        )
        lists, failed = _split_results(sources, results, warnings, named=only is not None)
        cut_off = [source.warning(TooMuch()) for source, listed in lists if not listed.complete]
        matches = _sorted_matches(lists, query)
        page = matches[query.offset : query.offset + query.limit]
        await self._ids.store_events(
            {
                public_id: EventKey(source.calendar_id, source.key, event.id)
                for public_id, event, source in page
            }
        )
        return EventPage(
            events=tuple([structs.replace(event, id=public_id) for public_id, event, _ in page]),
            total=len(matches),
            total_exact=not failed
            and all(listed.complete and listed.read_to_end for _, listed in lists),
            warnings=(*failed, *cut_off),
        )

    async def event(
        self, event_id: str, *, allowed: AbstractSet[int] | None, wanted: AbstractSet[str]
    ) -> Event:
        """
        Read one event by its public id; its times are always set.

        Raises:
            Missing: The id is unknown, or upstream no longer has the event.
            EventNotVisible: Its calendar does not exist for the caller; a `Missing` too.
        """
        key = await self._ids.event(event_id)
        if key is None:
            raise Missing
        if allowed is not None and key.calendar_id not in allowed:
            raise EventNotVisible(key.calendar_id)
        port = self._catalogue.port(key.calendar_key.connection)
        if port is None:
            raise Missing
        read = port.event(key.calendar_key.calendar, key.event, wanted=wanted)
        return structs.replace(await fanout.with_timeout(read, self._timeout_seconds), id=event_id)

    async def free_busy(
        self,
        span: Span,
        *,
        calendar_ids: Sequence[int] | None = None,
        allowed: AbstractSet[int] | None = None,
        own_responses: bool = True,
    ) -> FreeBusyList:
        """
        Return the busy and free periods of each calendar.

        Args:
            span: The range; when it is empty, no calendar is read.
            calendar_ids: Requested calendars; None: all.
            allowed: Ids that exist for the caller; None: all.
            own_responses: As `CalendarPort.busy`.

        Raises:
            NoSuchCalendar: The first requested id that does not exist for the caller.
            Throttled, TimedOut, AllFailed: No calendar could be read.
        """
        sources, warnings = await self._catalogue.find(only=calendar_ids, allowed=allowed)
        if span.empty:
            calendars = tuple(_free_busy(source, (), span) for source in sources)
            return FreeBusyList(calendars=calendars, warnings=tuple(warnings))
        widened = _widened(span)
        answered = await self._busy_together(sources, widened) if own_responses else {}

        async def read(source: CalendarSource) -> Sequence[Span]:
            if source.key in answered:
                return answered[source.key]
            return await source.port.busy(source.calendar.id, widened, own_responses=own_responses)

        results = await self._read_all(sources, read)
        busy, failed = _split_results(sources, results, warnings, named=calendar_ids is not None)
        return FreeBusyList(
            calendars=tuple(_free_busy(source, spans, span) for source, spans in busy),
            warnings=tuple(failed),
        )

    async def _busy_together(
        self, sources: Sequence[CalendarSource], span: Span
    ) -> Mapping[CalendarKey, Sequence[Span]]:
        """Return the busy spans that upstreams answer together; failures come again singly."""
        ports = {source.key.connection: source.port for source in sources}
        calendars = {
            connection: [
                source.calendar for source in sources if source.key.connection == connection
            ]
            for connection in ports
        }
        results = await fanout.gather_results(
            [
                fanout.with_timeout(
                    port.busy_together(calendars[connection], span),
                    self._timeout_seconds * _TOGETHER_SHARE,
                )
                for connection, port in ports.items()
            ]
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
            [fanout.with_timeout(read(source), self._timeout_seconds) for source in sources]
        )


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


def _sorted_matches(
    lists: Sequence[tuple[CalendarSource, EventList]], query: EventQuery
) -> list[_Match]:
    matches: dict[str, _Match] = {}
    for source, listed in lists:
        to_public_id = _public_ids_of(source.key)
        matching = (
            event_matching.matching_events(listed.events, query)
            if listed.read_to_end
            else event_reading.decided_events(listed.events, query)
        )
        for event in matching:
            public_id = to_public_id(event.id)
            matches[public_id] = public_id, event, source
    ordered = sorted(matches.values(), key=itemgetter(0))
    ordered.sort(key=_day if query.by_day else _start, reverse=query.newest_first)
    return ordered  # the sort is stable: equal events stay in id order


def _start(match: _Match) -> datetime:
    return match[1].start_utc or EPOCH


def _day(match: _Match) -> date:
    return _start(match).date()


def event_id(calendar: CalendarKey, native: str) -> str:
    """Return the public id of an event, which never changes: docs/spec/calendar.md#event-ids."""
    return _public_ids_of(calendar)(native)


def _public_ids_of(calendar: CalendarKey) -> Callable[[str], str]:
    """Return a function that does what `uuid5` does, for one calendar, at a quarter of its cost."""
    prefix = _EVENTS.bytes + f"{calendar.connection}|{calendar.calendar}|".encode()

    def public_id(native: str) -> str:
        digest = sha1(prefix + native.encode(), usedforsecurity=False).hexdigest()
        variant = _VARIANTS[digest[16]]
        return (
            f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"
        )

    return public_id


def _widened(span: Span) -> Span:
    """Widen by the margin, to whole seconds: upstreams differ in how they round fractions."""
    earliest, latest = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    start = span.start - TIME_ZONE_MARGIN if span.start - earliest > TIME_ZONE_MARGIN else earliest
    end = span.end + TIME_ZONE_MARGIN if latest - span.end > TIME_ZONE_MARGIN else latest
    return Span(start.replace(microsecond=0), end.replace(microsecond=0))


def _free_busy(source: CalendarSource, taken: Sequence[Span], span: Span) -> FreeBusyCalendar:
    busy = freebusy.merge_busy(taken, span)
    free = () if span.empty else freebusy.free_spans(busy, span)
    return FreeBusyCalendar(
        calendar_id=source.calendar_id,
        calendar_name=source.calendar.name,
        busy=freebusy.to_periods(busy),
        free=freebusy.to_periods(free),
    )
