"""
The ids of calendars and events that callers know, in the database. Decisions 6.2.

Rows are only ever added. A calendar's id is its row's, so it stays the same after a restart, an
import and on another process, and is never given to another calendar. An event's UUID can be told
without asking; its row says which event it is, for reads by id.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlmodel import SQLModel, col, select

from gateway.errors import Overloaded
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import CalendarRow, EventRow
from providers.ports.calendar import CalendarKey, EventKey

REMEMBERED = 200_000  # events whose rows are known to be there: some 20 MB
MOST_CALENDARS = 20_000  # whose ids are remembered
_BATCH = 500  # rows of a statement

T = TypeVar("T")
Key = TypeVar("Key")
Value = TypeVar("Value")


class EventIds:
    """`providers.ports.calendar.PublicIdStore` over the tables `calendars` and `events`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._calendars = _Recent[CalendarKey, int](MOST_CALENDARS)
        self._events = _Recent[bytes, None](REMEMBERED)

    async def calendar_ids(self, places: Collection[CalendarKey]) -> Mapping[CalendarKey, int]:
        """Return the id of each calendar; see `PublicIdStore.calendar_ids`."""
        found = {one: self._calendars[one] for one in places if one in self._calendars}
        unknown = [one for one in places if one not in found]
        if unknown:
            found |= await self._learn(unknown)
        missing = [one for one in unknown if one not in found]
        if missing:
            rows = [{"connection_id": one.connection, "native_id": one.calendar} for one in missing]
            await self._add(CalendarRow, rows)
            found |= await self._learn(missing)
        return found

    async def calendars(self, calendar_ids: Collection[int]) -> Mapping[int, CalendarKey]:
        """Return where calendars are; see `PublicIdStore.calendars`."""
        found: dict[int, CalendarKey] = {}
        async with self._reading() as session:
            for batch in _batches(list(calendar_ids)):
                rows = await session.exec(select(CalendarRow).where(col(CalendarRow.id).in_(batch)))
                found |= {row.id or 0: CalendarKey(row.connection_id, row.native_id)
                          for row in rows}  # fmt: skip
        return found

    async def store_events(self, events: Mapping[str, EventKey]) -> None:
        """Remember where events are; see `PublicIdStore.store_events`."""
        new = {
            key: place
            for event_id, place in events.items()
            if (key := UUID(event_id).bytes) not in self._events
        }
        rows = [
            {"id": key, "calendar_id": place.calendar_id, "native_id": place.event}
            for key, place in new.items()
        ]
        if rows and await self._add(EventRow, rows):
            for key in new:
                self._events[key] = None

    async def event(self, event_id: str) -> EventKey | None:
        """Return where an event is; see `PublicIdStore.event`."""
        async with self._reading() as session:
            found = await session.exec(
                select(EventRow, CalendarRow)
                .join(CalendarRow, col(CalendarRow.id) == col(EventRow.calendar_id))
                .where(col(EventRow.id) == UUID(event_id).bytes)
            )
            pair = found.first()
        if pair is None:
            return None
        event, calendar = pair
        place = CalendarKey(calendar.connection_id, calendar.native_id)
        return EventKey(event.calendar_id, place, event.native_id)

    async def _learn(self, places: Sequence[CalendarKey]) -> Mapping[CalendarKey, int]:
        """Look up the rows of calendars, and remember them."""
        found: dict[CalendarKey, int] = {}
        async with self._reading() as session:
            for batch in _batches(places):
                at = tuple_(col(CalendarRow.connection_id), col(CalendarRow.native_id))
                for row in await session.exec(select(CalendarRow).where(at.in_(batch))):
                    found[CalendarKey(row.connection_id, row.native_id)] = row.id
        for place, calendar_id in found.items():
            self._calendars[place] = calendar_id
        return found

    async def _add(self, table: type[SQLModel], rows: Sequence[Mapping[str, Any]]) -> bool:
        """Add rows that are not there; nothing, and False, when a connection is gone meanwhile."""
        insert = sqlite.insert if self._database.path is not None else postgresql.insert
        try:
            async with self._database.writing() as session:
                for batch in _batches(rows):
                    statement = insert(table).values(batch).on_conflict_do_nothing()
                    await session.exec(statement)
        except IntegrityError:
            return False
        except StorageUnavailable as failure:
            raise Overloaded from failure
        return True

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[Any]:
        try:
            async with self._database.reading() as session:
                yield session
        except StorageUnavailable as failure:
            raise Overloaded from failure


class _Recent(OrderedDict[Key, Value]):
    """A dictionary that forgets what was put in first when it is full."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: Key, value: Value) -> None:
        super().__setitem__(key, value)
        if len(self) > self._most:
            self.popitem(last=False)


def _batches(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    for at in range(0, len(rows), _BATCH):
        yield rows[at : at + _BATCH]
