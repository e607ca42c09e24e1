"""
Time of the last successful call of each connection (`lastOkAt`), taken from ordinary traffic.

Calls are recorded in memory and written to the database periodically, if the stored time is more
than five minutes old; so of many processes only the first one writes.
See docs/spec/tokens.md#connection-status.
"""

from collections.abc import Collection, Mapping
from contextlib import AbstractAsyncContextManager

from sqlalchemy import ColumnElement, update
from sqlmodel import and_, col, or_, select

from gateway.store.background import PeriodicTask, running_tasks
from gateway.store.conflicts import retried
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow
from gateway.store.timestamps import ClockMs, now_ms
from providers.http.events import CallEvent

RESOLUTION_MS = 300_000  # of `lastOkAt`
_WRITE_SECONDS = 30.0  # between two writes


class LastSuccess:
    """Records when connections answer. One per process."""

    def __init__(self, database: Database, *, clock: ClockMs = now_ms) -> None:
        self._database = database
        self._clock = clock
        self._answered_at: dict[int, int] = {}  # connection id -> milliseconds

    def record(self, event: CallEvent) -> None:
        """Record a successful call; listens to the events of `providers.http`."""
        if isinstance(event.connection, int) and event.outcome.startswith("2"):
            self._answered_at[event.connection] = self._clock()

    def running(self) -> AbstractAsyncContextManager[None]:
        return running_tasks(
            PeriodicTask(
                name="connection_times",
                work=self.write,
                pause_seconds=_WRITE_SECONDS,
                failure_message="the times of the last responses could not be stored",
            )
        )

    async def write(self) -> int:
        """
        Write the times of connections whose stored time is too old; return how many.

        Raises:
            StorageUnavailable: The database did not answer; the recorded times are lost.
        """
        answered_at, self._answered_at = self._answered_at, {}
        if not answered_at:
            return 0
        async with self._database.reading() as session:
            ids = await session.exec(select(ConnectionRow.id).where(self._is_stale(answered_at)))
            stale = [connection_id for connection_id in ids if connection_id is not None]
        if not stale:
            return 0
        await self._store({connection_id: answered_at[connection_id] for connection_id in stale})
        return len(stale)

    @retried
    async def _store(self, answered_at: Mapping[int, int]) -> None:
        async with self._database.writing() as session:
            for connection_id, at in answered_at.items():
                row = update(ConnectionRow).where(self._is_stale([connection_id]))
                await session.exec(row.values(last_ok_at=at))

    def _is_stale(self, connection_ids: Collection[int]) -> ColumnElement[bool]:
        """Match the active ones of *connection_ids* whose stored time is too old."""
        stored = col(ConnectionRow.last_ok_at)
        return and_(
            col(ConnectionRow.id).in_(connection_ids),
            col(ConnectionRow.status) == "active",
            or_(stored.is_(None), stored <= self._clock() - RESOLUTION_MS),
        )
