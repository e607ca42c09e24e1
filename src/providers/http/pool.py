"""
Connection pool of one origin: reuses the newest idle connection, serves waiters in order.

Every step is O(1). A slot is taken before a connection is made and released when it is closed, so
a task that is cancelled at any point leaves no slot taken.
"""

import asyncio
import ipaddress
import socket
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from ssl import SSLContext

import httpx
import msgspec

from providers.http.connection import Connection
from providers.http.proxies import Proxy, open_tunnel
from providers.http.step_timer import StepTimer

# NAT64, its networks for local use (RFC 8215), and the former IPv4-compatible addresses.
_IPV4_AT_THE_END = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "::/96")))
# All global unicast addresses of today, and NAT64: whatever else IANA defines leads elsewhere.
_GLOBAL_UNICAST = tuple(map(ipaddress.IPv6Network, ("2000::/3", "64:ff9b::/96")))
# Rows of IANA's special-purpose registries that the tables of the standard library lack, or hold
# in some versions only. Of the protocol assignments none is a server's, anycast ones included.
_SPECIAL = tuple(
    map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "3fff::/20"))
)
_CLOSING_SECONDS = 2.0  # for the sockets to close, which takes a few rounds of the loop


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """
    Address of a server.

    Attributes:
        tls: None: plain text.
        public: Whether the host must resolve to public addresses alone. Through a proxy, which
            resolves names itself, an address in the host's place must be public.
        proxy: None: the server is connected to directly.
    """

    host: str
    port: int
    tls: SSLContext | None
    public: bool = False
    proxy: Proxy | None = None

    def check_address(self) -> None:
        """
        Check the host of a call through a proxy.

        Raises:
            ConnectionRefusedError: It must be public, and is the address of another network.
        """
        try:
            is_foreign = self.public and not is_public(self.host)
        except ValueError:  # a name
            return
        if is_foreign:
            raise ConnectionRefusedError

    async def addresses(self) -> Sequence[str]:
        """
        Return the hosts to connect to, in order: the name itself, or addresses that are public.

        Raises:
            OSError: The name does not resolve, or an address is not public.
        """
        if not self.public:
            return (self.host,)
        loop = asyncio.get_running_loop()
        infos = await loop.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        # The checked addresses are connected to: a second lookup may return others (DNS rebinding).
        addresses = [str(socket_address[0]) for *_, socket_address in infos]
        if not all(map(is_public, addresses)):
            raise ConnectionRefusedError
        return addresses


def is_public(address: str) -> bool:
    """Return whether an IP address, and each IPv4 address inside an IPv6 one, is a public one."""
    parsed = ipaddress.ip_address(address)
    return all(map(_is_reachable, (parsed, *_embedded(parsed))))


def _is_reachable(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether the internet leads to an address, as IANA's registries have it."""
    if address.version == 6 and not any(address in network for network in _GLOBAL_UNICAST):
        return False
    is_special = any(address in network for network in _SPECIAL)
    return address.is_global and not address.is_multicast and not is_special


def _embedded(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> list[ipaddress.IPv4Address]:
    """Return the IPv4 addresses that *address* may lead to: 6to4, Teredo, NAT64, compatible."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    leads_to = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if any(address in network for network in _IPV4_AT_THE_END):
        leads_to.append(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    return [each for each in leads_to if each is not None]


class Pool:
    """
    At most *max_connections* connections to one endpoint.

    Attributes:
        taken: Number of slots in use: busy, idle, or being connected.
    """

    def __init__(self, endpoint: Endpoint, *, max_connections: int, idle_seconds: float) -> None:
        self._endpoint = endpoint
        self._max_connections = max_connections
        self._idle_seconds = idle_seconds
        self._idle: dict[Connection, None] = {}  # in the order they became idle
        self._sockets: set[Connection] = set()
        self._waiters: deque[asyncio.Future[Connection | None]] = deque()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._all_closed = asyncio.Event()
        self._step_timers: dict[float, StepTimer] = {}  # of the few lengths that calls have
        self.taken = 0

    @property
    def open(self) -> int:
        """Number of sockets."""
        return len(self._sockets)

    @property
    def busy(self) -> int:
        """Number of slots taken by requests under way."""
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
        Take a connection; it returns to the pool by itself when its exchange is over.

        Args:
            connect_seconds: Timeout of a new connection, TLS included.
            wait_seconds: Timeout of waiting for a slot.
            reuse_seconds: Reuse only connections that have been idle for less.
            fresh: Reuse none, and close the idle ones, which are probably stale too.

        Returns:
            The connection, and whether it was used before.
        """
        if not fresh and (idle := self.reuse(reuse_seconds)) is not None:
            return idle, True
        while self._idle:
            self._idle.popitem()[0].close()
            self.taken -= 1
        if self.taken < self._max_connections:
            self.taken += 1
        else:
            handed = await self._wait_for_slot(wait_seconds)
            if handed is not None:
                if handed.alive and not fresh:
                    return handed, True
                handed.close()
        return await self._connect(connect_seconds), False

    def reuse(self, seconds: float | None) -> Connection | None:
        """
        Take a connection that has been idle for less than *seconds*; None: as long as any is kept.

        Those that have been idle longer are closed.
        """
        limit = self._idle_seconds if seconds is None else seconds
        oldest = asyncio.get_running_loop().time() - limit
        while self._idle:
            connection, _ = self._idle.popitem()
            if connection.alive and connection.idle_since > oldest:
                return connection
            connection.close()
            self.taken -= 1
        return None

    async def aclose(self) -> None:
        """Close every connection, also the busy ones."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        for timer in self._step_timers.values():
            timer.close()
        self.taken -= len(self._idle)
        self._idle.clear()
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(httpx.PoolTimeout("The client is closed."))
        for connection in tuple(self._sockets):
            connection.close()
        if self._sockets:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING_SECONDS):
                    await self._all_closed.wait()

    # --- slots

    async def _wait_for_slot(self, timeout_seconds: float | None) -> Connection | None:
        """Wait for a slot; return the connection that comes with it, None when there is none."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Connection | None] = loop.create_future()
        self._waiters.append(waiter)
        timer = (
            None if timeout_seconds is None else loop.call_later(timeout_seconds, _expire, waiter)
        )
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                handed = waiter.result()
                if handed is None:
                    self._free_slot()
                else:
                    self._released(handed)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _free_slot(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.taken -= 1

    def _released(self, connection: Connection) -> None:
        if not connection.alive:
            self._free_slot()
            return
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        self._idle[connection] = None
        if self._idle_timer is None:
            self._close_idle_in(self._idle_seconds)

    def _lost(self, connection: Connection) -> None:
        self._forget(connection)
        if connection in self._idle:
            del self._idle[connection]
            self.taken -= 1

    def _forget(self, connection: Connection) -> None:
        self._sockets.discard(connection)
        if not self._sockets:
            self._all_closed.set()

    # --- sockets

    async def _connect(self, timeout_seconds: float | None) -> Connection:
        connection = Connection(
            released=self._released, lost=self._lost, step_timer=self._step_timer
        )
        self._sockets.add(connection)
        self._all_closed.clear()
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._open_socket(connection)
        except BaseException as failure:
            connection.close()
            # Not left to `_lost`: uvloop does not report the closing of a cancelled attempt.
            self._forget(connection)
            self._free_slot()
            if isinstance(failure, TimeoutError):
                raise httpx.ConnectTimeout("No connection in time.") from None
            if isinstance(failure, (OSError, UnicodeError)):
                raise httpx.ConnectError("No connection could be made.") from failure
            raise
        return connection

    def _step_timer(self, seconds: float) -> StepTimer:
        timer = self._step_timers.get(seconds)
        if timer is None:
            timer = self._step_timers[seconds] = StepTimer(seconds)
        return timer

    async def _open_socket(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        endpoint = self._endpoint
        failure: OSError | None = None
        if endpoint.proxy is not None and endpoint.tls is not None:
            endpoint.check_address()
            await open_tunnel(
                connection, endpoint.proxy, endpoint.host, endpoint.port, endpoint.tls
            )
            if not connection.alive:
                raise ConnectionRefusedError
            return
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

    def _close_idle_in(self, seconds: float) -> None:
        self._idle_timer = asyncio.get_running_loop().call_later(seconds, self._close_idle)

    def _close_idle(self) -> None:
        self._idle_timer = None
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = next(iter(self._idle))
            age = now - connection.idle_since
            if age < self._idle_seconds:
                self._close_idle_in(self._idle_seconds - age)
                return
            del self._idle[connection]
            self.taken -= 1
            connection.close()


def _expire(waiter: "asyncio.Future[Connection | None]") -> None:
    if not waiter.done():
        with suppress(asyncio.InvalidStateError):
            waiter.set_exception(httpx.PoolTimeout("No connection became free in time."))
