"""
The connections of one process: how many there may be, and which of them must go.

Nothing here costs a request anything that arrives whole: a connection is looked at only while it is
silent, sends a head or a body piece by piece, or does not read its answer. Reliability C1 and C2.
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
BODY_IDLE_SECONDS = 10.0  # without a byte of the body
BODY_GRACE_SECONDS = 10.0  # before the rate of the body counts
BODY_RATE = 32 * 1024  # bytes in a second
STALL_SECONDS = 30.0  # without reading an answer that waits
DRAIN_IDLE_SECONDS = 5.0  # without a byte of what a client still sends when it has been answered
DRAIN_SECONDS = 30.0  # for all of it
TICK = 0.5  # seconds between two looks


class ConnectionPhase(Enum):
    """What a connection does; see `gateway.http.protocol`."""

    IDLE = "nothing, or waiting for its answer"
    HEAD = "sends a head"
    BODY = "sends a body"
    DRAINING = "was answered; the rest of the request body is discarded"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How many connections a process holds; peers in *proxies* speak for many clients."""

    connections: int = 1000
    per_address: int = 100
    proxies: Sequence[Network] = ()


class Connection(Protocol):
    """
    What is looked at.

    Attributes:
        client: Address and port of the peer.
        since: When the stage began, on the loop's clock.
        last: When the last bytes of the stage came.
        held: Seconds in which the process did not want to read more of the body.
        fed: Bytes of the stage.
    """

    client: tuple[str, int] | None
    stage: ConnectionPhase
    since: float
    last: float
    held: float
    fed: int

    def answered(self) -> bool:
        """Tell whether the answer to the request is out."""

    def holding(self) -> bool:
        """Tell whether the process does not want to read now."""

    def too_slow(self) -> None:
        """End the connection, with a 408 where one can still be said."""

    def drop(self) -> None:
        """End the connection at once."""


class ConnectionTable:
    """The connections of one server."""

    def __init__(self, limits: Limits, loop: asyncio.AbstractEventLoop) -> None:
        self._limits = limits
        self._loop = loop
        self._addresses: dict[Connection, str | None] = {}
        self._per_address: Counter[str] = Counter()
        self._watched: dict[Connection, None] = {}  # those who came first stand first
        self._stalled: dict[Connection, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def join(self, connection: Connection) -> bool:
        """
        Let a connection in, and watch it until its first request is whole.

        When the process is full, the connection that has been silent for longest makes room.
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

    def has(self, connection: Connection) -> bool:
        """Tell whether *connection* was let in."""
        return connection in self._addresses

    def leave(self, connection: Connection) -> None:
        """Forget a connection."""
        self.unwatch(connection)
        self._stalled.pop(connection, None)
        address = self._addresses.pop(connection, None)
        if address is not None:
            self._per_address[address] -= 1
            if not self._per_address[address]:
                del self._per_address[address]

    def watch(self, connection: Connection) -> None:
        """Look at *connection* from now on: a stage of it begins."""
        connection.since = connection.last = self._loop.time()
        connection.held, connection.fed = 0.0, 0
        self._watched[connection] = None
        if self._timer is None:
            self._timer = self._loop.call_later(TICK, self._look)

    def unwatch(self, connection: Connection) -> None:
        """Look at *connection* no more."""
        self._watched.pop(connection, None)

    def watches(self, connection: Connection) -> bool:
        """Tell whether *connection* is looked at."""
        return connection in self._watched

    def stalls(self, connection: Connection, *, now: bool) -> None:
        """Note that *connection* does not read its answer, or does again."""
        if not now:
            self._stalled.pop(connection, None)
            return
        self._stalled.setdefault(connection, self._loop.time())
        if self._timer is None:
            self._timer = self._loop.call_later(TICK, self._look)

    def _make_room(self) -> bool:
        for one in self._watched:
            if one.stage is not ConnectionPhase.BODY:
                self.leave(one)
                one.drop()
                return True
        return False

    def _look(self) -> None:
        now = self._loop.time()
        for one in [one for one in self._watched if self._is_late(one, now)]:
            self.unwatch(one)
            one.too_slow()
        for one in [one for one, since in self._stalled.items() if now - since >= STALL_SECONDS]:
            self._stalled.pop(one)
            one.drop()
        waiting = self._watched or self._stalled
        self._timer = self._loop.call_later(TICK, self._look) if waiting else None

    def _is_late(self, one: Connection, now: float) -> bool:
        if one.stage is ConnectionPhase.BODY:
            return self._is_late_with_body(one, now)
        if one.stage is ConnectionPhase.HEAD and not one.answered():
            one.since = now  # it waits for the answer to an earlier request
        if one.stage is ConnectionPhase.DRAINING:
            return now - one.last >= DRAIN_IDLE_SECONDS or now - one.since >= DRAIN_SECONDS
        return now - one.since >= HEAD_SECONDS

    def _is_late_with_body(self, one: Connection, now: float) -> bool:
        if one.answered():
            one.stage, one.since, one.last = ConnectionPhase.DRAINING, now, now
            return False
        if one.holding():
            one.held += TICK
            one.last = now
            return False
        if now - one.last >= BODY_IDLE_SECONDS:
            return True
        sending = now - one.since - one.held
        return sending >= BODY_GRACE_SECONDS and one.fed < BODY_RATE * sending


_tables: WeakKeyDictionary[object, ConnectionTable] = WeakKeyDictionary()


def connection_table_of(
    server: object, app: object, loop: asyncio.AbstractEventLoop
) -> ConnectionTable:
    """Return the crowd of *server*; its limits are those of *app*, if it has any."""
    found = _tables.get(server)
    if found is None:
        limits = getattr(app, "connection_limits", None)
        found = _tables[server] = ConnectionTable(limits or Limits(), loop)
    return found
