"""How long decisions are kept: whole days, dropped in small batches by one process at a time."""

import asyncio
from collections.abc import Callable

from sqlalchemy import delete, select
from sqlmodel import col

from gateway.audit.chain import DAY
from gateway.store.background import repeat
from gateway.store.database import Database
from gateway.store.leases import Leases
from gateway.store.tables import DecisionRow

BATCH = 1000  # rows in one transaction, so that other writers hardly wait
TURN = 20.0  # seconds that one turn lasts at most; a lease is good for 30
FIRST = 60.0  # seconds until the first turn
PAUSE = 3600.0  # seconds between turns


class Retention:
    """Drops the rows of days that are over. One per process."""

    def __init__(self, database: Database, *, days: int, clock: Callable[[], int]) -> None:
        """*clock* is in milliseconds since the epoch."""
        self._database = database
        self._days = days
        self._clock = clock
        self._leases = Leases(database)

    async def watch(self) -> None:
        """Drop what is too old, every hour."""
        failing = "old decisions could not be dropped"
        await repeat(
            self._turn, pause_seconds=PAUSE, failure_message=failing, first_pause_seconds=FIRST
        )

    async def _turn(self) -> None:
        async with self._leases.hold("decisions"):
            await self.drop()

    async def drop(self) -> int:
        """
        Drop rows for one turn; return how many.

        Days (UTC) go as a whole, so that the chains of those that stay are complete.
        """
        now = self._clock()
        today = now - now % DAY
        loop = asyncio.get_running_loop()
        ends, dropped = loop.time() + TURN, 0
        while loop.time() < ends:
            gone = await self._some(today - self._days * DAY)
            dropped += gone
            if gone < BATCH:
                break
        return dropped

    async def _some(self, until: int) -> int:
        oldest = (
            select(col(DecisionRow.id))
            .where(col(DecisionRow.at) < until)
            .order_by(col(DecisionRow.at))
            .limit(BATCH)
        )
        async with self._database.writing() as session:
            gone = await session.exec(delete(DecisionRow).where(col(DecisionRow.id).in_(oldest)))
        return int(gone.rowcount)
