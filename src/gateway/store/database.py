"""
The embedded SQLite file, or PostgreSQL, behind one pair of doors: `reading()` and `writing()`.

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
_MIGRATION_LOCK = 7_301_120  # any number, the same in every process


class StorageUnavailable(Exception):
    """The database did not answer; a request that needs it is answered 503, never passed."""


class UnsafeSqlite(Exception):
    """This SQLite may corrupt a file that several processes write."""


class Database:
    """Two engines over one database: any number of readers, on SQLite a single writer."""

    def __init__(self, url: str, reader: AsyncEngine, writer: AsyncEngine) -> None:
        self.url = url
        self.reader = reader
        self.writer = writer

    @classmethod
    def open(cls, url: str) -> Self:
        """Prepare engines for *url*; nothing is connected yet."""
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
        """Bring the schema to the newest version; safe while other processes do the same."""
        if self.path is not None:
            await asyncio.to_thread(_make_ready, self.path)
        async with self.writer.begin() as connection:
            if self.path is None:
                lock = text("SELECT pg_advisory_xact_lock(:lock)")
                await connection.execute(lock, {"lock": _MIGRATION_LOCK})
            await connection.run_sync(upgrade)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncSession]:
        """Open a session for reads."""
        async with _answering(), AsyncSession(self.reader, expire_on_commit=False) as session:
            yield session

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncSession]:
        """Open a write transaction: committed at the end, rolled back by an exception."""
        async with (
            _answering(),
            AsyncSession(self.writer, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    async def close(self) -> None:
        """Close every connection."""
        await self.reader.dispose()
        if self.writer is not self.reader:
            await self.writer.dispose()


def _make_ready(path: Path) -> None:
    """
    Make a missing file readable by its owner alone (SQLite's side files take its mode), in WAL.

    Processes that switch one file at once refuse each other, and SQLite does not wait then. Other
    failures are left to the next who opens it.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    until = time.monotonic() + BUSY_TIMEOUT
    with suppress(sqlite.Error), closing(sqlite.connect(path, timeout=BUSY_TIMEOUT)) as connection:
        while time.monotonic() < until:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
            except sqlite.OperationalError:
                time.sleep(0.01)
            else:
                return


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Run the packaged migrations on *connection* up to *revision*."""
    command.upgrade(alembic_config(connection), revision)


def alembic_config(connection: Connection) -> Config:
    """Return a configuration without an ini file that works on *connection*."""
    config = Config()
    config.set_main_option("script_location", "gateway.store:migrations")
    config.attributes["connection"] = connection
    return config


@asynccontextmanager
async def _answering() -> AsyncIterator[None]:
    try:
        yield
    except _SILENT as failure:
        raise StorageUnavailable from failure
    except DBAPIError as failure:
        gave_way = getattr(failure.orig, "sqlstate", None) in _GAVE_WAY
        if not (failure.connection_invalidated or gave_way):
            raise
        raise StorageUnavailable from failure


# No connection within the time, none at all (refused, reset), or lost under a statement; a
# statement without an answer in time is a TimeoutError, which is an OSError.
_SILENT = (OperationalError, InterfaceError, PoolTimeoutError, OSError)
_GAVE_WAY = {"40001", "40P01"}  # to other transactions: a serialization failure, a deadlock


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
    def _prepare(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        for pragma in _WRITER if writer else _READER:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


_WRITER = ("synchronous=FULL", "foreign_keys=ON")
_READER = ("query_only=ON", "foreign_keys=ON")


def guard_processes(database: Database, workers: int) -> None:
    """
    Refuse several processes on a file that they could corrupt.

    Raises:
        UnsafeSqlite: More than one worker, SQLite, and the library is too old.
    """
    if workers > 1 and database.path is not None and not sqlite.safe_for_many_processes():
        found = ".".join(map(str, sqlite.version()))
        wanted = ".".join(map(str, sqlite.SAFE))
        raise UnsafeSqlite(f"SQLite {found} cannot serve several processes; {wanted} or newer can.")
