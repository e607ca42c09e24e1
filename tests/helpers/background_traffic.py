"""Callers that send requests continuously during a failure, and the responses with their times."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from raw_http import Line


@dataclass(frozen=True)
class Seen:
    """One call; *status* is 0 when the connection ended instead. Moments are monotonic seconds."""

    kind: str
    began: float
    ended: float
    status: int
    body: bytes


@dataclass
class Traffic:
    """The calls that were answered so far."""

    seen: list[Seen] = field(default_factory=list)
    answered: asyncio.Condition = field(default_factory=asyncio.Condition)

    def between(self, start: float, end: float) -> list[Seen]:
        """Return the calls that began in that time."""
        return [call for call in self.seen if start <= call.began < end]

    def statuses(self) -> Mapping[str, Counter[int]]:
        """Return the number of responses per status, by kind."""
        counts: dict[str, Counter[int]] = {}
        for call in self.seen:
            counts.setdefault(call.kind, Counter())[call.status] += 1
        return counts

    async def until(self, wanted: Callable[[Seen], bool], seconds: float = 120) -> Seen:
        """Wait for a call that begins from now on and is as *wanted*."""
        now, at = time.monotonic(), len(self.seen)
        try:
            async with asyncio.timeout(seconds), self.answered:
                while True:
                    for call in self.seen[at:]:
                        if call.began >= now and wanted(call):
                            return call
                    at = len(self.seen)
                    await self.answered.wait()
        except TimeoutError:
            raise AssertionError(f"waited in vain; so far: {self.statuses()}") from None

    async def keep(self, port: int, kind: str, written: Callable[[], bytes], pause: float) -> None:
        """Ask again and again."""
        line = None
        try:
            while True:
                began, status, body = time.monotonic(), 0, b""
                try:
                    line = line or await Line.open(port)
                    status, body = await line.ask(written())
                except OSError:
                    line = None
                async with self.answered:
                    self.seen.append(Seen(kind, began, time.monotonic(), status, body))
                    self.answered.notify_all()
                await asyncio.sleep(pause)
        finally:
            if line is not None:
                line.close()


@asynccontextmanager
async def traffic(
    ports: Sequence[int],
    requests: Mapping[str, Callable[[], bytes]],
    *,
    each: int = 3,
    pause: float = 0.02,
) -> AsyncIterator[Traffic]:
    """Let *each* callers per port and kind of request ask, with a *pause* (seconds) between."""
    made = Traffic()
    callers = [
        asyncio.create_task(made.keep(port, kind, written, pause))
        for port in ports
        for kind, written in requests.items()
        for _ in range(each)
    ]
    try:
        yield made
    finally:
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        await asyncio.sleep(0)  # transports close their sockets in the loop's next round


def longest(calls: Sequence[Seen]) -> float:
    """Return how many seconds the slowest of *calls* took."""
    return max(call.ended - call.began for call in calls)


def crowded(calls: Sequence[Seen], seconds: float) -> int:
    """Return how many of *calls* lie at most in one stretch of *seconds*, from begin to end."""
    most = 0
    for first in calls:
        until = first.began + seconds
        most = max(most, sum(call.began >= first.began and call.ended <= until for call in calls))
    return most
