"""
The time limit of a block of the running task.

A call that would end later needs no timer of its own: the end of the block ends it.
"""

import asyncio
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Self


class TimeLimit:
    """
    Ends a ``with`` block of the running task after some seconds, as `asyncio.timeout` does.

    It takes a third of the steps, and nothing waits for its beginning and end. Each object is used
    once.

    Attributes:
        ends: When, on the loop's clock; set at the beginning.
        expired: Whether the time is over.

    Raises:
        TimeoutError: The block lasted longer.
    """

    __slots__ = (
        "_cancelling",
        "_mark",
        "_of_calls",
        "_seconds",
        "_task",
        "_timer",
        "ends",
        "expired",
    )
    _mark: "Token[TimeLimit | None]"

    def __init__(self, seconds: float, *, of_calls: bool = False) -> None:
        """*of_calls*: calls in the block that would end later need no limit of their own."""
        self._seconds = seconds
        self._of_calls = of_calls
        self.expired = False

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("A time limit is that of a task.")
        self._task = task
        self._cancelling = task.cancelling()
        self.ends = loop.time() + self._seconds
        timer = _timers.get(self._seconds)
        if timer is None or timer.loop is not loop:
            timer = _timer(loop, self._seconds)
        timer.limits[self] = self
        if timer.handle is None:
            timer.handle = loop.call_at(self.ends, timer.expire)
        self._timer = timer
        if self._of_calls:
            self._mark = _current.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        _frames: TracebackType | None,
    ) -> None:
        if self._of_calls:
            _current.reset(self._mark)
        timer = self._timer
        timer.limits.pop(self, None)
        if timer.handle is not None and not timer.is_shared:
            timer.handle.cancel()
        if self.expired:
            is_own = self._task.uncancel() <= self._cancelling
            if is_own and kind is asyncio.CancelledError:
                raise TimeoutError from raised

    def belongs_to(self, task: object) -> bool:
        """Return whether *task* runs the block."""
        return self._task is task

    def expire(self) -> None:
        """End the block: its time is over."""
        self.expired = True
        self._task.cancel()


class _Timer:
    """
    The timer of limits of one length, which end in the order in which they began.

    Nearly every block ends long before its time. A timer of the event loop that is started and
    cancelled for each costs more than the rest of the limit, so it is that of the first one.

    Attributes:
        limits: Those of the blocks that run.
        is_shared: Whether later limits join; else the timer ends with its only one.
    """

    __slots__ = ("handle", "is_shared", "limits", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop, *, is_shared: bool) -> None:
        self.loop = loop
        self.is_shared = is_shared
        self.limits: dict[TimeLimit, TimeLimit] = {}
        self.handle: asyncio.TimerHandle | None = None

    def expire(self) -> None:
        """End the blocks whose time is over, and wait for the next."""
        self.handle = None
        while self.limits:
            limit = next(iter(self.limits))
            if limit.ends > self.loop.time():
                self.handle = self.loop.call_at(limit.ends, self.expire)
                return
            del self.limits[limit]
            limit.expire()


# Seconds -> the timer of limits of that length, for the last event loop that had one.
_timers: dict[float, _Timer] = {}


def _timer(loop: asyncio.AbstractEventLoop, seconds: float) -> _Timer:
    """Return a new timer; lengths of whole seconds are few, and their limits share it."""
    timer = _Timer(loop, is_shared=float(seconds).is_integer())
    if timer.is_shared:
        _timers[seconds] = timer
    return timer


# The limit of calls that the innermost block has.
_current: ContextVar[TimeLimit | None] = ContextVar("limit", default=None)


def sooner_than(seconds: float) -> TimeLimit | None:
    """
    Return the limit of the running task that ends a block within *seconds* from now.

    None without one. The limits of other tasks do not count: this task may outlive them.
    """
    current = _current.get()
    if current is None or not current.belongs_to(asyncio.current_task()):
        return None
    if current.ends > asyncio.get_running_loop().time() + seconds:
        return None
    return current
