"""
httpx transport with keep-alive pools: docs/adr/0011-an-http-transport-of-our-own.md.

The pool of httpx is quadratic in its connections and leaks those of cancelled requests.
"""

import functools
import ssl
from collections.abc import AsyncIterable, AsyncIterator
from typing import cast

import httpx

from providers.http.connection import Connection, Exchange
from providers.http.messages import Request
from providers.http.pool import Endpoint, Pool
from providers.http.proxies import Proxies
from providers.http.request_headers import serialized
from providers.http.urls import origin_of

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_CONNECTIONS = 100  # connections per origin
IDLE_SECONDS = 60.0
_MAX_POOLS = 256  # beyond it, unconnected ones are dropped: upstreams choose some of the origins

# A request that must not be repeated uses a connection that was idle only this long: the server is
# hardly closing such a connection.
WRITE_REUSE_SECONDS = 5.0


@functools.cache
def tls_context() -> ssl.SSLContext:
    """Return the process's TLS context for HTTP/1.1; building one takes milliseconds."""
    context = httpx.create_ssl_context(trust_env=False)
    context.set_alpn_protocols(["http/1.1"])
    return context


class PooledTransport(httpx.AsyncBaseTransport):
    """
    HTTP/1.1 transport with one pool per origin.

    It carries the gateway's own requests and those of httpx. With
    `request.extensions["public"]` it refuses hosts of this network. It sets
    `request.extensions["sent"]` to whether a byte of the request may have left, also when it
    raises. Errors are those of httpx: ReadError when the connection broke off,
    RemoteProtocolError when the response is not HTTP.
    """

    def __init__(
        self,
        *,
        max_connections: int = MAX_CONNECTIONS,
        idle_seconds: float = IDLE_SECONDS,
        write_reuse_seconds: float = WRITE_REUSE_SECONDS,
        tls: ssl.SSLContext | None = None,
        proxies: Proxies | None = None,
    ) -> None:
        """
        Start without any connection.

        Args:
            max_connections: Connections per origin.
            idle_seconds: How long an unused connection is kept.
            write_reuse_seconds: How long a connection may have been idle to be used for a write.
            tls: None: the certificates of certifi.
            proxies: Of https origins; None: there are none.
        """
        self._max_connections = max_connections
        self._idle_seconds = idle_seconds
        self._write_reuse_seconds = write_reuse_seconds
        self._tls = tls
        self._proxies = proxies or Proxies()
        self._pools: dict[tuple[str, bool], Pool] = {}  # by origin, and whether it must be public

    @property
    def busy(self) -> int:
        """Number of requests that hold a connection or are making one."""
        return sum(pool.busy for pool in self._pools.values())

    @property
    def open(self) -> int:
        """Number of sockets, idle ones included."""
        return sum(pool.open for pool in self._pools.values())

    async def aclose(self) -> None:
        for pool in tuple(self._pools.values()):
            await pool.aclose()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        extensions, timeouts = request.extensions, request.extensions.get("timeout") or {}
        own = Request(
            method=request.method,
            url=request.url,
            origin=origin_of(request.url),
            fields=request.headers.raw,
            lines=serialized(request.headers.raw),
            body=_content(request.stream),
            timeouts=timeouts,
            public=bool(extensions.get("public")),
        )
        try:
            exchange = await self.send(own)
        finally:
            extensions["sent"] = own.sent
        return httpx.Response(exchange.status, headers=exchange.headers, stream=_Body(exchange))

    async def send(self, request: Request) -> Exchange:
        request.sent = False
        timeouts = request.timeouts
        pool = self._pools.get((request.origin, request.public)) or self._open_pool(request)
        head = b"%b %b HTTP/1.1\r\n%b\r\n\r\n" % (
            request.method.encode(),
            request.url.raw_path,
            request.lines,
        )
        safe = request.method in SAFE_METHODS
        read_seconds, fresh = timeouts.get("read"), False
        while True:
            connection = None if fresh else pool.reuse(None if safe else self._write_reuse_seconds)
            reused = connection is not None
            if connection is None:
                connection, reused = await pool.acquire(
                    connect_seconds=timeouts.get("connect"),
                    wait_seconds=timeouts.get("pool"),
                    reuse_seconds=None if safe else self._write_reuse_seconds,
                    fresh=fresh,
                )
            exchange = connection.begin(bodiless=request.method == "HEAD")
            exchange.read_seconds = read_seconds
            request.sent = True
            try:
                if request.body is None or isinstance(request.body, bytes):
                    connection.send_whole(exchange, head + request.body if request.body else head)
                else:
                    await _send_stream(connection, exchange, request, head)
                while not exchange.status:
                    await exchange.event(read_seconds, httpx.ReadTimeout)
            except (httpx.ReadError, httpx.WriteError):
                exchange.abandon()
                if fresh or not (reused and safe and not exchange.started):
                    raise
                fresh = True
            except BaseException:
                exchange.abandon()
                raise
            else:
                return exchange

    def _open_pool(self, request: Request) -> Pool:
        url = request.url
        tls = url.scheme == "https"
        if url.scheme not in ("http", "https") or not url.host:
            raise httpx.UnsupportedProtocol("Only http and https are spoken.")
        host, port = url.host, url.port or (443 if tls else 80)
        context = (self._tls or tls_context()) if tls else None
        proxy = self._proxies.proxy_for(host, port) if tls else None
        endpoint = Endpoint(host=host, port=port, tls=context, public=request.public, proxy=proxy)
        if len(self._pools) >= _MAX_POOLS:
            self._pools = {key: pool for key, pool in self._pools.items() if pool.taken}
        pool = self._pools[request.origin, request.public] = Pool(
            endpoint, max_connections=self._max_connections, idle_seconds=self._idle_seconds
        )
        return pool


class _Body(httpx.AsyncByteStream):
    """Body of a response, as a stream of httpx."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._exchange

    async def aclose(self) -> None:
        await self._exchange.aclose()


def _content(stream: object) -> bytes | AsyncIterable[bytes]:
    if isinstance(stream, httpx.ByteStream):
        return b"".join(stream)
    if not isinstance(stream, httpx.AsyncByteStream):
        raise httpx.LocalProtocolError("The body cannot be read without blocking.")
    return stream


async def _send_stream(
    connection: Connection, exchange: Exchange, request: Request, head: bytes
) -> None:
    lengths = [int(value) for name, value in request.fields if name.lower() == b"content-length"]
    await connection.send_stream(
        exchange,
        head,
        cast("AsyncIterable[bytes]", request.body),
        length=lengths[0] if lengths else None,
        timeout_seconds=request.timeouts.get("write"),
    )
