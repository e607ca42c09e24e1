"""
Counts requests in true sliding windows, on the `limits` package. Decisions 10.

A call is charged to several windows at once (its address per minute and per hour, its token): all
are tested before any is hit, so a refused request is never counted.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from limits import RateLimitItem, RateLimitItemPerSecond
from limits.aio.storage import MovingWindowSupport, Storage
from limits.aio.strategies import MovingWindowRateLimiter

from policy.quota import SURFACE_WINDOWS, Charge, Verdict, Window

Clock = Callable[[], float]
UNLIMITED = Verdict(allowed=True, limit=0, remaining=0, reset=0, retry_after=0)
_SWEEP = 60.0  # seconds between looks for keys that nobody uses any more


class SlidingLog(Storage, MovingWindowSupport):
    """The `limits` storage of one process: the moments of the hits of each key."""

    STORAGE_SCHEME = ["gateway+memory"]  # noqa: RUF012 - the name and type that `limits` reads

    def __init__(self, *, clock: Clock = time.time) -> None:
        super().__init__()
        self._clock = clock
        self._hits: dict[str, deque[float]] = {}
        self._swept = clock()

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Hit *key* *amount* times unless that would exceed *limit* hits in *expiry* seconds."""
        hits = self._within(key, expiry)
        if len(hits) + amount > limit:
            return False
        hits.extend([self._clock()] * amount)
        return True

    async def get_moving_window(
        self,
        key: str,
        limit: int,  # noqa: ARG002 - the signature is that of `limits`
        expiry: int,
    ) -> tuple[float, int]:
        """Return the oldest hit still in the window (now, if none) and how many there are."""
        hits = self._within(key, expiry)
        return (hits[0], len(hits)) if hits else (self._clock(), 0)

    def _within(self, key: str, expiry: int) -> deque[float]:
        now = self._clock()
        if now - self._swept >= _SWEEP:
            self._sweep(now)
        hits = self._hits.setdefault(key, deque())
        while hits and hits[0] <= now - expiry:
            hits.popleft()
        return hits

    def _sweep(self, now: float) -> None:
        self._swept = now
        idle = [key for key, hits in self._hits.items() if not hits or hits[-1] < now - 86_400]
        for key in idle:
            del self._hits[key]

    @property
    def base_exceptions(self) -> type[Exception]:
        return ValueError

    async def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """Count in a fixed window, which this storage does not do."""
        raise NotImplementedError

    async def get(self, key: str) -> int:
        """Return how often *key* was hit lately."""
        return len(self._hits.get(key, ()))

    async def get_expiry(self, key: str) -> float:
        """Return when the newest hit of *key* happened."""
        return self._hits[key][-1] if self._hits.get(key) else self._clock()

    async def check(self) -> bool:
        """Tell that the storage works."""
        return True

    async def reset(self) -> int:
        """Forget every hit."""
        count = len(self._hits)
        self._hits.clear()
        return count

    async def clear(self, key: str) -> None:
        """Forget the hits of *key*."""
        self._hits.pop(key, None)


class Limiter:
    """`policy.quota.Counter` over any `limits` storage with moving windows."""

    def __init__(self, storage: Storage, *, clock: Clock = time.time) -> None:
        self._windows = MovingWindowRateLimiter(storage)
        self._clock = clock
        self._turn = asyncio.Lock()

    async def take(self, charges: Sequence[Charge]) -> Verdict:
        """
        Test every window of *charges*, then hit them all, or none.

        Returns:
            A verdict about the window with the fewest requests left; when refused, about the
            refusing window that frees its slot last.
        """
        rows = [(charge, window, _item(window)) for charge in charges for window in charge.windows]
        if not rows:
            return UNLIMITED
        async with self._turn:
            before = [await self._state(charge, window, item) for charge, window, item in rows]
            refused = [
                state
                for state, (charge, _, _) in zip(before, rows, strict=True)
                if state.remaining < charge.cost
            ]
            if refused:
                return max(refused, key=lambda state: state.retry_after)
            for charge, _, item in rows:
                if charge.cost:
                    await self._windows.hit(item, charge.key, cost=charge.cost)
        after = [
            _passed(state, charge.cost) for state, (charge, _, _) in zip(before, rows, strict=True)
        ]
        return min(after, key=lambda state: (state.remaining, -state.reset))

    async def _state(self, charge: Charge, window: Window, item: RateLimitItem) -> Verdict:
        reset, remaining = await self._windows.get_window_stats(item, charge.key)
        return Verdict(
            allowed=False,
            limit=window.limit,
            remaining=max(0, remaining),
            reset=math.ceil(reset),
            retry_after=max(1, math.ceil(reset - self._clock())),
        )


def _passed(before: Verdict, cost: int) -> Verdict:
    """Return what is left of a window that *cost* requests were counted in."""
    return Verdict(
        allowed=True,
        limit=before.limit,
        remaining=before.remaining - cost,
        reset=before.reset,
        retry_after=0,
    )


class Unlimited:
    """The counter of `AGW_RATE_LIMITS=off`: everything passes, nothing is counted."""

    async def take(self, charges: Sequence[Charge]) -> Verdict:
        """Let everything pass, telling the numbers of an untouched window."""
        windows = [window for charge in charges for window in charge.windows]
        if not windows:
            return UNLIMITED
        tightest = min(windows, key=lambda window: window.limit)
        reset = math.ceil(time.time()) + tightest.seconds
        return Verdict(
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


@lru_cache(maxsize=1024)
def _item(window: Window) -> RateLimitItem:
    return RateLimitItemPerSecond(window.limit, window.seconds, namespace="agw")
