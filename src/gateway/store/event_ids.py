"""
Public ids of calendars and events, in the database (docs/spec/calendar.md#event-ids).

Rows are never changed. A calendar's id is that of its row, so it stays the same after a restart, an
import and in another process, and is never reused. An event's UUID is computed from its key; its
row maps the UUID back to the event, for reads by id.
"""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, tuple_, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import SQLModel, col, select

from gateway.errors import Overloaded
from gateway.store import cleanup
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import CalendarRow, ConnectionRow, EventRow
from providers.bounded_map import BoundedMap
from providers.ports.calendar import CalendarKey, EventKey

MAX_CACHED_EVENTS = 200_000  # known to have a row; about 20 MB
MAX_CACHED_CALENDARS = 20_000
_BATCH = 500  # rows of a statement

T = TypeVar("T")


class EventIds:
    """`providers.ports.calendar.PublicIdStore` over the tables `calendars` and `events`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._calendars = BoundedMap[CalendarKey, int](MAX_CACHED_CALENDARS)
        self._events = BoundedMap[bytes, None](MAX_CACHED_EVENTS)

    async def calendar_ids(self, keys: Collection[CalendarKey]) -> Mapping[CalendarKey, int]:
        ids = {key: self._calendars[key] for key in keys if key in self._calendars}
        uncached = [key for key in keys if key not in ids]
        if uncached:
            ids |= await self._read_ids(uncached)
        new = [key for key in uncached if key not in ids]
        if new:
            rows = [{"connection_id": key.connection, "native_id": key.calendar} for key in new]
            await self._insert(CalendarRow, rows)
            ids |= await self._read_ids(new)
        return ids

    async def calendars(self, calendar_ids: Collection[int]) -> Mapping[int, CalendarKey]:
        keys: dict[int, CalendarKey] = {}
        async with self._reading() as session:
            for batch in _batches(list(calendar_ids)):
                rows = await session.exec(select(CalendarRow).where(col(CalendarRow.id).in_(batch)))
                for row in rows:
                    keys[row.id or 0] = CalendarKey(row.connection_id, row.native_id)
        return keys

    async def store_events(self, events: Mapping[str, EventKey]) -> None:
        new = {
            uuid: key
            for event_id, key in events.items()
            if (uuid := UUID(event_id).bytes) not in self._events
        }
        rows = [
            {"id": uuid, "calendar_id": key.calendar_id, "native_id": key.event}
            for uuid, key in new.items()
        ]
        if rows and await self._insert(EventRow, rows):
            for uuid in new:
                self._events[uuid] = None

    async def event(self, event_id: str) -> EventKey | None:
        async with self._reading() as session:
            result = await session.exec(
                select(EventRow, CalendarRow)
                .join(CalendarRow, col(CalendarRow.id) == col(EventRow.calendar_id))
                .where(col(EventRow.id) == UUID(event_id).bytes)
            )
            pair = result.first()
        if pair is None:
            self._events.pop(UUID(event_id).bytes, None)  # the next listing stores it again
            return None
        event, calendar = pair
        calendar_key = CalendarKey(calendar.connection_id, calendar.native_id)
        return EventKey(event.calendar_id, calendar_key, event.native_id)

    async def _read_ids(self, keys: Sequence[CalendarKey]) -> Mapping[CalendarKey, int]:
        """Read the ids of calendars that have a row, and cache them."""
        ids: dict[CalendarKey, int] = {}
        async with self._reading() as session:
            for batch in _batches(keys):
                columns = tuple_(col(CalendarRow.connection_id), col(CalendarRow.native_id))
                for row in await session.exec(select(CalendarRow).where(columns.in_(batch))):
                    key = CalendarKey(row.connection_id, row.native_id)
                    ids[key] = self._calendars[key] = row.id
        return ids

    @retried
    async def _insert(self, table: type[SQLModel], rows: Sequence[Mapping[str, Any]]) -> bool:
        """Insert missing rows; insert none and return False when their connection was removed."""
        try:
            async with self._database.writing() as session:
                for batch in _batches(rows):
                    insert = self._database.insert(table).values(batch)
                    await session.exec(insert.on_conflict_do_nothing())
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


async def delete_events_of(database: Database, connections: ColumnElement[bool]) -> None:
    """
    Delete the events of *connections* in slices, before these are removed.

    The events would go with them in one statement: on PostgreSQL it would reach the time limit, on
    SQLite it would hold the only writer. While many go, the connections are disabled.

    Raises:
        StorageUnavailable: The database did not answer.
    """
    calendars = select(CalendarRow.id).join(
        ConnectionRow, col(ConnectionRow.id) == col(CalendarRow.connection_id)
    )
    calendar_id = col(EventRow.calendar_id)
    belongs = calendar_id.in_(calendars.where(connections))
    many = select(EventRow.id).where(belongs).offset(cleanup.SLICE_ROWS).limit(1)
    async with database.reading() as session:
        has_many = (await session.exec(many)).first() is not None
    if has_many:
        await _disable(database, connections)
        await cleanup.delete_in_slices(database, EventRow, belongs, by=calendar_id)


@retried
async def _disable(database: Database, connections: ColumnElement[bool]) -> None:
    async with database.writing() as session:
        await session.exec(update(ConnectionRow).where(connections).values(status="disabled"))


def _batches(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(rows), _BATCH):
        yield rows[start : start + _BATCH]
