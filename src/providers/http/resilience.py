"""
Circuit breaker, retry budget and throttle of one connection at one origin.

They keep this process from making an upstream's bad day worse. The rules are those of
docs/spec/reliability.md#circuit-breaker, #retries and #throttles.
"""

import asyncio
import math
import time
from collections import deque
from typing import Protocol

import msgspec

from providers.failures import Throttled, Unreachable
from providers.http.retry_after import MAX_SECONDS
from providers.http.slots import AccountSlots


class Clock(Protocol):
    """Source of time."""

    def monotonic(self) -> float:
        """Return seconds of a clock that never goes back."""

    def now(self) -> float:
        """Return Unix time in seconds."""

    async def sleep(self, seconds: float) -> None:
        """Sleep."""


class SystemClock:
    """The system's clock."""

    monotonic = staticmethod(time.monotonic)
    now = staticmethod(time.time)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class CircuitOpen(Unreachable):
    """The circuit breaker is open: upstream has failed too often to be called now."""


class Permit(msgspec.Struct, frozen=True):
    """Permission to make one call; its outcome must be reported once."""

    generation: int
    probe: bool


class CircuitBreaker:
    """
    Stops calls for a while when at least half of them fail.

    Closed, it counts the outcomes of the last `WINDOW` seconds. Open, it refuses. After `REST`
    seconds it lets one probe through, whose outcome closes or opens it again. Cancelled calls do
    not count.
    """

    WINDOW = 10.0  # seconds
    CALLS = 20  # with fewer in the window it stays closed
    SHARE = 0.5  # of failures
    REST = 5.0  # seconds until the probe

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._outcomes: deque[tuple[float, bool]] = deque()
        self._failures = 0
        self._generation = 0  # counts the changes between open and closed
        self._permit = Permit(0, probe=False)  # of all calls while it is closed
        self._opened: float | None = None
        self._probing = False

    @property
    def open(self) -> bool:
        return self._opened is not None

    def admit(self) -> Permit:
        """
        Ask to make a call.

        Raises:
            CircuitOpen: The breaker is open and not ready for a probe.
        """
        if self._opened is None:
            return self._permit
        if self._probing or self._clock.monotonic() < self._opened + self.REST:
            raise CircuitOpen
        self._probing = True
        return Permit(self._generation, probe=True)

    def settle(self, permit: Permit, *, succeeded: bool | None) -> None:
        """Report the outcome of a call; *succeeded* None: it was cancelled."""
        if permit.generation != self._generation:
            return  # the call began before the last change
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
            _, succeeded_then = self._outcomes.popleft()
            self._failures -= not succeeded_then
        calls = len(self._outcomes)
        if calls >= self.CALLS and self._failures >= calls * self.SHARE:
            self._change(to_open=True)

    def _change(self, *, to_open: bool) -> None:
        self._generation += 1
        self._permit = Permit(self._generation, probe=False)
        self._opened = self._clock.monotonic() if to_open else None
        self._outcomes.clear()
        self._failures = 0


class RetryBudget:
    """Grants one retry per ten calls, and five to begin with."""

    SHARE = 0.1
    MAX = 5.0

    def __init__(self) -> None:
        self._left = self.MAX

    def deposit(self) -> None:
        """Count a call that might be retried."""
        self._left = min(self.MAX, self._left + self.SHARE)

    def withdraw(self) -> bool:
        """Take one retry; return False when there is none."""
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Throttle:
    """
    Refuses calls until the time that upstream named in a 429 or 503.

    Attributes:
        until: On the clock's scale; 0 before the first wait.
    """

    MAX_GUESS = 60  # seconds; by then a per-minute quota is refilled

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.until = 0.0
        self._guess = self._guess_before = 1

    def check(self) -> None:
        """Raise Throttled while the wait is not over."""
        left = self.until - self._clock.monotonic()
        if left > 0:
            raise Throttled(math.ceil(left))

    def extend(self, seconds: int | None) -> Throttled:
        """
        Refuse for *seconds* and return the failure to raise.

        *seconds* None: a guess, which doubles with each until `reset`. During a wait there is no
        new guess: such calls were sent together with the one that began the wait.
        """
        now = self._clock.monotonic()
        if seconds is None:
            if now < self.until:
                return Throttled(math.ceil(self.until - now))
            seconds = self._guess
            self._guess = min(self.MAX_GUESS, self._guess * 2)
        seconds = max(1, min(seconds, MAX_SECONDS))
        self.until = max(self.until, now + seconds)
        return Throttled(seconds)

    def reset(self) -> None:
        """Start guessing anew, since upstream answered."""
        self._guess_before, self._guess = self._guess, 1

    def take_back_reset(self) -> None:
        """Guess on as before the last `reset`: the response that caused it was a throttle."""
        self._guess = max(self._guess, self._guess_before)


class Health:
    """State of one connection at one origin; *slots* belong to its account there."""

    def __init__(self, clock: Clock, slots: AccountSlots) -> None:
        self.breaker = CircuitBreaker(clock)
        self.budget = RetryBudget()
        self.throttle = Throttle(clock)
        self.slots = slots
