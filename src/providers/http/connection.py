"""
One HTTP/1.1 client connection, over asyncio and httptools.

A `Connection` belongs to a pool and serves one `Exchange` at a time. It returns to the pool when
the response has arrived, which may be before it was read.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterable, Callable
from typing import cast

import httptools
import httpx

from providers.http.step_timer import StepTimer

MAX_HEADER_BYTES = 32 * 1024
MAX_HEADERS = 100
_HIGH_WATER_BYTES = 256 * 1024  # buffered for a slow reader: reading from the socket pauses
_LOW_WATER_BYTES = 64 * 1024  # reading resumes
# Bytes of body per byte of framing, beyond the bytes of a head: every chunk costs a call in Python,
# so many chunks of fewer than 12 bytes are refused: docs/spec/reliability.md#fault-matrix.
_MIN_BODY_RATIO = 2


class Exchange:
    """One response as it arrives. One task at a time may wait for it."""

    __slots__ = (
        "_connection",
        "_failure",
        "_size",
        "_waiter",
        "bodiless",
        "chunks",
        "complete",
        "headers",
        "read_seconds",
        "received",
        "sent",
        "started",
        "status",
        "trailer_count",
        "until_eof",
    )

    def __init__(self, connection: "Connection", *, bodiless: bool) -> None:
        self._connection = connection
        self._failure: tuple[type[httpx.TransportError], str] | None = None
        self._size = 0
        self._waiter: asyncio.Future[None] | None = None
        self.bodiless = bodiless  # the response to HEAD
        self.chunks: deque[bytes] = deque()  # joined, one per read from the socket
        self.complete = False
        self.headers: list[tuple[bytes, bytes]] = []
        self.read_seconds: float | None = None  # how long upstream may send nothing
        self.received = 0  # bytes of the body, as they were sent (compressed)
        self.sent = False  # the last byte of the request
        self.started = False  # a byte of the response arrived
        self.status = 0  # 0 until the head is complete
        self.trailer_count = 0
        self.until_eof = False

    def whole(self) -> bytes | None:
        """Return the body if all of it has arrived, and was not read; else None."""
        if not self.complete:
            return None
        body = self.chunks[0] if len(self.chunks) == 1 else b"".join(self.chunks)
        self.chunks.clear()
        return body

    def __aiter__(self) -> "Exchange":
        return self

    async def __anext__(self) -> bytes:
        """Return the next chunk of the body."""
        while True:
            if self.chunks:
                chunk = self.chunks.popleft()
                self._size -= len(chunk)
                if self._size <= _LOW_WATER_BYTES:
                    self._connection.resume(self)
                return chunk
            if self.complete:
                raise StopAsyncIteration
            await self.event(self.read_seconds, httpx.ReadTimeout)

    async def aclose(self) -> None:
        """Abandon what has not arrived."""
        self._connection.give_back(self, reusable=False)

    async def event(
        self, timeout_seconds: float | None, expired: type[httpx.TimeoutException]
    ) -> None:
        """Wait for any progress; raise the failure of the exchange, or *expired* on timeout."""
        if self._failure is not None:
            kind, message = self._failure
            raise kind(message)
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        timer = None if timeout_seconds is None else self._connection.step_timer(timeout_seconds)
        if timer is not None:
            timer.start(waiter, expired)
        try:
            await waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.stop(waiter)

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def fail(self, kind: type[httpx.TransportError], message: str) -> None:
        if self._failure is None and not self.complete:
            self._failure = kind, message
        self.wake()

    def add(self, chunk: bytes) -> bool:
        """Buffer a chunk; return whether reading should pause."""
        self.chunks.append(chunk)
        self._size += len(chunk)
        self.received += len(chunk)
        return self._size > _HIGH_WATER_BYTES

    def abandon(self) -> None:
        """Abandon the rest of the response: the connection is closed and its slot freed."""
        self._connection.give_back(self, reusable=False)


class Connection(asyncio.Protocol):
    """
    One socket.

    Attributes:
        idle_since: Loop time at the end of the last response.
    """

    def __init__(
        self,
        *,
        released: Callable[["Connection"], None],
        lost: Callable[["Connection"], None],
        step_timer: Callable[[float], StepTimer],
    ) -> None:
        """
        Call *released* at the end of every exchange, *lost* when the socket is closed.

        *step_timer* returns the timer of steps of as many seconds.
        """
        self._released = released
        self._lost = lost
        self.step_timer = step_timer
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._exchange: Exchange | None = None
        self._overhead = 0
        self._pieces: list[bytes] = []  # of the body, in the data that is being parsed
        self._reading_paused = False
        self._writing_paused = False
        self._closed = False  # by us
        self._keep_alive = False  # known at the end of a response
        self._leftover = False
        self.idle_since = 0.0

    @property
    def alive(self) -> bool:
        return not self._closed and self._transport is not None and not self._transport.is_closing()

    def begin(self, *, bodiless: bool) -> Exchange:
        """Start an exchange; the connection must be alive and idle."""
        self._exchange = exchange = Exchange(self, bodiless=bodiless)
        self._overhead = 0
        return exchange

    def send_whole(self, exchange: Exchange, data: bytes) -> None:
        """Write a whole request."""
        self._write(data)
        exchange.sent = True

    async def send_stream(
        self,
        exchange: Exchange,
        head: bytes,
        body: AsyncIterable[bytes],
        *,
        length: int | None,
        timeout_seconds: float | None,
    ) -> None:
        """
        Write a request; stop without an error when the response arrives before the body's end.

        Args:
            exchange: From `begin`.
            head: Everything up to the body.
            body: Sent chunk by chunk, as fast as upstream reads it.
            length: Content-Length of *body*; None: it is sent chunked.
            timeout_seconds: How long upstream may read nothing.
        """
        self._write(head)
        written = 0
        async for chunk in body:
            if exchange.status:
                return
            if not chunk:
                continue
            written += len(chunk)
            if length is not None and written > length:
                raise httpx.LocalProtocolError("The body is longer than announced.")
            self._write(chunk if length is not None else b"%x\r\n%b\r\n" % (len(chunk), chunk))
            await self._drain(exchange, timeout_seconds)
        if exchange.status:
            return
        if length is None:
            self._write(b"0\r\n\r\n")
        elif written < length:
            raise httpx.LocalProtocolError("The body is shorter than announced.")
        exchange.sent = True

    def resume(self, exchange: Exchange) -> None:
        """Resume reading after a pause."""
        if self._reading_paused and self._exchange is exchange and self._transport is not None:
            self._reading_paused = False
            self._transport.resume_reading()

    def give_back(self, exchange: Exchange, *, reusable: bool) -> None:
        """End *exchange* if it has not ended already; close the connection unless *reusable*."""
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
        """Close at once, also during an exchange and before the socket is connected."""
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
        if exchange is None:  # unsolicited data: the next response could not be trusted
            self.close()
            return
        exchange.started = True
        failed = False
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            failed = self._leftover = True
        body_bytes = self._buffer_pieces(exchange)
        if failed:
            self._fail_protocol(exchange)
        if exchange.complete:
            reusable = exchange.sent and self._keep_alive and not self._leftover
            self.idle_since = asyncio.get_running_loop().time()
            self.give_back(exchange, reusable=reusable and not exchange.bodiless)
        else:
            self._overhead += len(data) - body_bytes
            if self._overhead > MAX_HEADER_BYTES + exchange.received // _MIN_BODY_RATIO:
                self._fail_protocol(exchange)
        exchange.wake()

    # --- httptools

    def on_message_begin(self) -> None:
        if self._exchange is None or self._exchange.complete:
            self._leftover = True

    def on_header(self, name: bytes, value: bytes) -> None:
        exchange = self._current
        if exchange.status:  # a trailer: ignored
            exchange.trailer_count += 1
            if exchange.trailer_count > MAX_HEADERS:
                raise httpx.RemoteProtocolError("Too many trailers.")
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
            # The parser would wait for a body that never comes, and cannot be told otherwise. So
            # the exchange ends here, and the connection with it.
            exchange.bodiless = exchange.complete = True
        exchange.until_eof = not framed and status != 204
        exchange.status = status

    def on_body(self, body: bytes) -> None:
        if self._current.complete:
            self._leftover = True
        else:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        if self._exchange is not None and self._exchange.status:
            self._exchange.complete = True
            self._keep_alive = self._parser.should_keep_alive()

    # --- internals

    @property
    def _current(self) -> Exchange:
        if self._exchange is None:
            raise httpx.RemoteProtocolError("A response without a request.")
        return self._exchange

    def _buffer_pieces(self, exchange: Exchange) -> int:
        """Hand over what was parsed of the body as one chunk; return how many bytes it has."""
        if not self._pieces:
            return 0
        body = b"".join(self._pieces)
        self._pieces.clear()
        if exchange.add(body) and not self._reading_paused and self._transport is not None:
            self._reading_paused = True
            self._transport.pause_reading()
        return len(body)

    def _fail_protocol(self, exchange: Exchange) -> None:
        exchange.fail(httpx.RemoteProtocolError, "The response is not HTTP.")
        self.give_back(exchange, reusable=False)

    def _write(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            raise httpx.WriteError("The connection broke off.")
        self._transport.write(data)

    async def _drain(self, exchange: Exchange, timeout_seconds: float | None) -> None:
        while self._writing_paused and not exchange.status:
            await exchange.event(timeout_seconds, httpx.WriteTimeout)
