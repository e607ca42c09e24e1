"""The statements that a query sends to the database."""

from collections.abc import Awaitable
from typing import Any

from sqlalchemy import event

from gateway.store.database import Database


async def recorded_selects(database: Database, query: Awaitable[Any]) -> list[tuple[str, Any]]:
    """Await *query*; return its SELECT statements with their parameters, in order."""
    statements = []

    def keep(_connection, _cursor, statement, parameters, *_more):
        if statement.startswith("SELECT"):
            statements.append((statement, parameters))

    event.listen(database.reader.sync_engine, "before_cursor_execute", keep)
    await query
    event.remove(database.reader.sync_engine, "before_cursor_execute", keep)
    return statements
