"""
Sessions over an embedded SQLite file or PostgreSQL: `reading()` and `writing()`.

On SQLite every write transaction is `BEGIN IMMEDIATE` on the only writing connection, so two
processes wait for each other instead of losing updates, and readers never wait (WAL).
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import Connection, Executable, Row, event, text
from sqlalchemy.dialects import sqlite as sqlite_dialect
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool, QueuePool
from sqlmodel import SQLModel
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.errors import CommandError
from gateway.store import postgres, schema_version, sqlite
from gateway.store.clock import DatabaseClock
from gateway.store.failures import is_conflict, is_unavailable
from gateway.store.postgres import Pooler, ReadConnections

if TYPE_CHECKING:  # imported where the database is PostgreSQL
    from sqlalchemy.dialects import postgresql

log = logging.getLogger("gateway")

# Leases are not taken: they need new pages, which a full disk does not have.
_HARMLESS_WRITE = text("INSERT INTO leases (name, holder, until) VALUES (:name, :holder, -1)")
_HARMLESS_ROWS = 400  # about 100 KB with the index
_END_OF_WRITE = text("DELETE FROM leases WHERE until < 0")
_NOT_UPGRADED = (
    "The database is of an older version ({}) than this program, which was told not to migrate it: "
    "run `access-gateway db upgrade` first."
)
MIGRATION_SECONDS = 60.0  # that a start waits for the migration of another process
_MIGRATION_LOCK = 7_301_120  # arbitrary, but the same in every process

_DRIVERS = frozenset({"sqlite+aiosqlite", "postgresql+asyncpg"})


class StorageUnavailable(Exception):
    """The database did not answer; a request that needs it gets a 503 and is never let through."""


class TransactionConflict(StorageUnavailable):
    """
    A transaction may succeed at once; see `conflicts.retried`.

    Another one rolled it back, or its connection was lost before its commit, so that it wrote
    nothing. Only the statement of `Database.execute` may have been carried out.
    """


class UnsafeSqlite(Exception):
    """The SQLite library may corrupt a file that several processes write."""


class Database:
    """
    Two engines over one database: one for reads and one for writes; one pool on PostgreSQL.

    There, reads and the statements of `execute` commit by themselves, one round trip each: at READ
    COMMITTED each statement sees its own state anyway. Not behind a pooler per transaction.

    Attributes:
        request_reads: The connections by which requests read; None on SQLite.
    """

    def __init__(
        self,
        url: str,
        reader: AsyncEngine,
        writer: AsyncEngine,
        migrator: AsyncEngine,
        request_reads: ReadConnections | None = None,
    ) -> None:
        self.url = url
        self.request_reads = request_reads
        self.reader = reader
        self.writer = writer
        self._executor = writer if self.path is not None else reader
        self._migrator = migrator
        self.clock = DatabaseClock(of_server=self.path is None)
        self.writes_fail = False  # whether the last write did
        # Called in each write transaction before it commits.
        self.before_commit: Callable[[AsyncSession], Awaitable[None]] | None = None

    @classmethod
    def open(cls, url: str, *, connections: int = 15, pooler: Pooler = "session") -> Self:
        """
        Create the engines for *url*; nothing is connected yet.

        Args:
            url: Of SQLite or PostgreSQL, with the name of the asynchronous driver.
            connections: The most that are open to PostgreSQL at once. A third of them is for the
                reads of requests and stays open, and so does a third of the others.
            pooler: How a connection pooler between this process and PostgreSQL works.

        Raises:
            ArgumentError: *url* is not a URL, or names another database or driver.
        """
        if (driver := make_url(url).drivername) not in _DRIVERS:
            raise ArgumentError(f"{driver} is not a supported driver")
        if make_url(url).get_backend_name() == "sqlite":
            writer = _sqlite(url, writer=True)
            return cls(url, _sqlite(url, writer=False), writer, writer)
        options = postgres.connect_options(pooler)
        reads = max(1, connections // 3)
        pool_size = -(-(connections - reads) // 3)
        engine = create_async_engine(
            url,
            isolation_level="READ COMMITTED",
            pool_size=pool_size,
            max_overflow=connections - reads - pool_size,
            pool_timeout=3,
            pool_use_lifo=True,  # the connection of the last statement has it prepared
            connect_args={**options, "command_timeout": postgres.STATEMENT_SECONDS},
        )
        postgres.replace_lost_connections(engine)
        reader = engine
        if pooler == "session":
            reader = engine.execution_options(isolation_level="AUTOCOMMIT")
            postgres.set_isolation(engine)
        # A migration of large tables takes longer than a statement of a request may.
        migrator = create_async_engine(url, poolclass=NullPool, connect_args=options)
        request_reads = ReadConnections(url, pooler, most=reads)
        return cls(url, reader, engine, migrator, request_reads)

    @property
    def path(self) -> Path | None:
        """The SQLite file; None on PostgreSQL."""
        parsed = make_url(self.url)
        if parsed.get_backend_name() != "sqlite" or parsed.database is None:
            return None
        return Path(parsed.database)

    async def migrate(self) -> None:
        """
        Upgrade the schema to the newest version; safe while other processes do the same.

        A current schema is only read, so that no start waits for the writes of another process.

        Raises:
            CommandError: The schema is newer than this program, or another process has been
                upgrading it for `MIGRATION_SECONDS`.
        """
        if self.path is not None:
            await asyncio.to_thread(sqlite.prepare_file, self.path)
        async with self.reader.connect() as connection:
            if await connection.run_sync(schema_version.known_revision) == schema_version.newest():
                return
        from gateway.store.migrations import revisions  # noqa: PLC0415 - Alembic is heavy

        async with self._migrator.begin() as connection:
            if self.path is None:
                await self._lock_schema(connection)
            await connection.run_sync(revisions.upgrade)

    async def prepare(self, *, migrates: bool) -> None:
        """
        Bring the schema to the newest version, or only check that it is there.

        Raises:
            CommandError: The schema is newer than this program, or it is older and *migrates* is
                false.
        """
        if migrates:
            await self.migrate()
            return
        if self.path is not None and not self.path.exists():
            raise CommandError(_NOT_UPGRADED.format("none"))
        async with self.reader.connect() as connection:
            current = await connection.run_sync(schema_version.known_revision)
        if current != schema_version.newest():
            raise CommandError(_NOT_UPGRADED.format(current or "none"))

    async def _lock_schema(self, connection: AsyncConnection) -> None:
        """Wait until no other process upgrades the schema, and say so."""
        lock = text("SELECT pg_try_advisory_xact_lock(:lock)")
        deadline = time.monotonic() + MIGRATION_SECONDS
        waits = False
        while not await connection.scalar(lock, {"lock": _MIGRATION_LOCK}):
            if time.monotonic() > deadline:
                raise CommandError(
                    f"Another process has been upgrading the database for {MIGRATION_SECONDS:.0f} "
                    "seconds. Wait for its end, or end it if it hangs, and start again."
                )
            if not waits:
                log.warning("another process upgrades the database: waiting for its end")
                waits = True
            await asyncio.sleep(0.1)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncSession]:
        async with (
            translate_failures(),
            AsyncSession(self.reader, expire_on_commit=False) as session,
        ):
            yield session

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncSession]:
        """Open a write transaction: committed at the end, rolled back by an exception."""
        async with (
            self._noting_failures(),
            AsyncSession(self.writer, expire_on_commit=False) as session,
            session.begin(),
            _lost_is_conflict(),
        ):
            yield session
            if self.before_commit is not None:
                await self.before_commit(session)

    async def execute(self, statement: Executable) -> Sequence[Row[*tuple[Any, ...]]]:
        """
        Run a statement that is a write transaction of its own; return its rows.

        Raises:
            TransactionConflict: As usual, but it may have been carried out if it was lost on the
                way: it must be one that can run twice.
        """
        async with self._noting_failures(), self._executor.begin() as connection:
            async with _lost_is_conflict():
                result = await connection.execute(statement)
            return result.all() if result.returns_rows else ()

    @asynccontextmanager
    async def _noting_failures(self) -> AsyncIterator[None]:
        """Translate the failures of a write, and note whether it failed."""
        try:
            async with translate_failures():
                yield
        except StorageUnavailable:
            self.writes_fail = True
            raise
        self.writes_fail = False

    def insert(self, table: type[SQLModel]) -> "sqlite_dialect.Insert | postgresql.Insert":
        """Begin an INSERT of this database, which can also say what happens on a conflict."""
        if self.path is not None:
            return sqlite_dialect.insert(table)
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - heavy

        return postgresql.insert(table)

    async def accepts_writes(self) -> bool:
        """
        Return whether writes succeed: not on a read-only server, and not after a failed write.

        After a failed write another one is tried, which takes room and gives it back.
        """
        try:
            if self.path is None:
                async with self.reading() as session:
                    state = text("SELECT current_setting('transaction_read_only')")
                    if (await (await session.connection()).execute(state)).scalar_one() == "on":
                        return False
            if self.writes_fail:
                holder = secrets.token_hex(16)
                rows = [
                    {"name": f"{holder}:{number:060}", "holder": holder}
                    for number in range(_HARMLESS_ROWS)
                ]
                for statement, values in ((_HARMLESS_WRITE, rows), (_END_OF_WRITE, None)):
                    async with self.writing() as session:
                        await (await session.connection()).execute(statement, values)
        except StorageUnavailable:
            return False
        return True

    def pool_use(self) -> tuple[int, int]:
        """Return how many connections of this process are in use, and how many are idle."""
        pools = {engine.pool for engine in (self.reader, self.writer)}
        queues = [pool for pool in pools if isinstance(pool, QueuePool)]
        reads = self.request_reads
        return (
            sum(pool.checkedout() for pool in queues) + (reads.used if reads else 0),
            sum(pool.checkedin() for pool in queues) + (reads.idle if reads else 0),
        )

    async def close(self) -> None:
        if self.request_reads is not None:
            await self.request_reads.close()
        await self.reader.dispose()
        if self.writer is not self.reader:
            await self.writer.dispose()
        if self._migrator is not self.writer:
            await self._migrator.dispose()


@asynccontextmanager
async def translate_failures() -> AsyncIterator[None]:
    """Raise `StorageUnavailable` or its subclass where `gateway.store.failures` says so."""
    try:
        yield
    except Exception as failure:
        if is_conflict(failure):
            raise TransactionConflict from failure
        if is_unavailable(failure):
            raise StorageUnavailable from failure
        raise


@asynccontextmanager
async def _lost_is_conflict() -> AsyncIterator[None]:
    """Raise `TransactionConflict` where the connection was lost."""
    try:
        yield
    except DBAPIError as failure:
        if failure.connection_invalidated:
            raise TransactionConflict from failure
        raise


def _sqlite(url: str, *, writer: bool) -> AsyncEngine:
    engine = create_async_engine(
        url,
        pool_size=1 if writer else 4,
        max_overflow=0,
        pool_timeout=30,
        connect_args={"isolation_level": None, "timeout": sqlite.BUSY_TIMEOUT},
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
