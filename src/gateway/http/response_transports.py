"""Transports of responses: head and body in one write, and before the body of the request."""

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from gateway.http.connection_limits import ConnectionPhase

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

_CONTINUE = b"HTTP/1.1 100"


class JoinedWrites:
    """
    Writes to the transport of one connection.

    uvicorn writes head and body apart, and each write is a system call. So a head is held until
    something follows, at most until the next turn of the event loop.
    """

    __slots__ = ("_head_is_next", "_held", "_loop", "_transport", "abort", "close", "is_closing")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held = b""
        self._head_is_next = False
        self.abort, self.close = transport.abort, transport.close
        self.is_closing = transport.is_closing

    def expect_head(self) -> None:
        """Hold what is written next, but "100 Continue"."""
        self._head_is_next = True

    def write(self, data: bytes) -> None:
        """Write *data* behind what is held, or hold it."""
        if self._held:
            self._transport.writelines((self._held, data))
            self._held = b""
        elif self._head_is_next and not data.startswith(_CONTINUE):
            self._head_is_next, self._held = False, data
            self._loop.call_soon(self.flush)
        else:
            self._transport.write(data)

    def flush(self) -> None:
        """Write what is held."""
        if self._held and not self._transport.is_closing():
            self._transport.write(self._held)
        self._held = b""


class GuardedConnection(Protocol):
    """The part of `gateway.http.protocol.GuardedProtocol` that a transport uses."""

    cycle: Any
    transport: Any
    out: JoinedWrites
    phase: ConnectionPhase

    def close_gracefully(self) -> None: ...


class GracefulTransport:
    """
    Transport of the request whose head *protocol* has just read, and which may have a body.

    Responses arrive though the body is not read: closing while data arrive would reset the
    connection, and the client might never see the response.
    """

    __slots__ = ("_cycle", "_protocol", "abort", "is_closing", "write")

    def __init__(self, protocol: GuardedConnection) -> None:
        self._protocol = protocol
        self._cycle: RequestResponseCycle | None = protocol.cycle
        self.abort = protocol.transport.abort
        self.write = self._write_head
        self.is_closing = protocol.transport.is_closing

    def _write_head(self, data: bytes) -> None:
        """Write what begins the response; a body that is not here yet ends the connection."""
        protocol, cycle = self._protocol, self._cycle
        if cycle is not None and cycle.response_started:  # else it is "100 Continue"
            self.write = protocol.out.write
            self._cycle = None  # the cycle holds this transport
            is_arriving = protocol.cycle is cycle and protocol.phase is ConnectionPhase.BODY
            if is_arriving and cycle.keep_alive:
                cycle.keep_alive = False
                data = data.removesuffix(b"\r\n") + b"connection: close\r\n\r\n"
        protocol.out.write(data)

    def close(self) -> None:
        """End the connection such that the peer can read the response."""
        self._protocol.close_gracefully()
