"""
Fair shares of a worker's time: a caller that uses most of it waits while others call.

The time that a request keeps the event loop busy is measured, in its task and in those that it
starts. A caller may use two thirds of the loop's time; one that used more waits before its next
request begins, so that the requests of others find the loop free in between. Nobody waits while
nobody else calls. See docs/adr/0021-fair-shares-of-a-workers-time.md.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from starlette.types import Scope

from providers.bounded_map import BoundedMap

SHARE = 2 / 3  # of the loop's time that a caller may use while others call
BURST = 0.03  # seconds that a caller may use at once
MAX_DEBT = 0.25  # seconds; what a caller used beyond it is forgiven
FIRST_GUESS = 0.01  # seconds that a caller's first request is taken to cost
OTHERS_SECONDS = 1.0  # for which a caller without a request still counts as calling
WAIT_SECONDS = 5.0  # in the queue of its caller, after which a request is refused
CALLERS = 4096  # that are remembered
_SMOOTHING = 1 / 8  # weight of one request in its caller's mean


class Metered(Coroutine[Any, Any, Any]):
    """A coroutine that adds the time its steps take to a meter; for `await` and for tasks."""

    __slots__ = ("_meter", "_work")

    def __init__(self, work: Coroutine[Any, Any, Any], meter: "Meter") -> None:
        self._work = work
        self._meter = meter

    def send(self, value: Any) -> Any:
        """Run one step."""
        began = time.perf_counter()
        try:
            return self._work.send(value)
        finally:
            self._meter.add(time.perf_counter() - began)

    def throw(self, *raised: Any) -> Any:
        """Run one step that begins with an exception."""
        began = time.perf_counter()
        try:
            return self._work.throw(*raised)
        finally:
            del raised  # else the exception holds this frame, which holds it
            self._meter.add(time.perf_counter() - began)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> "Metered":
        return self

    def __iter__(self) -> "Metered":
        return self

    def __next__(self) -> Any:
        """Run one step, as `send` does; nearly all steps are run by this function."""
        meter, began = self._meter, time.perf_counter()
        try:
            return self._work.send(None)
        finally:
            seconds = time.perf_counter() - began
            meter.seconds += seconds
            if meter.account is not None:
                meter.account.balance -= seconds


@dataclass(slots=True)
class Meter:
    """The time that a request kept the event loop busy, in seconds; its caller pays at once."""

    account: "_Account | None" = None
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        """Count the time of one step."""
        self.seconds += seconds
        if self.account is not None:
            self.account.balance -= seconds


_meter: ContextVar[Meter | None] = ContextVar("meter", default=None)


class MeteredTasks:
    """Measures the tasks that requests start; a worker of the process's lifecycle."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Set the loop's task factory for the length of the block."""
        loop = asyncio.get_running_loop()
        before = loop.get_task_factory()
        loop.set_task_factory(_metered_task)
        try:
            yield
        finally:
            loop.set_task_factory(before)


def _metered_task(
    loop: asyncio.AbstractEventLoop, work: Any, **options: Any
) -> "asyncio.Task[Any]":
    meter = _meter.get()
    if meter is not None and asyncio.iscoroutine(work):
        work = Metered(work, meter)
    return asyncio.Task(work, loop=loop, **options)


@dataclass(slots=True, eq=False)
class _Account:
    """
    The time that one caller may use, and its requests.

    Attributes:
        balance: Seconds of the loop that it may use now; negative when it used too much.
        updated: When the balance was brought up to date, on the loop's clock.
        mean: Seconds that one of its requests uses.
        running: Its requests that have begun and not ended.
        waiting: Its requests that have not begun, oldest first; each gets what was reserved for
            it, or None when it waited too long.
    """

    balance: float
    updated: float
    mean: float = FIRST_GUESS
    running: int = 0
    waiting: dict[asyncio.Future[float | None], None] = field(default_factory=dict)
    timer: asyncio.TimerHandle | None = None

    def refill(self, now: float) -> float:
        """Add what the caller has earned since the last time, and return the balance."""
        self.balance = min(BURST, self.balance + SHARE * (now - self.updated))
        self.updated = now
        return self.balance


class Visit(Meter):
    """
    A request that has begun, and the time that it used.

    Attributes:
        reserved: Seconds that it is expected to use: the mean of its caller's requests.
    """

    __slots__ = ("_pacing", "reserved")

    def __init__(self, pacing: "CallerPacing", account: _Account, reserved: float) -> None:
        self.account: _Account = account
        self.seconds = 0.0
        self._pacing = pacing
        self.reserved = reserved

    def measure(self, work: Coroutine[Any, Any, None]) -> Metered:
        """Measure *work*, and the tasks that it starts, while it is awaited by this task."""
        _meter.set(self)
        return Metered(work, self)

    def end(self) -> None:
        """Give back what was reserved for the request."""
        self._pacing.end(self.account, self.seconds, self.reserved)


class CallerPacing:
    """The accounts of a worker's callers."""

    def __init__(self) -> None:
        self._accounts: BoundedMap[int, _Account] = BoundedMap(CALLERS)
        self._running = 0
        # The caller that was seen last, and the one that was seen last of all others.
        self._last: tuple[_Account | None, float] = (None, 0.0)
        self._last_other: tuple[_Account | None, float] = (None, 0.0)

    async def begin(self, caller: int) -> Visit | None:
        """
        Wait until *caller* may begin a request; `Visit.end` ends it.

        Returns:
            None when the request waited too long.
        """
        visit = self.begin_now(caller)
        return await self._wait(self._accounts[caller]) if visit is None else visit

    def begin_now(self, caller: int) -> Visit | None:
        """Begin a request of *caller* if it need not wait; else return None."""
        now = asyncio.get_running_loop().time()
        account = self._accounts.get(caller)
        if account is None:
            account = self._accounts[caller] = _Account(balance=BURST, updated=now)
        else:
            self._accounts.move_to_end(caller)
        if account is not self._last[0]:
            self._last_other = self._last
        self._last = (account, now)
        if account.waiting or not self._may_begin(account, now):
            return None
        return Visit(self, account, self._reserve(account))

    def end(self, account: _Account, used: float, reserved: float) -> None:
        """Give back the seconds *reserved* for a request, which has paid what it *used*."""
        now = asyncio.get_running_loop().time()
        account.balance = max(-MAX_DEBT, account.refill(now) + reserved)
        account.mean += (min(used, MAX_DEBT) - account.mean) * _SMOOTHING
        account.running -= 1
        self._running -= 1
        if account is not self._last[0]:
            self._last_other = self._last
        self._last = (account, now)
        if account.timer is not None:
            account.timer.cancel()
            self._schedule(account, asyncio.get_running_loop())

    def _may_begin(self, account: _Account, now: float) -> bool:
        """Return whether *account* can pay, or nobody else calls."""
        if account.refill(now) >= 0:
            return True
        if self._running > account.running:
            return False
        other, seen = self._last_other if self._last[0] is account else self._last
        return other is None or now - seen >= OTHERS_SECONDS

    def _reserve(self, account: _Account) -> float:
        account.balance -= account.mean
        account.running += 1
        self._running += 1
        return account.mean

    async def _wait(self, account: _Account) -> Visit | None:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[float | None] = loop.create_future()
        account.waiting[turn] = None
        if account.timer is None:
            self._schedule(account, loop)
        limit = loop.call_later(WAIT_SECONDS, self._give_up, account, turn)
        try:
            reserved = await turn
        except asyncio.CancelledError:
            account.waiting.pop(turn, None)
            if not turn.cancelled() and turn.done() and turn.result() is not None:
                self.end(account, 0.0, turn.result() or 0.0)  # it may begin, too late
            raise
        finally:
            limit.cancel()
        return None if reserved is None else Visit(self, account, reserved)

    def _schedule(self, account: _Account, loop: asyncio.AbstractEventLoop) -> None:
        delay = max(0.0, -account.balance / SHARE)
        account.timer = loop.call_later(delay, self._let_begin, account, loop)

    def _let_begin(self, account: _Account, loop: asyncio.AbstractEventLoop) -> None:
        """Let as many of the account's requests begin as it can pay."""
        account.timer = None
        while account.waiting and self._may_begin(account, loop.time()):
            turn = next(iter(account.waiting))
            del account.waiting[turn]
            if not turn.done():  # else it was cancelled
                turn.set_result(self._reserve(account))
        if account.waiting:
            self._schedule(account, loop)

    @staticmethod
    def _give_up(account: _Account, turn: asyncio.Future[float | None]) -> None:
        if turn in account.waiting and not turn.done():
            del account.waiting[turn]
            turn.set_result(None)


def caller_of(scope: Scope) -> int:
    """
    Return the key of the request's caller: its credential, or the peer's address without one.

    The credential is not checked yet; a wrong one is refused at little cost.
    """
    for name, value in scope["headers"]:
        if name == b"authorization":
            return hash(value.rpartition(b" ")[2])
    client = scope.get("client")
    return hash(client[0] if client else None)
