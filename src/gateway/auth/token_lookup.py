"""
The reads of every request: one token by its digest, and the connections of its resources.

Raw SQL, the same on both databases. SQLite is read in the event loop over a read-only connection
(about ten microseconds, and WAL readers never wait); PostgreSQL through the pool.

What was read of SQLite is read again only when the file has changed, which SQLite says itself: its
`data_version` is another one at the first look after anybody, here or in another process, has
committed anything.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from gateway.store import sqlite
from gateway.store.database import Database, StorageUnavailable
from providers.bounded_map import BoundedMap

Row = tuple[Any, ...]
_PATIENCE = 0.2  # seconds: the event loop stands still meanwhile; readers rarely wait in WAL
_KEPT = 4096  # answers
_SHORT = 64  # rows; longer answers are not kept


class RowReader(Protocol):
    """One query, all its rows."""

    async def rows(self, query: str, values: Mapping[str, object]) -> Sequence[Row]:
        """
        Run *query*, whose parameters are named `:name`.

        Raises:
            StorageUnavailable: The database did not answer.
        """

    def close(self) -> None:
        """Let the connection go."""


class SqliteRowReader:
    """Reads the file in the event loop, on a connection that cannot write."""

    def __init__(self, path: Path) -> None:
        self._uri = f"{path.absolute().as_uri()}?mode=ro"
        self._connection: sqlite.Connection | None = None
        self._version: Row | None = None
        self._known = BoundedMap[Row, Sequence[Row]](_KEPT)

    async def rows(self, query: str, values: Mapping[str, object]) -> Sequence[Row]:
        """Run *query* unless nothing has changed since; see `RowReader`."""
        key = (query, *values.values())
        try:
            connection = self._connection or self._open()
            version = connection.execute("PRAGMA data_version").fetchone()
            if version != self._version:  # looked at first: what is read now may only be newer
                self._version = version
                self._known.clear()
            found = self._known.get(key)
            return found if found is not None else self._read(connection, key, values)
        except sqlite.Error as failure:
            raise StorageUnavailable from failure

    def _read(
        self, connection: sqlite.Connection, key: Row, values: Mapping[str, object]
    ) -> Sequence[Row]:
        found: Sequence[Row] = connection.execute(key[0], values).fetchall()
        if len(found) <= _SHORT:
            self._known[key] = found
        return found

    def _open(self) -> sqlite.Connection:
        self._connection = sqlite.connect(
            self._uri, uri=True, isolation_level=None, timeout=_PATIENCE
        )
        return self._connection

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._version = None  # of this connection alone: another one counts for itself


class PooledRowReader:
    """Reads through the reader engine's pool."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def rows(self, query: str, values: Mapping[str, object]) -> Sequence[Row]:
        """Run *query*; see `RowReader`."""
        try:
            async with self._engine.connect() as connection:
                found = await connection.execute(text(query), values)
                return [tuple(row) for row in found]
        except (SQLAlchemyError, OSError, TimeoutError) as failure:
            raise StorageUnavailable from failure

    def close(self) -> None:
        """Leave the pool to its owner."""


def open_row_reader(database: Database) -> RowReader:
    """Return the fitting kind for *database*."""
    if database.path is None:
        return PooledRowReader(database.reader)
    return SqliteRowReader(database.path)
