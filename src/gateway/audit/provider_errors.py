"""
Answers of providers behind refused requests, sealed, for administrators.

Rows wait in a bounded queue in memory: requests never wait for the database, and the oldest rows
are dropped when it does not answer for long. See docs/spec/management.md#provider-errors.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import islice
from typing import NamedTuple

from sqlmodel import col, select

from gateway.audit.batches import store_or_discard
from gateway.audit.chain import DAY_MS
from gateway.secrets.keyring import Keyring
from gateway.store.background import PeriodicTask, running_tasks
from gateway.store.cleanup import delete_in_slices
from gateway.store.clock import StatementClock
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import ProviderErrorRow
from gateway.store.timestamps import ClockMs, now_ms
from providers.http.failed_responses import FailedResponse

log = logging.getLogger("gateway")

CAPACITY = 500  # rows in memory
BATCH = 100  # rows per transaction
BATCH_DELAY_SECONDS = 0.5
RETRY_SECONDS = 5.0
SHUTDOWN_TIMEOUT_SECONDS = 2.0
MAX_ROWS = 50  # that are listed: callers may use a request id more than once


class ProviderError(NamedTuple):
    """
    One answer of an upstream. Members are the columns of `provider_errors`, in order.

    Attributes:
        text: Printable; None: its key is not in the ring any more.
    """

    request_id: str
    at: int
    connection_id: int | None
    provider: str
    status: int | None
    code: str
    text: str | None


def seal_context(request_id: str) -> bytes:
    """Return the context that the texts of a request are sealed for."""
    return f"provider error of {request_id}".encode()


class ProviderErrorLog:
    """Queues rows and stores them. One per process."""

    def __init__(
        self,
        database: Database,
        keyring: Keyring,
        *,
        days: int,
        clock: ClockMs = now_ms,
        sweep_clock: StatementClock | None = None,
    ) -> None:
        """*days*: retention period; 0 stores nothing. *sweep_clock*: None: the database's."""
        self._database = database
        self._keyring = keyring
        self._days = days
        self._clock = clock
        self._now = sweep_clock or database.clock.now
        self._queue = deque[ProviderErrorRow](maxlen=CAPACITY)
        self._has_rows = asyncio.Event()
        self._storing = asyncio.Lock()

    def write(self, request_id: str, code: str, responses: Sequence[FailedResponse]) -> None:
        """Queue the failed responses behind a request that ended with *code*, oldest first."""
        if not self._days:
            return
        at, context = self._clock(), seal_context(request_id)
        self._queue.extend(
            ProviderErrorRow(
                request_id=request_id,
                at=at,
                connection_id=_connection_id(response.connection),
                provider=response.upstream,
                status=response.status,
                code=str(code),
                reason=self._keyring.seal(response.text.encode(), context=context),
            )
            for response in responses
        )
        self._has_rows.set()

    async def flush(self) -> None:
        """
        Store every row that is queued now.

        Raises:
            StorageUnavailable: The rows stay queued.
        """
        async with self._storing:
            while self._queue:
                batch = list(islice(self._queue, BATCH))
                await store_or_discard(batch, self._store, _log_discarded)
                for row in batch:  # the oldest may have been dropped meanwhile
                    if self._queue and self._queue[0] is row:
                        self._queue.popleft()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Store queued rows periodically, and the last ones at the end."""
        task = PeriodicTask(
            name="provider_errors",
            work=self._store_next,
            pause_seconds=0,
            retry_seconds=RETRY_SECONDS,
            failure_message="responses of providers could not be stored yet",
        )
        try:
            async with running_tasks(task):
                yield
        finally:
            with suppress(TimeoutError, StorageUnavailable):
                async with asyncio.timeout(SHUTDOWN_TIMEOUT_SECONDS):
                    await self.flush()

    async def sweep(self) -> int:
        """Delete rows older than the retention period; return how many."""
        if not self._database.clock.is_trusted:
            return 0
        at = col(ProviderErrorRow.at)
        is_expired = at <= self._now() - self._days * DAY_MS
        return await delete_in_slices(self._database, ProviderErrorRow, is_expired, by=at)

    async def _store_next(self) -> None:
        await self._has_rows.wait()
        await asyncio.sleep(BATCH_DELAY_SECONDS)
        await self.flush()
        if not self._queue:
            self._has_rows.clear()

    @retried
    async def _store(self, batch: Sequence[ProviderErrorRow]) -> None:
        async with self._database.writing() as session:
            session.add_all([ProviderErrorRow(**row.model_dump()) for row in batch])


async def of_request(
    database: Database, keyring: Keyring, request_id: str
) -> Sequence[ProviderError]:
    """Return the stored responses behind requests of an id, at most `MAX_ROWS`, oldest first."""
    query = (
        select(ProviderErrorRow)
        .where(col(ProviderErrorRow.request_id) == request_id)
        .order_by(col(ProviderErrorRow.id).desc())
        .limit(MAX_ROWS)
    )
    async with database.reading() as session:
        rows = (await session.exec(query)).all()
    return [
        ProviderError(
            row.request_id,
            row.at,
            row.connection_id,
            row.provider,
            row.status,
            row.code,
            _text(row, keyring),
        )
        for row in reversed(rows)
    ]


def _log_discarded(failure: Exception) -> None:
    extra = {"kind": type(failure).__name__, "count": 1}
    log.error("responses of providers cannot be stored", extra=extra)


def _connection_id(connection: int | str | None) -> int | None:
    """Return the id of the connection, also of the calls of its token endpoint: `token:7`."""
    number = str(connection).rpartition(":")[2]
    return int(number) if number.isdecimal() else None


def _text(row: ProviderErrorRow, keyring: Keyring) -> str | None:
    try:
        return keyring.unseal(row.reason, context=seal_context(row.request_id)).decode()
    except ValueError:
        return None
