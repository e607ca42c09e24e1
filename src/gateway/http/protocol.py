"""
HTTP/1.1 on one connection: uvicorn's, with deadlines and sizes for what a client sends.

Heads have 5 seconds, 32 KB and 100 lines; bodies must keep coming; whoever is late is told 408, and
the connection ends. What arrives whole in one piece costs next to nothing more. Reliability C1, C2.
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


class _Refused(Exception):
    """Stops the parser: the connection was answered and is closing."""


class GuardedProtocol(HttpToolsProtocol):
    """One connection; see `connection_limits.Connection` for the attributes that are looked at."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._connections = connection_table_of(server_state, self.app, self.loop)
        self.stage = ConnectionPhase.IDLE
        self.since = self.last = self.held = 0.0
        self.fed = 0
        self._chunk = 0
        self._begun = 0
        self._refused = False

    # -- the transport ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # uvicorn's
        """Start, unless there are too many."""
        super().connection_made(transport)
        if not self._connections.join(self):
            self._refuse(503, Code.OVERLOADED, "Too many connections. Try again shortly.")

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave."""
        self._connections.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, and look at the connection while a request is not whole."""
        if self._refused:
            self.last = self.loop.time()
            return
        before = self.stage
        self._chunk, self._begun = len(data), 0
        super().data_received(data)
        if self._refused:
            return  # meanwhile
        if self.stage is ConnectionPhase.IDLE:
            self._whole(before)
        else:
            self._partly(before)

    def pause_writing(self) -> None:
        """Note that the client does not read."""
        self._connections.stalls(self, now=True)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that it does again."""
        self._connections.stalls(self, now=False)
        super().resume_writing()

    def _whole(self, before: ConnectionPhase) -> None:
        """What came was the end of a request, or nothing but blank lines."""
        if self._begun or before is not ConnectionPhase.IDLE:
            self._connections.unwatch(self)
            self.fed = 0
        elif self.answered() and not self._connections.watches(self):
            self._connections.watch(self)

    def _partly(self, before: ConnectionPhase) -> None:
        """A head or a body goes on, or a new one began."""
        first = (
            before is ConnectionPhase.IDLE and self.stage is ConnectionPhase.HEAD
        )  # its silence counts as well
        begins = self._begun or self.stage is not before
        if begins and not (first and self._connections.watches(self)):
            self._connections.watch(self)
        self.last = self.loop.time()
        if self._begun <= 1:  # else the piece holds whole requests before this one
            self.fed += self._chunk
        if self.stage is ConnectionPhase.HEAD and self.fed > MAX_HEAD:
            self._refuse_head()

    # -- the parser -------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A head begins."""
        self._begun += 1
        self.stage = ConnectionPhase.HEAD
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head is whole: a body may begin."""
        if len(self.headers) > MAX_LINES or (
            self.fed + self._chunk > MAX_HEAD and self._head_size() > MAX_HEAD
        ):
            self._refuse_head()
            raise _Refused
        self.stage = ConnectionPhase.BODY
        super().on_headers_complete()
        if self.scope["method"] not in _BODILESS:
            self.cycle.transport = cast("asyncio.Transport", _Parting(self))

    def on_message_complete(self) -> None:
        """A request is whole."""
        self.stage = ConnectionPhase.IDLE
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless the connection is at its end."""
        if self._refused:
            self.server_state.total_requests += 1
        else:
            super().on_response_complete()

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    # -- ends -------------------------------------------------------------------------------------

    def answered(self) -> bool:
        """Tell whether no request waits for its answer."""
        return self.cycle is None or self.cycle.response_complete

    def holding(self) -> bool:
        """Tell whether the process does not want to read now."""
        return self.flow.read_paused

    def part(self) -> None:
        """End the connection after its last answer; a body that nobody reads may still come."""
        if (
            self.stage is ConnectionPhase.BODY
            and self.cycle.response_complete
            and not self._refused
        ):
            self._refused = True
            self._linger()
        else:
            self.transport.close()

    def drop(self) -> None:
        """End the connection at once."""
        self._refused = True
        self.transport.abort()

    def too_slow(self) -> None:
        """End the connection; say 408 unless it never said anything, or was answered."""
        if self.stage is ConnectionPhase.BODY:
            self._refuse(408, Code.REQUEST_TIMEOUT, "The request body did not arrive in time.")
        elif self.stage is ConnectionPhase.HEAD:
            self._refuse(408, Code.REQUEST_TIMEOUT, "The request did not arrive in time.")
        else:
            self.drop()

    def send_400_response(self, msg: str) -> None:
        """Say that this is not HTTP, in the shape of every error."""
        self._refuse(400, Code.VALIDATION_ERROR, msg)

    def _refuse_head(self) -> None:
        sentence = f"The head of the request has over {MAX_HEAD} bytes or {MAX_LINES} lines."
        self._refuse(431, Code.PAYLOAD_TOO_LARGE, sentence)

    def _refuse(self, status: int, code: Code, message: str) -> None:
        if self._refused:
            return
        self._refused = True
        if self._may_speak():
            self.transport.write(_answer(status, code, message))
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # what the application says from now on goes nowhere
            self.cycle.message_event.set()
        self._linger()

    def _linger(self) -> None:
        """
        Close for writing, and let the client read what was said.

        What is on its way here is read and forgotten: closing on it at once would reset the
        connection, and the client might never see the answer.
        """
        if not self._connections.has(self):  # too many already
            self.transport.close()
            return
        self.flow.resume_reading()
        self.transport.write_eof()
        self.stage = ConnectionPhase.DRAINING
        self._connections.watch(self)

    def _may_speak(self) -> bool:
        """Tell whether words would not land within another answer, or before an earlier one."""
        if self.stage is ConnectionPhase.BODY:
            return not self.pipeline and not self.cycle.response_started
        return self.answered()


class _Parting:
    """The transport of a request that may have a body: it is closed by `GuardedProtocol.part`."""

    __slots__ = ("_protocol", "abort", "is_closing", "write")

    def __init__(self, protocol: GuardedProtocol) -> None:
        self._protocol = protocol
        self.abort = protocol.transport.abort
        self.write = protocol.transport.write
        self.is_closing = protocol.transport.is_closing

    def close(self) -> None:
        """End the connection, such that its peer can read what was said."""
        self._protocol.part()


def _answer(status: int, code: Code, message: str) -> bytes:
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
