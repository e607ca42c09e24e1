"""
64 clients over 16 mailboxes, upstream at 20 ms: CPU time per request, and the time added.

Servers and fake upstream are processes of their own; the clients share the machine with them, so
that waiting times mean something on an idle machine alone.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Mapping, Sequence

from benchmarks import processes, upstream, whole
from benchmarks.requests import AN_EMAIL
from benchmarks.table import Figure

MAILBOXES, CLIENTS = 16, 64  # a mailbox may be called four times at once
UPSTREAM_SECONDS = 0.02
REQUESTS = 30  # of each client
CPU_SHARE = 0.5  # of the plain application's CPU time per request, at most


async def figures() -> list[Figure]:
    """Measure both sides; the figures are in the order in which they are printed."""
    with upstream.running(UPSTREAM_SECONDS) as base:
        async with whole.ours(base, providers=()) as us:
            tokens = await whole.create_mailboxes(us, MAILBOXES)
            environment = processes.environment_of(base, us.file.parent)
            command = [sys.executable, "-m", "gateway", "serve", "--port"]
            with processes.running(command, (), environment) as (process, port):
                ours = await _measured(process.pid, port, tokens)
            command = [sys.executable, "-m", "benchmarks.baselines.served"]
            with processes.running(command, (base, str(us.file)), environment) as (process, port):
                plain = await _measured(process.pid, port, tokens)
    return [
        Figure(f"{CLIENTS} clients: CPU", ours["cpu"], "ms", to=plain["cpu"], most=CPU_SHARE),
        Figure(f"{CLIENTS} clients: added by half of the requests", ours["p50"], "ms"),
        Figure(f"{CLIENTS} clients: added by 1 of 100 requests", ours["p99"], "ms"),
        Figure("plain application: added by half of the requests", plain["p50"], "ms"),
        Figure("plain application: added by 1 of 100 requests", plain["p99"], "ms"),
    ]


async def _measured(pid: int, port: int, tokens: Sequence[str]) -> Mapping[str, float]:
    """Return milliseconds: CPU per request, and what is added to upstream's time."""
    clients = [_Client(port, tokens[at % len(tokens)]) for at in range(CLIENTS)]
    await asyncio.gather(*(client.ask(3) for client in clients))  # connections and caches
    before = processes.cpu_of(pid)
    times = await asyncio.gather(*(client.ask(REQUESTS) for client in clients))
    spent = processes.cpu_of(pid) - before
    for client in clients:
        client.close()
    added = sorted(1000 * (seconds - UPSTREAM_SECONDS) for each in times for seconds in each)
    return {
        "cpu": 1000 * spent / len(added),
        "p50": statistics.median(added),
        "p99": added[len(added) * 99 // 100],
    }


class _Client:
    """One client, with one connection."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._request = (
            f"GET {AN_EMAIL} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n\r\n"
        ).encode()
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, times: int) -> list[float]:
        """Return the seconds of each of *times* requests."""
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        seconds = []
        for _ in range(times):
            began = time.perf_counter()
            self._writer.write(self._request)
            head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
            assert head.startswith(b"http/1.1 200"), head
            length = int(head.partition(b"content-length: ")[2].split(b"\r\n", 1)[0])
            await self._reader.readexactly(length)
            seconds.append(time.perf_counter() - began)
        return seconds

    def close(self) -> None:
        """Close the connection."""
        if self._writer is not None:
            self._writer.close()
