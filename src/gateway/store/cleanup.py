"""Hourly deletion of expired rows, by one process at a time."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from gateway.store.background import PeriodicTask, for_each, running_tasks
from gateway.store.leases import Leases

HOUR = 3600.0  # seconds between two runs, over all processes
_CHECK_SECONDS = 600.0  # between two checks of one process whether a run is due

Sweep = Callable[[], Awaitable[object]]


class HourlyCleanup:
    """Runs the sweeps of tables that nothing else keeps small. One per process."""

    def __init__(self, leases: Leases, *sweeps: Sweep) -> None:
        """*sweeps* run in the given order."""
        self._leases = leases
        self._sweeps = sweeps

    def running(self) -> AbstractAsyncContextManager[None]:
        """Check periodically whether a run is due."""
        return running_tasks(
            PeriodicTask(
                name="cleanup",
                work=self.run_if_due,
                pause_seconds=_CHECK_SECONDS,
                failure_message="old rows could not be taken out",
            )
        )

    async def run_if_due(self) -> bool:
        """
        Run all sweeps unless some process did within the hour; return whether they ran.

        A sweep that fails keeps none of the others from running.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        if not await self._leases.take_turn("hourly sweep", HOUR):
            return False
        await for_each(self._sweeps, lambda sweep: sweep())
        return True
