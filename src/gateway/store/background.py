"""What no answer waits for: small writes, and watches that go on while the process serves."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from gateway.store.database import StorageUnavailable

log = logging.getLogger("gateway")


class BackgroundJobs:
    """Runs small jobs of this process; one per key at a time."""

    def __init__(self) -> None:
        self._jobs: dict[object, asyncio.Task[None]] = {}

    def run(self, key: object, job: Coroutine[Any, Any, None]) -> None:
        """Start *job*, unless one of the same *key* is under way."""
        if key in self._jobs:
            job.close()
            return
        task = asyncio.get_running_loop().create_task(_quietly(job))
        self._jobs[key] = task
        task.add_done_callback(lambda _: self._jobs.pop(key, None))

    async def drain(self) -> None:
        """Wait for everything that was started."""
        while self._jobs:
            await asyncio.gather(*self._jobs.values(), return_exceptions=True)


@asynccontextmanager
async def running_tasks(*watches: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run *watches*, which go on until they are cancelled, for as long as the block runs."""
    tasks = [asyncio.create_task(watch) for watch in watches]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                log.error("a watch broke off", extra={"kind": type(ended).__name__})


async def repeat(
    work: Callable[[], Awaitable[object]],
    *,
    pause: float,
    failing: str,
    first: float | None = None,
) -> None:
    """
    Do *work* again and again, *pause* seconds apart: a watch for `running_tasks`.

    Args:
        work: What it raises ends its round alone.
        pause: Between the end of one round and the next.
        failing: What is said then.
        first: Seconds until the first round; None: a pause as well.
    """
    await asyncio.sleep(pause if first is None else first)
    while True:
        try:
            await work()
        except Exception as failure:  # noqa: BLE001 - whatever it was, the next round may do
            log.warning(failing, extra={"kind": type(failure).__name__})
        await asyncio.sleep(pause)


async def _quietly(job: Coroutine[Any, Any, None]) -> None:
    try:
        await job
    except StorageUnavailable:
        log.warning("a background write did not get through")
