"""Deletion of old decision rows: whole days, in small batches, by one process at a time."""

import asyncio

from sqlalchemy import ColumnElement, delete, func, select
from sqlmodel import col

from gateway.audit.chain import DAY_MS
from gateway.store import timestamps
from gateway.store.background import PeriodicTask
from gateway.store.cleanup import return_pages
from gateway.store.clock import StatementClock
from gateway.store.conflicts import retried
from gateway.store.database import Database
from gateway.store.further_tables import DecisionHead
from gateway.store.leases import Leases
from gateway.store.tables import DecisionRow, DecisionSeal

BATCH = 1000  # rows per transaction, so that other writers hardly wait
MAX_RUN_SECONDS = 20.0  # the lease is valid for 30
FIRST_PAUSE_SECONDS = 60.0
PAUSE_SECONDS = 3600.0


class Retention:
    """Deletes rows older than the retention period. One per process."""

    def __init__(
        self, database: Database, *, days: int, clock: StatementClock | None = None
    ) -> None:
        """*clock* is the database's; tests have their own."""
        self._database = database
        self._days = days
        self._now = clock or database.clock.now
        self._leases = Leases(database)

    @property
    def task(self) -> PeriodicTask:
        """The deletion of old rows every hour."""
        return PeriodicTask(
            name="decision_retention",
            work=self._drop_alone,
            pause_seconds=PAUSE_SECONDS,
            first_pause_seconds=FIRST_PAUSE_SECONDS,
            failure_message="old decisions could not be dropped",
        )

    async def _drop_alone(self) -> None:
        """Delete for as long as there are old rows; the lease may change hands between two runs."""
        dropped = BATCH
        while dropped and dropped % BATCH == 0:  # the last batch was a full one
            async with self._leases.hold("decisions"):
                dropped = await self.drop()

    async def drop(self) -> int:
        """
        Delete old rows for at most `MAX_RUN_SECONDS`; return how many.

        Only whole UTC days are deleted, so that the chains of the remaining days are complete; and
        only what a newer row confirms is old enough: a wrong clock alone deletes nothing.
        """
        if not self._database.clock.is_trusted:
            return 0
        loop = asyncio.get_running_loop()
        deadline, total = loop.time() + MAX_RUN_SECONDS, 0
        while (began := loop.time()) < deadline:
            deleted = await self._delete_batch()
            total += deleted
            await asyncio.sleep(loop.time() - began)  # requests have half of the database
            if deleted < BATCH:
                await self._delete_ends()
                if total:
                    await return_pages(self._database)
                break
        return total

    @retried
    async def _delete_ends(self) -> None:
        """
        Delete seals and heads of days that have no rows any more: a chain's name begins with one.

        Heads within the retention period stay: rows that are missing there were not deleted here.
        """
        ends = select(func.min(DecisionRow.at), func.max(DecisionRow.at))
        async with self._database.writing() as session:
            oldest, newest = (await (await session.connection()).execute(ends)).one()
            if oldest is None:
                return
            first_day = _text_of_day(oldest)
            expired = min(first_day, _text_of_day(max(0, newest - self._days * DAY_MS)))
            await session.exec(delete(DecisionSeal).where(col(DecisionSeal.chain) < first_day))
            await session.exec(delete(DecisionHead).where(col(DecisionHead.chain) < expired))

    @retried
    async def _delete_batch(self) -> int:
        at, kept_ms = col(DecisionRow.at), self._days * DAY_MS
        newest = select(func.max(DecisionRow.at)).scalar_subquery()
        oldest = (
            select(col(DecisionRow.id))
            .where(at < _day(self._now()) - kept_ms, at < _day(newest) - kept_ms)
            .order_by(at)
            .limit(BATCH)
        )
        async with self._database.writing() as session:
            deleted = await session.exec(delete(DecisionRow).where(col(DecisionRow.id).in_(oldest)))
        return int(deleted.rowcount)


def _day(moment: int | ColumnElement[int]) -> int | ColumnElement[int]:
    """Return the first millisecond of the UTC day of *moment*."""
    return moment - moment % DAY_MS


def _text_of_day(moment: int) -> str:
    return timestamps.to_text(moment)[:10]
