"""The transports of the process by origin, and the state of connections and accounts at each."""

import logging
import ssl
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from weakref import WeakValueDictionary

import httpx

from providers.bounded_map import BoundedMap
from providers.http.events import CallListener
from providers.http.messages import HttpxTransport, Transport
from providers.http.proxies import Proxies
from providers.http.resilience import Clock, Health, SystemClock
from providers.http.slots import AccountSlots, SharedSlots, Slots
from providers.http.transport import MAX_CONNECTIONS, PooledTransport
from providers.http.urls import origin_of, parse_url

# Google compresses its answers only for agents that name gzip:
# docs/spec/upstream/README.md#user-agent.
USER_AGENT = "access-gateway (gzip)"
_MAX_ORIGINS = 256  # upstreams choose some of the origins
_MAX_HEALTH = 32_768  # states of connections at origins, about 60 MB


class Origins:
    """The transports to all origins, for the life of the process."""

    def __init__(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        *,
        apps: Mapping[str, Any] = MappingProxyType({}),
        transport: httpx.AsyncBaseTransport | None = None,
        tls: ssl.SSLContext | None = None,
        proxies: Proxies | None = None,
        user_agent: str = USER_AGENT,
        max_connections: int = MAX_CONNECTIONS,
        allow_private: bool = False,
        clock: Clock | None = None,
        listener: CallListener | None = None,
        processes: int = 1,
        shared_slots: SharedSlots | None = None,
    ) -> None:
        """
        Start without any connection.

        Args:
            apps: Origin ("https://host:port") -> ASGI app of this process that serves it. Looked
                up when an origin is first called, so entries may be added later.
            transport: Transport of all other origins; None: a `PooledTransport`.
            tls: None: the certificates of certifi.
            proxies: Of https origins; None: there are none.
            user_agent: Of all calls.
            max_connections: Connections per origin.
            allow_private: Whether pre-authenticated URLs may lead into this network (tests).
            clock: None: the system's.
            listener: Receives an event for every attempt at a call.
            processes: How many processes call the same accounts; each has its share of the slots.
            shared_slots: Opens the slots that these processes share instead; None: there are none.
        """
        # The client's log lines hold whole URLs, search words included.
        logging.getLogger("httpx").setLevel(logging.WARNING)
        self.clock: Clock = clock or SystemClock()
        self.transport = transport or PooledTransport(
            tls=tls, proxies=proxies, max_connections=max_connections
        )
        self.user_agent = user_agent
        self.allow_private = allow_private
        self._apps = apps
        self.listener = listener
        self._processes = processes
        self._shared_slots = shared_slots
        self._transports = BoundedMap[str, Transport](_MAX_ORIGINS)
        self._health = BoundedMap[tuple[object, str], Health](_MAX_HEALTH)  # least used first
        # Each lives as long as a connection or a call of the account uses it.
        self._slots = WeakValueDictionary[tuple[object, str], AccountSlots]()

    def transport_to(self, origin: str) -> Transport:
        """
        Return what carries the requests to *origin*, written ``scheme://host:port``.

        Connections of different people share it, so it keeps nothing of a request; httpx's client
        would keep cookies, and costs as much as the rest of a call.
        """
        transport = self._transports.get(origin)
        if transport is None:
            transport = self._transports[origin] = self._transport_for(origin)
        return transport

    @property
    def in_process(self) -> frozenset[str]:
        """The origins that apps of this process serve."""
        return frozenset(origin_of(parse_url(url)) for url in self._apps)

    def health(self, connection: object, origin: str, shared: tuple[object, int]) -> Health:
        """
        Return the state of *connection* at *origin*.

        *shared* are its account and the number of slots. Connections of one account share its
        slots there, with the other processes, or else this process's share of them, at least one.
        The slots of a connection without an account (None) belong to this process.
        """
        key = (connection, origin)
        health = self._health.get(key)
        if health is None:
            account, concurrency = shared
            owner = connection if account is None else account
            slots = self._slots.get((owner, origin))
            if slots is None:
                slots = self._open_slots(account, origin, concurrency)
                self._slots[owner, origin] = slots
            health = self._health[key] = Health(self.clock, slots)
        self._health.move_to_end(key)
        return health

    def _open_slots(self, account: object, origin: str, concurrency: int) -> AccountSlots:
        if account is not None and self._shared_slots is not None:
            return self._shared_slots(account, origin, concurrency)
        return Slots(max(1, concurrency // self._processes))

    def forget(self, connection: object) -> None:
        """Drop the state of a connection that was removed or reconnected."""
        for key in [key for key in self._health if key[0] == connection]:
            del self._health[key]

    def forget_all(self) -> None:
        """Drop the state of every connection, since the upstreams were replaced."""
        self._health.clear()

    async def aclose(self) -> None:
        """Close every socket."""
        self._transports.clear()
        await self.transport.aclose()

    def _transport_for(self, origin: str) -> Transport:
        for url, app in self._apps.items():
            if origin_of(parse_url(url)) == origin:
                return HttpxTransport(_InProcess(app=app))
        transport = self.transport
        return transport if isinstance(transport, Transport) else HttpxTransport(transport)


class _InProcess(httpx.ASGITransport):
    """Transport to an app of this process; an app that ends without a response is a ReadError."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            return await super().handle_async_request(request)
        except AssertionError:
            raise httpx.ReadError("The app did not answer.") from None
