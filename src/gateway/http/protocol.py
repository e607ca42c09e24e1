"""
uvicorn's HTTP/1.1 protocol with deadlines and size limits for requests.

A head may take 5 seconds, 32 KB and 100 lines, and a body must keep a minimum rate; a request that
is late is answered 408, and its connection ends. See docs/spec/reliability.md#slow-heads and
docs/adr/0018-connection-guard.md.
"""

import asyncio
import uuid
from typing import Any, cast

import orjson
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from gateway.http.connection_limits import ConnectionPhase, connection_table_of
from gateway.http.middleware import API_VERSION
from policy.vocabulary import Code

MAX_HEAD = 32 * 1024  # bytes of the request line and the header lines
MAX_LINES = 100
_BODILESS = frozenset({"GET", "HEAD"})


class _HeadRefused(Exception):
    """Stops the parser: the connection was answered and is closing."""


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
        self.since = self.last = self.paused_seconds = 0.0
        self.received = 0
        self._chunk = 0
        self._begun = 0
        self._refused = False

    # -- the transport ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # uvicorn's
        """Start, unless there are too many connections."""
        super().connection_made(transport)
        if not self._connections.add(self):
            self._refuse(503, Code.OVERLOADED, "Too many connections. Try again shortly.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse *data*, and watch the connection while a request is not whole."""
        if self._refused:
            self.last = self.loop.time()
            return
        phase_before = self.phase
        self._chunk, self._begun = len(data), 0
        super().data_received(data)
        if self._refused:
            return  # while parsing
        if self.phase is ConnectionPhase.IDLE:
            self._handle_whole_request(phase_before)
        else:
            self._handle_partial_request(phase_before)

    def pause_writing(self) -> None:
        """Record that the client does not read."""
        self._connections.set_stalled(self, stalled=True)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Record that the client reads again."""
        self._connections.set_stalled(self, stalled=False)
        super().resume_writing()

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
        self.last = self.loop.time()
        if self._begun <= 1:  # else the data hold earlier whole requests too
            self.received += self._chunk
        if self.phase is ConnectionPhase.HEAD and self.received > MAX_HEAD:
            self._refuse_head()

    # -- the parser -------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._begun += 1
        self.phase = ConnectionPhase.HEAD
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Check the size of a whole head; a body may begin."""
        refused = len(self.headers) > MAX_LINES
        if not refused and self.received + self._chunk > MAX_HEAD:
            lines = sum(len(name) + len(value) + 4 for name, value in self.headers)
            refused = len(self.url) + lines > MAX_HEAD
        if refused:
            self._refuse_head()
            raise _HeadRefused
        self.phase = ConnectionPhase.BODY
        super().on_headers_complete()
        if self.scope["method"] not in _BODILESS:
            self.cycle.transport = cast("asyncio.Transport", _GracefulTransport(self))

    def on_message_complete(self) -> None:
        self.phase = ConnectionPhase.IDLE
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless the connection is ending."""
        if self._refused:
            self.server_state.total_requests += 1
        else:
            super().on_response_complete()

    # -- ends -------------------------------------------------------------------------------------

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
            self._drain()
        else:
            self.transport.close()

    def drop(self) -> None:
        self._refused = True
        self.transport.abort()

    def time_out(self) -> None:
        """End the connection; answer 408 if a request has begun and was not answered."""
        if self.phase is ConnectionPhase.BODY:
            self._refuse(408, Code.REQUEST_TIMEOUT, "The request body did not arrive in time.")
        elif self.phase is ConnectionPhase.HEAD:
            self._refuse(408, Code.REQUEST_TIMEOUT, "The request did not arrive in time.")
        else:
            self.drop()

    def send_400_response(self, msg: str) -> None:
        """Answer data that are not HTTP with 400, in the common error shape."""
        self._refuse(400, Code.VALIDATION_ERROR, msg)

    def _refuse_head(self) -> None:
        sentence = f"The head of the request has over {MAX_HEAD} bytes or {MAX_LINES} lines."
        self._refuse(431, Code.PAYLOAD_TOO_LARGE, sentence)

    def _refuse(self, status: int, code: Code, message: str) -> None:
        if self._refused:
            return
        self._refused = True
        if self._can_respond():
            self.transport.write(_error_response(status, code, message))
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # discards what the application sends from now on
            self.cycle.message_event.set()
        self._drain()

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
        self.transport.write_eof()
        self.phase = ConnectionPhase.DRAINING
        self._connections.watch(self)

    def _can_respond(self) -> bool:
        """Tell whether a response would be neither inside another one nor before an earlier one."""
        if self.phase is ConnectionPhase.BODY:
            return not self.pipeline and not self.cycle.response_started
        return self.is_answered()


class _GracefulTransport:
    """Transport of a request that may have a body; closed by `GuardedProtocol.close_gracefully`."""

    __slots__ = ("_protocol", "abort", "is_closing", "write")

    def __init__(self, protocol: GuardedProtocol) -> None:
        self._protocol = protocol
        self.abort = protocol.transport.abort
        self.write = protocol.transport.write
        self.is_closing = protocol.transport.is_closing

    def close(self) -> None:
        """End the connection such that the peer can read the response."""
        self._protocol.close_gracefully()


def _error_response(status: int, code: Code, message: str) -> bytes:
    request_id = str(uuid.uuid4())
    body = orjson.dumps({"error": code.value, "message": message, "requestId": request_id})
    lines = (
        "content-type: application/json",
        f"content-length: {len(body)}",
        f"x-request-id: {request_id}",
        f"x-api-version: {API_VERSION}",
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "connection: close",
    )
    head = "".join(f"{line}\r\n" for line in lines)
    return STATUS_LINE[status] + head.encode() + b"\r\n" + body
