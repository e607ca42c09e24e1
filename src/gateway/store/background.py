"""Loops that run while the process serves, and work over several items."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
R = TypeVar("R")

log = logging.getLogger("gateway")

# Called with (done, total) during a long job; total is None while unknown.
ProgressListener = Callable[[int, int | None], None]


# Name of a periodic task -> whether its last run succeeded. A process has one set of tasks.
last_runs: dict[str, bool] = {}


class PeriodicTask(msgspec.Struct, frozen=True, kw_only=True):
    """
    Work that is run again and again while the process serves.

    Attributes:
        name: Of the task, in `last_runs`.
        work: An exception ends the current run only.
        pause_seconds: From the end of one run to the start of the next.
        retry_seconds: The same after an exception; None means *pause_seconds*.
        first_pause_seconds: Before the first run; None means *pause_seconds*.
        failure_message: Logged as a warning when *work* raises.
    """

    name: str
    work: Callable[[], Awaitable[object]]
    pause_seconds: float
    retry_seconds: float | None = None
    first_pause_seconds: float | None = None
    failure_message: str

    async def run(self) -> None:
        """Run the work until cancelled; nothing that it raises ends the task."""
        pause = self.first_pause_seconds
        while True:
            await asyncio.sleep(self.pause_seconds if pause is None else pause)
            try:
                await self.work()
                pause, last_runs[self.name] = None, True
            except Exception as failure:  # noqa: BLE001 - whatever it was, the next run may succeed
                pause, last_runs[self.name] = self.retry_seconds, False
                log.warning(self.failure_message, extra={"kind": type(failure).__name__})


async def let_end(tasks: Iterable["asyncio.Task[None]"], seconds: float) -> None:
    """Wait *seconds* at most until *tasks* have ended; then cancel those that have not."""
    if waited := list(tasks):
        _, late = await asyncio.wait(waited, timeout=seconds)
        for task in late:
            task.cancel()
        await asyncio.gather(*waited, return_exceptions=True)


@asynccontextmanager
async def running_tasks(*tasks: PeriodicTask) -> AsyncIterator[None]:
    """Run *tasks* for as long as the ``with`` block runs."""
    running = [asyncio.create_task(task.run()) for task in tasks]
    try:
        yield
    finally:
        await cancel(running)


async def cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel *tasks* and wait for their ends."""
    cancelled = list(tasks)
    for task in cancelled:
        task.cancel()
    await asyncio.gather(*cancelled, return_exceptions=True)


async def for_each(
    items: Iterable[T], work: Callable[[T], Awaitable[R]], *, concurrent: int = 1
) -> Sequence[R]:
    """
    Run *work* for every item, *concurrent* at a time, and return the results in order.

    An exception keeps no other item from its work: the first one is raised at the end.
    """
    slots = asyncio.Semaphore(concurrent)

    async def run(item: T) -> R:
        async with slots:
            return await work(item)

    outcomes = await asyncio.gather(*map(run, items), return_exceptions=True)
    results = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return results
