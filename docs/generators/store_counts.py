"""Counters of what a process sends to its stores: SQLite, PostgreSQL and Redis."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit, urlunsplit

import aiosqlite.core

from gateway.store import sqlite

_SSL_OR_CANCEL = 8  # bytes of the messages before a session that are not its start
_TRANSACTION = (b"BEGIN", b"COMMIT", b"ROLLBACK")
_SETUP = b"CLIENT"  # the command by which a new connection to Redis names itself


@dataclass(slots=True)
class Counter:
    """
    What was sent to one store.

    Attributes:
        statements: Of PostgreSQL or SQLite without those that begin and end transactions; commands
            of Redis, with those that a script runs in the server, without those that begin a
            connection: how many connections there are depends on the speed of the machine.
        round_trips: How often a connection sent one of them after it had received.
    """

    statements: int = 0
    round_trips: int = 0

    def taken(self) -> "Counter":
        """Return what was counted, and begin anew."""
        taken = Counter(self.statements, self.round_trips)
        self.statements = self.round_trips = 0
        return taken


class _PostgresMessages:
    """Counts the statements in what a client sends."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._buffer = b""
        self._has_started = False

    def feed(self, data: bytes) -> bool:
        """Return whether *data* counts as a round trip."""
        self._buffer += data
        head = 1 if self._has_started else 0
        while len(self._buffer) >= head + 4:
            end = head + int.from_bytes(self._buffer[head : head + 4])
            if len(self._buffer) < end:
                break
            message, self._buffer = self._buffer[:end], self._buffer[end:]
            if not self._has_started:
                self._has_started = len(message) > _SSL_OR_CANCEL
                head = 1 if self._has_started else 0
            elif message[:1] == b"E" or (
                message[:1] == b"Q" and not message[5:].startswith(_TRANSACTION)
            ):
                self._counter.statements += 1
        return True


class _RedisMessages:
    """Counts the commands in what a client sends; none of them holds a line break."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter

    def feed(self, data: bytes) -> bool:
        """Return whether *data* counts as a round trip."""
        lines = data.split(b"\r\n")
        commands = sum(line.startswith(b"*") for line in lines) - lines.count(_SETUP)
        self._counter.statements += commands
        return commands > 0


class _Link:
    """One connection through the proxy: it counts each time that the client sends after it read."""

    def __init__(self, counter: Counter, messages: _PostgresMessages | _RedisMessages) -> None:
        self._counter = counter
        self._messages = messages
        self._is_clients_turn = True

    async def serve(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        """Pass everything on, until either side closes."""
        ways = (self._pass_requests(client[0], server[1]), self._pass(server[0], client[1]))
        both = [asyncio.create_task(way) for way in ways]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in both:
                each.cancel()
            for end in (client[1], server[1]):
                end.close()

    async def _pass_requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while data := await reader.read(65536):
            counts = self._messages.feed(data)
            self._counter.round_trips += counts and self._is_clients_turn
            self._is_clients_turn = False
            writer.write(data)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            self._is_clients_turn = True
            writer.write(data)


@asynccontextmanager
async def counted_server(url: str, counter: Counter) -> AsyncIterator[str]:
    """Yield the URL of a proxy of the server at *url*, PostgreSQL or Redis, that counts."""
    parts = urlsplit(url)
    messages = _RedisMessages if parts.scheme == "redis" else _PostgresMessages
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            tasks.add(task)
        onward = await asyncio.open_connection(parts.hostname, parts.port)
        await _Link(counter, messages(counter)).serve((reader, writer), onward)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    user = f"{parts.username}@" if parts.username else ""
    port = server.sockets[0].getsockname()[1]
    try:
        yield urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{port}"))
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def counted_sqlite(file_name: str, counter: Counter) -> Iterator[None]:
    """Count the statements of the connections to *file_name* that are opened inside the context."""

    def count(statement: str) -> None:
        if not statement.startswith(("BEGIN", "COMMIT", "ROLLBACK", "--")):
            counter.statements += 1

    connect = sqlite.connect

    def connect_counted(*arguments: Any, **options: Any) -> sqlite.Connection:
        connection = connect(*arguments, **options)
        if file_name in str(arguments[0]):
            connection.set_trace_callback(count)
        return connection

    with (
        patch.object(sqlite, "connect", connect_counted),
        patch.object(aiosqlite.core.sqlite3, "connect", connect_counted),
    ):
        yield
