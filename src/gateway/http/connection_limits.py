"""
Limits of a process's client connections: how many, and how slow they may be.

A connection is checked only while it is silent, sends a head or a body in pieces, or does not read
its response, so a request that arrives whole costs nothing. The deadlines are those of
docs/spec/reliability.md#slow-heads and #slow-bodies; see docs/adr/0018-connection-guard.md.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol
from weakref import WeakKeyDictionary

from gateway.http import client_addresses
from gateway.http.client_addresses import Network

HEAD_SECONDS = 5.0  # for the whole head of a request, or the first byte of a connection
STALL_SECONDS = 30.0  # without reading a pending response
DRAIN_IDLE_SECONDS = 5.0  # without a byte, while the rest of a body is discarded
DRAIN_SECONDS = 30.0  # for discarding all of it
TICK = 0.5  # seconds between two checks


class ConnectionPhase(Enum):
    """Phase of a connection; see `gateway.http.protocol`."""

    IDLE = "no request, or a request that arrived whole"
    HEAD = "receiving a head"
    BODY = "receiving a body"
    DRAINING = "response sent; discarding the rest of the request body"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Connection limits of a process; addresses in *proxies* have no limit of their own."""

    connections: int = 1000
    per_address: int = 100
    proxies: Sequence[Network] = ()


class Connection(Protocol):
    """
    The state of a connection that the limits apply to; times are on the loop's clock.

    Attributes:
        client: Address and port of the peer.
        since: When the phase began.
        last: When the last bytes of the phase arrived.
        received: Bytes of the phase.
    """

    client: tuple[str, int] | None
    phase: ConnectionPhase
    since: float
    last: float
    received: int

    def is_answered(self) -> bool:
        """Return whether no request waits for its response."""

    def is_paused(self) -> bool:
        """Return whether the process has paused reading."""

    def time_out(self) -> None:
        """End the connection, with a 408 if a response can still be sent."""

    def drop(self) -> None: ...


class ConnectionTable:
    """The connections of one server, and the timer that checks them."""

    def __init__(self, limits: Limits, loop: asyncio.AbstractEventLoop) -> None:
        self._limits = limits
        self._loop = loop
        self._addresses: dict[Connection, str | None] = {}
        self._per_address: Counter[str] = Counter()
        self._watched: dict[Connection, None] = {}  # oldest first
        self._stalled: dict[Connection, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, connection: Connection) -> bool:
        """
        Accept a connection and watch it until its first request is whole; False refuses it.

        When the process is full, the connection that has been watched longest is dropped.
        """
        address = client_addresses.peer(connection.client, self._limits.proxies)
        if address is not None and self._per_address[address] >= self._limits.per_address:
            return False
        if len(self._addresses) >= self._limits.connections and not self._make_room():
            return False
        self._addresses[connection] = address
        if address is not None:
            self._per_address[address] += 1
        self.watch(connection)
        return True

    def __contains__(self, connection: object) -> bool:
        return connection in self._addresses

    def remove(self, connection: Connection) -> None:
        self.unwatch(connection)
        self._stalled.pop(connection, None)
        address = self._addresses.pop(connection, None)
        if address is not None:
            self._per_address[address] -= 1
            if not self._per_address[address]:
                del self._per_address[address]

    def watch(self, connection: Connection) -> None:
        """Check *connection* from now on: a phase of it begins."""
        connection.since = connection.last = self._loop.time()
        connection.received = 0
        self._watched[connection] = None
        if self._timer is None:
            self._timer = self._loop.call_later(TICK, self._check)

    def unwatch(self, connection: Connection) -> None:
        self._watched.pop(connection, None)

    def is_watched(self, connection: Connection) -> bool:
        return connection in self._watched

    def set_stalled(self, connection: Connection, *, stalled: bool) -> None:
        """Record whether *connection* has stopped reading its response."""
        if not stalled:
            self._stalled.pop(connection, None)
            return
        self._stalled.setdefault(connection, self._loop.time())
        if self._timer is None:
            self._timer = self._loop.call_later(TICK, self._check)

    def _make_room(self) -> bool:
        for connection in self._watched:
            if connection.phase is not ConnectionPhase.BODY:
                self.remove(connection)
                connection.drop()
                return True
        return False

    def _check(self) -> None:
        now = self._loop.time()
        for late in [each for each in self._watched if self._is_late(each, now)]:
            self.unwatch(late)
            late.time_out()
        for stalled, since in list(self._stalled.items()):
            if now - since >= STALL_SECONDS:
                del self._stalled[stalled]
                stalled.drop()
        pending = self._watched or self._stalled
        self._timer = self._loop.call_later(TICK, self._check) if pending else None

    def _is_late(self, connection: Connection, now: float) -> bool:
        if connection.phase is ConnectionPhase.BODY:
            if connection.is_answered():
                connection.phase = ConnectionPhase.DRAINING
                connection.since = connection.last = now
            return False  # before its response, the application limits its body
        if connection.phase is ConnectionPhase.HEAD and not connection.is_answered():
            connection.since = now  # an earlier request still waits for its response
        if connection.phase is ConnectionPhase.DRAINING:
            if connection.is_paused():
                connection.last = now
            silent, total = now - connection.last, now - connection.since
            return silent >= DRAIN_IDLE_SECONDS or total >= DRAIN_SECONDS
        return now - connection.since >= HEAD_SECONDS


_tables: WeakKeyDictionary[object, ConnectionTable] = WeakKeyDictionary()


def connection_table_of(
    server: object, app: object, loop: asyncio.AbstractEventLoop
) -> ConnectionTable:
    """Return the table of *server*, with the limits of *app* if it has any."""
    table = _tables.get(server)
    if table is None:
        limits = getattr(app, "connection_limits", None)
        table = _tables[server] = ConnectionTable(limits or Limits(), loop)
    return table
