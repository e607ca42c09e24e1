"""
The SQLite driver of the fast suite: it runs statements on the event loop.

The driver itself has a thread for each connection, and passes each step of a statement to it and
back: a fifth of the processor time of the tests that use a database. Here a step runs on the loop.
Before a step that uses the file the other tasks have their turn, so tasks alternate at each
statement as they do in the product. What waits for a lock of the database runs on the thread: it
would hold the loop.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiosqlite import core

WAITS = "BEGIN IMMEDIATE"  # for the write lock; the statements that follow do not wait
# Steps that read or change the file; the others make, read and close a cursor in memory.
FILE_STEPS = {"execute", "executemany", "executescript", "commit", "rollback"}


def install(patch: pytest.MonkeyPatch) -> None:
    """Run the statements of all connections on the loop, as long as *patch* lasts."""
    queue = core.Connection._execute

    async def execute(
        self: core.Connection, step: Callable[..., Any], *values: Any, **named: Any
    ) -> Any:
        # A cancelled caller does not end what its thread does; later steps must come after it.
        threads = self._threads = getattr(self, "_threads", 0)
        if threads == 0 and values[:1] != (WAITS,):
            if step.__name__ in FILE_STEPS:
                await asyncio.sleep(0)
            if not self._running or not self._connection:
                raise ValueError("Connection closed")
            return step(*values, **named)

        def counted() -> Any:
            try:
                return step(*values, **named)
            finally:
                self._threads -= 1

        self._threads += 1
        return await queue(self, counted)

    patch.setattr(core.Connection, "_execute", execute)
