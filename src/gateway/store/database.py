"""
Sessions over an embedded SQLite file or PostgreSQL: `reading()` and `writing()`.

On SQLite every write transaction is `BEGIN IMMEDIATE` on the only writing connection, so two
processes wait for each other instead of losing updates, and readers never wait (WAL).
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any, Self

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.store import sqlite

BUSY_TIMEOUT = 5.0  # seconds that a write waits for another process
_MIGRATION_LOCK = 7_301_120  # arbitrary, but the same in every process


class StorageUnavailable(Exception):
    """The database did not answer; a request that needs it gets a 503 and is never let through."""


class UnsafeSqlite(Exception):
    """The SQLite library may corrupt a file that several processes write."""


class Database:
    """Two engines over one database: one for reads and one for writes; the same on PostgreSQL."""

    def __init__(self, url: str, reader: AsyncEngine, writer: AsyncEngine) -> None:
        self.url = url
        self.reader = reader
        self.writer = writer

    @classmethod
    def open(cls, url: str) -> Self:
        """Create the engines for *url*; nothing is connected yet."""
        if make_url(url).get_backend_name() == "sqlite":
            return cls(url, _sqlite(url, writer=False), _sqlite(url, writer=True))
        engine = create_async_engine(
            url,
            pool_pre_ping=True,
            pool_timeout=3,
            connect_args={"timeout": 2, "command_timeout": 3},
        )
        return cls(url, engine, engine)

    @property
    def path(self) -> Path | None:
        """The SQLite file; None on PostgreSQL."""
        parsed = make_url(self.url)
        if parsed.get_backend_name() != "sqlite" or parsed.database is None:
            return None
        return Path(parsed.database)

    async def migrate(self) -> None:
        """Upgrade the schema to the newest version; safe while other processes do the same."""
        if self.path is not None:
            await asyncio.to_thread(_prepare_file, self.path)
        async with self.writer.begin() as connection:
            if self.path is None:
                lock = text("SELECT pg_advisory_xact_lock(:lock)")
                await connection.execute(lock, {"lock": _MIGRATION_LOCK})
            await connection.run_sync(upgrade)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncSession]:
        async with (
            _translate_failures(),
            AsyncSession(self.reader, expire_on_commit=False) as session,
        ):
            yield session

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncSession]:
        """Open a write transaction: committed at the end, rolled back by an exception."""
        async with (
            _translate_failures(),
            AsyncSession(self.writer, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    async def close(self) -> None:
        await self.reader.dispose()
        if self.writer is not self.reader:
            await self.writer.dispose()


def _prepare_file(path: Path) -> None:
    """
    Create the file readable by its owner only (SQLite's side files copy its mode), in WAL mode.

    Switching to WAL fails while another process does the same, without SQLite's busy timeout. Any
    other failure shows again when the engine opens the file.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    deadline = time.monotonic() + BUSY_TIMEOUT
    with suppress(sqlite.Error), closing(sqlite.connect(path, timeout=BUSY_TIMEOUT)) as connection:
        while time.monotonic() < deadline:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
            except sqlite.OperationalError:
                time.sleep(0.01)
            else:
                return


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Run the packaged migrations on *connection* up to *revision*."""
    command.upgrade(alembic_config(connection), revision)


def alembic_config(connection: Connection | None = None) -> Config:
    """Return a configuration without an ini file; None is enough to list the migrations."""
    config = Config()
    config.set_main_option("script_location", "gateway.store:migrations")
    config.attributes["connection"] = connection
    return config


@asynccontextmanager
async def _translate_failures() -> AsyncIterator[None]:
    try:
        yield
    except _NO_ANSWER as failure:
        raise StorageUnavailable from failure
    except DBAPIError as failure:
        aborted = getattr(failure.orig, "sqlstate", None) in _ABORTED
        if not (failure.connection_invalidated or aborted):
            raise
        raise StorageUnavailable from failure


# No connection in time, connection refused or reset, or lost during a statement. A statement that
# is not answered in time raises TimeoutError, which is an OSError.
_NO_ANSWER = (OperationalError, InterfaceError, PoolTimeoutError, OSError)
_ABORTED = {"40001", "40P01"}  # serialization failure and deadlock


def _sqlite(url: str, *, writer: bool) -> AsyncEngine:
    engine = create_async_engine(
        url,
        pool_size=1 if writer else 4,
        max_overflow=0,
        pool_timeout=30,
        connect_args={"isolation_level": None, "timeout": BUSY_TIMEOUT},
    )
    begin = "BEGIN IMMEDIATE" if writer else "BEGIN"

    @event.listens_for(engine.sync_engine, "connect")
    def _set_pragmas(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        for pragma in _WRITER_PRAGMAS if writer else _READER_PRAGMAS:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


_WRITER_PRAGMAS = ("synchronous=FULL", "foreign_keys=ON")
_READER_PRAGMAS = ("query_only=ON", "foreign_keys=ON")


def guard_processes(database: Database, workers: int) -> None:
    """
    Refuse several worker processes on an SQLite file that they could corrupt.

    Raises:
        UnsafeSqlite: *workers* is above 1 and the SQLite library is too old.
    """
    if workers > 1 and database.path is not None and not sqlite.safe_for_many_processes():
        current = ".".join(map(str, sqlite.version()))
        needed = ".".join(map(str, sqlite.SAFE_VERSION))
        raise UnsafeSqlite(
            f"SQLite {current} cannot serve several processes; {needed} or newer can."
        )
