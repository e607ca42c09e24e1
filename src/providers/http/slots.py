"""
Slots of an account: the calls that it may have under way at one origin, by weight.

docs/spec/upstream/README.md#concurrency.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

Release = Callable[[], None]


class AccountSlots(Protocol):
    """The slots of one account at one origin."""

    async def acquire(self, weight: int) -> Release:
        """
        Take *weight* slots, at most all that there are; wait for them when there is no room.

        Returns:
            Gives the slots back; to be called once.
        """


# Account, origin and number of slots -> the slots that this process shares with others.
SharedSlots = Callable[[object, str, int], AccountSlots]


class Slots:
    """
    Slots of this process alone.

    Calls that wait get their slots in the order of arrival, so that a heavy one is not passed by
    light ones for ever.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._free = count
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def acquire(self, weight: int) -> Release:
        weight = min(weight, self._count)
        if not self._waiters and self._free >= weight:
            self._free -= weight
            return partial(self._release, weight)
        waiter = asyncio.get_running_loop().create_future()
        entry = weight, waiter
        self._waiters.append(entry)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                self._waiters.remove(entry)
                self._release(0)  # the next may fit now
            else:  # it had got its slots already
                self._release(weight)
            raise
        return partial(self._release, weight)

    def _release(self, weight: int) -> None:
        self._free += weight
        while self._waiters and self._waiters[0][0] <= self._free:
            projection, waiter = self._waiters[0]
            if waiter.cancelled():  # it removes itself
                return
            self._waiters.popleft()
            self._free -= projection
            waiter.set_result(None)
