"""
Time of every layer in the request for one email: microseconds, without the layers below.

Upstream answers from memory, so no layer waits and layers do not overlap. The figures are medians
of wall-clock time, which is the cheapest to read, over many calls, so that other load
affects few of them. Each figure includes about a microsecond of measuring.
"""

import asyncio
import inspect
import statistics
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from importlib import import_module
from typing import Any
from unittest.mock import patch

from gateway.server import tune_garbage_collector

CALLS = 1500

# Description of a layer -> the function with which it begins, outermost first.
LAYERS: Mapping[str, str] = {
    "middleware: request id, common headers, metrics": (
        "gateway.http.middleware:CommonMiddleware.__call__"
    ),
    "dispatch: handler of the path, exceptions": "gateway.http.dispatch:Dispatcher.__call__",
    "router: the row of the path": "rest_compat.router:Router.__call__",
    "calls: the order of a call": "gateway.http.calls:Calls.run",
    "entry: the context of a request": "gateway.http.calls:Calls.admit",
    "token: header, checksum, digest, caller": (
        "gateway.auth.authenticator:Authenticator.authenticate"
    ),
    "database: data version": "gateway.auth.token_lookup:SqliteRowReader.rows",
    "limits: two address windows, two token windows": "gateway.ratelimit.memory:MemoryLimiter.take",
    "gates": "graph.documents.rest_operation:RestOperation.check_gates",
    "parameters": "rest_compat.endpoint:bind",
    "plan: variables, resolver, record to shape": "graph.execution.plan.program:Program.run",
    "merged mailbox: routing": "providers.mail.merged_mailbox:MergedMailbox.get",
    "connector: request, decode, map": (
        "providers.connectors.provider_b.outlook_mail.mailbox:OutlookMailbox.get"
    ),
    "call: deadline, retries, circuit breaker, slots": "providers.http.call:perform",
    "credentials": "gateway.connections.credentials:ConnectionCredentials.token",
    "(upstream's answer, from memory)": "benchmarks.memory:FromMemory.send",
    "answer: headers, sending": "rest_compat.router:send_response",
}


def measured(
    loop: asyncio.AbstractEventLoop, run: Callable[[], Awaitable[object]]
) -> Mapping[str, float]:
    """Return the microseconds of each layer of *run*, medians of many calls, outermost first."""
    stopwatch = Stopwatch()
    calls: list[Mapping[str, float]] = []

    async def some(count: int) -> None:
        for _ in range(count):
            stopwatch.spent.clear()
            await run()
            calls.append(dict(stopwatch.spent))

    with stopwatch.attached(LAYERS):
        loop.run_until_complete(some(CALLS // 10))
        calls.clear()
        tune_garbage_collector()
        loop.run_until_complete(some(CALLS))
    return {name: statistics.median(call.get(name, 0.0) for call in calls) * 1e6 for name in LAYERS}


class Stopwatch:
    """Stopwatch that attributes time to the innermost running layer."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._within: list[str] = []
        self._since = 0.0

    @contextmanager
    def attached(self, layers: Mapping[str, str]) -> Iterator[None]:
        """Measure *layers* inside the ``with`` block."""
        with ExitStack() as stack:
            for name, where in layers.items():
                module, _, path = where.partition(":")
                *owners, last = path.split(".")
                owner: Any = import_module(module)
                for attribute in owners:
                    owner = getattr(owner, attribute)
                stack.enter_context(
                    patch.object(owner, last, self._timed(name, getattr(owner, last)))
                )
            yield

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def timed_coroutine(*args: Any, **more: Any) -> Any:
                with self._in(name):
                    return await function(*args, **more)

            return timed_coroutine

        @wraps(function)
        def timed(*args: Any, **more: Any) -> Any:
            with self._in(name):
                return function(*args, **more)

        return timed

    def _in(self, name: str) -> "_Layer":
        return _Layer(self, name)

    def enter(self, name: str) -> None:
        """Begin an inner layer."""
        self._pass()
        self._within.append(name)

    def leave(self) -> None:
        """End the innermost layer."""
        self._pass()
        self._within.pop()

    def _pass(self) -> None:
        now = time.perf_counter()
        if self._within:
            self.spent[self._within[-1]] += now - self._since
        self._since = now


class _Layer:
    __slots__ = ("_name", "_stopwatch")

    def __init__(self, stopwatch: Stopwatch, name: str) -> None:
        self._stopwatch = stopwatch
        self._name = name

    def __enter__(self) -> None:
        self._stopwatch.enter(self._name)

    def __exit__(self, *_: object) -> None:
        self._stopwatch.leave()
