"""
The transport of a request that may have a body: responses arrive though the body is not read.

Closing while data arrive would reset the connection, and the client might never see the response.
"""

from typing import TYPE_CHECKING

from gateway.http.connection_limits import ConnectionPhase

if TYPE_CHECKING:  # it makes these transports
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from gateway.http.protocol import GuardedProtocol


class GracefulTransport:
    """Transport of the request whose head *protocol* has just read."""

    __slots__ = ("_cycle", "_protocol", "abort", "is_closing", "write")

    def __init__(self, protocol: "GuardedProtocol") -> None:
        self._protocol = protocol
        self._cycle: RequestResponseCycle | None = protocol.cycle
        self.abort = protocol.transport.abort
        self.write = self._write_head
        self.is_closing = protocol.transport.is_closing

    def _write_head(self, data: bytes) -> None:
        """Write what begins the response; a body that is not here yet ends the connection."""
        protocol, cycle = self._protocol, self._cycle
        if cycle is not None and cycle.response_started:  # else it is "100 Continue"
            self.write = protocol.transport.write
            self._cycle = None  # the cycle holds this transport
            is_arriving = protocol.cycle is cycle and protocol.phase is ConnectionPhase.BODY
            if is_arriving and cycle.keep_alive:
                cycle.keep_alive = False
                data = data.removesuffix(b"\r\n") + b"connection: close\r\n\r\n"
        protocol.transport.write(data)

    def close(self) -> None:
        """End the connection such that the peer can read the response."""
        self._protocol.close_gracefully()
