"""
Steps of one request: Python and C functions, timers and tasks, upstream's answers from memory.

They are counted, not timed, so the load of the machine does not change them.
"""

import asyncio
import statistics
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import uvloop

from benchmarks import asgi, whole
from benchmarks.baselines import stock_client
from benchmarks.corpus import Corpus
from benchmarks.memory import FromMemory
from benchmarks.requests import AN_EMAIL
from benchmarks.rounds import Run
from benchmarks.table import Figure

NOWHERE = "http://upstream.invalid"
TIMES = 15  # requests that are counted; the figures are medians
WARM_UP = 20
PAGE_OF_ONE = "/api/access/email/messages?limit=1"

# At most, by row: Python functions (of Python 3.11), timers and tasks of one request. The functions
# of one email are a share of the plain application's.
FUNCTIONS = {"one email": 0.2, "token info": 125, "a page": 310, "a page over two mailboxes": 760}
TIMERS = {"one email": 0, "a page over two mailboxes": 0}
TASKS = {"one email": 0, "a page over two mailboxes": 2}


def figures() -> list[Figure]:
    """Count the steps of each row, beside those of the plain application for one email."""
    with asyncio.Runner(loop_factory=_CountingLoop) as runner:
        counted = runner.run(_counted())
    plain = counted.pop("plain application")
    rows = [Figure("plain application, one email: Python functions", plain["python"], "")]
    for name, counts in counted.items():
        to = plain["python"] if name == "one email" else None
        rows += [
            Figure(
                f"{name}: Python functions", counts["python"], "", to=to, most=FUNCTIONS.get(name)
            ),
            Figure(f"{name}: timers", counts["timers"], "", most=TIMERS.get(name)),
            Figure(f"{name}: tasks", counts["tasks"], "", most=TASKS.get(name)),
        ]
    return rows


async def _counted() -> dict[str, Mapping[str, float]]:
    async with AsyncExitStack() as stack:
        memory = FromMemory(Corpus())
        us = await stack.enter_async_context(
            whole.ours(NOWHERE, providers=["PROVIDER_B"], transport=memory)
        )
        both = await stack.enter_async_context(
            whole.ours(NOWHERE, providers=["PROVIDER_B", "PROVIDER_A"], transport=memory)
        )
        client = await stack.enter_async_context(stock_client.tuned(memory))
        them = whole.theirs_with_database(us, NOWHERE, client, provider="b")
        plain = us.tokens["plain"]
        runs = {
            "plain application": asgi.call(them, "GET", AN_EMAIL, plain),
            "one email": asgi.call(us.gateway, "GET", AN_EMAIL, plain),
            "token info": asgi.call(us.gateway, "GET", "/api/access/token", plain),
            "a page": asgi.call(us.gateway, "GET", PAGE_OF_ONE, plain),
            "a page over two mailboxes": asgi.call(
                both.gateway, "GET", PAGE_OF_ONE, both.tokens["plain"]
            ),
        }
        return {name: await _steps(run) for name, run in runs.items()}


async def _steps(run: Run) -> Mapping[str, float]:
    for _ in range(WARM_UP):
        await run()
    loop = asyncio.get_running_loop()
    assert isinstance(loop, _CountingLoop)
    counts = loop.counts
    requests: list[Mapping[str, int]] = []

    def count(_frame: Any, event: str, _argument: Any) -> None:
        if event == "call":
            counts["python"] += 1

    for _ in range(TIMES):
        counts.clear()
        sys.setprofile(count)
        try:
            await run()
        finally:
            sys.setprofile(None)
        requests.append(dict(counts))
    names = ("python", "timers", "tasks")
    return {name: statistics.median(each.get(name, 0) for each in requests) for name in names}


class _CountingLoop(uvloop.Loop):
    """An event loop that counts the timers and tasks that are started."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def call_later(self, *arguments: Any, **options: Any) -> asyncio.TimerHandle:
        """Count a timer; `call_at` ends here too."""
        self.counts["timers"] += 1
        return super().call_later(*arguments, **options)

    def create_task(self, *arguments: Any, **options: Any) -> Any:
        """Count a task."""
        self.counts["tasks"] += 1
        return super().create_task(*arguments, **options)
