"""
Timeouts of single steps, such as the wait for a response, by one timer of the event loop.

Nearly every wait ends long before its timeout, so waits of the same length stand in a row, and the
timer is that of the first. A timer for each wait would cost more than the wait.
"""

import asyncio

import httpx


class StepTimer:
    """The waits of *seconds* in one event loop."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        # When each wait ends, the next first, and the exception that ends it.
        self._waits: dict[asyncio.Future[None], tuple[float, type[httpx.TimeoutException]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def start(self, wait: asyncio.Future[None], expired: type[httpx.TimeoutException]) -> None:
        """End *wait* with *expired* after the time of a step."""
        loop = wait.get_loop()
        due = loop.time() + self._seconds
        self._waits[wait] = due, expired
        if self._timer is None:
            self._timer = loop.call_at(due, self._expire)

    def stop(self, wait: asyncio.Future[None]) -> None:
        """Forget *wait*, which is over."""
        self._waits.pop(wait, None)

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self._timer = None
        while self._waits:
            wait, (due, expired) = next(iter(self._waits.items()))
            loop = wait.get_loop()
            if due > loop.time():
                self._timer = loop.call_at(due, self._expire)
                return
            del self._waits[wait]
            if not wait.done():
                wait.set_exception(expired("The time for this step is over."))
