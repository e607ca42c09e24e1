"""
Rate-limit windows: their configuration, the state of one of them, and the verdict on a charge.

Moments are whole microseconds since the epoch, as in Redis.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from policy.quota import SURFACE_WINDOWS, Charge, RateLimitResult, Window

MICROSECONDS = 1_000_000  # in a second
_ANY = 10**9  # requests, more than any limit
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


def questions(charge: Charge) -> Iterator[tuple[Window, Charge]]:
    """
    Yield each window of *charge* with a charge of no requests: its verdict is about that window.

    The others are among it, without a limit: a counter forgets what is older than all windows.
    """
    for window in charge.windows:
        others = (Window(_ANY, each.seconds) for each in charge.windows if each is not window)
        yield window, charge._replace(windows=(window, *others), cost=0)


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
        frees_at: When the window next frees a slot.
        fits_at: When a charge that does not fit has room; a whole window from now if never.
    """

    window: Window
    cost: int
    left: int
    frees_at: int
    fits_at: int


def judge(states: Sequence[WindowState], now: int) -> RateLimitResult:
    """
    Return the verdict on a charge at *now*; *states* are its windows, at least one.

    It is about the window with the fewest requests left; of a refused charge, about the refusing
    window that has room last.
    """
    tightest = states[0]
    for state in states:
        if state.left < tightest.left or (
            state.left == tightest.left and state.frees_at > tightest.frees_at
        ):
            tightest = state
    if tightest.left < 0:
        refusals = [_refusal(state, now) for state in states if state.left < 0]
        return max(refusals, key=lambda refusal: refusal.retry_after)
    return accepted(tightest.window, tightest.left, tightest.frees_at)


def accepted(window: Window, left: int, frees_at: int) -> RateLimitResult:
    """Return the verdict on a charge that fits, about its tightest *window*; see `WindowState`."""
    reset = math.ceil(frees_at / MICROSECONDS)
    # Made without the Python function that the class of a named tuple is called by.
    result: RateLimitResult = tuple.__new__(RateLimitResult, (True, window.limit, left, reset, 0))
    return result


def _refusal(state: WindowState, now: int) -> RateLimitResult:
    return RateLimitResult(
        allowed=False,
        limit=state.window.limit,
        remaining=max(0, state.left + state.cost),
        reset=math.ceil(state.frees_at / MICROSECONDS),
        retry_after=max(1, math.ceil((state.fits_at - now) / MICROSECONDS)),
    )
