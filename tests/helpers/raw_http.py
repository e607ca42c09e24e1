"""
Connections that cost the machine next to nothing, for load: one request after another on each.

The requests are bytes, the answers a status and bytes; nothing is followed, decoded or retried.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any


def request(
    path: str, headers: Mapping[str, str], *, method: str = "GET", body: bytes = b""
) -> bytes:
    """Write a request down."""
    lines = {"Host": "gateway.test", **headers}
    if body:
        lines |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


@asynccontextmanager
async def lines(ports: Iterable[int]) -> "AsyncIterator[list[Line]]":
    """Open a connection to each of *ports*, and close them in the end."""
    opened: list[Line] = []
    try:
        for port in ports:
            opened.append(await Line.open(port))  # noqa: PERF401 - those that were opened are closed
        yield opened
    finally:
        for line in opened:
            line.close()
        await asyncio.sleep(0)  # transports close their sockets in the loop's next round


class Line(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._got = b""
        self._waiting: asyncio.Future[tuple[int, bytes]] | None = None

    @classmethod
    async def open(cls, port: int) -> "Line":
        _, line = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return line

    async def ask(self, written: bytes) -> tuple[int, bytes]:
        """
        Send a request and return status and body of the answer.

        Raises:
            ConnectionError: The connection ended first.
        """
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError
        self._got = b""
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(written)
        return await self._waiting

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, separator, body = self._got.partition(b"\r\n\r\n")
        if not separator or self._waiting is None or self._waiting.done():
            return
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if len(body) >= int(length or 0):
            self._waiting.set_result((int(head[9:12]), body))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(exc or ConnectionResetError("closed"))
