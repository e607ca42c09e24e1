"""Deletion of old decision rows: whole days, in small batches, by one process at a time."""

import asyncio

from sqlalchemy import delete, select
from sqlmodel import col

from gateway.audit.chain import DAY_MS
from gateway.store.background import repeat
from gateway.store.database import Database
from gateway.store.leases import Leases
from gateway.store.tables import DecisionRow
from gateway.store.timestamps import ClockMs

BATCH = 1000  # rows per transaction, so that other writers hardly wait
MAX_RUN_SECONDS = 20.0  # the lease is valid for 30
FIRST_PAUSE_SECONDS = 60.0
PAUSE_SECONDS = 3600.0


class Retention:
    """Deletes rows older than the retention period. One per process."""

    def __init__(self, database: Database, *, days: int, clock: ClockMs) -> None:
        self._database = database
        self._days = days
        self._clock = clock
        self._leases = Leases(database)

    async def run_hourly(self) -> None:
        """Delete old rows every hour, until cancelled."""
        await repeat(
            self._drop_alone,
            pause_seconds=PAUSE_SECONDS,
            failure_message="old decisions could not be dropped",
            first_pause_seconds=FIRST_PAUSE_SECONDS,
        )

    async def _drop_alone(self) -> None:
        async with self._leases.hold("decisions"):
            await self.drop()

    async def drop(self) -> int:
        """
        Delete old rows for at most `MAX_RUN_SECONDS`; return how many.

        Only whole UTC days are deleted, so that the chains of the remaining days are complete.
        """
        now = self._clock()
        today = now - now % DAY_MS
        loop = asyncio.get_running_loop()
        deadline, total = loop.time() + MAX_RUN_SECONDS, 0
        while loop.time() < deadline:
            deleted = await self._delete_batch(today - self._days * DAY_MS)
            total += deleted
            if deleted < BATCH:
                break
        return total

    async def _delete_batch(self, until_ms: int) -> int:
        oldest = (
            select(col(DecisionRow.id))
            .where(col(DecisionRow.at) < until_ms)
            .order_by(col(DecisionRow.at))
            .limit(BATCH)
        )
        async with self._database.writing() as session:
            deleted = await session.exec(delete(DecisionRow).where(col(DecisionRow.id).in_(oldest)))
        return int(deleted.rowcount)
