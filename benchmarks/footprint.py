"""
Start-up time, and memory per request that waits for upstream; each side in its own process.

    python -m benchmarks.footprint ours|theirs      prints JSON
"""

import time

STARTED = time.perf_counter()  # before the large imports

import asyncio  # noqa: E402 - as above
import gc  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import statistics  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
from collections.abc import Awaitable, Mapping  # noqa: E402
from contextlib import AsyncExitStack  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

HELD = 1000
TIMES = 3
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def facts() -> Mapping[str, str]:
    """Run both sides a few times each; return texts by name."""
    texts: dict[str, str] = {}
    for side in ("ours", "theirs"):
        runs = [_run(side) for _ in range(TIMES)]
        middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        name = "ours" if side == "ours" else "FastAPI + pydantic + httpx"
        texts[f"{name}: start"] = (
            f"{middle['seconds']:.2f} s until the first answer ({middle['cpu']:.2f} s of CPU)"
        )
        texts[f"{name}: {HELD:,} held requests"] = (
            f"{middle['held'] / 1024:.1f} MB, {middle['held'] / HELD:.1f} kB each"
        )
        texts[f"{name}: process"] = f"{middle['resident'] / 1024:.0f} MB before them"
    return texts


def _run(side: str) -> Mapping[str, float]:
    command = [sys.executable, "-m", "benchmarks.footprint", side]
    completed = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own
    figures: Mapping[str, float] = json.loads(completed.stdout)
    return figures


async def _measured(side: str) -> Mapping[str, float]:
    async with AsyncExitStack() as stack:
        run, gate = await (_ours if side == "ours" else _theirs)(stack)
        await run()
        seconds, cpu = time.perf_counter() - STARTED, time.process_time()
        await asyncio.gather(*(run() for _ in range(50)))
        gc.collect()
        resident = _resident()
        gate.clear()
        held = [asyncio.ensure_future(run()) for _ in range(HELD)]
        await asyncio.sleep(1.0)
        grown = _resident() - resident
        gate.set()
        await asyncio.gather(*held)
    return {"seconds": seconds, "cpu": cpu, "resident": resident, "held": grown}


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
    import httpx

    from benchmarks.corpus import Corpus

    gate, corpus = asyncio.Event(), Corpus()
    gate.set()

    async def answer(request: httpx.Request) -> httpx.Response:
        await gate.wait()
        reply = corpus.reply(request.url.raw_path.decode())
        return httpx.Response(200, content=reply.body)

    return httpx.MockTransport(answer), gate


def _resident() -> float:
    """Return the resident memory of this process in kilobytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES / 1024


def _main(side: str) -> None:
    running: Awaitable[Mapping[str, float]] = _measured(side)
    print(json.dumps(asyncio.run(running)))  # type: ignore[arg-type]


if __name__ == "__main__":
    _main(sys.argv[1])
