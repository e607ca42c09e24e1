"""
From memory to the table `decisions`, in batches, off the path of the calls.

The queue is bounded. When it is full, the oldest rows of *reads* are dropped and counted. Rows of
*changes* are never dropped for want of room: a change that would find none waits a little before it
begins, and is then refused with 503, having done nothing. What is in memory when a process is
killed is lost: at most what half a second brought.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from sqlalchemy.dialects import postgresql, sqlite

from gateway.audit.chain import Chain
from gateway.audit.decision import Decision, looks_like_id
from gateway.audit.retention import Retention
from gateway.errors import Overloaded
from gateway.secrets.keyring import Keyring
from gateway.store.background import running_tasks
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import DecisionRow
from gateway.store.timestamps import now_ms

log = logging.getLogger("gateway")

CAPACITY = 10_000  # rows of reads, and as many of changes
BATCH = 200  # rows in one transaction; linking them takes the event loop about two milliseconds
GATHERING = 0.5  # seconds that rows are gathered for a batch
PATIENCE = 5.0  # seconds between two tries when the database does not answer
WAIT = 2.0  # seconds that a change waits for room
FAREWELL = 5.0  # seconds for the last rows when the process ends

_COLUMNS = (*Decision._fields, "chain", "number", "signature")


class DecisionLog:
    """Takes rows and stores them. One per process."""

    def __init__(  # noqa: PLR0913 - keyword-only, most with a default
        self,
        database: Database,
        keyring: Keyring,
        *,
        days: int,
        clock: Callable[[], int] = now_ms,
        on_dropped: Callable[[int], None] = lambda _: None,
        on_row: Callable[[Decision], None] = lambda _: None,
    ) -> None:
        """
        Keep rows for *days* days; 0 keeps no log.

        *clock* is in milliseconds; *lost* is told how many rows nobody will read, *told* hears of
        every row, kept or not.
        """
        self.dropped = 0  # rows, since the process began
        self.clock = clock
        self._on_dropped = on_dropped
        self._on_row = on_row
        self._database = database
        self._days = days
        self._retention = Retention(database, days=days, clock=clock)
        self._chain = Chain(keyring)
        self._insert = _insert(database)
        self._reads = deque[Decision]()
        self._changes = deque[Decision]()
        self._batch: Sequence[tuple[object, ...]] = ()
        self._storing = asyncio.Lock()
        self._news = asyncio.Event()
        self._room = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many rows are in memory."""
        return len(self._reads) + len(self._changes) + len(self._batch)

    def write(self, row: Decision, *, change: bool) -> None:
        """Take a row; *change* says that the call was a mutation."""
        self._on_row(row)
        if not self._days:
            return
        if change:
            self._changes.append(row)
        else:
            if len(self._reads) >= CAPACITY:
                self._reads.popleft()
                self._drop(1)
            self._reads.append(row)
        self._news.set()

    async def wait_for_capacity(self) -> None:
        """
        Wait until the row of a change that is about to begin will find room.

        Raises:
            Overloaded: It would not; nothing may be changed.
        """
        if len(self._changes) < CAPACITY:
            return
        try:
            async with asyncio.timeout(WAIT):
                while len(self._changes) >= CAPACITY:
                    self._room.clear()
                    await self._room.wait()
        except TimeoutError:
            raise Overloaded from None

    async def flush(self) -> None:
        """
        Store every row that has been taken so far.

        Raises:
            StorageUnavailable: Not now; nothing is lost, and a later try stores nothing twice.
        """
        async with self._storing:
            left = self.waiting
            while left > 0 and self.waiting > 0:
                if not self._batch:
                    self._batch = self._linked(self._next())
                try:
                    await self._store(self._batch)
                except StorageUnavailable:
                    raise
                except Exception as bug:  # noqa: BLE001 - rows that nobody can store must not stay
                    self._give_up(bug)
                left -= len(self._batch)
                self._batch = ()
                self._room.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Store what comes, meanwhile, and what is left at the end; drop what is too old."""
        if not self._days:
            yield
            return
        try:
            async with running_tasks(self._watch(), self._retention.watch()):
                yield
        finally:
            try:
                async with asyncio.timeout(FAREWELL):
                    await self.flush()
            except (TimeoutError, StorageUnavailable):
                told = {"count": self.waiting}
                log.error("rows of the decision log are lost", extra=told)  # noqa: TRY400

    async def _watch(self) -> None:
        while True:
            await self._news.wait()
            await asyncio.sleep(GATHERING)
            self._news.clear()
            try:
                await self.flush()
            except StorageUnavailable:
                log.warning("the decision log could not be stored yet")
                self._news.set()
                await asyncio.sleep(PATIENCE)

    def _next(self) -> list[Decision]:
        """Take the rows of a batch, those of changes first."""
        rows = [self._changes.popleft() for _ in range(min(BATCH, len(self._changes)))]
        rows += [self._reads.popleft() for _ in range(min(BATCH - len(rows), len(self._reads)))]
        return rows

    def _linked(self, rows: Sequence[Decision]) -> list[tuple[object, ...]]:
        """Leave out what is no id, and link the rows; from here on they do not change."""
        found: list[tuple[object, ...]] = []
        for given in rows:
            row, named = given, given.resource_id
            if named is not None and not looks_like_id(given.surface, named):
                row = given._replace(resource_id=None)
            link = self._chain.link(row)
            found.append((*row, link.chain, link.number, link.signature))
        return found

    def _drop(self, count: int) -> None:
        self.dropped += count
        self._on_dropped(count)

    def _give_up(self, bug: Exception) -> None:
        self._drop(len(self._batch))
        told = {"kind": type(bug).__name__, "count": len(self._batch)}
        log.error("rows of the decision log cannot be stored", extra=told)

    async def _store(self, batch: Sequence[tuple[object, ...]]) -> None:
        """Insert rows; those that an earlier, unanswered try stored are there already."""
        async with self._database.writing() as session:
            connection = await session.connection()
            # Straight to the driver: the ORM's types would keep the event loop twice as long.
            await connection.exec_driver_sql(self._insert, list(batch))


def _insert(database: Database) -> str:
    """Write the statement in the driver's own words; its parameters come in the columns' order."""
    dialect = sqlite if database.path is not None else postgresql
    insert = dialect.insert(DecisionRow).on_conflict_do_nothing()
    return str(insert.compile(dialect=database.writer.dialect, column_keys=_COLUMNS))
