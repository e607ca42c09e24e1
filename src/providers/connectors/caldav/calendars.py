"""The calendar port of one account on a CalDAV server."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from time import perf_counter
from typing import NamedTuple

from providers.connectors.caldav import mapping
from providers.connectors.caldav.account_memory import AccountMemory, RangeCache
from providers.connectors.caldav.bounded_rules import MAX_WORK, Work
from providers.connectors.caldav.calendar_objects import CalendarObject
from providers.connectors.caldav.dav_client import DavClient
from providers.connectors.caldav.discovery import find_homes, list_calendars
from providers.connectors.caldav.event_reading import ObjectReader
from providers.connectors.caldav.occurrences import SEPARATOR, Occurrence, occurrence, occurrences
from providers.failures import (
    Missing,
    ProviderFailure,
    TooMuch,
    UnknownZone,
    Unreadable,
    UnreadPeople,
)
from providers.http.client import Upstream
from providers.http.response import Response
from providers.http.urls import BaseUrl
from providers.ports.calendar import (
    MAX_EVENTS,
    BusyTimes,
    EventList,
    EventName,
    EventSelection,
    Span,
)
from providers.ports.connection import ConnectionInfo
from providers.ports.opening import Opening
from providers.records.calendar import Calendar, Event

_EXPANDED_AT_ONCE = 0.01  # seconds of expansion; other requests run in between
_MAX_WORK_OF_READING = 60 * MAX_WORK  # of all events of a calendar, for one reading
_WORK_OF_OCCURRENCE = 25.0
_MAX_HELD = 4 * MAX_EVENTS  # occurrences at a time


def open_port(opening: Opening) -> "CaldavCalendars":
    """Open the account of a connection; makes no call."""
    return CaldavCalendars(
        opening.info, opening.upstream(), opening.memory(AccountMemory), opening.shared(RangeCache)
    )


class CaldavCalendars:
    """Calendars of one connection; implements `providers.ports.calendar.CalendarPort`."""

    def __init__(
        self, info: ConnectionInfo, upstream: Upstream, memory: AccountMemory, ranges: RangeCache
    ) -> None:
        """*upstream* is the origin of the base URL."""
        server = BaseUrl.parse(info.base_url)
        self._start = f"{server.prefix}/" if server.prefix else ""
        self._client = DavClient(upstream, server.origin)
        self._memory = memory
        self._objects = ObjectReader(self._client, info.id, memory, ranges)
        self._account = info.account_email.casefold()

    async def calendars(self, *, recent: bool = False) -> Sequence[Calendar]:
        del recent  # each request needs the calendars' versions
        was_known = bool(self._memory.homes)
        if not was_known:
            await find_homes(self._client, self._start, self._memory)
        try:
            listed = await list_calendars(self._client, self._memory.homes)
        except Missing:
            if not was_known:
                raise
            await find_homes(self._client, self._start, self._memory)
            listed = await list_calendars(self._client, self._memory.homes)
        self._memory.states = {entry.calendar.id: entry.state for entry in listed}
        return [entry.calendar for entry in listed]

    async def events(
        self, calendar: str, selection: EventSelection, *, first: Response | None = None
    ) -> EventList:
        del first  # `first_pages` returns none
        objects = await self._objects.in_range(calendar, selection.span)
        parsed = [stored.parsed for stored in objects.objects.values()]
        newest_first = selection.reading.newest_first
        expansion = await _expand(
            parsed, selection.span, cancelled=selection.include_cancelled, newest_first=newest_first
        )
        listed = expansion.events
        is_complete = expansion.complete and not expansion.cut and objects.complete
        if len(listed) > MAX_EVENTS:
            listed = _first(listed, newest_first=newest_first)
        return _listed(listed, selection.projection, parsed, complete=is_complete)

    async def event(self, calendar: str, event: str, *, projection: AbstractSet[str]) -> Event:
        name = event.partition(SEPARATOR)[0]
        read = occurrence(await self._objects.one(calendar, name), event)
        if read is None:
            raise Missing
        return mapping.events([read], projection)[0]

    async def events_by_id(
        self, names: Sequence[EventName], *, projection: AbstractSet[str]
    ) -> Mapping[EventName, Event]:
        by_calendar: dict[str, dict[str, None]] = {}
        for name in names:
            object_name = name.event.partition(SEPARATOR)[0]
            by_calendar.setdefault(name.calendar, {})[object_name] = None
        objects: dict[tuple[str, str], CalendarObject] = {}
        for calendar, object_names in by_calendar.items():
            try:
                read = await self._objects.several(calendar, list(object_names))
            except Missing:
                continue
            objects |= {(calendar, name): parsed for name, parsed in read.items()}
        events: dict[EventName, Event] = {}
        for name in names:
            parsed = objects.get((name.calendar, name.event.partition(SEPARATOR)[0]))
            event = None if parsed is None else occurrence(parsed, name.event)
            if event is not None:
                events[name] = mapping.events([event], projection)[0]
        return events

    async def instances(
        self, calendar: str, series: str, span: Span, *, projection: AbstractSet[str]
    ) -> EventList:
        parsed = await self._objects.one(calendar, series)
        expansion = await _expand([parsed], span, cancelled=False)
        listed = _first(expansion.events, newest_first=False)
        return _listed(
            listed, projection, [parsed], complete=expansion.complete and not expansion.cut
        )

    async def first_pages(
        self, calendars: Sequence[str], selection: EventSelection
    ) -> Mapping[str, Response]:
        del calendars, selection
        return {}

    async def busy_together(
        self, calendars: Sequence[Calendar], span: Span
    ) -> Mapping[str, Sequence[Span]]:
        """Return nothing: see docs/spec/upstream/caldav.md#free-and-busy-times."""
        del calendars, span
        return {}

    async def busy(self, calendar: str, span: Span, *, own_responses: bool) -> BusyTimes:
        objects = await self._objects.in_range(calendar, span)
        parsed = [stored.parsed for stored in objects.objects.values()]
        if not objects.complete:
            raise TooMuch  # the rest would look free
        expansion = await _expand(parsed, span, cancelled=False)
        if not expansion.complete:
            raise TooMuch
        owner = {self._account, *self._memory.addresses} if own_responses else set[str]()
        spans = [event.span for event in expansion.events if mapping.is_busy(event, owner)]
        # A single event that anybody may have sent must not take the answer of all others.
        cut = (TooMuch(),) if expansion.cut else ()
        return BusyTimes(spans, (*_doubts(parsed), *cut))

    async def probe(self) -> None:
        """List the calendars."""
        await self.calendars()


def _listed(
    listed: Sequence[Occurrence],
    projection: AbstractSet[str],
    objects: Sequence[CalendarObject],
    *,
    complete: bool,
) -> EventList:
    events = mapping.events(listed, projection)
    doubts = _doubts(objects)
    if any(projection & parsed.unread_people for parsed in objects):
        doubts = (*doubts, UnreadPeople())
    return EventList(events, complete=complete, doubts=doubts)


def _doubts(objects: Sequence[CalendarObject]) -> tuple[ProviderFailure, ...]:
    """Return why events of these objects may be missing or wrong."""
    unread = () if all(parsed.is_whole for parsed in objects) else (Unreadable(),)
    unknown = () if all(parsed.zones_are_known for parsed in objects) else (UnknownZone(),)
    return (*unread, *unknown)


class _Expansion(NamedTuple):
    """
    The occurrences of objects that overlap a range.

    Attributes:
        events: Sorted by start when there are more than `MAX_EVENTS`; then the first ones.
        complete: False when there are more events than are read.
        cut: Whether a series has more occurrences than are read of it.
    """

    events: list[Occurrence]
    complete: bool
    cut: bool


async def _expand(
    objects: Iterable[CalendarObject], span: Span, *, cancelled: bool, newest_first: bool = False
) -> _Expansion:
    held: list[Occurrence] = []
    of_cut: list[Occurrence] = []  # they do not displace other events
    complete, cut = True, False
    began, left = perf_counter(), _MAX_WORK_OF_READING
    for calendar_object in objects:
        work = Work(min(MAX_WORK, left))
        try:
            overlapping = occurrences(calendar_object, span, work)
        except (ValueError, OverflowError):
            cut = True
            continue
        used = min(MAX_WORK, left) - work.left + _WORK_OF_OCCURRENCE * len(overlapping)
        left = max(0.0, left - used)
        is_cut = work.was_cut or len(overlapping) > MAX_EVENTS
        cut = cut or is_cut
        known = of_cut if is_cut else held
        known += [
            event for event in overlapping if cancelled or event.content.status != "cancelled"
        ]
        del of_cut[_MAX_HELD:]
        if len(held) > _MAX_HELD:
            complete, held = False, _first(held, newest_first=newest_first)
        if perf_counter() - began > _EXPANDED_AT_ONCE:
            await asyncio.sleep(0)
            began = perf_counter()
    if len(held) > MAX_EVENTS:
        complete, held = False, _first(held, newest_first=newest_first)
    return _Expansion([*held, *of_cut], complete, cut)


def _first(events: list[Occurrence], *, newest_first: bool) -> list[Occurrence]:
    events.sort(key=lambda event: event.span.start, reverse=newest_first)
    return events[:MAX_EVENTS]
