"""
CPU of the first answer, and memory per request that waits for upstream; a process for each side.

    python -m benchmarks.footprint ours|theirs      prints JSON
"""

import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # importing the gateway would distort the plain application's figures
    from benchmarks.table import Figure

HELD = 1000
MOST_HELD = 21.0  # kB of each
TIMES = 3
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def figures() -> "list[Figure]":
    """Run both sides a few times each; return the medians."""
    from benchmarks.table import Figure

    rows: list[Figure] = []
    for side, name in (("ours", "ours"), ("theirs", "FastAPI + pydantic + httpx")):
        runs = [_run(side) for _ in range(TIMES)]
        middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        most = MOST_HELD if side == "ours" else None
        rows += [
            Figure(f"{name}: first answer in one process", middle["cpu"], "s CPU"),
            Figure(f"{name}: process", middle["resident"] / 1024, "MB"),
            Figure(
                f"{name}: each of {HELD:,} held requests", middle["held"] / HELD, "kB", most=most
            ),
        ]
    return rows


def _run(side: str) -> Mapping[str, float]:
    command = [sys.executable, "-m", "benchmarks.footprint", side]
    completed = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own
    figures: Mapping[str, float] = json.loads(completed.stdout)
    return figures


async def _measured(side: str) -> Mapping[str, float]:
    async with AsyncExitStack() as stack:
        run, gate = await (_ours if side == "ours" else _theirs)(stack)
        await run()
        cpu = time.process_time()
        await asyncio.gather(*(run() for _ in range(50)))
        gc.collect()
        resident = _resident()
        gate.clear()
        held = [asyncio.ensure_future(run()) for _ in range(HELD)]
        await asyncio.sleep(1.0)
        grown = _resident() - resident
        gate.set()
        await asyncio.gather(*held)
    return {"cpu": cpu, "resident": resident, "held": grown}


async def _ours(stack: AsyncExitStack) -> tuple[Any, asyncio.Event]:
    from benchmarks import asgi, whole

    transport, gate = _gated()
    us = await stack.enter_async_context(
        whole.ours("http://upstream.invalid", providers=["PROVIDER_B"], transport=transport)
    )
    return asgi.call(us.gateway, "GET", _TARGET, us.tokens["plain"]), gate


async def _theirs(stack: AsyncExitStack) -> tuple[Any, asyncio.Event]:
    import httpx

    from benchmarks import asgi
    from benchmarks.baselines import fastapi_app, stores

    transport, gate = _gated()
    client = await stack.enter_async_context(httpx.AsyncClient(transport=transport))
    tokens = stores.Known({"token-plain": stores.Token(1)})
    app = fastapi_app.build(client, tokens, base="http://upstream.invalid")
    return asgi.call(app, "GET", _TARGET, "token-plain"), gate


_TARGET = "/api/access/email/messages?limit=50"


def _gated() -> tuple[Any, asyncio.Event]:
    """Return an upstream that answers only while its gate is open, and the gate."""
    from benchmarks.corpus import Corpus
    from benchmarks.memory import FromMemory

    class Gated(FromMemory):
        async def handle_async_request(self, request: Any) -> Any:
            await gate.wait()
            return await super().handle_async_request(request)

        async def send(self, request: Any) -> Any:
            await gate.wait()
            return await super().send(request)

    gate = asyncio.Event()
    gate.set()
    return Gated(Corpus()), gate


def _resident() -> float:
    """Return the resident memory of this process in kilobytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES / 1024


def _main(side: str) -> None:
    running: Awaitable[Mapping[str, float]] = _measured(side)
    print(json.dumps(asyncio.run(running)))  # type: ignore[arg-type]


if __name__ == "__main__":
    _main(sys.argv[1])
