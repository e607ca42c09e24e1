"""
The HTTP client's transport: keep-alive pools over `providers.http.connection`.

It takes the place of the stock pool, which is quadratic in its connections and does not survive
cancelled requests (decision record on the HTTP client).
"""

import functools
import ssl
from collections.abc import AsyncIterator

import httpx

from providers.http.connection import Connection, Exchange
from providers.http.pool import Endpoint, Pool

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_CONNECTIONS = 100  # connections per origin
IDLE_SECONDS = 60.0
_POOLS = 256  # kept although nothing is connected; upstream names some of the origins

# A request that must not be made twice goes over a connection that was used a moment ago, so that
# it hardly ever meets one that the server is just closing.
WRITE_REUSE_SECONDS = 5.0


@functools.cache
def tls_context() -> ssl.SSLContext:
    """Return the process's TLS settings for HTTP/1.1; making them takes milliseconds."""
    context = httpx.create_ssl_context(trust_env=False)
    context.set_alpn_protocols(["http/1.1"])
    return context


class PooledTransport(httpx.AsyncBaseTransport):
    """
    HTTP/1.1 with one pool per origin.

    `request.extensions["public"]` asks for a host that is not of this network.

    It answers with `request.extensions["sent"]` whether a byte of the request may have left, also
    when it raises. Errors are httpx's: ReadError when the connection broke off, RemoteProtocolError
    when what came is not HTTP.
    """

    def __init__(
        self,
        *,
        max_connections: int = MAX_CONNECTIONS,
        idle_seconds: float = IDLE_SECONDS,
        write_reuse_seconds: float = WRITE_REUSE_SECONDS,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """
        Start without any connection.

        Args:
            max_connections: Connections per origin.
            idle_seconds: How long an unused connection is kept.
            write_reuse_seconds: How long ago a connection may have been used to carry a write.
            tls: None: the certificates of certifi.
        """
        self._max_connections = max_connections
        self._idle_seconds = idle_seconds
        self._write_reuse_seconds = write_reuse_seconds
        self._tls = tls
        self._pools: dict[tuple[str, str, int, bool], Pool] = {}

    @property
    def busy(self) -> int:
        """How many requests hold a connection or are making one."""
        return sum(pool.busy for pool in self._pools.values())

    @property
    def open(self) -> int:
        """How many sockets exist, idle ones included."""
        return sum(pool.open for pool in self._pools.values())

    async def aclose(self) -> None:
        for pool in tuple(self._pools.values()):
            await pool.aclose()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        extensions = request.extensions
        extensions["sent"] = False
        timeouts = extensions.get("timeout") or {}
        pool = self._pool(request.url, public=bool(extensions.get("public")))
        head = _head(request)
        safe = request.method in SAFE_METHODS
        fresh = False
        while True:
            connection, reused = await pool.acquire(
                connect_seconds=timeouts.get("connect"),
                wait_seconds=timeouts.get("pool"),
                reuse_seconds=None if safe else self._write_reuse_seconds,
                fresh=fresh,
            )
            exchange = connection.begin(bodiless=request.method == "HEAD")
            extensions["sent"] = True
            try:
                await _send(connection, exchange, request, head)
                await exchange.head(timeouts.get("read"))
            except (httpx.ReadError, httpx.WriteError):
                exchange.abandon()
                if fresh or not (reused and safe and not exchange.started):
                    raise
                fresh = True
            except BaseException:
                exchange.abandon()
                raise
            else:
                return httpx.Response(
                    exchange.status,
                    headers=exchange.headers,
                    stream=_Body(exchange, timeouts.get("read")),
                )

    def _pool(self, url: httpx.URL, *, public: bool) -> Pool:
        tls = url.scheme == "https"
        key = (url.scheme, url.host, url.port or (443 if tls else 80), public)
        pool = self._pools.get(key)
        if pool is None:
            if url.scheme not in ("http", "https") or not url.host:
                raise httpx.UnsupportedProtocol("Only http and https are spoken.")
            context = (self._tls or tls_context()) if tls else None
            endpoint = Endpoint(host=key[1], port=key[2], tls=context, public=public)
            if len(self._pools) >= _POOLS:
                self._pools = {key: pool for key, pool in self._pools.items() if pool.taken}
            pool = Pool(
                endpoint, max_connections=self._max_connections, idle_seconds=self._idle_seconds
            )
            self._pools[key] = pool
        return pool


class _Body(httpx.AsyncByteStream):
    """The rest of an exchange, as httpx wants to read it."""

    def __init__(self, exchange: Exchange, read_timeout: float | None) -> None:
        self._exchange = exchange
        self._read_timeout = read_timeout

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        piece = await self._exchange.chunk(self._read_timeout)
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        self._exchange.abandon()


def _head(request: httpx.Request) -> bytes:
    """Write the request line and the headers, and a body that is known already."""
    lines = [b"%b %b HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
    lines += [b"%b: %b" % header for header in request.headers.raw]
    head = b"\r\n".join(lines)
    if head.count(b"\n") != len(lines) - 1 or head.count(b"\r") != len(lines) - 1 or b"\0" in head:
        raise httpx.LocalProtocolError("A header holds a line break.")
    return head + b"\r\n\r\n"


async def _send(
    connection: Connection, exchange: Exchange, request: httpx.Request, head: bytes
) -> None:
    stream = request.stream
    timeout = (request.extensions.get("timeout") or {}).get("write")
    if isinstance(stream, httpx.ByteStream):
        content = request.content
        await connection.send(exchange, head + content, None, length=None, timeout_seconds=timeout)
        return
    if not isinstance(stream, httpx.AsyncByteStream):
        raise httpx.LocalProtocolError("The body cannot be read without blocking.")
    declared = request.headers.get("content-length")
    await connection.send(
        exchange,
        head,
        stream,
        length=None if declared is None else int(declared),
        timeout_seconds=timeout,
    )
