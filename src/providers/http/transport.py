"""
httpx transport with keep-alive pools: docs/adr/0011-an-http-transport-of-our-own.md.

The pool of httpx is quadratic in its connections and leaks those of cancelled requests.
"""

import functools
import ssl
from collections.abc import AsyncIterator

import httpx

from providers.http.connection import Connection, Exchange
from providers.http.pool import Endpoint, Pool
from providers.http.proxies import Proxies

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

    With `request.extensions["public"]` it refuses hosts of this network. It sets
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
        self._pools: dict[tuple[str, str, int, bool], Pool] = {}

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
            proxy = self._proxies.proxy_for(key[1], key[2]) if tls else None
            endpoint = Endpoint(host=key[1], port=key[2], tls=context, public=public, proxy=proxy)
            if len(self._pools) >= _MAX_POOLS:
                self._pools = {key: pool for key, pool in self._pools.items() if pool.taken}
            pool = Pool(
                endpoint, max_connections=self._max_connections, idle_seconds=self._idle_seconds
            )
            self._pools[key] = pool
        return pool


class _Body(httpx.AsyncByteStream):
    """Body of a response, as a stream of httpx."""

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
    """Serialise the request line and the headers."""
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
