"""A byte-level HTTP server on loopback that answers by a script, and clients for it."""

import asyncio
import contextlib
import importlib
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httpx
import pytest
import pytest_asyncio
from postgres_faults import faulty_postgres

from providers.http.client import Origins, Upstream
from providers.http.transport import PooledTransport


def pytest_asyncio_loop_factories(config, item):
    """
    Run the transport's tests on both event loops.

    They differ in what they say of connections that were cancelled half-way.
    """
    loops = {"asyncio": asyncio.new_event_loop}
    if item.path.name.startswith("test_transport_"):
        with contextlib.suppress(ImportError):
            loops["uvloop"] = importlib.import_module("uvloop").new_event_loop
    return loops


HEALTHY = b'{"ok":true}'


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Wire:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self, body: bytes = HEALTHY, *, status: int = 200, headers: str = "") -> None:
        head = f"HTTP/1.1 {status} Whatever\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        await self.send(head.encode() + body)

    def close(self) -> None:
        self._writer.close()

    def reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        raw = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._writer.transport.abort()

    async def gone(self) -> None:
        """Wait until the client has closed its end."""
        while await self.reader.read(65536):
            pass


Script = Callable[[Wire, Asked, int], Awaitable[None]]


async def healthy(wire: Wire, request: Asked, number: int) -> None:
    await wire.answer()


@dataclass
class Stub:
    """
    The server. *script* answers each request; its third argument counts requests from 1.

    *on_head* runs before the body of a request is read, for answers that come too early.
    """

    script: Script = healthy
    on_head: Callable[[Wire], Awaitable[bool]] | None = None
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    accepted: int = 0
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def open(self) -> int:
        return len(self.tasks)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        wire = Wire(reader, writer)
        try:
            while True:
                request = await self._read(wire)
                if request is None:
                    return
                self.asked.append(request)
                await self.script(wire, request, len(self.asked))
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _read(self, wire: Wire) -> Asked | None:
        head = (await wire.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *rest = head.split("\r\n")
        method, target, _ = line.split(" ")
        headers = {n.lower(): v for n, _, v in (h.partition(": ") for h in rest if h)}
        if self.on_head is not None and await self.on_head(wire):
            return None
        body = b""
        if "content-length" in headers:
            body = await wire.reader.readexactly(int(headers["content-length"]))
        elif headers.get("transfer-encoding") == "chunked":
            parts = []
            while size := int(await wire.reader.readuntil(b"\r\n"), 16):
                parts.append((await wire.reader.readexactly(size + 2))[:-2])
            body = b"".join(parts)
            await wire.reader.readexactly(2)
        return Asked(method, target, headers, body)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    """A PostgreSQL of the module, which can be made to fail."""
    async with faulty_postgres() as server:
        yield server


@pytest.fixture
async def start_stub():
    started: list[tuple[Stub, asyncio.Server]] = []

    async def start(script: Script = healthy, **options) -> Stub:
        stub = Stub(script=script, **options)
        server = await asyncio.start_server(stub.serve, "127.0.0.1", 0)
        stub.port = server.sockets[0].getsockname()[1]
        started.append((stub, server))
        return stub

    yield start
    for stub, server in started:
        server.close()
        for task in tuple(stub.tasks):
            task.cancel()
        await server.wait_closed()
        await asyncio.gather(*stub.tasks, return_exceptions=True)
    await asyncio.sleep(0.01)  # transports close their sockets in the loop's next rounds


@pytest.fixture
async def stub(start_stub) -> Stub:
    return await start_stub()


class Patience:
    """A clock on which pauses take no time and waiting is done by hand."""

    def __init__(self) -> None:
        self.seconds = 1_000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> float:
        return 1_780_000_000.0 + self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def clock() -> Patience:
    return Patience()


@pytest.fixture
async def origins(clock):
    opened = Origins(clock=clock)
    yield opened
    await opened.aclose()
    assert opened.transport.busy == 0
    assert opened.transport.open == 0


@pytest.fixture
def upstream(origins, stub) -> Upstream:
    return Upstream(origins, stub.url, connection=1)


@pytest.fixture
async def transport():
    pooled = PooledTransport(max_connections=4)
    yield pooled
    await pooled.aclose()


@pytest.fixture
async def client(transport, stub):
    async with httpx.AsyncClient(
        transport=transport, base_url=stub.url, trust_env=False, timeout=5
    ) as opened:
        yield opened


class TlsServers:
    """Starts TLS servers before the stub; *agreed* are the protocols of their connections."""

    def __init__(self, serve):
        self._serve, self.agreed, self.servers = serve, [], []

    async def __call__(self, certificate):
        """Start a server with the certificate and key in a file; return its port."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        context.set_alpn_protocols(["h2", "http/1.1"])

        async def serve(reader, writer):
            self.agreed.append(writer.get_extra_info("ssl_object").selected_alpn_protocol())
            await self._serve(reader, writer)

        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        self.servers.append(server)
        return server.sockets[0].getsockname()[1]


@pytest.fixture
async def serve_tls(stub):
    starts = TlsServers(stub.serve)
    yield starts
    for server in starts.servers:
        server.close()
        await server.wait_closed()
    await asyncio.sleep(0.02)
