"""
How many requests a worker answers at once: the rest waits its turn, and beyond that is told 503.

Without this, everybody's answer comes late when too many ask; with it, those who are let in are
answered in time, and the others know at once. A request takes its place when its body is here, so
that slow senders hold none. Reliability C7; decisions 16: no `Retry-After`.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

import orjson
from starlette.types import Message, Receive, Scope

from policy.vocabulary import Code
from rest_compat.body import MAX_BODY
from rest_compat.uploads import MAX_UPLOAD

COUNTED = ("/api/", "/internal/", "/graphql")  # pages, health and the sandbox are not
QUEUE_SECONDS = 0.5  # in the queue; with the time an answer takes, it stays below a second
GATHERED = 64 * 1024  # bytes of a body that are waited for; what is longer streams in its place
GATHER_SECONDS = 15.0  # as long as a JSON body may take
SENTENCE = "The service is overloaded. Try again shortly."


class Admission:
    """The places of one worker: *active* of them, and a queue of at most *queued*."""

    def __init__(self, *, active: int, queued: int) -> None:
        self._free = active
        self._queued = queued
        self._waiting: deque[asyncio.Future[bool]] = deque()

    async def enter(self) -> bool:
        """Take a place, waiting a little for it; False when the queue is too long or too slow."""
        if self._free:
            self._free -= 1
            return True
        if len(self._waiting) >= self._queued:
            return False
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        self._waiting.append(turn)
        patience = loop.call_later(QUEUE_SECONDS, self._give_up, turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                self.leave()  # the place came too late
            raise
        finally:
            patience.cancel()

    def leave(self) -> None:
        """Give the place to who waits longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(True)
                return
        self._free += 1

    def _give_up(self, turn: asyncio.Future[bool]) -> None:
        if not turn.done():
            self._waiting.remove(turn)
            turn.set_result(False)


async def gathered(scope: Scope, receive: Receive) -> Receive:
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


Respond = Callable[[Message], Awaitable[None]]


async def shed(scope: Scope, request_id: str, send: Respond) -> None:
    """Answer 503 in the shape of the path."""
    if scope["path"] == "/graphql":
        extensions = {"code": Code.OVERLOADED, "httpStatus": 503, "requestId": request_id}
        body = orjson.dumps({"errors": [{"message": SENTENCE, "extensions": extensions}]})
    else:
        wordless = scope["path"].startswith(("/api/access/collab", "/internal/"))
        error = None if wordless else Code.OVERLOADED.value
        body = orjson.dumps({"error": error, "message": SENTENCE, "requestId": request_id})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})
