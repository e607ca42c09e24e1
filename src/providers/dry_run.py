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


def pass_or_end(method: str, *, said: bool | None) -> None:
    """
    Let a call go out unless it is rehearsed and would change something.

    Raises:
        WouldChange: It would.
    """
    rehearsal = _current.get()
    if rehearsal is not None and changes(method, said=said):
        rehearsal.ended = True
        raise WouldChange


def changes(method: str, *, said: bool | None) -> bool:
    """
    Say whether anything upstream may be different after a call.

    Args:
        method: In capitals.
        said: What its connector says; None: it says nothing.
    """
    return method not in READS if said is None else said
