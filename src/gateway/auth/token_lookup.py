"""
The database reads of every request: a token by its digest, with the connections it reaches.

The SQL is the same on both databases. SQLite is read in the event loop over a read-only connection
(about ten microseconds; WAL readers rarely wait), PostgreSQL through the pool.

SQLite rows are cached until `PRAGMA data_version` changes, which it does after any commit of this
or another process. See docs/adr/0015-cached-rows-are-valid-until-a-commit.md.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from gateway.store import sqlite
from gateway.store.database import Database, StorageUnavailable, translate_failures
from providers.bounded_map import BoundedMap

Row = tuple[Any, ...]
_BUSY_SECONDS = 0.2  # blocks the event loop; readers rarely wait in WAL
_CACHED_RESULTS = 4096
_CACHED_ROWS = 64  # per result; longer results are not cached


class RowReader(Protocol):
    """Runs read-only queries."""

    async def rows(self, query: str, values: Mapping[str, object]) -> Sequence[Row]:
        """
        Return all rows of *query*, whose parameters are named `:name`.

        Raises:
            StorageUnavailable: The database did not answer.
        """

    def close(self) -> None: ...


class SqliteRowReader:
    """Reads the file in the event loop, on a connection that cannot write."""

    def __init__(self, path: Path) -> None:
        self._uri = f"{path.absolute().as_uri()}?mode=ro"
        self._connection: sqlite.Connection | None = None
        self._version: Row | None = None
        self._cache = BoundedMap[Row, Sequence[Row]](_CACHED_RESULTS)

    async def rows(self, query: str, values: Mapping[str, object]) -> Sequence[Row]:
        """Return the rows of *query*, cached until the next commit; see `RowReader`."""
        key = (query, *values.values())
        try:
            connection = self._connection or self._open()
            version = connection.execute("PRAGMA data_version").fetchone()
            if version != self._version:  # checked first, so the rows read now can only be newer
                self._version = version
                self._cache.clear()
            cached = self._cache.get(key)
            return cached if cached is not None else self._read(connection, key, values)
        except sqlite.Error as failure:
            raise StorageUnavailable from failure

    def _read(
        self, connection: sqlite.Connection, key: Row, values: Mapping[str, object]
    ) -> Sequence[Row]:
        rows: Sequence[Row] = connection.execute(key[0], values).fetchall()
        if len(rows) <= _CACHED_ROWS:
            self._cache[key] = rows
        return rows

    def _open(self) -> sqlite.Connection:
        self._connection = sqlite.connect(
            self._uri, uri=True, isolation_level=None, timeout=_BUSY_SECONDS
        )
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._version = None  # it belongs to this connection


class PooledRowReader:
    """Reads through the reader engine's pool."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def rows(self, query: str, values: Mapping[str, object]) -> Sequence[Row]:
        async with translate_failures(), self._engine.connect() as connection:
            result = await connection.execute(text(query), values)
            return [tuple(row) for row in result.all()]  # iterated, each row costs three calls

    def close(self) -> None:
        """Leave the pool to its owner."""


def open_row_reader(database: Database) -> RowReader:
    """Return the row reader for the kind of *database*."""
    if database.path is None:
        return PooledRowReader(database.reader)
    return SqliteRowReader(database.path)
