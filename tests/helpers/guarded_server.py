"""An echo application behind the gateway's HTTP/1.1 protocol, on a socket of this process."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from gateway.http.connection_limits import Limits
from gateway.http.protocol import GuardedProtocol

READ_SECONDS = 5


class EchoApp:
    """
    Answers 200 with the target, the headers after the body, and the size of the body, as JSON.

    Attributes:
        requests: Targets of the requests that reached the application.
        gate: Requests wait for it before they are answered.
    """

    connection_limits = Limits(connections=20)

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.requests.append(scope["raw_path"].decode())
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            size += len(message["body"])
            more = message["more_body"]
        await self.gate.wait()
        headers = [[name.decode(), value.decode("latin-1")] for name, value in scope["headers"]]
        answer = {"path": scope["path"], "headers": headers, "size": size}
        body = json.dumps(answer).encode()
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serve(app: Any) -> AsyncIterator[int]:
    """Serve *app* without uvicorn's lifespan; yield the port."""
    config = uvicorn.Config(
        app, http=GuardedProtocol, ws="none", lifespan="off", log_config=None, access_log=False
    )
    config.load()
    state, loop = ServerState(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: GuardedProtocol(config, state, {}), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)


async def exchange(port: int, *pieces: bytes, end: bool = True) -> bytes:
    """
    Send *pieces* on a new connection and return all that the server sends until it closes.

    Args:
        end: Whether the client ends its side after the last piece.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0.001)  # a read of its own
        if end:
            writer.write_eof()
        return await asyncio.wait_for(reader.read(), READ_SECONDS)
    finally:
        writer.close()


def statuses(answers: bytes) -> list[int]:
    """Return the statuses of the responses in *answers*, which a connection received."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answers)]


def body(answer: bytes) -> Any:
    """Return the JSON body of the last response in *answer*."""
    return json.loads(answer.rpartition(b"\r\n\r\n")[2])
