"""
The requests that one process let through, in sliding windows.

A single process limits with them. Among many processes they are this one's part of the shared
count: it falls back on them when the shared count is lost, and adds them to it afterwards.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence

import msgspec

from gateway.ratelimit.windows import MICROSECONDS, UNLIMITED, WindowState, accepted, judge
from policy.quota import Charge, RateLimitResult, Window

_SWEEP_SECONDS = 60.0  # between searches for logs without requests


class HitLog(msgspec.Struct):
    """
    The requests of one key, oldest first; those out of every window are dropped now and then.

    Attributes:
        windows: Those of the last charge.
        span: How long a request is kept, in microseconds: the longest window seen.
        synced: The number of the loss up to which the shared count knows all of them; see
            `RedisLimiter`.
        moments: When each came.
        names: What the shared count knows each as; empty when nothing is shared.
    """

    windows: tuple[Window, ...] = ()
    span: int = 0
    synced: int = -1
    moments: list[int] = msgspec.field(default_factory=list)
    names: list[str] = msgspec.field(default_factory=list)

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

    def add(self, cost: int, now: int, name: str) -> None:
        """Add *cost* requests of the call that the shared count knows as *name*."""
        self.moments += [now] * cost
        if name:
            self.names += [f"{name}:{number}" for number in range(1, cost + 1)]

    def drop_before(self, moment: int) -> None:
        """Drop what came at *moment* or earlier, once it is half of all: each is moved once."""
        if self.moments and self.moments[0] <= moment:
            expired = bisect_right(self.moments, moment)
            if expired * 2 >= len(self.moments):
                del self.moments[:expired], self.names[:expired]


class MemoryLimiter:
    """`policy.quota.RequestCounter` of one process. It never waits: a charge is one step."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        """*clock* gives seconds since the epoch."""
        self._clock = clock
        self._logs: dict[str, HitLog] = {}
        self._swept = clock()

    async def take(self, charges: Sequence[Charge]) -> RateLimitResult:
        """See `policy.quota.RequestCounter`."""
        return self.take_share(charges) if charges else UNLIMITED

    def take_share(
        self, charges: Sequence[Charge], name: str = "", processes: int = 1
    ) -> RateLimitResult:
        """
        Check every window of *charges*, then count them all, or none.

        Args:
            charges: Requests to count, by key.
            name: What the shared count knows this call as; empty when nothing is shared.
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
        _count(logs, now, name)
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

    def count(self, charges: Sequence[Charge], name: str) -> None:
        """Count *charges*, which the shared count let through under *name*."""
        now = self._now()
        for charge in charges:
            self._log(charge, now).add(charge.cost, now, name)

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
        if seconds - self._swept >= _SWEEP_SECONDS:
            self._swept = seconds
            for log in self._logs.values():
                log.drop_before(now - log.span)
            self._logs = {key: log for key, log in self._logs.items() if log.moments}
        return now


def _count(logs: Sequence[tuple[Charge, HitLog]], now: int, name: str) -> None:
    """Add charges to their logs; see `HitLog.add`."""
    for charge, log in logs:
        if charge.cost == 1 and not name:
            log.moments.append(now)
        else:
            log.add(charge.cost, now, name)
