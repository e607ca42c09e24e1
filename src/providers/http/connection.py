"""
One HTTP/1.1 client connection: a request out, one answer in, over asyncio and httptools.

A `Connection` lives in a pool and serves one `Exchange` at a time. It goes back to the pool the
moment the answer is complete, which may be before anybody has read it.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterable, Callable
from typing import cast

import httptools
import httpx

MAX_HEADER_BYTES = 32 * 1024  # reference, budgets
MAX_HEADERS = 100
_HIGH_WATER = 256 * 1024  # bytes of an answer held for a slow reader before reading stops
_LOW_WATER = 64 * 1024
_OVERHEAD_RATIO = 16  # framing bytes granted per byte of body: one-byte chunks need seven


class Exchange:
    """One request's answer as it arrives. One task at a time waits for it."""

    __slots__ = (
        "_connection",
        "_failure",
        "_size",
        "_waiter",
        "bodiless",
        "chunks",
        "complete",
        "headers",
        "received",
        "sent",
        "started",
        "status",
        "until_eof",
    )

    def __init__(self, connection: "Connection", *, bodiless: bool) -> None:
        self._connection = connection
        self._failure: tuple[type[httpx.TransportError], str] | None = None
        self._size = 0
        self._waiter: asyncio.Future[None] | None = None
        self.bodiless = bodiless  # an answer to HEAD
        self.chunks: deque[bytes] = deque()
        self.complete = False
        self.headers: list[tuple[bytes, bytes]] = []
        self.received = 0  # bytes of body, compressed as they came
        self.sent = False  # the request, to its last byte
        self.started = False  # a byte of the answer came
        self.status = 0  # until the head is complete
        self.until_eof = False

    async def head(self, timeout_seconds: float | None) -> None:
        """Wait until status and headers are known."""
        while not self.status:
            await self.event(timeout_seconds, httpx.ReadTimeout)

    async def chunk(self, timeout_seconds: float | None) -> bytes | None:
        """Return the next piece of the body, None at its end."""
        while True:
            if self.chunks:
                piece = self.chunks.popleft()
                self._size -= len(piece)
                if self._size <= _LOW_WATER:
                    self._connection.resume(self)
                return piece
            if self.complete:
                return None
            await self.event(timeout_seconds, httpx.ReadTimeout)

    async def event(
        self, timeout_seconds: float | None, expired: type[httpx.TimeoutException]
    ) -> None:
        """Wait for anything to happen; raise what broke the exchange, or *expired*."""
        if self._failure is not None:
            kind, message = self._failure
            raise kind(message)
        loop = asyncio.get_running_loop()
        self._waiter = waiter = loop.create_future()
        timer = None
        if timeout_seconds is not None:
            timer = loop.call_later(timeout_seconds, _expire, waiter, expired)
        try:
            await waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def fail(self, kind: type[httpx.TransportError], message: str) -> None:
        if self._failure is None and not self.complete:
            self._failure = kind, message
        self.wake()

    def add(self, piece: bytes) -> bool:
        """Keep *piece*; say whether reading should pause."""
        self.chunks.append(piece)
        self._size += len(piece)
        self.received += len(piece)
        return self._size > _HIGH_WATER

    def abandon(self) -> None:
        """Give up on whatever is left: the connection is closed and its place becomes free."""
        self._connection.give_back(self, reusable=False)


def _expire(waiter: asyncio.Future[None], expired: type[httpx.TimeoutException]) -> None:
    if not waiter.done():
        waiter.set_exception(expired("The time for this step is over."))


class Connection(asyncio.Protocol):
    """
    One socket.

    Attributes:
        idle_since: Loop time of the last answer's end.
    """

    def __init__(
        self,
        *,
        released: Callable[["Connection"], None],
        lost: Callable[["Connection"], None],
    ) -> None:
        """Call *released* once per exchange when it is over, *lost* when the socket is gone."""
        self._released = released
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._exchange: Exchange | None = None
        self._overhead = 0
        self._reading_paused = False
        self._writing_paused = False
        self._closed = False  # by us
        self._keep_alive = False  # known at the end of an answer
        self._leftover = False
        self.idle_since = 0.0

    @property
    def alive(self) -> bool:
        return not self._closed and self._transport is not None and not self._transport.is_closing()

    def begin(self, *, bodiless: bool) -> Exchange:
        """Start an exchange on this connection, which must be alive and idle."""
        self._exchange = exchange = Exchange(self, bodiless=bodiless)
        self._overhead = 0
        return exchange

    async def send(
        self,
        exchange: Exchange,
        head: bytes,
        body: AsyncIterable[bytes] | None,
        *,
        length: int | None,
        timeout_seconds: float | None,
    ) -> None:
        """
        Write a request. Stops without an error when the answer comes before the body's end.

        Args:
            exchange: What `begin` returned.
            head: Everything up to the body; with *body* None also the body itself.
            body: Sent piece by piece, as fast as upstream takes it.
            length: What Content-Length promised for *body*; None: it is sent chunked.
            timeout_seconds: Seconds that upstream may take nothing.
        """
        self._write(head)
        if body is not None:
            written = 0
            async for piece in body:
                if exchange.status:
                    return
                if not piece:
                    continue
                written += len(piece)
                if length is not None and written > length:
                    raise httpx.LocalProtocolError("The body is longer than announced.")
                self._write(piece if length is not None else b"%x\r\n%b\r\n" % (len(piece), piece))
                await self._drain(exchange, timeout_seconds)
            if exchange.status:
                return
            if length is None:
                self._write(b"0\r\n\r\n")
            elif written < length:
                raise httpx.LocalProtocolError("The body is shorter than announced.")
        exchange.sent = True

    def resume(self, exchange: Exchange) -> None:
        """Read on after a pause."""
        if self._reading_paused and self._exchange is exchange and self._transport is not None:
            self._reading_paused = False
            self._transport.resume_reading()

    def give_back(self, exchange: Exchange, *, reusable: bool) -> None:
        """End *exchange*; nothing happens when it has ended already."""
        if self._exchange is not exchange:
            return
        self._exchange = None
        if not reusable:
            self.close()
        elif self._reading_paused and self._transport is not None:
            self._reading_paused = False
            self._transport.resume_reading()
        self._released(self)

    def close(self) -> None:
        """Close at once, with whatever is under way, and also when the socket only comes later."""
        self._closed = True
        if self._transport is not None:
            self._transport.abort()

    # --- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self._closed:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        exchange = self._exchange
        if exchange is not None:
            if exc is None and exchange.status and exchange.until_eof:
                exchange.complete = True
            exchange.fail(httpx.ReadError, "The connection broke off.")
            self.give_back(exchange, reusable=False)
        self._lost(self)

    def pause_writing(self) -> None:
        self._writing_paused = True

    def resume_writing(self) -> None:
        self._writing_paused = False
        if self._exchange is not None:
            self._exchange.wake()

    def data_received(self, data: bytes) -> None:
        exchange = self._exchange
        if exchange is None:  # nobody asked: not to be trusted for the next exchange
            self.close()
            return
        exchange.started = True
        had = exchange.received
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._leftover = True
            self._spoil(exchange)
        if exchange.complete:
            reusable = exchange.sent and self._keep_alive and not self._leftover
            self.idle_since = asyncio.get_running_loop().time()
            self.give_back(exchange, reusable=reusable and not exchange.bodiless)
        else:
            self._overhead += len(data) - (exchange.received - had)
            if self._overhead > MAX_HEADER_BYTES + _OVERHEAD_RATIO * exchange.received:
                self._spoil(exchange)
        exchange.wake()

    # --- httptools

    def on_message_begin(self) -> None:
        if self._exchange is None or self._exchange.complete:
            self._leftover = True

    def on_header(self, name: bytes, value: bytes) -> None:
        exchange = self._current
        if exchange.status:  # a trailer; nobody wants one
            return
        exchange.headers.append((name.lower(), value))
        if len(exchange.headers) > MAX_HEADERS:
            raise httpx.RemoteProtocolError("Too many headers.")

    def on_headers_complete(self) -> None:
        exchange = self._current
        status = self._parser.get_status_code()
        if status < 200:
            if status == 101:
                raise httpx.RemoteProtocolError("Nobody asked to switch protocols.")
            exchange.headers.clear()
            return
        names = {name for name, _ in exchange.headers}
        framed = b"content-length" in names or b"transfer-encoding" in names
        if exchange.bodiless or (framed and status in (204, 304)):
            # The parser would wait for a body that does not come and cannot be told, so the
            # exchange ends here, and the connection with it.
            exchange.bodiless = exchange.complete = True
        exchange.until_eof = not framed and status != 204
        exchange.status = status

    def on_body(self, body: bytes) -> None:
        exchange = self._current
        if exchange.complete:
            self._leftover = True
        elif exchange.add(body) and not self._reading_paused and self._transport is not None:
            self._reading_paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self._exchange is not None and self._exchange.status:
            self._exchange.complete = True
            self._keep_alive = self._parser.should_keep_alive()

    # --- inner

    @property
    def _current(self) -> Exchange:
        if self._exchange is None:
            raise httpx.RemoteProtocolError("An answer to nothing.")
        return self._exchange

    def _spoil(self, exchange: Exchange) -> None:
        exchange.fail(httpx.RemoteProtocolError, "The answer is not HTTP.")
        self.give_back(exchange, reusable=False)

    def _write(self, piece: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            raise httpx.WriteError("The connection broke off.")
        self._transport.write(piece)

    async def _drain(self, exchange: Exchange, timeout_seconds: float | None) -> None:
        while self._writing_paused and not exchange.status:
            await exchange.event(timeout_seconds, httpx.WriteTimeout)
