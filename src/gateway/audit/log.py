"""
Queue of decision rows in memory, written to the table `decisions` in batches.

Requests do not wait for the database. The queue is bounded: when it is full, the oldest rows of
reads are dropped and counted. Rows of changes are never dropped: a mutation waits for capacity
before it begins, and is refused with 503 after a while, having changed nothing. Rows in memory are
lost when the process is killed: at most half a second of them. See docs/spec/limits.md#decision-log
and ADR 0013.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from sqlalchemy import Dialect

from gateway.audit import heads
from gateway.audit.batches import store_or_discard
from gateway.audit.chain import Chain, Link
from gateway.audit.decision import Decision, looks_like_id
from gateway.audit.retention import Retention
from gateway.errors import Overloaded
from gateway.secrets.keyring import Keyring
from gateway.store.background import PeriodicTask, running_tasks
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import DecisionRow
from gateway.store.timestamps import ClockMs, now_ms

log = logging.getLogger("gateway")

CAPACITY = 10_000  # rows of reads, and as many of changes
BATCH = 200  # rows per transaction; signing them blocks the event loop for about 2 ms
BATCH_DELAY_SECONDS = 0.5  # during which rows are collected for a batch
RETRY_SECONDS = 5.0  # between attempts while the database does not answer
CAPACITY_TIMEOUT_SECONDS = 2.0  # of a mutation that waits for capacity
HEAD_SECONDS = 60.0  # between two lines of the log about the end of the chain
SHUTDOWN_TIMEOUT_SECONDS = 5.0  # to store the last rows

_COLUMNS = (*Decision._fields, "chain", "number", "signature")
_statements: WeakKeyDictionary[Dialect, str] = WeakKeyDictionary()


class DecisionLog:
    """Queues rows and stores them. One per process."""

    def __init__(  # noqa: PLR0913 - keyword-only, most with a default
        self,
        database: Database,
        keyring: Keyring,
        *,
        days: int,
        clock: ClockMs = now_ms,
        on_dropped: Callable[[int], None] = lambda _: None,
        on_row: Callable[[Decision], None] = lambda _: None,
        on_head: Callable[[str, int], None] = lambda _, __: None,
    ) -> None:
        """
        Initialize an empty queue.

        Args:
            database: Stores the rows.
            keyring: Signs the rows.
            days: Retention period; 0 stores no rows.
            clock: Milliseconds since the epoch.
            on_dropped: Called with the number of rows that were dropped.
            on_row: Called with every row, stored or not.
            on_head: Called with chain and number of the last stored row, at most once a minute.
        """
        self.dropped = 0  # rows since the process started
        self.clock = clock
        self._on_dropped = on_dropped
        self._on_row = on_row
        self._on_head = on_head
        self._database = database
        self._days = days
        self._retention = Retention(database, days=days)
        self._chain = Chain(keyring)
        self._keyring = keyring
        self._stored = Link("", 0, "")  # the end of what is stored of this process's chain
        self._announced, self._announced_at = self._stored, -HEAD_SECONDS
        self._insert = _insert(database)
        self._reads = deque[Decision]()
        self._changes = deque[Decision]()
        self._batch: Sequence[tuple[object, ...]] = ()
        self._storing = asyncio.Lock()
        self._has_rows = asyncio.Event()
        self._has_capacity = asyncio.Event()

    @property
    def waiting(self) -> int:
        """The number of rows in memory."""
        return len(self._reads) + len(self._changes) + len(self._batch)

    def write(self, row: Decision, *, change: bool) -> None:
        """Queue a row; *change* means that the call was a mutation."""
        self._on_row(row)
        if not self._days:
            return
        if change:
            self._changes.append(row)
        else:
            if len(self._reads) >= CAPACITY:
                self._reads.popleft()
                self._count_dropped(1)
            self._reads.append(row)
        self._has_rows.set()

    async def wait_for_capacity(self) -> None:
        """
        Wait until the queue has capacity for the row of a mutation that is about to begin.

        Raises:
            Overloaded: There was none in time; the mutation must not run.
        """
        if len(self._changes) < CAPACITY:
            return
        try:
            async with asyncio.timeout(CAPACITY_TIMEOUT_SECONDS):
                while len(self._changes) >= CAPACITY:
                    self._has_capacity.clear()
                    await self._has_capacity.wait()
        except TimeoutError:
            raise Overloaded from None

    async def flush(self) -> None:
        """
        Store every row that is queued now.

        Raises:
            StorageUnavailable: No row is lost, and a later call stores none twice.
        """
        async with self._storing:
            remaining = self.waiting
            while remaining > 0 and self.waiting > 0:
                if not self._batch:
                    self._batch = self._link(self._next_batch())
                await store_or_discard(self._batch, self._store, self._discard)
                remaining -= len(self._batch)
                self._batch = ()
                self._has_capacity.set()
        self._announce()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Store queued rows and delete old ones periodically; store the last rows at the end."""
        if not self._days:
            yield
            return
        try:
            async with running_tasks(self._storing_task, self._retention.task):
                yield
        finally:
            try:
                async with asyncio.timeout(SHUTDOWN_TIMEOUT_SECONDS):
                    await self.flush()
                self._announced_at = -HEAD_SECONDS
                self._announce()
            except (TimeoutError, StorageUnavailable):
                count = {"count": self.waiting}
                log.error("rows of the decision log are lost", extra=count)  # noqa: TRY400

    @property
    def _storing_task(self) -> PeriodicTask:
        return PeriodicTask(
            name="decision_log",
            work=self._store_next,
            pause_seconds=0,
            retry_seconds=RETRY_SECONDS,
            failure_message="the decision log could not be stored yet",
        )

    async def _store_next(self) -> None:
        await self._has_rows.wait()
        await asyncio.sleep(BATCH_DELAY_SECONDS)
        await self.flush()
        if not self.waiting:
            self._has_rows.clear()

    def _announce(self) -> None:
        """Send out the end of the chain, from time to time, so that it can be kept elsewhere."""
        now = time.monotonic()
        if self._stored == self._announced or now - self._announced_at < HEAD_SECONDS:
            return
        self._announced, self._announced_at = self._stored, now
        self._on_head(self._stored.chain, self._stored.number)
        log.info("head of the decision log", extra={"head": heads.text_of(self._stored)})

    def _next_batch(self) -> list[Decision]:
        """Remove the rows of a batch from the queue, those of changes first."""
        rows = [self._changes.popleft() for _ in range(min(BATCH, len(self._changes)))]
        rows += [self._reads.popleft() for _ in range(min(BATCH - len(rows), len(self._reads)))]
        return rows

    def _link(self, rows: Sequence[Decision]) -> list[tuple[object, ...]]:
        """Remove resource ids that are not ids, and sign the rows, which are final from here on."""
        signed: list[tuple[object, ...]] = []
        for row in rows:
            if row.resource_id is not None and not looks_like_id(row.surface, row.resource_id):
                row = row._replace(resource_id=None)  # noqa: PLW2901 - the row without the text
            link = self._chain.link(row)
            signed.append((*row, link.chain, link.number, link.signature))
        return signed

    def _count_dropped(self, count: int) -> None:
        self.dropped += count
        self._on_dropped(count)

    def _discard(self, failure: Exception) -> None:
        self._count_dropped(1)
        extra = {"kind": type(failure).__name__, "count": 1}
        log.error("rows of the decision log cannot be stored", extra=extra)

    @retried
    async def _store(self, batch: Sequence[tuple[object, ...]]) -> None:
        """Insert rows, except those that an earlier attempt without an answer stored."""
        ends = _ends(batch)
        async with self._database.writing() as session:
            connection = await session.connection()
            # Directly to the driver: the types of the ORM would block the event loop twice as long.
            await connection.exec_driver_sql(self._insert, list(batch))
            for end in ends:
                await heads.store(self._database, session, heads.head_of(end, self._keyring))
        self._stored = ends[-1]


def _ends(batch: Sequence[tuple[object, ...]]) -> list[Link]:
    """Return the last link of each chain among rows, in their order."""
    links = (Link(*row[-3:]) for row in batch)  # type: ignore[arg-type] # `_link` made them
    return list({link.chain: link for link in links}.values())


def _insert(database: Database) -> str:
    """
    Compile the statement for the driver; its parameters are in the order of the columns.

    It is compiled once per dialect: that takes as long as opening the database.
    """
    dialect = database.writer.dialect
    if dialect not in _statements:
        insert = database.insert(DecisionRow).on_conflict_do_nothing()
        _statements[dialect] = str(insert.compile(dialect=dialect, column_keys=_COLUMNS))
    return _statements[dialect]
