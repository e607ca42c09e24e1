"""
Fence of writes: asked directly before every upstream call that may change something.

A request under an `Idempotency-Key` holds a lease. A process that was suspended for longer than the
lease must not send when it wakes up: another one may have sent meanwhile. See
docs/spec/idempotency.md#crash-and-lease.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class TakenOver(Exception):
    """Another request has taken over: from now on it alone may write."""


class WriteFence(Protocol):
    """The right of the current request to write."""

    async def confirm(self) -> None:
        """
        Return if the request still holds the right; fast when it was confirmed lately.

        Raises:
            TakenOver: It does not: the call must not be made.
            Exception: That cannot be found out, which is not a `ProviderFailure` either, so that
                no connector continues after it.
        """


_current: ContextVar[WriteFence | None] = ContextVar("write_fence", default=None)


@contextmanager
def fenced(fence: WriteFence | None) -> Iterator[None]:
    """Fence the writes of the ``with`` block; None lifts the fence."""
    token = _current.set(fence)
    try:
        yield
    finally:
        _current.reset(token)


def current_fence() -> WriteFence | None:
    """Return the fence of the current request; None when it has none."""
    return _current.get()
