"""
The connections of one origin: the newest idle one is reused, and waiters are served in order.

Every step is O(1). A place is taken before a connection is made and given up when it is closed, so
a task cancelled at any point leaves nothing taken.
"""

import asyncio
import ipaddress
import socket
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from ssl import SSLContext

import httpx

from providers.http.connection import Connection

_CLOSING_SECONDS = 2.0  # sockets close in the loop's next rounds; nobody waits longer


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """
    Where to connect.

    Attributes:
        tls: None: in the clear.
        public: Whether the host must not be, or be named as, a machine of this network.
    """

    host: str
    port: int
    tls: SSLContext | None
    public: bool = False

    async def addresses(self) -> Sequence[str]:
        """
        Return what to connect to, in order: the name itself, or addresses known to be public.

        Raises:
            OSError: The name leads nowhere, or to an address that is not public.
        """
        if not self.public:
            return (self.host,)
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        # The checked address itself is called: asked again, the name may say another.
        addresses = [str(where[0]) for *_, where in found]
        if not all(ipaddress.ip_address(each).is_global for each in addresses):
            raise ConnectionRefusedError
        return addresses


class Pool:
    """
    At most *max_connections* connections to one endpoint.

    Attributes:
        taken: How many places are in use: busy, idle, or being connected.
    """

    def __init__(self, endpoint: Endpoint, *, max_connections: int, idle_seconds: float) -> None:
        self._endpoint = endpoint
        self._max_connections = max_connections
        self._idle_seconds = idle_seconds
        self._idle: dict[Connection, None] = {}  # in the order they became idle
        self._sockets: set[Connection] = set()
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()
        self._sweeper: asyncio.TimerHandle | None = None
        self._none_left = asyncio.Event()
        self.taken = 0

    @property
    def open(self) -> int:
        """How many sockets exist."""
        return len(self._sockets)

    @property
    def busy(self) -> int:
        """How many places are taken by something under way."""
        return self.taken - len(self._idle)

    async def acquire(
        self,
        *,
        connect_seconds: float | None,
        wait_seconds: float | None,
        reuse_seconds: float | None = None,
        fresh: bool = False,
    ) -> tuple[Connection, bool]:
        """
        Take a connection; it comes back by itself when its exchange is over.

        Args:
            connect_seconds: Seconds for a new connection, TLS included.
            wait_seconds: Seconds to wait for a place.
            reuse_seconds: Reuse only what became idle less than so many seconds ago.
            fresh: Reuse nothing, and close what is idle: it is probably stale too.

        Returns:
            The connection, and whether it has served before.
        """
        limit = self._idle_seconds if reuse_seconds is None else reuse_seconds
        oldest = asyncio.get_running_loop().time() - limit
        while self._idle:
            connection, _ = self._idle.popitem()
            if connection.alive and not fresh and connection.idle_since > oldest:
                return connection, True
            connection.close()
            self.taken -= 1
        if self.taken < self._max_connections:
            self.taken += 1
        else:
            handed = await self._turn(wait_seconds)
            if handed is not None:
                if handed.alive and not fresh:
                    return handed, True
                handed.close()
        return await self._connect(connect_seconds), False

    async def aclose(self) -> None:
        """Close every connection, also the busy ones."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        self.taken -= len(self._idle)
        self._idle.clear()
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(httpx.PoolTimeout("The client is closed."))
        for connection in tuple(self._sockets):
            connection.close()
        if self._sockets:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING_SECONDS):
                    await self._none_left.wait()

    # --- places

    async def _turn(self, timeout_seconds: float | None) -> Connection | None:
        """Wait for a place, which comes with a connection or (None) without."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[Connection | None] = loop.create_future()
        self._waiting.append(turn)
        timer = None if timeout_seconds is None else loop.call_later(timeout_seconds, _expire, turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                handed = turn.result()
                if handed is None:
                    self._vacate()
                else:
                    self._released(handed)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _vacate(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.taken -= 1

    def _released(self, connection: Connection) -> None:
        if not connection.alive:
            self._vacate()
            return
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        self._idle[connection] = None
        if self._sweeper is None:
            self._sweep_in(self._idle_seconds)

    def _lost(self, connection: Connection) -> None:
        self._forget(connection)
        if connection in self._idle:
            del self._idle[connection]
            self.taken -= 1

    def _forget(self, connection: Connection) -> None:
        self._sockets.discard(connection)
        if not self._sockets:
            self._none_left.set()

    # --- sockets

    async def _connect(self, timeout_seconds: float | None) -> Connection:
        connection = Connection(released=self._released, lost=self._lost)
        self._sockets.add(connection)
        self._none_left.clear()
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._open_socket(connection)
        except BaseException as failure:
            connection.close()
            # Not left to `_lost`: uvloop closes the socket of a cancelled attempt without a word.
            self._forget(connection)
            self._vacate()
            if isinstance(failure, TimeoutError):
                raise httpx.ConnectTimeout("No connection in time.") from None
            if isinstance(failure, (OSError, UnicodeError)):
                raise httpx.ConnectError("No connection could be made.") from failure
            raise
        return connection

    async def _open_socket(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        endpoint = self._endpoint
        failure: OSError | None = None
        for address in await endpoint.addresses():
            try:
                await loop.create_connection(
                    lambda: connection,
                    address,
                    endpoint.port,
                    ssl=endpoint.tls,
                    server_hostname=endpoint.host if endpoint.tls is not None else None,
                )
            except OSError as error:
                failure = error
            else:
                break
        if not connection.alive:
            raise ConnectionRefusedError from failure

    def _sweep_in(self, seconds: float) -> None:
        self._sweeper = asyncio.get_running_loop().call_later(seconds, self._sweep)

    def _sweep(self) -> None:
        self._sweeper = None
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = next(iter(self._idle))
            age = now - connection.idle_since
            if age < self._idle_seconds:
                self._sweep_in(self._idle_seconds - age)
                return
            del self._idle[connection]
            self.taken -= 1
            connection.close()


def _expire(turn: "asyncio.Future[Connection | None]") -> None:
    if not turn.done():
        with suppress(asyncio.InvalidStateError):
            turn.set_exception(httpx.PoolTimeout("No connection became free in time."))
