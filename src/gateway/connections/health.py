"""
When connections last answered (`lastOkAt`), by the calls that are made anyway. Decisions 3.

A call leaves a note in memory. Now and then the notes are written down, those that are news: the
stored moment is at most five minutes behind, and whichever of many processes comes first spares the
others theirs.
"""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

from sqlalchemy import ColumnElement, update
from sqlmodel import and_, col, or_, select

from gateway.store.background import repeat, running_tasks
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow
from gateway.store.timestamps import now_ms
from providers.http.events import CallEvent

RESOLUTION_MS = 300_000  # milliseconds: `lastOkAt` is that coarse
_WRITE_SECONDS = 30.0  # seconds between two looks at the notes


class LastSuccess:
    """Notes which connections answer. One per process."""

    def __init__(self, database: Database, *, clock: Callable[[], int] = now_ms) -> None:
        """*clock* gives milliseconds since the epoch."""
        self._database = database
        self._clock = clock
        self._noted: dict[int, int] = {}  # connection -> when it answered last

    def record(self, event: CallEvent) -> None:
        """Note a call that upstream answered with a success; a `providers` watcher."""
        if isinstance(event.connection, int) and event.outcome.startswith("2"):
            self._noted[event.connection] = self._clock()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write the notes down now and then, meanwhile."""
        async with running_tasks(
            repeat(
                self.write,
                pause_seconds=_WRITE_SECONDS,
                failure_message="what answered is not written down",
            )
        ):
            yield

    async def write(self) -> int:
        """
        Write down what is news; return of how many connections.

        Raises:
            StorageUnavailable: The database did not answer; the notes are lost.
        """
        noted, self._noted = self._noted, {}
        if not noted:
            return 0
        async with self._database.reading() as session:
            found = await session.exec(select(ConnectionRow.id).where(self._old(noted)))
            news = [number for number in found if number is not None]
        if not news:
            return 0
        async with self._database.writing() as session:
            for number in news:
                row = update(ConnectionRow).where(self._old([number]))
                await session.exec(row.values(last_ok_at=noted[number]))
        return len(news)

    def _old(self, connections: Collection[int]) -> ColumnElement[bool]:
        """Match those of *connections* whose stored moment is too far behind."""
        stored = col(ConnectionRow.last_ok_at)
        return and_(
            col(ConnectionRow.id).in_(connections),
            col(ConnectionRow.status) == "active",
            or_(stored.is_(None), stored <= self._clock() - RESOLUTION_MS),
        )
