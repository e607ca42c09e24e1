"""
How many requests a worker answers at once: the rest waits its turn, and beyond that is told 503.

Without this, everybody's answer comes late when too many ask; with it, those who are let in are
answered in time, and the others know at once. A request takes its place when its body is here, so
that slow senders hold none; and who only waits, for a slow upstream or a slow reader, steps aside
after a while, so that one mailbox that hangs does not turn everybody away. Reliability C7;
decisions 16: no `Retry-After`.
"""

import asyncio
from collections import deque

from starlette.types import Message, Receive, Scope

from rest_compat.body import MAX_BODY
from rest_compat.uploads import MAX_UPLOAD

COUNTED = ("/api/", "/internal/", "/graphql")  # pages, health and the sandbox are not
ANSWER_SECONDS = 0.9  # in which who is let in should be answered, the queue included
QUEUE_SECONDS = 0.5  # in the queue at most,
SHORTEST_SECONDS = 0.05  # and at least, however long answers take
LONG_SECONDS = 0.1  # in the queue, from which on there is more to do than the worker can
STAY_SECONDS = 1.0  # in a place; who was not answered by then may be waiting for somebody else:
MOVING = 0.5  # it is not, if this share of the places got free meanwhile, for then all are slow
ASIDE = 16  # requests beside each place, at most; each holds some 30 kB
_SMOOTHING = 1 / 32  # what one place that gets free counts in their mean pace
GATHERED = 64 * 1024  # bytes of a body that are waited for; what is longer streams in its place
GATHER_SECONDS = 15.0  # as long as a JSON body may take


class AdmissionControl:
    """
    The places of one worker: *active* of them, and a queue of at most *queued*.

    The queue is served in order while nobody waits long. Under more than the worker can do, the one
    who came last goes first: in order, everybody who gets in would have waited as long as those who
    are turned away; so, most answers come at once and the rest is turned away all the same.
    """

    def __init__(self, *, active: int, queued: int) -> None:
        self._active = self._free = active
        self._queued = queued
        self._pace = _Pace()
        self._waiting: dict[asyncio.Future[bool], float] = {}  # since when, in the order of coming
        self._aside = 0
        self.answered = 0  # so far, in their places

    async def enter(self) -> bool:
        """Take a place, waiting a little for it; False when the queue is too long or too slow."""
        if self._free:
            self._free -= 1
            return True
        if len(self._waiting) >= self._queued:
            return False
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        self._waiting[turn] = loop.time()
        patience = loop.call_later(self._patience(), self._give_up, turn)
        try:
            return await turn
        except asyncio.CancelledError:
            self._waiting.pop(turn, None)
            if turn.done() and not turn.cancelled() and turn.result():
                self.leave()  # the place came too late
            raise
        finally:
            patience.cancel()

    def leave(self) -> None:
        """Give the place to who is next."""
        while self._waiting:
            turn, now = self._next()
            if not turn.done():  # else it was cancelled, and is not told yet
                turn.set_result(True)
                self._pace.left(now)
                return
        self._free += 1
        self._pace = _Pace()

    def step_aside(self, answered: int) -> bool:
        """
        Give the place to who is next, and go on without one.

        Returns:
            False when too many do, or when it is the worker that all wait for: since *answered* of
            them were, places got free all the same.
        """
        moving = self.answered - answered >= MOVING * self._active
        if moving or self._aside >= ASIDE * self._active:
            return False
        self._aside += 1
        self.leave()
        return True

    def end(self, *, aside: bool) -> None:
        """Be done, in a place or beside them."""
        if aside:
            self._aside -= 1
        else:
            self.answered += 1
            self.leave()

    def _next(self) -> tuple[asyncio.Future[bool], float]:
        """Take the next one out of the queue; return it and the time."""
        turn, since = next(iter(self._waiting.items()))
        now = turn.get_loop().time()
        if now - since >= LONG_SECONDS:
            turn = next(reversed(self._waiting))
        del self._waiting[turn]
        return turn, now

    def _patience(self) -> float:
        """Return how long one may wait to be answered in time, as answers come at present."""
        left = ANSWER_SECONDS - self._active * self._pace.seconds
        return min(QUEUE_SECONDS, max(SHORTEST_SECONDS, left))

    def _give_up(self, turn: asyncio.Future[bool]) -> None:
        if self._waiting.pop(turn, None) is not None and not turn.done():
            turn.set_result(False)


class Slot:
    """One who has entered, from then until it is answered."""

    __slots__ = ("_admission", "_answered", "_aside", "_loop", "_timer")

    def __init__(self, admission: AdmissionControl) -> None:
        self._admission = admission
        self._aside = False
        self._loop = asyncio.get_running_loop()
        self._wait()

    def end(self) -> None:
        """Give the place back, if it still has one."""
        self._timer.cancel()
        self._admission.end(aside=self._aside)

    def _wait(self) -> None:
        self._answered = self._admission.answered
        self._timer = self._loop.call_later(STAY_SECONDS, self._step_aside)

    def _step_aside(self) -> None:
        self._aside = self._admission.step_aside(self._answered)
        if not self._aside:
            self._wait()


class _Pace:
    """How many seconds lie between two places that get free, while somebody waits for one."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._last: float | None = None

    def left(self, now: float) -> None:
        """Note that a place got free."""
        if self._last is not None:
            gap = now - self._last
            self.seconds += (gap - self.seconds) * _SMOOTHING if self.seconds else gap
        self._last = now


async def buffer_body(scope: Scope, receive: Receive) -> Receive:
    """
    Wait for the body, or its first 64 KB, and return what gives it again.

    A body that does not arrive in time raises TimeoutError where it is read. One that is announced
    as too long is not waited for: it is refused without being read.
    """
    if scope["method"] in {"GET", "HEAD"} or _too_long(scope):
        return receive
    messages: deque[Message] = deque()
    late = False
    try:
        async with asyncio.timeout(GATHER_SECONDS):
            size, more = 0, True
            while more and size < GATHERED:
                message = await receive()
                messages.append(message)
                size += len(message.get("body", b""))
                more = message.get("more_body", False)
    except TimeoutError:
        late = True

    async def again() -> Message:
        if messages:
            return messages.popleft()
        if late:
            raise TimeoutError
        return await receive()

    return again


def _too_long(scope: Scope) -> bool:
    """Tell whether more is announced than the path takes."""
    most = MAX_UPLOAD if scope["path"].endswith("/collab/files/upload") else MAX_BODY
    return any(
        name == b"content-length" and value.isdigit() and int(value[:20]) > most
        for name, value in scope["headers"]
    )
