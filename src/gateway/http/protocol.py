"""
uvicorn's HTTP/1.1 protocol with a deadline and size limits for heads.

A head may take 5 seconds, 32 KB and 100 lines; one that is late is answered 408, and its connection
ends. Trailers are dropped. See docs/spec/reliability.md#slow-heads, docs/spec/requests.md#http and
docs/adr/0018-connection-guard.md; bodies have the deadlines of `rest_compat.body`.
"""

import asyncio
from typing import Any

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from gateway.http.caller_keys import FIRST_OF_CONNECTION
from gateway.http.connection_limits import ConnectionPhase, connection_table_of
from gateway.http.request_heads import error_response, origin_form, refusal_of
from gateway.http.response_transports import GracefulTransport, JoinedWrites
from policy.vocabulary import Code

MAX_HEAD = 32 * 1024  # bytes of the request line and the header lines
MAX_LINES = 100
DRAIN_PAUSE = 0.05  # seconds between two reads of a body that is discarded: about 5 MB in a second
PIECE = 16 * 1024  # bytes that are parsed before limits are checked
SLICE = 4096  # bytes that are parsed at once: about 150 pipelined requests
_BETWEEN_BODIES = frozenset({ConnectionPhase.IDLE, ConnectionPhase.HEAD})
_BODILESS = frozenset({"GET", "HEAD"})


class _ParsingStopped(Exception):
    """Stops the parser: nothing more of the connection is read as a request."""


class GuardedProtocol(HttpToolsProtocol):
    """One connection; see `connection_limits.Connection` for the public attributes."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._connections = connection_table_of(server_state, self.app, self.loop)
        self.phase = ConnectionPhase.IDLE
        self.since = self.last = 0.0
        self.received = 0
        self._chunk = 0  # bytes of the piece that is parsed
        self._content = 0  # bytes of them that are content of the body
        self._begun = 0
        self._trailer_bytes = self._trailer_lines = 0
        self._framing = 0  # bytes of chunk lines beyond half of the content
        self._refused = False
        # The refusal of data behind whole requests, until these are answered.
        self._postponed: tuple[int, Code, str] | None = None
        self._ending = False
        self._unparsed = b""  # what came behind requests that wait for earlier ones

    # -- the transport ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # uvicorn's
        """Start, unless there are too many connections."""
        super().connection_made(transport)
        self.out = JoinedWrites(transport, self.loop)
        if not self._connections.add(self):
            self._refuse(503, Code.OVERLOADED, "Too many connections. Try again shortly.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.remove(self)
        super().connection_lost(exc)
        self._drop_body()

    def data_received(self, data: bytes) -> None:
        """Parse *data*, unless earlier requests wait; watch an incomplete request."""
        for start in range(0, len(data), PIECE):  # limits are checked after each piece
            if self._refused:
                self._discard()
                return
            if self._unparsed:
                self._unparsed += data[start:]
                self.flow.pause_reading()
                return
            self._take(data[start : start + PIECE])

    def pause_writing(self) -> None:
        """Record that the client does not read."""
        self._connections.set_stalled(self, stalled=True)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Record that the client reads again."""
        self._connections.set_stalled(self, stalled=False)
        super().resume_writing()

    def _take(self, data: bytes) -> None:
        """Parse *data*, and watch the connection while a request is not whole."""
        phase_before = self.phase
        self._chunk, self._content, self._begun = len(data), 0, 0
        self._chunk = self._parse(data)
        if self._refused:
            return  # while parsing
        if self.phase is ConnectionPhase.IDLE:
            self._handle_whole_request(phase_before)
        else:
            self._handle_partial_request(phase_before)

    def _handle_whole_request(self, phase_before: ConnectionPhase) -> None:
        """Stop watching: the data ended a request, or were blank lines only."""
        if self._begun or phase_before is not ConnectionPhase.IDLE:
            self._connections.unwatch(self)
            self.received = 0
        elif self.is_answered() and not self._connections.is_watched(self):
            self._connections.watch(self)

    def _handle_partial_request(self, phase_before: ConnectionPhase) -> None:
        """Watch a head or a body of which more is to come."""
        # The first head includes the silence before it, which is watched already.
        is_first = phase_before is ConnectionPhase.IDLE and self.phase is ConnectionPhase.HEAD
        begins = self._begun or self.phase is not phase_before
        if begins and not (is_first and self._connections.is_watched(self)):
            self._connections.watch(self)
        if self.phase is not ConnectionPhase.HEAD:
            self._handle_partial_body()
            return
        self.last = self.loop.time()
        if self._begun <= 1:  # else the data hold earlier whole requests too
            self.received += self._chunk
        if self.received > MAX_HEAD:
            self._refuse_head()

    def _handle_partial_body(self) -> None:
        """
        Limit chunk lines and an unfinished trailer.

        Each chunk costs a call, so many tiny ones are refused: their lines may exceed half of the
        content by no more than a head.
        """
        self.last = self.loop.time()
        lines = self._chunk - self._content - self._content // 2
        self._framing = 0 if self._begun else max(0, self._framing + lines)
        if self._framing > MAX_HEAD:
            self._refuse_trailers()

    # -- the parser -------------------------------------------------------------------------------

    def _parse(self, data: bytes) -> int:
        """
        Parse *data* until a request has to wait for an earlier one; the rest is parsed after that.

        Returns:
            How many bytes were parsed.
        """
        self._unset_keepalive_if_required()
        for start in range(0, len(data), SLICE):
            if self._refused:
                break
            if self.pipeline:
                self._unparsed = data[start:]
                self.flow.pause_reading()
                return start
            self._parse_slice(data[start : start + SLICE])
        return len(data)

    def _parse_slice(self, data: bytes) -> None:
        """
        Parse *data*.

        An upgrade that the client offers is not taken. The parser would end such a request at its
        head and read its body as the next request, so it gets the head again without the offer.
        """
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                data = self._take_head_without_upgrade() + data[offer.args[0] :]
                continue
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
            return

    def _take_head_without_upgrade(self) -> bytes:
        """Start a parser for the request whose head was parsed; return that head for it."""
        request_line = b"%b %b HTTP/%b" % (
            self.parser.get_method(),
            self.url,
            self.parser.get_http_version().encode(),
        )
        lines = [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._begun -= 1
        return b"\r\n".join([request_line, *lines, b"\r\n"])

    def on_message_begin(self) -> None:
        self._begun += 1
        self.phase = ConnectionPhase.HEAD
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header without the blanks around its value; drop a trailer."""
        if self.phase is ConnectionPhase.HEAD:
            super().on_header(name, value.strip(b" \t"))
            if len(self.headers) > MAX_LINES:
                self._refuse_head()
                raise _ParsingStopped
            return
        self._trailer_lines += 1
        self._trailer_bytes += len(name) + len(value) + 4
        if self._trailer_lines > MAX_LINES or self._trailer_bytes > MAX_HEAD:
            self._refuse_trailers()
            raise _ParsingStopped

    def on_headers_complete(self) -> None:
        """Check a whole head; a body may begin."""
        if self.received + self._chunk > MAX_HEAD:
            lines = sum(len(name) + len(value) + 4 for name, value in self.headers)
            if len(self.url) + lines > MAX_HEAD:
                self._refuse_head()
                raise _ParsingStopped
        self._check_head()
        if self.parser.should_upgrade():
            return
        scope: Any = self.scope
        scope[FIRST_OF_CONNECTION] = self.cycle is None
        super().on_headers_complete()
        if self._ending:
            self.cycle.keep_alive = False
        self.phase = ConnectionPhase.BODY
        self._content = self._framing = self._trailer_bytes = self._trailer_lines = 0
        method = self.scope["method"]
        writer: Any = self.out if method in _BODILESS else GracefulTransport(self)
        self.cycle.transport = writer
        if method != "HEAD":  # nothing follows that head
            self.out.expect_head()

    def on_body(self, body: bytes) -> None:
        self._content += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self.phase = ConnectionPhase.IDLE
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless the connection is ending."""
        if self._refused and self._postponed is None:
            self.server_state.total_requests += 1
            return
        super().on_response_complete()
        if self._postponed is not None:
            self._end_if_answered(*self._postponed)
            return
        if self._unparsed and not self.pipeline and not self.transport.is_closing():
            data, self._unparsed = self._unparsed, b""
            self._take(data)

    # -- ends -------------------------------------------------------------------------------------

    def shutdown(self) -> None:
        """
        End the connection of a server that stops, after the request that has begun.

        A connection that was never used is left for the head deadline: its request may be on the
        way, and a client that sent one could not know whether it was carried out.
        """
        begun = self.cycle is None or self.phase is not ConnectionPhase.IDLE
        if begun and not self._refused:
            self._ending = True
            return
        super().shutdown()

    def is_answered(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def is_paused(self) -> bool:
        return self.flow.read_paused

    def close_gracefully(self) -> None:
        """End the connection after its last response, discarding a body that still arrives."""
        if (
            self.phase is ConnectionPhase.BODY
            and self.cycle.response_complete
            and not self._refused
        ):
            self._refused = True
            self._drop_body()
            self._drain()
        else:
            self.transport.close()

    def drop(self) -> None:
        self._refused = True
        self.transport.abort()

    def time_out(self) -> None:
        """End the connection; answer 408 if a request has begun and was not answered."""
        if self.phase is ConnectionPhase.HEAD:
            self._refuse(408, Code.REQUEST_TIMEOUT, "The request did not arrive in time.")
        else:
            self.drop()

    def send_400_response(self, msg: str) -> None:
        """Answer data that are not HTTP with 400, in the common error shape."""
        self._refuse(400, Code.VALIDATION_ERROR, msg)

    def _check_head(self) -> None:
        """Refuse a head that is not served; otherwise bring the target into origin form."""
        refusal = refusal_of(self.parser.get_http_version(), self.headers)
        if refusal is not None:
            self._refuse(refusal.status, Code.VALIDATION_ERROR, refusal.message)
            raise _ParsingStopped
        is_tunnel = self.parser.get_method() == b"CONNECT"
        target = None if is_tunnel else origin_form(self.url, self.headers)
        if target is None:
            self._refuse(
                400, Code.VALIDATION_ERROR, "The request target is not a path of this host."
            )
            raise _ParsingStopped
        self.url = target

    def _refuse_head(self) -> None:
        sentence = f"The head of the request has over {MAX_HEAD} bytes or {MAX_LINES} lines."
        self._refuse(431, Code.PAYLOAD_TOO_LARGE, sentence)

    def _refuse_trailers(self) -> None:
        sentence = f"Trailers or chunk lines have over {MAX_HEAD} bytes or {MAX_LINES} lines."
        self._refuse(431, Code.PAYLOAD_TOO_LARGE, sentence)

    def _refuse(self, status: int, code: Code, message: str) -> None:
        if self._refused:
            return
        self._refused = True
        if self.phase in _BETWEEN_BODIES and not self.is_answered():
            self._postponed = status, code, message
            self._connections.unwatch(self)
            self.phase, self.received = ConnectionPhase.IDLE, 0
            return
        self._end(status, code, message)

    def _end_if_answered(self, status: int, code: Code, message: str) -> None:
        """End the connection with the postponed refusal, unless a request is still unanswered."""
        if self.is_answered() and not self.transport.is_closing():
            self._postponed = None
            self._unset_keepalive_if_required()
            self._end(status, code, message)

    def _end(self, status: int, code: Code, message: str) -> None:
        if self._can_respond():
            self.out.write(error_response(status, code, message))
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # discards what the application sends from now on
            self.cycle.message_event.set()
        self._drop_body()
        self._drain()

    def _drop_body(self) -> None:
        """Release what is never read: connection and request are a reference cycle."""
        self._unparsed = b""
        if self.cycle is not None and (self.cycle.disconnected or self.cycle.response_complete):
            self.cycle.body = bytearray()

    def _drain(self) -> None:
        """
        Close for writing, and discard what still arrives until the client closes.

        Closing at once would reset the connection while data arrive, and the client might never
        see the response.
        """
        if self not in self._connections:  # refused: there are too many
            self.transport.close()
            return
        self.flow.resume_reading()
        self.out.flush()
        self.transport.write_eof()
        self.phase = ConnectionPhase.DRAINING
        self._connections.watch(self)

    def _discard(self) -> None:
        """Drop what arrived, and read on a little later: no reader waits for it."""
        self.last = self.loop.time()
        self.flow.pause_reading()
        self.loop.call_later(DRAIN_PAUSE, self._read_on)

    def _read_on(self) -> None:
        if not self.transport.is_closing():
            self.flow.resume_reading()

    def _can_respond(self) -> bool:
        """Return whether a response would be neither inside another nor before an earlier one."""
        if self.phase is ConnectionPhase.BODY:
            return not self.pipeline and not self.cycle.response_started
        return self.is_answered() and self.phase is not ConnectionPhase.DRAINING
