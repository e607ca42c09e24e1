"""
64 clients over 16 mailboxes, upstream at 20 ms: CPU time per request, and the time added.

Servers and fake upstream are processes of their own; the clients share the machine with them, so
that waiting times mean something on an idle machine alone. What is added is counted from the time
that the same clients take to call the upstream itself.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from typing import cast

from benchmarks import processes, upstream, whole
from benchmarks.requests import A_MESSAGE, AN_EMAIL
from benchmarks.table import Figure

MAILBOXES, CLIENTS = 16, 64  # a mailbox may be called four times at once
UPSTREAM_SECONDS = 0.02
REQUESTS = 30  # of each client
WARM_UP = 12  # of each client: connections, caches, and what a caller's requests cost


async def figures() -> list[Figure]:
    """Measure both sides; the figures are in the order in which they are printed."""
    with upstream.running(UPSTREAM_SECONDS) as base:
        async with whole.ours(base, providers=()) as us:
            tokens = await whole.create_mailboxes(us, MAILBOXES)
            environment = processes.environment_of(base, us.file.parent)
            direct = await _times(int(base.rpartition(":")[2]), [_request(A_MESSAGE)])
            requests = [_request(AN_EMAIL, token) for token in tokens]
            command = [sys.executable, "-m", "gateway", "serve", "--port"]
            with processes.running(command, (), environment) as (process, port):
                ours = await _measured(process.pid, port, requests, statistics.median(direct))
            command = [sys.executable, "-m", "benchmarks.baselines.served"]
            with processes.running(command, (base, str(us.file)), environment) as (process, port):
                plain = await _measured(process.pid, port, requests, statistics.median(direct))
    half = "added by half of the requests"
    return [
        Figure(f"{CLIENTS} clients: CPU", ours["cpu"], "ms", to=plain["cpu"]),
        Figure(f"{CLIENTS} clients: {half}", ours["p50"], "ms", to=plain["p50"]),
        Figure(f"{CLIENTS} clients: added by 1 of 100 requests", ours["p99"], "ms"),
        Figure(f"plain application: {half}", plain["p50"], "ms"),
        Figure("plain application: added by 1 of 100 requests", plain["p99"], "ms"),
        Figure("upstream itself", 1000 * statistics.median(direct), "ms"),
    ]


async def _measured(
    pid: int, port: int, requests: Sequence[bytes], upstream_seconds: float
) -> Mapping[str, float]:
    """Return milliseconds: CPU per request, and what is added to upstream's time."""
    await _times(port, requests, 1, clients=len(requests))  # unknown tokens are one caller
    await _times(port, requests, WARM_UP)
    before = processes.cpu_of(pid)
    times = await _times(port, requests)
    spent = processes.cpu_of(pid) - before
    added = sorted(1000 * (seconds - upstream_seconds) for seconds in times)
    return {
        "cpu": 1000 * spent / len(added),
        "p50": statistics.median(added),
        "p99": added[len(added) * 99 // 100],
    }


async def _times(
    port: int, requests: Sequence[bytes], count: int = REQUESTS, *, clients: int = CLIENTS
) -> list[float]:
    """Let *clients* send *count* requests each; return the seconds that each one took."""
    loop = asyncio.get_running_loop()
    crowd = [_Client(requests[at % len(requests)], count) for at in range(clients)]
    for client in crowd:
        await loop.create_connection(lambda client=client: client, "127.0.0.1", port)  # type: ignore[misc] # the default is typed as the variable
    for client in crowd:
        client.start()
    times = [seconds for client in crowd for seconds in await client.times]
    for client in crowd:
        client.close()
    return times


def _request(target: str, token: str = "none") -> bytes:  # noqa: S107 - of nobody
    return (
        f"GET {target} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n\r\n"
    ).encode()


class _Client(asyncio.Protocol):
    """
    One client with one connection, which sends the same request again and again.

    It counts bytes instead of reading messages: the time of the clients is not that of the server.

    Attributes:
        times: The seconds of each request, when all of them were answered.
    """

    def __init__(self, request: bytes, count: int) -> None:
        self._request = request
        self._count = count
        self._seconds: list[float] = []
        self._missing = 0  # bytes of the response; 0 before its head is complete
        self._head = b""
        self.times: asyncio.Future[list[float]] = asyncio.get_running_loop().create_future()

    def start(self) -> None:
        """Send the next request."""
        self._began = time.perf_counter()
        self._transport.write(self._request)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if not self._missing:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return
            assert self._head.startswith(b"HTTP/1.1 200"), self._head
            length = self._head.lower().partition(b"content-length: ")[2].split(b"\r\n", 1)[0]
            self._missing = end + 4 + int(length) - len(self._head)
            self._head = b""
        else:
            self._missing -= len(data)
        if not self._missing:
            self._end_response()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.times.done():
            self.times.set_exception(exc or ConnectionError("The server closed the connection."))

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def _end_response(self) -> None:
        self._seconds.append(time.perf_counter() - self._began)
        if len(self._seconds) < self._count:
            self.start()
        else:
            self.times.set_result(self._seconds)
