"""
The reads of every request: one token by its digest, and the connections of its resources.

Raw SQL, the same on both databases. SQLite is read in the event loop over a read-only connection
(about ten microseconds, and WAL readers never wait); PostgreSQL through the pool.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from gateway import sqlite
from gateway.database import Database, StorageUnavailable

Row = Sequence[Any]
_PATIENCE = 0.2  # seconds: the event loop stands still meanwhile; readers rarely wait in WAL


class Lookup(Protocol):
    """One query, all its rows."""

    async def rows(self, query: str, values: Mapping[str, object]) -> Sequence[Row]:
        """
        Run *query*, whose parameters are named `:name`.

        Raises:
            StorageUnavailable: The database did not answer.
        """

    def close(self) -> None:
        """Let the connection go."""


class SqliteLookup:
    """Reads the file in the event loop, on a connection that cannot write."""

    def __init__(self, path: Path) -> None:
        self._uri = f"{path.absolute().as_uri()}?mode=ro"
        self._connection: sqlite.Connection | None = None

    async def rows(self, query: str, values: Mapping[str, object]) -> Sequence[Row]:
        """Run *query*; see `Lookup`."""
        try:
            if self._connection is None:
                self._connection = sqlite.connect(
                    self._uri, uri=True, isolation_level=None, timeout=_PATIENCE
                )
            return self._connection.execute(query, values).fetchall()
        except sqlite.Error as failure:
            raise StorageUnavailable from failure

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class PooledLookup:
    """Reads through the reader engine's pool."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def rows(self, query: str, values: Mapping[str, object]) -> Sequence[Row]:
        """Run *query*; see `Lookup`."""
        try:
            async with self._engine.connect() as connection:
                found = await connection.execute(text(query), values)
                return [tuple(row) for row in found]
        except (SQLAlchemyError, OSError, TimeoutError) as failure:
            raise StorageUnavailable from failure

    def close(self) -> None:
        """Leave the pool to its owner."""


def open_lookup(database: Database) -> Lookup:
    """Return the fitting kind for *database*."""
    if database.path is None:
        return PooledLookup(database.reader)
    return SqliteLookup(database.path)
