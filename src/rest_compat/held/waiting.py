"""Requests that wait for the end of a held write: one look a second, however many wait."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection

POLL_SECONDS = 1.0
MAX_WAITING = 200  # requests of one process
MAX_WAITING_OF_TOKEN = 8

FindEnded = Callable[[Collection[str]], Awaitable[Collection[str]]]


class Waiting:
    """The requests of this process that wait. One per process."""

    def __init__(self, find_ended: FindEnded) -> None:
        """*find_ended* returns those of some ids whose writes have ended."""
        self._find_ended = find_ended
        self._events: dict[str, list[asyncio.Event]] = {}
        self._tokens: Counter[int] = Counter()
        self._poller: asyncio.Task[None] | None = None

    async def wait(self, write_id: str, token_id: int, seconds: float) -> None:
        """Return when the write has ended, after *seconds*, or at once if too many wait."""
        if self._tokens.total() >= MAX_WAITING or self._tokens[token_id] >= MAX_WAITING_OF_TOKEN:
            return
        event = asyncio.Event()
        self._events.setdefault(write_id, []).append(event)
        self._tokens[token_id] += 1
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll())
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass
        finally:
            self._tokens[token_id] -= 1
            self._events[write_id].remove(event)
            if not self._events[write_id]:
                del self._events[write_id]

    def ended(self, write_ids: Collection[str]) -> None:
        """Wake the requests that wait for *write_ids*."""
        for write_id in write_ids:
            for event in self._events.get(write_id, ()):
                event.set()

    async def _poll(self) -> None:
        """Ask for all together, until nobody waits."""
        while self._events:
            await asyncio.sleep(POLL_SECONDS)
            if self._events:
                self.ended(await self._find_ended(list(self._events)))
