"""
Dry runs: requests that read upstream as usual and end at their first write.

Every upstream call passes `before_call` before it is made. A POST counts as a write unless its
connector says that it is none, so a dry run may end too early, but never writes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from providers.write_fence import current_fence
from providers.write_previews import current_preview

READ_METHODS = ("GET", "HEAD")


class DryRun(msgspec.Struct):
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
    """Return whether a dry run is under way."""
    return _current.get() is not None


def before_call(method: str, *, changes: bool | None, connection: int | None = None) -> None:
    """
    Confirm the preview, and end a dry run, before a call that may write; see `is_write`.

    *connection* is the id of the one that writes; None when the gateway itself stores something.

    Raises:
        WriteAttempted: This is a dry run, and the call may write.
        Exception: What `WritePreview.confirm` raises to prevent the write.
    """
    if not is_write(method, changes=changes):
        return
    preview = current_preview()
    if preview is not None:
        preview.before_write(connection)
    run = _current.get()
    if run is not None:
        run.ended = True
        raise WriteAttempted


def is_write(method: str, *, changes: bool | None) -> bool:
    """
    Return whether a call may change anything upstream.

    Args:
        method: In capitals.
        changes: What the connector declares; None: everything but GET and HEAD is a write.
    """
    return method not in READ_METHODS if changes is None else changes


async def confirm_write(connection: int) -> None:
    """
    Confirm preview, dry run and fence directly before a write that is not an HTTP call.

    Raises:
        Exception: As `before_call` and `WriteFence.confirm`.
    """
    before_call("WRITE", changes=True, connection=connection)
    fence = current_fence()
    if fence is not None:
        await fence.confirm()
