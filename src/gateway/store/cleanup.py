"""
Deletion of expired rows: hourly, by one process at a time, in slices that always finish.

One statement over a large backlog would reach the time limit of statements, be rolled back and
begin anew; on SQLite it would hold the only writer.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, SQLColumnExpression, delete, select
from sqlmodel import SQLModel

from gateway.store.background import PeriodicTask, for_each, running_tasks
from gateway.store.conflicts import retried
from gateway.store.database import Database

if TYPE_CHECKING:  # its own rows are deleted in slices
    from gateway.store.leases import Leases

HOUR = 3600.0  # seconds between two runs, over all processes
_CHECK_SECONDS = 600.0  # between two checks of one process whether a run is due

Sweep = Callable[[], Awaitable[object]]
SLICE_ROWS = 1000  # in a transaction, so that other writers hardly wait


class HourlyCleanup:
    """Runs the sweeps of tables that nothing else keeps small. One per process."""

    def __init__(self, leases: "Leases", *sweeps: Sweep) -> None:
        """*sweeps* run in the given order."""
        self._leases = leases
        self._sweeps = sweeps

    def running(self) -> AbstractAsyncContextManager[None]:
        """Check periodically whether a run is due."""
        return running_tasks(
            PeriodicTask(
                name="cleanup",
                work=self.run_if_due,
                pause_seconds=_CHECK_SECONDS,
                failure_message="old rows could not be taken out",
            )
        )

    async def run_if_due(self) -> bool:
        """
        Run all sweeps unless some process did within the hour; return whether they ran.

        A sweep that fails keeps none of the others from running.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        if not await self._leases.take_turn("hourly sweep", HOUR):
            return False
        await for_each(self._sweeps, lambda sweep: sweep())
        return True


async def delete_in_slices(
    database: Database,
    table: type[SQLModel],
    *conditions: ColumnElement[bool],
    oldest_first: SQLColumnExpression[Any],
    rows: int | None = None,
) -> int:
    """
    Delete the rows of *table* that match all *conditions*; return how many.

    Between two slices it pauses for as long as the last one took: requests have half of the
    database, at least.

    Args:
        database: The database.
        table: It has a primary key of one column.
        conditions: What makes a row an expired one.
        oldest_first: An indexed column.
        rows: The most that one transaction deletes; None: `SLICE_ROWS`.

    Raises:
        StorageUnavailable: The database did not answer; the slices before are deleted.
    """
    (key,) = table.__table__.primary_key.columns  # type: ignore[attr-defined]  # SQLModel makes it
    limit = rows or SLICE_ROWS
    # A row that a request holds is left for the next run.
    oldest = select(key).where(*conditions).order_by(oldest_first).limit(limit)
    statement = delete(table).where(key.in_(oldest.with_for_update(skip_locked=True)))

    @retried
    async def delete_slice() -> int:
        async with database.writing() as session:
            return int((await session.exec(statement)).rowcount)

    total, loop = 0, asyncio.get_running_loop()
    while True:
        began = loop.time()
        deleted = await delete_slice()
        total += deleted
        if deleted < limit:
            return total
        await asyncio.sleep(loop.time() - began)
