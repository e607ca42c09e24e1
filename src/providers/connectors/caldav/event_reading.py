"""
The calendar objects of a range, read anew only where they changed.

docs/spec/upstream/caldav.md#reading-events
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo

from providers.connectors.caldav.account_memory import (
    AccountMemory,
    CalendarState,
    ObjectRange,
    RangeCache,
    StoredObject,
)
from providers.connectors.caldav.calendar_objects import CalendarObject
from providers.connectors.caldav.content_lines import MAX_BYTES
from providers.connectors.caldav.dav_client import DavClient, name_of
from providers.connectors.caldav.discovery import read_state
from providers.connectors.caldav.multistatus import CALDAV
from providers.connectors.caldav.parsing_budget import ParsingBudget
from providers.failures import Broken, Missing
from providers.ports.calendar import MAX_EVENTS, Span
from providers.turns import in_turns

BATCH = 100  # objects of one request
MAX_OBJECTS = MAX_EVENTS
_DAY = timedelta(days=1)
# What servers and clocks of zones can take.
_EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
_LATEST = datetime(2200, 1, 1, tzinfo=UTC)


class ObjectReader:
    """Reads the calendar objects of one connection."""

    def __init__(
        self, client: DavClient, connection: int, memory: AccountMemory, ranges: RangeCache
    ) -> None:
        self._client = client
        self._connection = connection
        self._memory = memory
        self._ranges = ranges

    async def in_range(self, calendar: str, span: Span) -> ObjectRange:
        """
        Return the objects that may overlap a span, as of the last reading of the state.

        Raises:
            Missing: There is no such calendar.
        """
        days = _whole_days(span)
        if days.empty:
            return ObjectRange(version="", objects={})
        state = await self._fresh_state(calendar)
        key = (self._connection, calendar, days)
        cached = self._ranges.get(key)
        if cached is not None and state.version and cached.version == state.version:
            return cached
        tags, are_all = await self._client.entity_tags(calendar, days, most=MAX_OBJECTS)
        names = list(tags)
        objects = {
            name: stored
            for name in names
            if cached is not None
            and (stored := cached.objects.get(name)) is not None
            and stored.etag == tags[name] != ""
        }
        unknown = [name for name in names if name not in objects]
        budget = ParsingBudget()
        for first in range(0, len(unknown), BATCH):
            batch = unknown[first : first + BATCH]
            objects |= await self._read(calendar, batch, state.zone, budget)
        reading = ObjectRange(version=state.version, objects=objects, complete=are_all)
        self._ranges.put(key, reading)
        return reading

    async def one(self, calendar: str, name: str) -> CalendarObject:
        """
        Return one object.

        Raises:
            Missing: The calendar does not have it.
        """
        state = self._memory.states.get(calendar) or await self._fresh_state(calendar)
        try:
            text = await self._client.text(calendar + name, max_bytes=MAX_BYTES)
        except Broken as failure:
            if failure.failed:
                raise
            return CalendarObject(name=name, is_whole=False)
        return await ParsingBudget().parse(name, text, state.zone)

    async def several(self, calendar: str, names: Sequence[str]) -> Mapping[str, CalendarObject]:
        """Return the objects of a calendar that exist, by name."""
        state = self._memory.states.get(calendar) or await self._fresh_state(calendar)
        objects: dict[str, StoredObject] = {}
        budget = ParsingBudget()
        for first in range(0, len(names), BATCH):
            batch = names[first : first + BATCH]
            objects |= await self._read(calendar, batch, state.zone, budget)
        return {name: stored.parsed for name, stored in objects.items()}

    async def _fresh_state(self, calendar: str) -> CalendarState:
        state = self._memory.states.get(calendar)
        if state is None or not state.is_fresh:
            try:
                state = await read_state(self._client, calendar)
            except Missing:
                self._memory.states.pop(calendar, None)
                raise
            self._memory.states[calendar] = state
        return state

    async def _read(
        self, calendar: str, names: Sequence[str], zone: tzinfo, budget: ParsingBudget
    ) -> dict[str, StoredObject]:
        """Read objects by name; those that are gone are left out."""
        try:
            resources = await self._client.objects(calendar, names)
        except Broken as failure:
            if failure.failed:
                raise
            if len(names) == 1:  # it is too large, or not XML
                unreadable = CalendarObject(name=names[0], is_whole=False)
                return {names[0]: StoredObject(etag="", size=0, parsed=unreadable)}
            half = len(names) // 2
            read = await self._read(calendar, names[:half], zone, budget)
            return read | await self._read(calendar, names[half:], zone, budget)
        objects: dict[str, StoredObject] = {}
        async for resource in in_turns(resources):
            text = resource.text(f"{CALDAV}calendar-data")
            name = name_of(resource.href)
            parsed = await budget.parse(name, text, zone)
            etag = resource.text("DAV: getetag")
            objects[name] = StoredObject(etag=etag, size=len(text), parsed=parsed)
        return objects


def _whole_days(span: Span) -> Span:
    """Widen a span to whole UTC days, so that ranges of one day are one range."""
    start, end = max(span.start, _EARLIEST), min(span.end, _LATEST)
    if end <= start:
        return Span(start, start)
    midnight = datetime.combine(end.date(), time(), UTC)
    return Span(
        datetime.combine(start.date(), time(), UTC),
        midnight if midnight == end else min(midnight + _DAY, _LATEST),
    )
