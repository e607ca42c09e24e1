"""
Dry runs: requests that read upstream as usual and end at their first write.

Every upstream call passes `forbid_writes` before it is made. A POST counts as a write unless its
connector says that it is none, so a dry run may end too early, but never writes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

READ_METHODS = ("GET", "HEAD")


@dataclass(slots=True)
class DryRun:
    """Outcome of a dry run: *ended* is True when it reached a write."""

    ended: bool = False


class WriteAttempted(BaseException):
    """Ends a dry run. Not an `Exception`, so that no handler of failures continues after it."""


_current: ContextVar[DryRun | None] = ContextVar("dry_run", default=None)


@contextmanager
def dry_run() -> Iterator[DryRun]:
    """Run the ``with`` block as a dry run, and leave it quietly at the first write."""
    run = DryRun()
    token = _current.set(run)
    try:
        yield run
    except WriteAttempted:
        pass
    finally:
        _current.reset(token)


def in_dry_run() -> bool:
    """Tell whether a dry run is under way."""
    return _current.get() is not None


def forbid_writes(method: str, *, changes: bool | None) -> None:
    """
    Abort a dry run before a call that may write; see `is_write`.

    Raises:
        WriteAttempted: This is a dry run, and the call may write.
    """
    run = _current.get()
    if run is not None and is_write(method, changes=changes):
        run.ended = True
        raise WriteAttempted


def is_write(method: str, *, changes: bool | None) -> bool:
    """
    Tell whether a call may change anything upstream.

    Args:
        method: In capitals.
        changes: What the connector declares; None: everything but GET and HEAD is a write.
    """
    return method not in READ_METHODS if changes is None else changes
