"""
Streams that tell when a feed of changes has rows: `GET /api/access/changes/stream`, and MCP's.

A stream holds no policy and reads nothing by itself. It makes the call of the feed as its client
could, with the same token and address, through all of the process; but the state behind the answer
is not stored, so that the cursors of the client stay. See docs/spec/changes.md#stream and
docs/spec/agents.md#wake-ups.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlencode

import msgspec
from starlette.types import Scope

from gateway.feeds.streams import POLL, Allowance, Streams
from gateway.store.database import StorageUnavailable
from graph.context import FeedStates
from policy.caller import Caller
from policy.refusals import Refusal
from policy.vocabulary import Code
from providers.ports.connection import ConnectionInfo
from rest_compat.calls import PlainCall, refused_call
from rest_compat.endpoint import Responder, RestCall
from rest_compat.errors import problem
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse, Stream
from rest_compat.table import Endpoint, access, changes

if TYPE_CHECKING:
    from graph.context import Context

HEARTBEAT = b":\n\n"
LIMIT = 100  # rows of a poll: more changes that the token may not see fit one upstream call
_LAST_EVENT = b"last-event-id"
_OWN_HEADERS = frozenset({_LAST_EVENT, b"prefer"})
_HEADERS = (
    ("Content-Type", "text/event-stream"),
    ("X-Accel-Buffering", "no"),  # else nginx waits for 4 KB
)


class _Row(msgspec.Struct):
    id: str


class _UpTo(msgspec.Struct, rename="camel"):
    surface: str
    connection_id: int


class _Answer(msgspec.Struct, rename="camel"):
    changes: tuple[_Row, ...]
    more: bool
    up_to: tuple[_UpTo, ...] = ()
    cursor: str = ""


_decoder = msgspec.json.Decoder(_Answer)


class Frames(Protocol):
    """Server-sent events of a stream."""

    @property
    def begin(self) -> bytes: ...

    def event(self, cursor: str) -> bytes:
        """Return what tells that a pull from *cursor* gives rows."""

    async def news(self) -> bytes:
        """Return what is to be told besides, at each poll."""

    def end(self, *, is_changed: bool) -> bytes:
        """Return the last frame; *is_changed*: the token is not what it was."""


class _Events:
    """Frames of the call of REST."""

    begin = b":\n\n"  # so that proxies pass the head on

    def event(self, cursor: str) -> bytes:
        data = msgspec.json.encode({"cursor": cursor})
        return b"id: %b\nevent: change\ndata: %b\n\n" % (cursor.encode(), data)

    async def news(self) -> bytes:
        return b""

    def end(self, *, is_changed: bool) -> bytes:
        del is_changed
        return b""


_EVENTS = _Events()


class ChangesStream:
    """
    Handler of the call, like `endpoint.Responder` of a row of the table.

    Attributes:
        feed: The row of the feed itself.
    """

    endpoint: Endpoint = changes.get("/stream", "")

    def __init__(
        self, feed: Responder, streams: Streams, end_turn: Callable[[Scope], None]
    ) -> None:
        """*end_turn* gives the slot of a request back."""
        self.feed, self._streams, self._end_turn = feed, streams, end_turn

    async def respond(self, request: RestRequest, _path: Mapping[str, str]) -> RestResponse:
        """Answer a client with a stream, and a poll of a stream with what the feed answers."""
        try:
            cursor = _cursor(request)
            asked = _asked(request, cursor)
        except Refusal as refusal:
            bucket = self.endpoint.bucket
            return await self.feed.calls.run(refused_call(request, bucket, refusal, documents=()))
        if POLL in request.scope:
            return await self.feed.calls.run(_Look(self.feed, asked))
        return await self.open(asked, cursor, _EVENTS)

    async def open(self, request: RestRequest, cursor: str, frames: Frames) -> RestResponse:
        """
        Answer *request*, a call of the feed from *cursor*, with a stream; refusals are responses.

        Without a cursor it begins a feed, whose state is stored.
        """
        async with AsyncExitStack() as stack:
            take = self._take(stack, request.scope)
            look = _Look(self.feed, request, take, begins=not cursor)
            reply = await self.feed.calls.run(look)
            if reply.status != 200 or look.caller is None:
                return reply
            if request.method == "HEAD":
                return RestResponse(status=200, headers=_HEADERS, framed=True)
            begun = cursor or _decoder.decode(reply.body).cursor
            opened = _Stream(self._streams, request.scope, look.caller, frames, begun)
            return self._streamed(stack, opened.chunks(reply.body), request.scope)

    async def watch(self, request: RestRequest, frames: Frames) -> RestResponse:
        """Answer with a stream that has no feed: it tells news, and that the token has changed."""
        async with AsyncExitStack() as stack:
            take, callers = self._take(stack, request.scope), list[Caller]()

            async def admit(context: "Context") -> RestResponse:
                take(context.caller)
                callers.append(context.caller)
                return RestResponse(status=200)

            reply = await self.feed.calls.run(PlainCall(request, access.bucket, admit))
            if not callers:
                return reply
            opened = _Stream(self._streams, request.scope, callers[0], frames)
            return self._streamed(stack, opened.chunks(), request.scope)

    def _streamed(
        self, stack: AsyncExitStack, chunks: AsyncGenerator[bytes], scope: Scope
    ) -> RestResponse:
        stack.push_async_callback(chunks.aclose)
        self._end_turn(scope)
        stream = Stream(chunks, stack.pop_all())
        return RestResponse(status=200, headers=_HEADERS, stream=stream, framed=True)

    def _take(self, stack: AsyncExitStack, scope: Scope) -> Callable[[Caller], None]:
        """Return what takes a place for a caller until *stack* is left."""

        def take(caller: Caller) -> None:
            self._streams.take(caller.token_id)
            stack.callback(self._streams.give_back, caller.token_id, _credential(scope))

        return take

    def refuse(self, refusal: BaseException, scope: Scope) -> RestResponse:
        """Build the error response of this call."""
        return self.feed.refuse(refusal, scope)


class _Look(RestCall):
    """
    A call of the feed that leaves no state, unless it begins one.

    Attributes:
        caller: Who made it; None before it passed the gates.
    """

    def __init__(
        self,
        feed: Responder,
        request: RestRequest,
        admit: Callable[[Caller], None] = lambda _caller: None,
        *,
        begins: bool = False,
    ) -> None:
        """*admit* raises a refusal, before anything is asked of a provider."""
        super().__init__(feed, request, {})
        self.caller: Caller | None = None
        self._admit, self._begins = admit, begins

    async def pass_gates(self, context: "Context") -> None:
        await super().pass_gates(context)
        self._admit(context.caller)
        self.caller = context.caller

    async def run(self, context: "Context") -> RestResponse:
        if context.feeds is not None and not self._begins:
            context.feeds = _Unstored(context.feeds)
        return await super().run(context)


class _Unstored:
    """The states of a feed, to which none is added; implements `graph.context.FeedStates`."""

    def __init__(self, states: FeedStates) -> None:
        self.load = states.load

    async def store(self, content: bytes, *, feed: str, after: str | None) -> str:
        del content, feed, after
        return ""


class _Stream:
    """One open stream, at the newest state of its feed or at the one that the client named."""

    def __init__(
        self, streams: Streams, scope: Scope, caller: Caller, frames: Frames, cursor: str = ""
    ) -> None:
        """*cursor*: without one, the stream has no feed."""
        self._streams, self._scope, self._caller = streams, scope, caller
        self._frames, self._cursor = frames, cursor
        self._state = streams.state_of(caller.token_id, cursor) if cursor else ""
        self._credential = _credential(scope)
        self._told = b""  # the digest of the rows that the last event was about
        self._is_lost = False  # the state is not kept any more

    async def chunks(self, body: bytes = b"") -> AsyncGenerator[bytes]:
        """
        Yield what is sent; *body* is the answer of the first look.

        Empty chunks are yielded between, so that a client that hangs up is noticed.
        """
        streams, now = self._streams, asyncio.get_running_loop().time
        poll: asyncio.Task[bytes | None] | None = None
        first = self._frames.begin + (self._event(body) if body else b"")
        waitable = self._waitable(body) if body else ()
        del body  # it would stay as long as the stream
        yield first
        del first
        poll_due, beat_due = now() + streams.poll_seconds, now() + streams.heartbeat_seconds
        spare = Allowance(streams.poll_seconds)
        with streams.following(waitable) as wakes:
            seen = wakes()
            try:
                while await streams.may_go_on(self._scope, self._credential, self._caller):
                    chunk = b""
                    if poll is None and wakes() > seen and spare.take():
                        poll_due = now()
                    if poll is None and now() >= poll_due:
                        seen = wakes()
                        poll = asyncio.create_task(self._poll())
                    if poll is not None and poll.done():
                        event, poll, poll_due = poll.result(), None, now() + streams.poll_seconds
                        if event is None:
                            break
                        chunk = event
                    if not chunk and now() >= beat_due:
                        chunk = HEARTBEAT
                    if chunk:
                        beat_due = now() + streams.heartbeat_seconds
                    yield chunk
                    if self._is_lost:
                        break
                    await streams.pause()
            finally:
                if poll is not None:
                    streams.leave(poll)
        yield self._frames.end(is_changed=streams.has_changed(self._credential, self._caller))

    def _waitable(self, body: bytes) -> tuple[int, ...]:
        """Return the connections that an answer follows and that can be waited for."""
        followed = {(each.surface, each.connection_id) for each in _decoder.decode(body).up_to}
        return tuple(
            each.id
            for each in self._caller.connections
            if (each.kind, each.id) in followed
            and (each.kind, each.provider) in self._streams.waitable
            and isinstance(each, ConnectionInfo)
            and each.shared_on is None
            and each.status == "active"
        )

    async def _poll(self) -> bytes | None:
        """Look from the newest state of the feed; return an event, b"" or None to end."""
        try:
            news = await self._frames.news()
        except StorageUnavailable:
            news = b""
        if not self._state:
            return news
        newest = await self._streams.newest(self._caller.token_id, self._state)
        self._is_lost = newest is None
        if newest is not None and newest[0] != self._state:
            self._state, self._cursor = newest
        query = urlencode({"since": self._cursor, "limit": LIMIT}).encode()
        status, body = await self._streams.ask(self._scope, query)
        if status == 200:
            return news + self._event(body)
        return news if status >= 500 else None  # refused: silence would look like quiet

    def _event(self, body: bytes) -> bytes:
        """Return the event about the rows of an answer; b"" without any, or without new ones."""
        answer = _decoder.decode(body)
        if not answer.changes and not answer.more:
            self._told = b""
            return b""
        names = "\n".join([self._state, *(row.id for row in answer.changes)])
        digest = hashlib.blake2b(names.encode(), digest_size=16).digest()
        if digest == self._told:
            return b""
        self._told = digest
        return self._frames.event(self._cursor)


def _cursor(request: RestRequest) -> str:
    """
    Return the cursor from which a stream is asked for; `Last-Event-ID` is newer than `since`.

    Raises:
        Refusal: 400, there is none.
    """
    last = request.header(_LAST_EVENT.decode())
    cursor = last or next(iter(request.query.get("since", ())), "")
    if not cursor:
        message = "since is required: a cursor of GET /api/access/changes."
        raise problem(Code.MISSING_PARAMETER, message)
    return cursor


def _asked(request: RestRequest, cursor: str) -> RestRequest:
    """Return the call of the feed that looks from *cursor*; raises as `RestRequest.query`."""
    query = {**request.query, "since": (cursor,), "limit": (str(LIMIT),)}
    return feed_request(request, urlencode(query, doseq=True).encode())


def feed_request(request: RestRequest, query: bytes) -> RestRequest:
    """Return the call of the feed with *query* that is made within *request*."""
    scope = {
        **request.scope,
        "method": "HEAD" if request.method == "HEAD" else "GET",
        "query_string": query,
        "headers": [pair for pair in request.scope["headers"] if pair[0] not in _OWN_HEADERS],
    }
    return RestRequest(scope, request.receive)


def _credential(scope: Scope) -> bytes:
    return next((bytes(value) for name, value in scope["headers"] if name == b"authorization"), b"")
