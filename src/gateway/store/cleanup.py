"""Rows whose time is over are taken out: once an hour, by one process."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from gateway.store.background import repeat, running_tasks
from gateway.store.leases import Leases

HOUR = 3600.0  # seconds between two sweeps, by all processes together
TICK = 600.0  # seconds between two looks of one process whether it is time

Sweep = Callable[[], Awaitable[object]]


class HourlyCleanup:
    """Sweeps tables that nobody else keeps small. One per process."""

    def __init__(self, leases: Leases, *sweeps: Sweep) -> None:
        """*sweeps* are what is to be done, in that order."""
        self._leases = leases
        self._sweeps = sweeps

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look again and again, meanwhile."""
        async with running_tasks(
            repeat(self.look, pause=TICK, failing="old rows could not be taken out")
        ):
            yield

    async def look(self) -> bool:
        """
        Sweep if it is this process's turn; return whether it was.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        if not await self._leases.turn("hourly sweep", HOUR):
            return False
        for sweep in self._sweeps:
            await sweep()
        return True
