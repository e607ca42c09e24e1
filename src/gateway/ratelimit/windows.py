"""
Rate-limit windows: their configuration, the state of one of them, and the verdict on a charge.

Moments are whole microseconds since the epoch, as in Redis.
"""

import math
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from policy.quota import SURFACE_WINDOWS, Charge, RateLimitResult, Window

MICROSECONDS = 1_000_000  # in a second
UNLIMITED = RateLimitResult(allowed=True, limit=0, remaining=0, reset=0, retry_after=0)


def configured_windows(
    overrides: Mapping[str, Sequence[tuple[int, int]]],
) -> Mapping[str, tuple[Window, ...]]:
    """Return the windows of every bucket; *overrides* are (limit, seconds) by bucket."""
    changed = {
        bucket: tuple(Window(limit, seconds) for limit, seconds in pairs)
        for bucket, pairs in overrides.items()
    }
    return {**SURFACE_WINDOWS, **changed}


class UnlimitedCounter:
    """`policy.quota.RequestCounter` of `AGW_RATE_LIMITS=off`: it allows all, and counts nothing."""

    async def take(self, charges: Sequence[Charge]) -> RateLimitResult:
        """Allow *charges*, with the numbers of an untouched window."""
        windows = [window for charge in charges for window in charge.windows]
        if not windows:
            return UNLIMITED
        tightest = min(windows, key=lambda window: window.limit)
        reset = math.ceil(time.time()) + tightest.seconds
        return RateLimitResult(
            allowed=True, limit=tightest.limit, remaining=tightest.limit, reset=reset, retry_after=0
        )


class WindowState(NamedTuple):
    """
    One window of one charge, before the charge.

    Attributes:
        left: Requests that this process may still let through after the charge; negative when
            the charge does not fit.
        oldest: When the oldest request in the window came; None when there is none.
        blocking: When the request came that must leave the window for the charge to fit; None when
            the charge fits, or never will.
    """

    window: Window
    cost: int
    left: int
    oldest: int | None
    blocking: int | None


def judge(states: Sequence[WindowState], now: int) -> RateLimitResult:
    """
    Return the verdict on a charge at *now*; *states* are its windows, at least one.

    It is about the window with the fewest requests left; of a refused charge, about the refusing
    window that has room last.
    """
    tightest = states[0]
    for state in states:
        if state.left < tightest.left or (
            state.left == tightest.left and _freed(state, now) > _freed(tightest, now)
        ):
            tightest = state
    if tightest.left >= 0:
        return _verdict(tightest, now, allowed=True)
    refused = [_verdict(state, now, allowed=False) for state in states if state.left < 0]
    return max(refused, key=lambda verdict: verdict.retry_after)


def _freed(state: WindowState, now: int) -> int:
    """Return when the window next frees a slot."""
    return (state.oldest or now) + state.window.seconds * MICROSECONDS


def _verdict(state: WindowState, now: int, *, allowed: bool) -> RateLimitResult:
    blocking = now if state.blocking is None else state.blocking
    wait = blocking + state.window.seconds * MICROSECONDS - now
    return RateLimitResult(
        allowed=allowed,
        limit=state.window.limit,
        remaining=max(0, state.left + (0 if allowed else state.cost)),
        reset=math.ceil(_freed(state, now) / MICROSECONDS),
        retry_after=0 if allowed else max(1, math.ceil(wait / MICROSECONDS)),
    )
