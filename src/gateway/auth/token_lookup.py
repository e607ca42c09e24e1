"""
The database reads of every request: a token by its digest, with the connections it reaches.

The SQL is the same on both databases. SQLite is read in the event loop over a read-only connection
(about ten microseconds; WAL readers rarely wait), PostgreSQL by `ReadConnections`.

SQLite rows are cached until `PRAGMA data_version` changes, which it does after any commit of this
or another process. See docs/adr/0015-cached-rows-are-valid-until-a-commit.md. The
read at the start of a request also tells which credentials are stored still: `is_still_stored`.
"""

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, cast

from gateway.store import sqlite
from gateway.store.database import Database, StorageUnavailable
from gateway.store.failures import is_unavailable
from gateway.store.postgres import ReadConnections
from providers.bounded_map import BoundedMap

Row = tuple[Any, ...]
_BUSY_SECONDS = 0.2  # blocks the event loop; readers rarely wait in WAL
_REQUEST_SECONDS = 5.0  # that what a request read when it began is used for its calls
_CACHED_RESULTS = 4096
_PARAMETER = re.compile(r":(\w+)")
_CACHED_ROWS = 64  # per result; longer results are not cached
_LOOP_ROWS = 2000  # longer results are read in a thread: 100,000 rows take 0.13 s


# The start of the sealed credentials of each connection that the current request may use, with the
# (monotonic) time of the read. It holds a random nonce, so that other credentials start otherwise.
SealedStarts = Mapping[int, bytes | None]
_sealed_starts: ContextVar[tuple[float, SealedStarts]] = ContextVar("sealed_starts")


def begin_request(starts: SealedStarts) -> None:
    """Tell what the read at the start of the current request returned; see `SealedStarts`."""
    _sealed_starts.set((time.monotonic(), starts))


def is_still_stored(connection_id: int, sealed: bytes) -> bool:
    """
    Return whether the request found the credentials *sealed* stored when it began.

    False outside requests, and in one that has taken longer than a few seconds.
    """
    began, starts = _sealed_starts.get((0.0, {}))
    start = starts.get(connection_id)
    return (
        start is not None
        and sealed.startswith(start)
        and time.monotonic() - began < _REQUEST_SECONDS
    )


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
        key = (query, *values.values())
        try:
            connection = self._connection or self._open()
            version = connection.execute("PRAGMA data_version").fetchone()
            if version != self._version:  # checked first, so the rows read now can only be newer
                self._version = version
                self._cache.clear()
            cached = self._cache.get(key)
            if cached is not None:
                return cached
            with closing(connection.execute(query, values)) as cursor:
                rows: Sequence[Row] = cursor.fetchmany(_LOOP_ROWS)
            if len(rows) == _LOOP_ROWS:
                return await asyncio.to_thread(self._read_apart, query, values)
        except sqlite.Error as failure:
            raise StorageUnavailable from failure
        if len(rows) <= _CACHED_ROWS:
            self._cache[key] = rows
        return rows

    def _read_apart(self, query: str, values: Mapping[str, object]) -> Sequence[Row]:
        with closing(self._connect()) as connection:
            return connection.execute(query, values).fetchall()

    def _open(self) -> sqlite.Connection:
        self._connection = self._connect()
        return self._connection

    def _connect(self) -> sqlite.Connection:
        return sqlite.connect(self._uri, uri=True, isolation_level=None, timeout=_BUSY_SECONDS)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._version = None  # it belongs to this connection


class PostgresRowReader:
    """Reads in one round trip, with the driver's own statement; see `ReadConnections`."""

    def __init__(self, connections: ReadConnections) -> None:
        self._connections = connections

    async def rows(self, query: str, values: Mapping[str, object]) -> Sequence[Row]:
        statement, names = _numbered(query)
        try:
            return await self._connections.fetch(statement, [values[name] for name in names])
        except Exception as failure:
            if is_unavailable(failure):
                raise StorageUnavailable from failure
            raise

    def close(self) -> None:
        """Leave the connections to the database."""


@lru_cache
def _numbered(query: str) -> tuple[str, Sequence[str]]:
    """Return *query* with the driver's parameters, `$1`, and the names that they replace."""
    names = list(dict.fromkeys(_PARAMETER.findall(query)))
    return _PARAMETER.sub(lambda match: f"${names.index(match[1]) + 1}", query), names


def open_row_reader(database: Database) -> RowReader:
    """Return the row reader for the kind of *database*."""
    if database.request_reads is not None:
        return PostgresRowReader(database.request_reads)
    return SqliteRowReader(cast("Path", database.path))
