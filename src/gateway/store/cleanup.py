"""
Deletion of expired rows: hourly, by one process at a time, in slices that always finish.

One statement over a large backlog would reach the time limit of statements, be rolled back and
begin anew; on SQLite it would hold the only writer.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from sqlalchemy import ColumnElement, SQLColumnExpression, any_, delete, func, select
from sqlmodel import SQLModel

from gateway.store.background import PeriodicTask, for_each, running_tasks
from gateway.store.conflicts import retried
from gateway.store.database import Database

HOUR = 3600.0  # seconds between two runs, over all processes
_CHECK_SECONDS = 600.0  # between two checks of one process whether a run is due

Sweep = Callable[[], Awaitable[object]]
# Name and seconds of a turn -> whether this process has it (`leases.Leases.take_turn`).
TakeTurn = Callable[[str, float], Awaitable[bool]]
SLICE_ROWS = 1000  # in a transaction, so that other writers hardly wait
_SLICE_SECONDS = 0.2  # after a slice that took longer the next one has half as many rows
_SLICE_PAGES = 1000  # of 4 KB


class HourlyCleanup:
    """Runs the sweeps of tables that nothing else keeps small. One per process."""

    def __init__(self, take_turn: TakeTurn, *sweeps: Sweep) -> None:
        """*take_turn* is that of the leases; *sweeps* run in the given order."""
        self._take_turn = take_turn
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
        if not await self._take_turn("hourly sweep", HOUR):
            return False
        await for_each(self._sweeps, lambda sweep: sweep())
        return True


async def delete_in_slices(
    database: Database,
    table: type[SQLModel],
    *conditions: ColumnElement[bool],
    by: SQLColumnExpression[Any],
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
        by: An indexed column, in whose order they go; without an index each slice sorts them all.
        rows: Of the first transaction; None: `SLICE_ROWS`, which is also the most of a later one.

    Raises:
        StorageUnavailable: The database did not answer; the slices before are deleted.
    """
    (key,) = table.__table__.primary_key.columns  # type: ignore[attr-defined]  # SQLModel makes it
    oldest = select(key).where(*conditions).order_by(by)
    # A row that a request holds is left for the next run.
    unheld = oldest.with_for_update(skip_locked=True)

    @retried
    async def delete_slice(limit: int) -> int:
        keys = unheld.limit(limit)
        # As an array PostgreSQL selects them once. Of IN it may do so for each row of the table,
        # while it has no statistics of many new rows.
        chosen = key.in_(keys) if database.path else key == any_(func.array(keys.scalar_subquery()))
        async with database.writing() as session:
            return int((await session.exec(delete(table).where(chosen))).rowcount)

    total, limit, loop = 0, rows or SLICE_ROWS, asyncio.get_running_loop()
    while True:
        began = loop.time()
        deleted = await delete_slice(limit)
        total += deleted
        if deleted < limit:
            break
        took = loop.time() - began
        limit = max(1, limit // 2) if took > _SLICE_SECONDS else min(limit * 2, SLICE_ROWS)
        await asyncio.sleep(took)
    if total:
        await return_pages(database)
    return total


async def return_pages(database: Database) -> None:
    """
    Return free pages of the SQLite file to the file system in slices, but for a tenth of the file.

    A file of a version before 0.3 keeps them until a `VACUUM`; new rows use them there too.
    """
    if database.path is None:
        return
    loop = asyncio.get_running_loop()
    count, free = await _pages(database)
    while free > count // 10:
        began, before = loop.time(), free
        async with database.writing() as session:
            connection: Any = await (await session.connection()).get_raw_connection()
            # Each row that is fetched frees a page.
            await connection.driver_connection.execute_fetchall(
                f"PRAGMA incremental_vacuum({_SLICE_PAGES})"
            )
        count, free = await _pages(database)
        if free >= before:
            return
        await asyncio.sleep(loop.time() - began)


async def _pages(database: Database) -> tuple[int, int]:
    """Return how many pages the file has, and how many of them are free."""
    async with database.reading() as session:
        connection = await session.connection()
        count, free = [
            (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar_one()
            for name in ("page_count", "freelist_count")
        ]
    return count, free
