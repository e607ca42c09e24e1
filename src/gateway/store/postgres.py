"""
Connections to PostgreSQL: how they are made, and those that read for requests by the driver alone.

SQLAlchemy's pool takes more processor for lending a connection than the driver for a read, and each
request reads once: see docs/adr/0042-reads-of-requests-have-connections-of-their-own.md.
"""

import asyncio
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DisconnectionError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

# How a connection pooler assigns connections to PostgreSQL: for a session, or per transaction.
Pooler = Literal["session", "transaction"]

STATEMENT_SECONDS = 3
# That PostgreSQL keeps an open transaction whose process sends nothing: a frozen one's locks would
# otherwise stop the others until it goes on.
_IDLE_MS = 15_000
_PING_AFTER = 30.0  # seconds that a connection was idle: a firewall may have dropped it
_PING_SECONDS = 1.0
# Of statements that commit by themselves; others set it when they begin. The statements are written
# for it; a server's default may be a stricter level, whose conflicts would have to be tried again.
_ISOLATION = "SET default_transaction_isolation = 'read committed'"


def connect_options(pooler: Pooler) -> dict[str, Any]:
    """Return what SQLAlchemy's dialect for asyncpg connects with."""
    if pooler == "transaction":
        # The next transaction runs on another connection, where a prepared statement is not known.
        # The unnamed one lives until the next statement, within the transaction. The pooler refuses
        # settings at the start of a session.
        return {
            "timeout": 2,
            "statement_cache_size": 0,
            "prepared_statement_cache_size": 0,
            "prepared_statement_name_func": str,
        }
    idle = {"idle_in_transaction_session_timeout": str(_IDLE_MS)}
    return {"timeout": 2, "server_settings": idle}


def set_isolation(engine: "AsyncEngine") -> None:
    """Set the level of statements that commit by themselves on each new connection of *engine*."""

    @event.listens_for(engine.sync_engine, "connect")
    def _set(connection: Any, _record: Any) -> None:
        connection.run_async(lambda driver: driver.execute(_ISOLATION))


def replace_lost_connections(engine: "AsyncEngine") -> None:
    """Replace a pooled connection that was closed, or that does not answer after a long pause."""
    dialect = engine.sync_engine.dialect

    @event.listens_for(engine.sync_engine, "checkin")
    def _note_time(_connection: Any, record: Any) -> None:
        record.info["idle_since"] = time.monotonic()

    @event.listens_for(engine.sync_engine, "checkout")
    def _check(connection: Any, record: Any, _proxy: Any) -> None:
        is_lost = connection.driver_connection.is_closed()
        if not is_lost and time.monotonic() - record.info.get("idle_since", math.inf) > _PING_AFTER:
            try:
                dialect.do_ping(connection)
            except Exception:  # noqa: BLE001 - whatever it is, another connection may do
                is_lost = True
        if is_lost:
            raise DisconnectionError


class ReadConnections:
    """
    Connections for single reads, each of which commits by itself.

    They are opened as they are needed and stay open. A read waits `STATEMENT_SECONDS` in all: for a
    connection, and for the server.
    """

    def __init__(self, url: str, pooler: Pooler, *, most: int) -> None:
        """
        Prepare connections to the database at *url*; nothing is connected yet.

        Args:
            url: As SQLAlchemy reads it.
            pooler: How a pooler between this process and PostgreSQL works. Behind one per
                transaction a read is a transaction, because the server's connection may change
                between two messages of a statement.
            most: The most that are open at once.
        """
        parsed = make_url(url)
        _, keywords = parsed.get_dialect()().create_connect_args(parsed)
        self._options = {**keywords, **connect_options(pooler)}
        for name in ("prepared_statement_cache_size", "prepared_statement_name_func"):
            self._options.pop(name, None)  # SQLAlchemy's own
        self._in_transactions = pooler == "transaction"
        self._most = most
        self._free = asyncio.Semaphore(most)
        self._idle: list[tuple[Any, float]] = []  # with its last use; the last one was used last
        self.used = 0

    @property
    def idle(self) -> int:
        return len(self._idle)

    async def fetch(self, statement: str, arguments: Sequence[object]) -> list[tuple[Any, ...]]:
        """
        Return the rows of a query whose parameters are `$1`, `$2` and so on.

        Raises:
            OSError: The server was not reached, or did not answer in time.
            asyncpg.PostgresError: It refused the connection or the statement.
        """
        async with asyncio.timeout(STATEMENT_SECONDS), self._free:
            self.used += 1
            try:
                try:
                    return await self._fetch(statement, arguments)
                except ConnectionError:  # it may have been lost while it was idle
                    return await self._fetch(statement, arguments)
            finally:
                self.used -= 1

    async def _fetch(self, statement: str, arguments: Sequence[object]) -> list[tuple[Any, ...]]:
        connection = await self._connection()
        try:
            if self._in_transactions:
                async with connection.transaction():
                    records = await connection.fetch(statement, *arguments)
            else:
                records = await connection.fetch(statement, *arguments)
        except BaseException as failure:  # its state is not known after a cancellation either
            is_lost = isinstance(failure, Exception) and connection.is_closed()
            connection.terminate()
            if is_lost:
                self._drop_idle()  # a server that ended has lost them all
                raise ConnectionError from failure
            raise
        self._idle.append((connection, time.monotonic()))
        return [tuple(record) for record in records]

    async def _connection(self) -> Any:
        """Return the connection that was used last if it is still open, else a new one."""
        if self._idle:
            connection, last_use = self._idle.pop()
            rested = time.monotonic() - last_use > _PING_AFTER
            if not connection.is_closed() and (not rested or await _answers(connection)):
                return connection
            self._drop_idle()
        import asyncpg  # noqa: PLC0415 - not needed with SQLite

        connection = await asyncpg.connect(**self._options)
        if not self._in_transactions:
            try:
                await connection.execute(_ISOLATION)
            except BaseException:
                connection.terminate()
                raise
        return connection

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.pop()[0].terminate()

    async def close(self) -> None:
        """Wait for the reads that are running, and close all connections."""
        for _ in range(self._most):
            await self._free.acquire()
        idle, self._idle = self._idle, []
        closings = [connection.close(timeout=_PING_SECONDS) for connection, _ in idle]
        await asyncio.gather(*closings, return_exceptions=True)  # one that is lost is closed
        for _ in range(self._most):
            self._free.release()


async def _answers(connection: Any) -> bool:
    """Return whether an idle connection is still connected; it is terminated if not."""
    try:
        await connection.fetchval("SELECT 1", timeout=_PING_SECONDS)
    except BaseException as failure:
        connection.terminate()
        if isinstance(failure, Exception):
            return False
        raise
    return True
