"""Events by their ids and the series that they belong to: the event half of `MergedCalendars`."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise, repeat, starmap
from operator import eq, itemgetter
from typing import NamedTuple

import msgspec
from msgspec import structs

from providers import fanout
from providers.calendar import event_matching, event_reading
from providers.calendar.catalogue import CalendarCatalogue, CalendarSource, Views
from providers.calendar.event_ids import public_ids
from providers.failures import Missing, ProviderFailure
from providers.ports.calendar import (
    CalendarKey,
    CalendarPort,
    EventKey,
    EventList,
    EventName,
    EventNotVisible,
    EventQuery,
    PublicIdStore,
    Span,
)
from providers.records.base import EPOCH
from providers.records.calendar import Event

# Whole-day events are days of the calendar's time zone upstream and UTC days here. So more is read
# on either side of a range, at least the largest offset from UTC.
TIME_ZONE_MARGIN = timedelta(days=1)


class EventCalendar(NamedTuple):
    """The public id and the key of a calendar."""

    calendar_id: int
    key: CalendarKey


_Calendar = CalendarSource | EventCalendar
_Match = tuple[datetime, str, Event, _Calendar]  # order, public id, event with native id, calendar


class EventPage(msgspec.Struct, frozen=True, kw_only=True):
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


class MergedEvents:
    """The events of the calendars that a caller may use."""

    def __init__(
        self, catalogue: CalendarCatalogue, ids: PublicIdStore, *, timeout_seconds: float
    ) -> None:
        self._catalogue = catalogue
        self._ids = ids
        self._timeout_seconds = timeout_seconds

    async def event(self, event_id: str, *, views: Views, projection: AbstractSet[str]) -> Event:
        """
        Read one event by its public id; its times and its connection are always set.

        Raises:
            Missing: The id is unknown, or upstream no longer has the event.
            EventNotVisible: Its calendar does not exist for the caller; a `Missing` too.
        """
        key, port = await self._locate(event_id, views)
        shown = projection - views[key.calendar_key.connection].hidden
        read = port.event(key.calendar_key.calendar, key.event, projection=shown)
        event = await fanout.with_timeout(read, self._timeout_seconds)
        return _public(event, event_id, key.calendar_id, key.calendar_key)

    async def events_by_id(
        self, event_ids: Sequence[str], *, views: Views, projection: AbstractSet[str]
    ) -> Mapping[str, Event | ProviderFailure]:
        """Read events, those of an account together; per id the event, or what `event` raises."""
        located = await fanout.gather_results([self._locate(name, views) for name in event_ids])
        accounts: dict[int, dict[str, EventKey]] = {}
        for event_id, result in zip(event_ids, located, strict=True):
            if not isinstance(result, ProviderFailure):
                key, _ = result
                accounts.setdefault(key.calendar_key.connection, {})[event_id] = key
        read: dict[str, Event] = {}
        for events in await asyncio.gather(
            *(
                self._read_account(name, keys, projection - views[name].hidden)
                for name, keys in accounts.items()
            )
        ):
            read |= events
        # What a batch does not tell is read alone, and tells why.
        unread = [event_id for event_id in event_ids if event_id not in read]
        alone = await fanout.gather_results(
            [self.event(event_id, views=views, projection=projection) for event_id in unread]
        )
        return {**read, **dict(zip(unread, alone, strict=True))}

    async def _read_account(
        self, connection: int, keys: Mapping[str, EventKey], projection: AbstractSet[str]
    ) -> Mapping[str, Event]:
        """Read events of one account in batches; those that could not be read are left out."""
        port = self._catalogue.port(connection)
        if port is None or len(keys) == 1:
            return {}
        names = {
            event_id: EventName(key.calendar_key.calendar, key.event)
            for event_id, key in keys.items()
        }
        reading = port.events_by_id(list(names.values()), projection=projection)
        try:
            events = await fanout.with_timeout(reading, self._timeout_seconds)
        except ProviderFailure:
            return {}
        return {
            event_id: _public(
                event, event_id, keys[event_id].calendar_id, keys[event_id].calendar_key
            )
            for event_id, name in names.items()
            if (event := events.get(name)) is not None
        }

    async def _locate(self, event_id: str, views: Views) -> tuple[EventKey, CalendarPort]:
        """Return the key of an event and the port of its account; raises as `event`."""
        key = await self._ids.event(event_id)
        if key is None:
            raise Missing
        view = views.get(key.calendar_key.connection)
        if view is not None and not view.has(key.calendar_id):
            raise EventNotVisible(key.calendar_id)
        port = self._catalogue.port(key.calendar_key.connection)
        if port is None or view is None:
            raise Missing
        return key, port

    async def instances(
        self, event: Event, query: EventQuery, *, projection: AbstractSet[str]
    ) -> EventPage:
        """
        List the other instances of the series of an event.

        Args:
            event: As `event` returns it, with its series.
            query: The range, order and part of the matches; it has no filters.
            projection: As `events`.

        Raises:
            Missing: Upstream no longer has the series.
        """
        key = await self._ids.event(event.id)
        port = self._catalogue.port(key.calendar_key.connection) if key is not None else None
        if key is None or port is None or event.series is None or query.span.empty:
            return EventPage(events=(), total=0, total_exact=True, warnings=())
        listed = await fanout.with_timeout(
            port.instances(
                key.calendar_key.calendar,
                event.series,
                widened(query.span),
                projection=projection - query.view.hidden,
            ),
            self._timeout_seconds,
        )
        others = [instance for instance in listed.events if instance.id != key.event]
        calendar = EventCalendar(key.calendar_id, key.calendar_key)
        return await self._page(
            [(calendar, EventList(others))],
            {key.calendar_key.connection: query},
            exact=listed.exact,
            warnings=(),
        )

    async def _page(
        self,
        lists: Sequence[tuple[_Calendar, EventList]],
        queries: Mapping[int, EventQuery],
        *,
        exact: bool,
        warnings: tuple[fanout.ConnectionWarning, ...],
    ) -> EventPage:
        """Return the page of *queries*, by connection, and store the keys of its events."""
        query = next(iter(queries.values()))
        matches = await _sorted_matches(lists, queries, newest_first=query.newest_first)
        page = matches[query.offset : query.offset + query.limit]
        await self._ids.store_events(
            {
                public_id: EventKey(calendar.calendar_id, calendar.key, event.id)
                for _, public_id, event, calendar in page
            }
        )
        return EventPage(
            events=tuple(
                [
                    _public(event, public_id, calendar.calendar_id, calendar.key)
                    for _, public_id, event, calendar in page
                ]
            ),
            total=len(matches),
            total_exact=exact,
            warnings=warnings,
        )


def _public(event: Event, public_id: str, calendar_id: int, key: CalendarKey) -> Event:
    """Return an event with its public ids, and the connection that it was read from."""
    return structs.replace(
        event, id=public_id, calendar_id=calendar_id, connection_id=key.connection
    )


async def _sorted_matches(
    lists: Sequence[tuple[_Calendar, EventList]],
    queries: Mapping[int, EventQuery],
    *,
    newest_first: bool,
) -> list[_Match]:
    """
    Return the matching events in order.

    Where a query orders by day alone, its events begin at midnight for the order.
    """
    matches: dict[str, _Match] = {}
    for source, listed in lists:
        query = queries[source.key.connection]
        matching = await event_matching.matching_in_turns(listed.events, query)
        if not listed.read_to_end:
            matching = event_reading.decided_events(listed.events, matching, query)
        ids = public_ids(source.key, [event.id for event in matching])
        starts = [event.start_utc or EPOCH for event in matching]
        if query.by_day:
            starts = [datetime.combine(start, time(), UTC) for start in starts]
        matches.update(
            zip(ids, zip(starts, ids, matching, repeat(source), strict=False), strict=True)
        )
    # Upstreams send events in order, so this sort has little to do.
    ordered = sorted(matches.values(), key=_START, reverse=newest_first)
    if any(starmap(eq, pairwise(map(_START, ordered)))):  # equal ones are in the order of their ids
        ordered.sort(key=_PUBLIC_ID)
        ordered.sort(key=_START, reverse=newest_first)
    return ordered


_START: Callable[[_Match], datetime] = itemgetter(0)
_PUBLIC_ID: Callable[[_Match], str] = itemgetter(1)


def widened(span: Span) -> Span:
    """Widen by the margin, to whole seconds: upstreams differ in how they round fractions."""
    earliest, latest = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    start = span.start - TIME_ZONE_MARGIN if span.start - earliest > TIME_ZONE_MARGIN else earliest
    end = span.end + TIME_ZONE_MARGIN if latest - span.end > TIME_ZONE_MARGIN else latest
    return Span(start.replace(microsecond=0), end.replace(microsecond=0))
