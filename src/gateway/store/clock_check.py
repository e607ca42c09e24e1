"""Comparison of this machine's clock with the database's, at the start and every minute."""

import logging
from contextlib import AbstractAsyncContextManager

from sqlalchemy import select

from gateway.errors import CommandError
from gateway.store.background import PeriodicTask, running_tasks
from gateway.store.clock import MAX_DIFFERENCE_MS, as_column
from gateway.store.database import Database
from gateway.store.timestamps import ClockMs, now_ms

log = logging.getLogger("gateway")

CHECK_SECONDS = 60.0


class ClockCheck:
    """Sets `agrees` of the database's clock. One per process."""

    def __init__(self, database: Database, *, clock: ClockMs = now_ms) -> None:
        """*clock* is the machine's."""
        self._database = database
        self._clock = clock

    async def require_agreement(self) -> None:
        """
        Compare the clocks.

        Raises:
            CommandError: They differ by more than `MAX_DIFFERENCE_MS`.
            StorageUnavailable: The database did not answer.
        """
        ahead_ms = await self.compare()
        if not self._database.clock.agrees:
            direction = "ahead of" if ahead_ms > 0 else "behind"
            raise CommandError(
                f"The clock of this machine is {abs(ahead_ms) / 1000:.1f} seconds {direction} the "
                f"database's; at most {MAX_DIFFERENCE_MS // 1000} are allowed. Set it by NTP."
            )

    async def compare(self) -> float:
        """
        Return by how many milliseconds this machine's clock is ahead; 0 on SQLite.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        clock = self._database.clock
        if not clock.of_server:
            return 0.0
        async with self._database.reading() as session:
            await session.connection()  # a new connection takes time
            before = self._clock()
            server = await session.scalar(select(as_column(clock.now())))
            after = self._clock()
        # The server read its clock at some moment between *before* and *after*.
        ahead_ms = (before + after) / 2 - (server or 0)
        clock.agrees = abs(ahead_ms) <= MAX_DIFFERENCE_MS + (after - before) / 2
        return ahead_ms

    async def watch(self) -> None:
        """
        Compare the clocks, and log when they begin to differ.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        agreed, ahead_ms = self._database.clock.agrees, await self.compare()
        if agreed and not self._database.clock.agrees:
            log.error("the clock differs from the database's", extra={"milliseconds": ahead_ms})

    def running(self) -> AbstractAsyncContextManager[None]:
        """Compare the clocks periodically."""
        return running_tasks(
            PeriodicTask(
                name="clock",
                work=self.watch,
                pause_seconds=CHECK_SECONDS,
                failure_message="the clock could not be compared with the database's",
            )
        )
