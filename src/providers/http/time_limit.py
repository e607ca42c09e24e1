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

    __slots__ = ("_cancelling", "_seconds", "_task", "_timer", "ends", "expired")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.expired = False

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("A time limit is that of a task.")
        loop = asyncio.get_running_loop()
        self._task = task
        self._cancelling = task.cancelling()
        self.ends = loop.time() + self._seconds
        self._timer = loop.call_at(self.ends, self._expire)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        _frames: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        if self.expired:
            is_own = self._task.uncancel() <= self._cancelling
            if is_own and kind is asyncio.CancelledError:
                raise TimeoutError from raised

    def belongs_to(self, task: object) -> bool:
        """Return whether *task* runs the block."""
        return self._task is task

    def _expire(self) -> None:
        self.expired = True
        self._task.cancel()


class BlockLimit(TimeLimit):
    """A time limit that calls in the block know: those that would end later have no other."""

    __slots__ = ("_mark",)
    _mark: "Token[TimeLimit | None]"

    def __enter__(self) -> Self:
        super().__enter__()
        self._mark = _current.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        frames: TracebackType | None,
    ) -> None:
        _current.reset(self._mark)
        super().__exit__(kind, raised, frames)


# The limit of the innermost block.
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
