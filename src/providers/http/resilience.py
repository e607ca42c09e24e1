"""
What is remembered of a connection's upstream, so that a bad day there does not get worse by us.

A breaker, a retry budget, the throttle upstream asked for, and a number of places. All of it is per
connection and origin, in this process.
"""

import asyncio
import math
import time
from collections import deque
from dataclasses import dataclass
from typing import Protocol

from providers.failures import Throttled, Unreachable
from providers.http.retry_after import MAX_SECONDS


class Clock(Protocol):
    """The one source of time."""

    def monotonic(self) -> float:
        """Seconds that only grow."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""


class SystemClock:
    """The real one."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class CircuitOpen(Unreachable):
    """The breaker is open: upstream has failed too often to be asked now."""


@dataclass(frozen=True, slots=True)
class Permit:
    """Leave to make one call, to be settled once."""

    generation: int
    probe: bool


class CircuitBreaker:
    """
    Stops calls for a while when at least half of them fail.

    Closed, it counts the outcomes of the last ten seconds. Open, it refuses. After a rest it lets
    one probe through, whose outcome closes or opens it again. A cancelled call says nothing.
    """

    WINDOW = 10.0  # seconds
    CALLS = 20  # too few below
    SHARE = 0.5  # of failures
    REST = 5.0  # seconds until the probe

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._outcomes: deque[tuple[float, bool]] = deque()
        self._failures = 0
        self._generation = 0  # counts the changes between open and closed
        self._opened: float | None = None
        self._probing = False

    @property
    def open(self) -> bool:
        return self._opened is not None

    def admit(self) -> Permit:
        """
        Ask for leave to call.

        Raises:
            Resting: Not now.
        """
        if self._opened is None:
            return Permit(self._generation, probe=False)
        if self._probing or self._clock.monotonic() < self._opened + self.REST:
            raise CircuitOpen
        self._probing = True
        return Permit(self._generation, probe=True)

    def settle(self, permit: Permit, *, succeeded: bool | None) -> None:
        """Report how a call went; *succeeded* None: it was cancelled."""
        if permit.generation != self._generation:
            return  # begun before the last change: old news
        if permit.probe:
            self._probing = False
            if succeeded is not None:
                self._change(to_open=not succeeded)
        elif succeeded is not None:
            self._count(succeeded=succeeded)

    def _count(self, *, succeeded: bool) -> None:
        now = self._clock.monotonic()
        self._outcomes.append((now, succeeded))
        self._failures += not succeeded
        while self._outcomes[0][0] <= now - self.WINDOW:
            _, was_success = self._outcomes.popleft()
            self._failures -= not was_success
        calls = len(self._outcomes)
        if calls >= self.CALLS and self._failures >= calls * self.SHARE:
            self._change(to_open=True)

    def _change(self, *, to_open: bool) -> None:
        self._generation += 1
        self._opened = self._clock.monotonic() if to_open else None
        self._outcomes.clear()
        self._failures = 0


class RetryBudget:
    """Grants one retry per ten calls, and a few to begin with."""

    SHARE = 0.1
    MOST = 5.0

    def __init__(self) -> None:
        self._left = self.MOST

    def deposit(self) -> None:
        """Count a call that might be retried."""
        self._left = min(self.MOST, self._left + self.SHARE)

    def withdraw(self) -> bool:
        """Take one retry; say whether there was one."""
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Throttle:
    """Until when upstream asked to be left alone."""

    LONGEST_GUESS = 60  # seconds; a per-minute quota is over by then

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until = 0.0
        self._guess = 1

    def check(self) -> None:
        """
        Raises:
            Throttled: The time is not over.
        """
        left = self._until - self._clock.monotonic()
        if left > 0:
            raise Throttled(math.ceil(left))

    def remember(self, seconds: int | None) -> Throttled:
        """Refuse for *seconds* (None: upstream named none); return what to raise."""
        if seconds is None:
            seconds = self._guess
            self._guess = min(self.LONGEST_GUESS, self._guess * 2)
        seconds = max(1, min(seconds, MAX_SECONDS))
        self._until = max(self._until, self._clock.monotonic() + seconds)
        return Throttled(seconds)

    def passed(self) -> None:
        """Upstream answered again."""
        self._guess = 1


class Health:
    """All that is known of one connection at one origin."""

    def __init__(self, clock: Clock, concurrency: int) -> None:
        """Allow *concurrency* calls at once."""
        self.breaker = CircuitBreaker(clock)
        self.budget = RetryBudget()
        self.throttle = Throttle(clock)
        self.slots = asyncio.Semaphore(concurrency)
