"""
Counts requests in true sliding windows, in the memory of one process. Decisions 10.

A call is charged to several windows at once (its address per minute and per hour, its token): all
are tested before any is hit, so a refused request is never counted.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from policy.quota import SURFACE_WINDOWS, Charge, RateLimitResult, Window

Clock = Callable[[], float]
UNLIMITED = RateLimitResult(allowed=True, limit=0, remaining=0, reset=0, retry_after=0)
_SWEEP = 60.0  # seconds between looks for keys that nobody uses any more
_IDLE = 86_400  # seconds without a hit, as long as the longest window


class SlidingLog:
    """The moments of the hits in each window of each key, oldest first."""

    def __init__(self, *, clock: Clock = time.time) -> None:
        self._hits: dict[tuple[str, int, int], deque[float]] = {}
        self._swept = clock()

    def within(self, key: str, window: Window, now: float) -> deque[float]:
        """Return the hits that count at *now*; what is appended to it counts from then on."""
        if now - self._swept >= _SWEEP:
            self._sweep(now)
        name = (key, window.limit, window.seconds)
        hits = self._hits.get(name)
        if hits is None:
            hits = self._hits[name] = deque()
        gone = now - window.seconds
        while hits and hits[0] <= gone:
            hits.popleft()
        return hits

    def _sweep(self, now: float) -> None:
        self._swept = now
        idle = [name for name, hits in self._hits.items() if not hits or hits[-1] < now - _IDLE]
        for name in idle:
            del self._hits[name]

    async def reset(self) -> int:
        """Forget every hit; return how many windows were known."""
        known = len(self._hits)
        self._hits.clear()
        return known


class Limiter:
    """`policy.quota.RequestCounter` of one process. It never waits: a charge is one step."""

    def __init__(self, log: SlidingLog, *, clock: Clock = time.time) -> None:
        self._log = log
        self._clock = clock

    async def take(self, charges: Sequence[Charge]) -> RateLimitResult:
        """
        Test every window of *charges*, then hit them all, or none.

        Returns:
            A verdict about the window with the fewest requests left; when refused, about the
            refusing window that has room for its charge last.
        """
        now = self._clock()
        found = [
            (charge.cost, window, self._log.within(charge.key, window, now))
            for charge in charges
            for window in charge.windows
        ]
        if not found:
            return UNLIMITED
        refusals = [
            _refusal(hits, window, now, cost=cost)
            for cost, window, hits in found
            if window.limit - len(hits) < cost
        ]
        if refusals:
            return max(refusals, key=lambda refusal: refusal.retry_after)
        for cost, _, hits in found:
            hits.extend([now] * cost)
        _, window, hits = min(
            found, key=lambda row: (row[1].limit - len(row[2]), -_reset(row[2], row[1], now))
        )
        return RateLimitResult(
            allowed=True,
            limit=window.limit,
            remaining=window.limit - len(hits),
            reset=math.ceil(_reset(hits, window, now)),
            retry_after=0,
        )


def _reset(hits: Sequence[float], window: Window, now: float) -> float:
    """Return when the window next frees a slot."""
    return (hits[0] if hits else now) + window.seconds


def _refusal(hits: Sequence[float], window: Window, now: float, *, cost: int) -> RateLimitResult:
    """Say when the last of the hits that must leave does; a *cost* above the limit never fits."""
    leaving = len(hits) + cost - window.limit
    last = hits[leaving - 1] if leaving <= len(hits) else now
    return RateLimitResult(
        allowed=False,
        limit=window.limit,
        remaining=max(0, window.limit - len(hits)),
        reset=math.ceil(_reset(hits, window, now)),
        retry_after=max(1, math.ceil(last + window.seconds - now)),
    )


class Unlimited:
    """The counter of `AGW_RATE_LIMITS=off`: everything passes, nothing is counted."""

    async def take(self, charges: Sequence[Charge]) -> RateLimitResult:
        """Let everything pass, telling the numbers of an untouched window."""
        windows = [window for charge in charges for window in charge.windows]
        if not windows:
            return UNLIMITED
        tightest = min(windows, key=lambda window: window.limit)
        reset = math.ceil(time.time()) + tightest.seconds
        return RateLimitResult(
            allowed=True, limit=tightest.limit, remaining=tightest.limit, reset=reset, retry_after=0
        )


def windows(
    overrides: Mapping[str, Sequence[tuple[int, int]]],
) -> Mapping[str, tuple[Window, ...]]:
    """Return the windows of every bucket, with the settings' *overrides* in place."""
    changed = {
        bucket: tuple(Window(limit, seconds) for limit, seconds in pairs)
        for bucket, pairs in overrides.items()
    }
    return {**SURFACE_WINDOWS, **changed}
