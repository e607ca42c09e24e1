"""
Admission control: a bounded number of concurrent requests per worker, a short queue, then 503.

Under overload, admitted requests are answered in time and the rest is refused at once. A request
takes a slot when its body has arrived, so slow senders hold none. A request that waits long for a
slow upstream or a slow reader gives up its slot and goes on without one, so one hanging mailbox
does not block a worker. Most requests wait for upstream most of the time, so there are more slots
while the requests in them have little work. See docs/adr/0017-load-shedding.md and
docs/spec/errors.md#overload.
"""

import asyncio
from collections import deque
from typing import NamedTuple, Protocol, Self

from starlette.types import Message, Receive, Scope

from gateway.settings import Settings
from providers.http.slots import QueuedCalls
from rest_compat.body import MAX_BODY
from rest_compat.multipart import MAX_ENVELOPE
from rest_compat.table import ENDPOINTS
from rest_compat.uploads import MAX_UPLOAD

LIMITED_PATHS = ("/api/", "/internal/", "/graphql")  # not pages, health and the sandbox
ANSWER_SECONDS = 0.9  # target for an admitted request, the queue included
MAX_QUEUE_SECONDS = 0.5
MIN_QUEUE_SECONDS = 0.05  # however long responses take
OVERLOAD_SECONDS = 0.1  # wait in the queue that shows an overload: newest first from here on
SLOT_SECONDS = 1.0  # after which a request may be waiting for a slow peer and gives up its slot,
PROGRESS_SHARE = 0.5  # unless this share of the slots was released meanwhile: all are slow then
OVERCOMMIT_PER_SLOT = 7  # slots beyond the regular ones, for requests that mostly wait
OVERCOMMIT_SECONDS = 0.05  # of the event loop's time that all admitted requests may need then
MAX_QUEUED_SHARE = 0.25  # upstream calls that may wait for their accounts then, per request
DETACHED_PER_SLOT = 16  # requests without a slot, at most; each holds about 30 kB
_SMOOTHING = 1 / 32  # weight of one release in the mean time between releases
BODILESS_METHODS = frozenset({"GET", "HEAD"})
BUFFERED_BYTES = 64 * 1024  # of a body that are awaited before admission; the rest streams
BUFFER_SECONDS = 15.0  # the time a JSON body may take
_UPLOAD_PATHS = tuple(endpoint.path for endpoint in ENDPOINTS if endpoint.body == "upload")


class ObserveWait(Protocol):
    """Record the *seconds* that a request waited, and whether it was *admitted* then."""

    def __call__(self, seconds: float, *, admitted: bool) -> None: ...


class AdmissionControl:
    """
    The slots of one worker: *active* of them, and a queue of at most *queued* requests.

    There are *overcommit* more slots while the work of all admitted requests, as it is known from
    earlier requests of their callers, would keep the event loop busy for `OVERCOMMIT_SECONDS` at
    most, and few of them wait in the gateway for the slots of their accounts: they wait for
    upstreams, and the worker is free.

    The queue is first in, first out while waits are short. Under overload the newest request goes
    first: in order, every admitted request would have waited as long as the refused ones.
    """

    def __init__(
        self,
        active: int,
        queued: int,
        observe_wait: ObserveWait | None = None,
        *,
        overcommit: int = 0,
        calls: QueuedCalls | None = None,
    ) -> None:
        """
        Make the slots.

        Args:
            active: The number of slots.
            queued: The number of requests that may wait for one.
            observe_wait: Called after each wait in the queue.
            overcommit: The number of further slots, for requests that have little work.
            calls: The calls that wait for the slots of their accounts.
        """
        self._active = active
        self._most = active + overcommit
        self._calls = calls or QueuedCalls()
        self._taken = 0
        self._work = 0.0  # seconds that the requests in the slots will keep the loop busy
        self._queued = queued
        self._observe_wait = observe_wait
        self._pace = _Pace()
        self._waiting: dict[asyncio.Future[bool], _Wait] = {}  # oldest first
        self._detached = 0
        self.slots: dict[Slot, float] = {}  # when each is looked at, the next first
        self.timer: asyncio.TimerHandle | None = None
        self.completed = 0  # requests that kept their slot to the end

    @classmethod
    def of_worker(cls, settings: Settings, observe_wait: ObserveWait, calls: QueuedCalls) -> Self:
        """Make the slots of a worker, with further ones for requests that mostly wait."""
        active = settings.max_active
        further = OVERCOMMIT_PER_SLOT * active
        return cls(active, settings.max_queued, observe_wait, overcommit=further, calls=calls)

    def acquire_free(self, work: float = 0.0) -> bool:
        """
        Take a slot for *work* seconds of the event loop's time if one is free and nobody waits.

        Returns:
            Whether it was taken.
        """
        if self._waiting or not self._has_room(work):
            return False
        self._taken += 1
        self._work += work
        return True

    async def acquire(self, work: float = 0.0) -> bool:
        """Take a slot, waiting for it in the queue; False when the queue is full or too slow."""
        if self.acquire_free(work):
            return True
        if len(self._waiting) >= self._queued:
            return False
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        began = loop.time()
        self._waiting[turn] = _Wait(began, work)
        timer = loop.call_later(self._queue_seconds(), self._give_up, turn)
        try:
            admitted = await turn
        except asyncio.CancelledError:
            if self._waiting.pop(turn, None) is not None:
                self._admit_waiting()  # the next one may have less work
            elif turn.done() and not turn.cancelled() and turn.result():
                self._free_slot(work)  # it was granted too late
            raise
        finally:
            timer.cancel()
        if self._observe_wait is not None:
            self._observe_wait(loop.time() - began, admitted=admitted)
        return admitted

    def _has_room(self, work: float) -> bool:
        """Return whether there is a slot for *work* seconds of the event loop's time."""
        if self._taken < self._active:
            return True
        if self._taken >= self._most or self._calls.count > MAX_QUEUED_SHARE * self._taken:
            return False
        return self._work + work <= OVERCOMMIT_SECONDS

    def _free_slot(self, work: float) -> None:
        """Release a slot, and give free slots to the next waiters."""
        self._taken -= 1
        self._work = self._work - work if self._taken else 0.0  # no rounding errors add up
        if self._waiting:
            self._admit_waiting()
        else:
            self._pace.reset()

    def _admit_waiting(self) -> None:
        while self._waiting:
            turn, now = self._next()
            work = self._waiting[turn].work
            if not self._has_room(work):
                return
            del self._waiting[turn]
            if not turn.done():  # else it was cancelled
                self._taken += 1
                self._work += work
                turn.set_result(True)
                self._pace.record_release(now)

    def detach(self, completed_before: int, work: float = 0.0) -> bool:
        """
        Release the slot of a request that goes on without one.

        Args:
            completed_before: `completed` when the request last took its slot or asked.
            work: What the slot was taken for.

        Returns:
            False, and the slot is kept, when too many requests are detached already, or when other
            requests completed meanwhile: the worker itself is slow then, not a peer.
        """
        slots = max(self._active, self._taken)
        progressing = self.completed - completed_before >= PROGRESS_SHARE * slots
        if progressing or self._detached >= DETACHED_PER_SLOT * self._active:
            return False
        self.detach_idle(work)
        return True

    def detach_idle(self, work: float) -> None:
        """Release the slot of a request that only waits until it is answered."""
        self._detached += 1
        self._free_slot(work)

    def release(self, work: float = 0.0, *, detached: bool) -> None:
        """End a request, whose slot was taken for *work*; a *detached* one holds no slot."""
        if detached:
            self._detached -= 1
            return
        self.completed += 1
        self._free_slot(work)

    def _next(self) -> tuple[asyncio.Future[bool], float]:
        """Return the next waiter of the queue, and the time."""
        turn, wait = next(iter(self._waiting.items()))
        now = turn.get_loop().time()
        if now - wait.since >= OVERLOAD_SECONDS:
            turn = next(reversed(self._waiting))
        return turn, now

    def _queue_seconds(self) -> float:
        """Return how long a request may wait and still be answered in time at the present pace."""
        left = ANSWER_SECONDS - max(self._active, self._taken) * self._pace.seconds
        return min(MAX_QUEUE_SECONDS, max(MIN_QUEUE_SECONDS, left))

    def _give_up(self, turn: asyncio.Future[bool]) -> None:
        if self._waiting.pop(turn, None) is None:
            return
        if not turn.done():
            turn.set_result(False)
        self._admit_waiting()  # the next one may have less work


class _Wait(NamedTuple):
    """Since when a request waits, and for how much work, in seconds."""

    since: float
    work: float


class Slot:
    """
    The slot of one admitted request, taken for *work* seconds, until it is released.

    All slots of a worker share one timer: nearly every slot is released before its turn.
    """

    __slots__ = ("_admission", "_completed_before", "_detached", "_loop", "_work")

    def __init__(self, admission: AdmissionControl, work: float = 0.0) -> None:
        self._admission = admission
        self._work = work
        self._detached = False
        self._loop = loop = asyncio.get_running_loop()
        self._completed_before = admission.completed
        admission.slots[self] = due = loop.time() + SLOT_SECONDS
        if admission.timer is None:
            admission.timer = loop.call_at(due, _detach_due, admission, loop)

    def release(self) -> None:
        """End the request, and release the slot if it is still held."""
        self._admission.slots.pop(self, None)
        self._admission.release(self._work, detached=self._detached)

    def give_up(self) -> None:
        """Go on without the slot; the request only waits from now on."""
        if not self._detached:
            self._admission.slots.pop(self, None)
            self._detached = True
            self._admission.detach_idle(self._work)

    def detach(self) -> None:
        """Give the slot up, if that helps, or look again later."""
        self._detached = self._admission.detach(self._completed_before, self._work)
        if not self._detached:
            self._completed_before = self._admission.completed
            self._admission.slots[self] = self._loop.time() + SLOT_SECONDS


def _detach_due(admission: AdmissionControl, loop: asyncio.AbstractEventLoop) -> None:
    """Look at the slots that were held long, and start the timer for the next."""
    now = loop.time()
    while admission.slots:
        slot, due = next(iter(admission.slots.items()))
        if due > now:
            admission.timer = loop.call_at(due, _detach_due, admission, loop)
            return
        del admission.slots[slot]
        slot.detach()
    admission.timer = None


class _Pace:
    """
    The mean number of seconds between two releases while requests are queued.

    Attributes:
        last: When a slot was last released to a queued request; None: none is queued.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.last: float | None = None

    def reset(self) -> None:
        """Forget all releases: no request is queued any more."""
        self.seconds, self.last = 0.0, None

    def record_release(self, now: float) -> None:
        """Record that a slot was released at *now*."""
        if self.last is not None:
            gap = now - self.last
            self.seconds += (gap - self.seconds) * _SMOOTHING if self.seconds else gap
        self.last = now


async def buffer_body(scope: Scope, receive: Receive) -> Receive:
    """
    Wait for the body, or its first 64 KB, and return a `receive` that replays it.

    A body that does not arrive in time raises TimeoutError where it is read. A body whose announced
    length is too large is not awaited: it is refused without being read.
    """
    if scope["method"] in BODILESS_METHODS or _too_long(scope):
        return receive
    messages: deque[Message] = deque()
    late = False
    try:
        async with asyncio.timeout(BUFFER_SECONDS):
            size, more = 0, True
            while more and size < BUFFERED_BYTES:
                message = await receive()
                messages.append(message)
                size += len(message.get("body", b""))
                more = message.get("more_body", False)
    except TimeoutError:
        late = True

    async def replay() -> Message:
        if messages:
            return messages.popleft()
        if late:
            raise TimeoutError
        return await receive()

    return replay


def _too_long(scope: Scope) -> bool:
    """Return whether the announced length exceeds the limit of the path."""
    is_upload = scope["path"].endswith(_UPLOAD_PATHS)  # below `/internal` too
    limit = MAX_UPLOAD + MAX_ENVELOPE if is_upload else MAX_BODY
    return any(
        name == b"content-length" and value.isdigit() and int(value[:20]) > limit
        for name, value in scope["headers"]
    )
