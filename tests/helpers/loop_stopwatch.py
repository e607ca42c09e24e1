"""
The longest turn of the event loop: how long other requests wait while one callback runs.

The time is CPU time of the loop's thread, which a busy machine does not change much. Work in other
threads is not counted: a hostile server of a test belongs in a thread of its own (or is excluded by
*excluded*), else its work is the gateway's.

    with loop_stopwatch.running() as watch:
        await client.get("/api/access/email/messages")
    watch.longest  # seconds

A test below `tests/stalls` has `pytestmark = pytest.mark.stall`, runs by `./run stalls`, and takes
the fixture `stalls` (`tests/stalls/conftest.py`):

    async def test_a_long_list_of_folders(stalls):
        await stalls.measure("IMAP: 300,000 folders", lambda: client.get("/api/…"))

A shared machine is slow for moments, also in CPU time. So each try is timed beside a fixed piece of
work, and its figure is what the turn would take at the fastest speed that the run has seen; a call
whose turn is too long is repeated, and the least figure counts. The test fails at its end if a call
held the loop for more than `MOST_SECONDS` in every try, and `./run stalls` prints the worst ten
figures of all tests. A call that may not be made twice is timed by `running` and noted by
`stalls.note(name, seconds)`.
"""

import asyncio
import gc
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

MOST_SECONDS = 0.1  # docs/spec/limits.md#cpu-of-a-request
TRIES = 5


class Stopwatch:
    """
    Times the turns of the event loops of one thread.

    Attributes:
        longest: Seconds of the longest turn so far.
    """

    def __init__(self, excluded: Callable[[], float]) -> None:
        self.longest = 0.0
        self._excluded = excluded
        self._began: float | None = None

    def start_turn(self) -> None:
        """Begin a turn; the part of the turn in which the watch was started ends here."""
        self.end_turn()
        self._began = self._now()

    def end_turn(self) -> None:
        """End the turn that goes on, if any."""
        if self._began is not None:
            self.longest = max(self.longest, self._now() - self._began)
        self._began = None

    def _now(self) -> float:
        return time.thread_time() - self._excluded()


@contextmanager
def running(excluded: Callable[[], float] = lambda: 0.0) -> Iterator[Stopwatch]:
    """
    Time the turns of the event loops of this thread, in the loop or outside of it.

    The garbage collector waits: the heap of the tests is not the gateway's.

    Args:
        excluded: Returns the CPU seconds, so far, of work in this thread that does not count.
    """
    run, thread, watch = asyncio.Handle._run, threading.get_ident(), Stopwatch(excluded)

    def timed(handle: asyncio.Handle) -> None:
        if threading.get_ident() != thread:
            return run(handle)
        watch.start_turn()
        try:
            return run(handle)
        finally:
            watch.end_turn()

    collects = gc.isenabled()
    gc.disable()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(asyncio.Handle, "_run", timed)
            if asyncio._get_running_loop() is not None:
                watch.start_turn()
            yield watch
            watch.end_turn()
    finally:
        if collects:
            gc.enable()


class Stalls:
    """
    The figures of a test.

    Attributes:
        seconds: Name of a call -> seconds of its longest turn; the worst of calls of one name.
    """

    def __init__(self, excluded: Callable[[], float] = lambda: 0.0) -> None:
        """*excluded*: As of `running`, for all calls; those of a call are added."""
        self.seconds: dict[str, float] = {}
        self._excluded = excluded

    def _tries(self, excluded: Callable[[], float]) -> "_Tries":
        return _Tries(lambda: self._excluded() + excluded())

    def note(self, name: str, seconds: float) -> None:
        """Note the longest turn of a call."""
        self.seconds[name] = max(seconds, self.seconds.get(name, 0.0))

    async def measure(
        self, name: str, call: Callable[[], Awaitable[Any]], *, excluded: Callable = lambda: 0.0
    ) -> Any:
        """Make a call, again while it holds the loop too long; return what it returned last."""
        tries = self._tries(excluded)
        for watched in tries:
            with watched:
                result = await call()
        self.note(name, tries.least)
        return result

    def measure_sync(
        self, name: str, call: Callable[[], Any], *, excluded: Callable = lambda: 0.0
    ) -> Any:
        """Do the same with a call that runs the loop itself."""
        tries = self._tries(excluded)
        for watched in tries:
            with watched:
                result = call()
        self.note(name, tries.least)
        return result

    def too_long(self) -> dict[str, int]:
        """Return the milliseconds of each call that held the loop too long."""
        return {
            name: round(seconds * 1000)
            for name, seconds in self.seconds.items()
            if seconds > MOST_SECONDS
        }


_WORK = b"[%s]" % b",".join(
    b'{"id":"%06d","name":"a name","size":%d}' % (n, n) for n in range(3000)
)
_fastest = float("inf")  # seconds of the work so far


def slowdown() -> float:
    """Return how many times as long the work takes now as at the fastest moment so far."""
    global _fastest  # noqa: PLW0603 - of the process, whose tests share a machine
    seconds = float("inf")
    for _ in range(3):
        began = time.thread_time()
        json.loads(_WORK)
        seconds = min(seconds, time.thread_time() - began)
    _fastest = min(_fastest, seconds)
    return seconds / _fastest


class _Tries:
    """
    Stopwatches for the tries of a call, until one is short enough.

    Attributes:
        least: Seconds of the longest turn of the best try.
    """

    def __init__(self, excluded: Callable[[], float]) -> None:
        self.least = float("inf")
        self._excluded = excluded

    def __iter__(self) -> Iterator[AbstractContextManager[None]]:
        for _ in range(TRIES):
            yield self._watched()
            if self.least <= MOST_SECONDS:
                return

    @contextmanager
    def _watched(self) -> Iterator[None]:
        before = slowdown()
        with running(self._excluded) as watch:
            yield
        self.least = min(self.least, watch.longest / min(before, slowdown()))
