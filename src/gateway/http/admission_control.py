"""
Admission control: which request of which caller begins next, and who is refused (503).

Each caller has a bounded queue of its own. The queues are served in turn, the oldest request of
each first, a few requests in each turn of the event loop. A caller holds at most a tenth of the
slots, so that a hanging mailbox or a flood takes nothing from other callers. Most requests wait for
upstreams: there are many slots while the turns of the loop are short, and fewer while requests wait
for the processor. See docs/adr/0033-fair-admission-by-caller.md and docs/spec/limits.md#overload.
"""

import asyncio
import contextlib
import time
from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Protocol

from starlette.types import Message, Receive, Scope

from policy.refusals import Refusal
from rest_compat.body import PacedBody
from rest_compat.readers import MAX_SHORT_BODY
from rest_compat.table import ENDPOINTS

PROBES = ("/healthz", "/readyz")
LIMITED_PATHS = ("/api/", "/internal/", "/graphql", "/mcp")  # not pages, health and the sandbox
CALLERS = 10  # by which slots and queue places are divided; by all callers if there are more
IDLE_FACTOR = 8  # how many times more slots there are while turns of the loop are short
LONG_TURN_SECONDS = 0.005  # of processor time
BEGINNING = 4  # requests that begin in one turn of the loop
SLOW_SECONDS = 1.0  # after which a request waits for a slow peer: only its caller's share counts it
QUEUE_SECONDS = 0.4  # that a request may wait in the queue of its caller
REFUSAL_SECONDS = 1.0  # before a refusal is sent: else callers that ask again at once fill the loop
MAX_REFUSAL_SECONDS = 5.0
REFUSALS_PER_SECOND = 250
BODILESS_METHODS = frozenset({"GET", "HEAD"})
BUFFERED_BYTES = 64 * 1024  # of a body that are awaited before admission; the rest streams
_UPLOAD_PATHS = tuple(endpoint.path for endpoint in ENDPOINTS if endpoint.body == "upload")


class ObserveWait(Protocol):
    """Record the *seconds* that a request waited, and whether it was *admitted* then."""

    def __call__(self, seconds: float, *, admitted: bool) -> None: ...


class _Caller:
    """
    The requests of one caller.

    Attributes:
        limited: Whether they need slots, and may be refused.
        running: How many have begun and not ended.
        waiting: Those that have not begun, oldest first; the result None refuses one.
    """

    __slots__ = ("key", "limited", "running", "waiting")

    def __init__(self, key: Hashable, *, limited: bool) -> None:
        self.key = key
        self.limited = limited
        self.running = 0
        self.waiting: deque[asyncio.Future[Slot | None]] = deque()


class Slot:
    """The slot of one running request."""

    __slots__ = ("caller", "is_taken")

    def __init__(self, caller: _Caller) -> None:
        self.caller = caller
        self.is_taken = True


class AdmissionControl:
    """
    The slots and queues of one worker.

    There are *active* slots, and up to `IDLE_FACTOR` times as many while the loop has little work;
    *queued* requests may wait. Slots and queue places are divided by `CALLERS`, or by the number of
    callers if that is larger, and each caller has at least one slot.
    """

    def __init__(self, active: int, queued: int, observe_wait: ObserveWait | None = None) -> None:
        """*observe_wait* is called after each wait in a queue."""
        self._active = active
        self._queued = queued
        self._observe_wait = observe_wait
        self._slots = float(active * IDLE_FACTOR)
        self._callers: dict[Hashable, _Caller] = {}
        self._waiting: OrderedDict[_Caller, None] = OrderedDict()  # in the order of their turns
        self._recent: OrderedDict[Slot, float] = OrderedDict()  # when each began, oldest first
        self._begun = 0  # requests, in this turn of the loop
        self._turn_began: float | None = None  # on the thread's processor clock; None: loop is idle
        self._next_refusal = 0.0

    async def acquire(self, key: Hashable, *, limited: bool = True) -> Slot | None:
        """
        Wait until a request of the caller *key* may begin; `release` ends it.

        A request that is not *limited* waits for its turn and for no slot; callers of such requests
        have keys of their own.

        Returns:
            None if the request is refused: the queue of its caller is full or too slow.
        """
        caller = self._callers.get(key)
        if caller is None:
            caller = self._callers[key] = _Caller(key, limited=limited)
        if not self._waiting and self._begun < BEGINNING and self._has_slot(caller):
            return self._begin(caller)
        if limited and len(caller.waiting) >= self._share(self._queued):
            self._forget_idle(caller)
            await self._delay_refusal()
            return None
        return await self._wait(caller)

    def release(self, slot: Slot) -> None:
        """End the request that *slot* was taken for, once."""
        if not slot.is_taken:
            return
        slot.is_taken = False
        self._recent.pop(slot, None)
        slot.caller.running -= 1
        self._forget_idle(slot.caller)
        if self._waiting:
            self._plan_turn()

    def _share(self, places: float) -> int:
        """Return how many of *places* one caller may have."""
        return -int(-places // max(CALLERS, len(self._callers)))

    def _has_slot(self, caller: _Caller) -> bool:
        if not caller.limited:
            return True
        recent, slow = self._recent, time.monotonic() - SLOW_SECONDS
        while recent and next(iter(recent.values())) <= slow:
            recent.popitem(last=False)
        return len(recent) < self._slots and caller.running < self._share(self._slots)

    def _begin(self, caller: _Caller) -> Slot:
        slot = Slot(caller)
        caller.running += 1
        if caller.limited:
            self._recent[slot] = time.monotonic()
        self._begun += 1
        self._plan_turn()
        return slot

    def _plan_turn(self) -> None:
        if self._turn_began is None:
            self._turn_began = time.thread_time()
            asyncio.get_running_loop().call_soon(self._next_turn)

    def _next_turn(self) -> None:
        """Adapt the number of slots to the length of the last turn, and begin what waits."""
        long = time.thread_time() - (self._turn_began or 0.0) > LONG_TURN_SECONDS
        if long:
            self._slots = max(self._active, self._slots * 0.9)
        elif self._waiting:
            self._slots = min(self._active * IDLE_FACTOR, self._slots + 1)
        self._turn_began, self._begun = None, 0
        passed = 0  # callers without a slot for their next request
        while passed < len(self._waiting) and self._begun < BEGINNING:
            caller, _ = self._waiting.popitem(last=False)
            if self._has_slot(caller):
                turn = caller.waiting.popleft()
                if not turn.done():  # else it was cancelled
                    turn.set_result(self._begin(caller))
                passed = 0
            else:
                passed += 1
            if caller.waiting:
                self._waiting[caller] = None

    async def _wait(self, caller: _Caller) -> Slot | None:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[Slot | None] = loop.create_future()
        caller.waiting.append(turn)
        self._waiting.setdefault(caller)
        self._plan_turn()
        began = loop.time()
        timer = loop.call_later(QUEUE_SECONDS, self._refuse, caller, turn)
        try:
            slot = await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and (granted := turn.result()) is not None:
                self.release(granted)
            self._leave(caller, turn)
            raise
        finally:
            timer.cancel()
        if self._observe_wait is not None:
            self._observe_wait(loop.time() - began, admitted=slot is not None)
        return slot

    def _refuse(self, caller: _Caller, turn: "asyncio.Future[Slot | None]") -> None:
        if turn.done() or not caller.limited:
            return
        if turn is caller.waiting[0] and self._has_slot(caller):
            return  # it begins in the next turn of the loop
        turn.set_result(None)
        self._leave(caller, turn)

    def _leave(self, caller: _Caller, turn: "asyncio.Future[Slot | None]") -> None:
        if turn in caller.waiting:
            caller.waiting.remove(turn)
        if not caller.waiting:
            self._waiting.pop(caller, None)
            self._forget_idle(caller)

    def _forget_idle(self, caller: _Caller) -> None:
        if not (caller.running or caller.waiting):
            self._callers.pop(caller.key, None)

    async def _delay_refusal(self) -> None:
        now = time.monotonic()
        due = max(now + REFUSAL_SECONDS, self._next_refusal + 1 / REFUSALS_PER_SECOND)
        self._next_refusal = due = min(due, now + MAX_REFUSAL_SECONDS)
        await asyncio.sleep(due - now)


async def buffer_body(scope: Scope, receive: Receive) -> Receive:
    """
    Wait for the body, or its first 64 KB, and return a `receive` that replays it.

    A body that does not arrive in time is refused where it is read: *receive* raises again. A body
    announced as longer than most may be is not awaited, since it may have to be refused unread.
    """
    if _is_long(scope):
        return receive
    messages: deque[Message] = deque()
    with contextlib.suppress(Refusal):
        size, more = 0, True
        while more and size < BUFFERED_BYTES:
            message = await receive()
            messages.append(message)
            size += len(message.get("body", b""))
            more = message.get("more_body", False)

    async def replay() -> Message:
        return messages.popleft() if messages else await receive()

    return replay


def _is_long(scope: Scope) -> bool:
    """Return whether more is announced than most calls take."""
    return any(
        name == b"content-length" and value.isdigit() and int(value[:20]) > MAX_SHORT_BODY
        for name, value in scope["headers"]
    )


def paced_body(scope: Scope, receive: Receive) -> PacedBody:
    """Return *receive* with the deadlines of the path."""
    path = scope["path"]
    is_upload = path.endswith(_UPLOAD_PATHS) or not path.startswith(LIMITED_PATHS)
    return PacedBody(receive, is_upload=is_upload)
