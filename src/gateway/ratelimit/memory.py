"""
What one process let through lately: its own part of limits that many processes share.

It is kept all the time, so that a process that loses the shared count goes on with what it knows
instead of a fresh window, and can tell the shared count afterwards what it let through alone.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from policy.quota import Charge, RateLimitResult, Window

MICROSECONDS = 1_000_000  # in a second; moments are whole numbers, as in Redis
_SWEEP = 60.0  # seconds between looks for logs that nobody uses any more


@dataclass(frozen=True, slots=True)
class Standing:
    """
    One window of one charge, before the charge. Moments are in microseconds since the epoch.

    Attributes:
        share: How many requests the window has room for here; at most `window.limit`.
        oldest: When the oldest request in the window came; None when there is none.
        enough: The request that must leave the window for the charge to fit; None when nothing
            must, or when that is not enough.
    """

    window: Window
    cost: int
    share: int
    used: int
    oldest: int | None
    enough: int | None

    def fits(self) -> bool:
        """Tell whether the charge may pass this window."""
        return self.used + self.cost <= self.share


def judge(standings: Sequence[Standing], now: int) -> RateLimitResult:
    """Return the verdict on a charge whose windows are *standings*, at the moment *now*."""
    refused = [one for one in standings if not one.fits()]
    if refused:
        return max((_verdict(one, now, allowed=False) for one in refused), key=_wait)
    return min((_verdict(one, now, allowed=True) for one in standings), key=_tightness)


def _verdict(one: Standing, now: int, *, allowed: bool) -> RateLimitResult:
    span = one.window.seconds * MICROSECONDS
    freed = (one.oldest or now) + span
    fitting = (now if one.enough is None else one.enough) + span
    return RateLimitResult(
        allowed=allowed,
        limit=one.window.limit,
        remaining=max(0, one.share - one.used - (one.cost if allowed else 0)),
        reset=math.ceil(freed / MICROSECONDS),
        retry_after=0 if allowed else max(1, math.ceil((fitting - now) / MICROSECONDS)),
    )


def _wait(verdict: RateLimitResult) -> int:
    return verdict.retry_after


def _tightness(verdict: RateLimitResult) -> tuple[int, int]:
    return verdict.remaining, -verdict.reset


@dataclass(slots=True)
class Log:
    """
    The requests of one key, oldest first, each as (moment, name).

    Attributes:
        span: How long a request is kept, in microseconds: the longest window seen.
        told: Up to which loss the shared count knows everything here; see `SharedLimiter`.
    """

    span: int = 0
    told: int = -1
    hits: deque[tuple[int, str]] = field(default_factory=deque)

    def drop_before(self, moment: int) -> None:
        """Forget what came at *moment* or earlier."""
        while self.hits and self.hits[0][0] <= moment:
            self.hits.popleft()


class Shadow:
    """The logs of one process, by key."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._logs: dict[str, Log] = {}
        self._swept = clock()

    def log(self, charge: Charge) -> Log:
        """Return the log of *charge*'s key, without what is too old to count."""
        now = self._now()
        log = self._logs.get(charge.key)
        if log is None:
            log = self._logs[charge.key] = Log()
        longest = max((window.seconds for window in charge.windows), default=0) * MICROSECONDS
        log.span = max(log.span, longest)
        log.drop_before(now - log.span)
        return log

    def take(self, charges: Sequence[Charge], name: str, *, processes: int) -> RateLimitResult:
        """Check *charges* against this process's share of every window, then count them all."""
        now = self._now()
        standings = [
            _standing(self.log(charge), charge, window, now, window.limit // processes)
            for charge in charges
            for window in charge.windows
        ]
        verdict = judge(standings, now)
        if verdict.allowed:
            self.count(charges, name)
        return verdict

    def count(self, charges: Iterable[Charge], name: str) -> None:
        """Keep that *charges* were let through, under *name*."""
        now = self._now()
        for charge in charges:
            hits = self.log(charge).hits
            hits.extend((now, f"{name}:{turn}") for turn in range(1, charge.cost + 1))

    def _now(self) -> int:
        seconds = self._clock()
        if seconds - self._swept >= _SWEEP:
            self._sweep(seconds)
        return int(seconds * MICROSECONDS)

    def _sweep(self, seconds: float) -> None:
        self._swept = seconds
        now = int(seconds * MICROSECONDS)
        for log in self._logs.values():
            log.drop_before(now - log.span)
        self._logs = {key: log for key, log in self._logs.items() if log.hits}


def _standing(log: Log, charge: Charge, window: Window, now: int, share: int) -> Standing:
    start = now - window.seconds * MICROSECONDS
    older = sum(1 for _ in _until(log, start))
    used = len(log.hits) - older
    missing = used + charge.cost - share  # how many must leave
    enough = next(islice(log.hits, older + missing - 1, None), None) if missing > 0 else None
    return Standing(
        window=window,
        cost=charge.cost,
        share=share,
        used=used,
        oldest=log.hits[older][0] if used else None,
        enough=enough[0] if enough else None,
    )


def _until(log: Log, start: int) -> Iterable[int]:
    for moment, _ in log.hits:
        if moment > start:
            return
        yield moment
