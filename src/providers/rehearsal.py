"""
Rehearsed requests: they read upstream as ever, and end where they would change anything there.

Every call to an upstream asks `pass_or_end` before anything of it is made. What is not surely
harmless counts as a change, so a connector that forgets to say so ends too early and never too
late.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

READS = ("GET", "HEAD")


@dataclass(slots=True)
class Rehearsal:
    """What came of a rehearsal: *ended* is set when it got as far as its first change."""

    ended: bool = False


class WouldChange(BaseException):
    """The end of a rehearsal. No failure, so nothing that handles failures goes on after it."""


_current: ContextVar[Rehearsal | None] = ContextVar("rehearsal", default=None)


@contextmanager
def rehearsed() -> Iterator[Rehearsal]:
    """Rehearse whatever is called inside ``with``, and end it quietly at its first change."""
    rehearsal = Rehearsal()
    token = _current.set(rehearsal)
    try:
        yield rehearsal
    except WouldChange:
        pass
    finally:
        _current.reset(token)


def rehearsing() -> bool:
    """Say whether this is a rehearsal, for what upstream would tell only when it is changed."""
    return _current.get() is not None


def pass_or_end(method: str, *, changes: bool | None) -> None:
    """
    Let a call go out unless it is rehearsed and would change something.

    Args:
        method: In capitals.
        changes: Whether anything upstream may be different afterwards; None: by *method*.

    Raises:
        WouldChange: It would.
    """
    rehearsal = _current.get()
    if rehearsal is None:
        return
    if method not in READS if changes is None else changes:
        rehearsal.ended = True
        raise WouldChange
