"""Asynchronous jobs that no response waits for, and loops that run while the process serves."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from gateway.store.database import StorageUnavailable

log = logging.getLogger("gateway")

# Called with (done, total) during a long job; total is None while unknown.
ProgressListener = Callable[[int, int | None], None]


class BackgroundJobs:
    """Runs small jobs of this process, at most one per key at a time."""

    def __init__(self) -> None:
        self._tasks: dict[object, asyncio.Task[None]] = {}

    def run(self, key: object, job: Coroutine[Any, Any, None]) -> None:
        """Start *job*, unless a job with the same *key* is running."""
        if key in self._tasks:
            job.close()
            return
        task = asyncio.get_running_loop().create_task(_log_unavailable(job))
        self._tasks[key] = task
        task.add_done_callback(lambda _: self._tasks.pop(key, None))

    async def drain(self) -> None:
        while self._tasks:
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)


@asynccontextmanager
async def running_tasks(*loops: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run *loops*, which end only when cancelled, for as long as the ``with`` block runs."""
    tasks = [asyncio.create_task(loop) for loop in loops]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                log.error("a watch broke off", extra={"kind": type(result).__name__})


async def repeat(
    work: Callable[[], Awaitable[object]],
    *,
    pause_seconds: float,
    failure_message: str,
    first_pause_seconds: float | None = None,
) -> None:
    """
    Run *work* again and again; meant for `running_tasks`.

    Args:
        work: An exception ends the current run only.
        pause_seconds: Between the end of one run and the start of the next.
        failure_message: Logged as a warning when *work* raises.
        first_pause_seconds: Before the first run; None means *pause_seconds*.
    """
    await asyncio.sleep(pause_seconds if first_pause_seconds is None else first_pause_seconds)
    while True:
        try:
            await work()
        except Exception as failure:  # noqa: BLE001 - whatever it was, the next run may succeed
            log.warning(failure_message, extra={"kind": type(failure).__name__})
        await asyncio.sleep(pause_seconds)


async def _log_unavailable(job: Coroutine[Any, Any, None]) -> None:
    try:
        await job
    except StorageUnavailable:
        log.warning("a background write did not get through")
