"""
Deletion of expired rows in slices that always finish, for as long as there are any.

One statement over a large backlog would reach the time limit of statements, be rolled back and
begin anew; on SQLite it would hold the only writer.
"""

import asyncio
from typing import Any

from sqlalchemy import ColumnElement, SQLColumnExpression, delete, select
from sqlmodel import SQLModel

from gateway.store.conflicts import retried
from gateway.store.database import Database

SLICE_ROWS = 1000  # in a transaction, so that other writers hardly wait


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
