"""
The requests that one process let through, in sliding windows.

A single process limits with them. Among many processes they are this one's part of the shared
count: it falls back on them when the shared count is lost, and adds them to it afterwards.
"""

import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence

import msgspec

from gateway.ratelimit.windows import MICROSECONDS, UNLIMITED, WindowState, accepted, judge
from policy.quota import Charge, RateLimitResult, Window

_SWEEP_SECONDS = 60.0  # between searches for logs without requests
_SWEEP_REQUESTS = 1 << 16  # counted ones, between the same
MOST_REQUESTS = 2_000_000  # that a process keeps, 8 bytes each, 16 where they are shared


def _integers() -> "array[int]":
    return array("q")


class HitLog(msgspec.Struct):
    """
    The requests of one key, oldest first; those out of every window are dropped now and then.

    Attributes:
        windows: Those of the last charge.
        span: How long a request is kept, in microseconds: the longest window seen.
        store: The shared store that knows them, by its name; see `RedisLimiter`.
        synced: The number of the loss up to which it knows all of them.
        moments: When each came.
        numbers: What the shared store knows each as; empty when nothing is shared.
    """

    windows: tuple[Window, ...] = ()
    span: int = 0
    store: str = ""
    synced: int = -1
    moments: "array[int]" = msgspec.field(default_factory=_integers)
    numbers: "array[int]" = msgspec.field(default_factory=_integers)

    def states(self, charge: Charge, now: int, processes: int) -> list[WindowState]:
        """Return the windows of *charge* at *now*; each of *processes* has an equal part of one."""
        moments, states = self.moments, []
        count = len(moments)
        for window in charge.windows:
            span = window.seconds * MICROSECONDS
            start = bisect_right(moments, now - span)
            left = window.limit // processes - (count - start) - charge.cost
            frees_at = (moments[start] if start < count else now) + span
            # The request that must leave the window; none when the charge fits, or never will.
            fits_at = (moments[start - left - 1] if start - count <= left < 0 else now) + span
            states.append(WindowState(window, charge.cost, left, frees_at, fits_at))
        return states

    def add(self, cost: int, now: int, number: int) -> None:
        """Add *cost* requests, which the shared store knows from *number* on; 0: it does not."""
        self.moments.extend([now] * cost)
        if number:
            self.numbers.extend(range(number, number + cost))

    def drop_before(self, moment: int) -> None:
        """Drop what came at *moment* or earlier, once it is half of all: each is moved once."""
        if self.moments and self.moments[0] <= moment:
            expired = bisect_right(self.moments, moment)
            if expired * 2 >= len(self.moments):
                del self.moments[:expired], self.numbers[:expired]


class MemoryLimiter:
    """
    `policy.quota.RequestCounter` of one process. It never waits: a charge is one step.

    It keeps about *most* requests and forgets older ones, so that limits above are not exact.
    """

    def __init__(
        self, *, clock: Callable[[], float] = time.time, most: int = MOST_REQUESTS
    ) -> None:
        """*clock* gives seconds since the epoch."""
        self._clock = clock
        self._most = most
        self._logs: dict[str, HitLog] = {}
        self._swept = clock()
        self._unswept = 0  # requests counted since

    async def take(self, charges: Sequence[Charge]) -> RateLimitResult:
        """See `policy.quota.RequestCounter`."""
        return self.take_share(charges) if charges else UNLIMITED

    def take_share(
        self, charges: Sequence[Charge], number: int = 0, processes: int = 1
    ) -> RateLimitResult:
        """
        Check every window of *charges*, then count them all, or none.

        Args:
            charges: Requests to count, by key.
            number: What the shared store knows the first request as; 0 when nothing is shared.
            processes: How many share the limits; each may use an equal part of every window.
        """
        now = self._now()
        logs = self._logs_of(charges, now)
        tightest, left, frees_at = None, 0, 0
        for charge, log in logs:
            moments, cost = log.moments, charge.cost
            count = len(moments)
            for window in charge.windows:
                span = window.seconds * MICROSECONDS
                # Few requests lie outside a window of the log: mostly its first is inside.
                start = (
                    0 if not count or moments[0] > now - span else bisect_right(moments, now - span)
                )
                remaining = window.limit // processes - (count - start) - cost
                if remaining < 0:
                    return self._refusal(logs, now, processes)
                if tightest is None or remaining <= left:
                    frees = (moments[start] if start < count else now) + span
                    if tightest is None or remaining < left or frees > frees_at:
                        tightest, left, frees_at = window, remaining, frees
        if tightest is None:
            return UNLIMITED
        self._count(logs, now, number)
        return accepted(tightest, left, frees_at)

    def _logs_of(self, charges: Sequence[Charge], now: int) -> list[tuple[Charge, HitLog]]:
        """Return *charges*, each with its log, without requests that are out of every window."""
        logs = []
        for charge in charges:
            log = self._logs.get(charge.key)
            if log is None or log.windows is not charge.windows:
                log = self._log(charge, now)
            elif log.moments and log.moments[0] <= now - log.span:
                log.drop_before(now - log.span)
            logs.append((charge, log))
        return logs

    def _refusal(
        self, logs: Sequence[tuple[Charge, HitLog]], now: int, processes: int
    ) -> RateLimitResult:
        """Return the verdict on a charge that a window refuses."""
        states: list[WindowState] = []
        for charge, log in logs:
            states += log.states(charge, now, processes)
        return judge(states, now)

    def log(self, charge: Charge) -> HitLog:
        return self._log(charge, self._now())

    def count(self, charges: Sequence[Charge], number: int) -> None:
        """Count *charges*, which the shared store let through as *number* and following."""
        now = self._now()
        self._count([(charge, self._log(charge, now)) for charge in charges], now, number)

    def _count(self, logs: Sequence[tuple[Charge, HitLog]], now: int, number: int) -> None:
        for charge, log in logs:
            cost = charge.cost
            self._unswept += cost
            if cost == 1 and not number:
                log.moments.append(now)
            else:
                log.add(cost, now, number)

    def _log(self, charge: Charge, now: int) -> HitLog:
        log = self._logs.get(charge.key)
        if log is None:
            log = self._logs[charge.key] = HitLog()
        if charge.windows is not log.windows:
            log.windows = charge.windows
            spans = [window.seconds * MICROSECONDS for window in charge.windows]
            log.span = max(log.span, *spans, 0)
        log.drop_before(now - log.span)
        return log

    def _now(self) -> int:
        seconds = self._clock()
        now = int(seconds * MICROSECONDS)
        if seconds - self._swept >= _SWEEP_SECONDS or self._unswept >= _SWEEP_REQUESTS:
            self._swept, self._unswept = seconds, 0
            self._sweep(now)
        return now

    def _sweep(self, now: int) -> None:
        """Drop what is out of every window; while there is too much, the older half of the time."""
        moments, longest = self._most + 1, max((log.span for log in self._logs.values()), default=0)
        while moments > self._most:
            moments = 0
            for log in self._logs.values():
                log.drop_before(now - min(log.span, longest))
                moments += len(log.moments)
            longest //= 2
        self._logs = {key: log for key, log in self._logs.items() if log.moments}
