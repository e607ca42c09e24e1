"""
One connection's calls to one upstream.

Every call has a total deadline and a size limit, and every failure is a member of
`providers.failures`. This module and those it is split into are the only importers of httpx.
"""

import asyncio
import secrets
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import httpx
import msgspec

from providers.answers import Answer, StreamedAnswer
from providers.bodies import decoded
from providers.failures import (
    Broken,
    Conflicted,
    Locked,
    Missing,
    NeedsReauth,
    OutOfSpace,
    ProviderFailure,
    Refused,
    Stale,
    Throttled,
    TimedOut,
    Unreachable,
)
from providers.links import Root, origin_of
from providers.origins import Origins
from providers.resilience import Health, Resting, retry_after

__all__ = ["Answer", "Credentials", "Origins", "StreamedAnswer", "Upstream", "deadline"]

MAX_BYTES = 16 * 1024 * 1024  # of a decompressed answer; reference, budgets
MAX_REFUSAL = 256 * 1024  # bytes of an answer that is only read to see what went wrong

READ_SECONDS = 15.0  # a whole read, retries included; decisions, "Merge"
WRITE_SECONDS = 30.0
STREAM_SECONDS = 300.0  # reference, budgets: uploads
_STEP_SECONDS = MappingProxyType({"connect": 5.0, "read": 10.0, "write": 10.0, "pool": None})
_STREAM_STEP_SECONDS = MappingProxyType({"connect": 5.0, "read": 30.0, "write": 30.0, "pool": None})
_LONGEST_PAUSE = 0.5  # seconds before a retry; the pause is drawn from 0 to this
_FAIR_SECONDS = 1.0  # who gave upstream less than this cannot say that it failed

_REPEATABLE = frozenset({408, 500, 502, 503, 504})
_REFUSALS: Mapping[int, type[Refused]] = MappingProxyType(
    {409: Conflicted, 412: Stale, 423: Locked, 507: OutOfSpace}
)
_NONE: Mapping[str, str] = MappingProxyType({})

# When the request being served must be answered, on the `time.monotonic` scale; None: no limit.
deadline: ContextVar[float | None] = ContextVar("deadline", default=None)

Classify = Callable[[Answer], ProviderFailure | None]


class Credentials(Protocol):
    """Where the token of a connection comes from."""

    @property
    def scheme(self) -> str:
        """What stands before the token in Authorization ("Bearer"); empty: the bare token."""

    async def token(self, *, rejected: str | None = None) -> str:
        """
        Return a token to call with.

        Args:
            rejected: A token that upstream just refused with 401; forces one refresh.

        Raises:
            NeedsReauth: There is none to be had without a person.
            ProviderFailure: It could not be fetched now.
        """


@dataclass(slots=True, kw_only=True)
class _Call:
    """A call as it was asked for, and how far it got."""

    method: str
    url: httpx.URL
    headers: Mapping[str, str]
    content: bytes | AsyncIterable[bytes] | None
    credentials: Credentials | None
    health: Health
    client: httpx.AsyncClient
    accept: Collection[int]
    max_bytes: int | None
    steps: Mapping[str, float | None]
    scope: asyncio.Timeout
    fair: bool  # enough time was given to blame upstream when it is over
    sent: bool = False
    broken: bool = False

    @property
    def reads(self) -> bool:
        return self.method in ("GET", "HEAD")

    @property
    def repeatable(self) -> bool:
        return self.content is None or isinstance(self.content, bytes)


class Upstream:
    """One connection's calls to one origin."""

    def __init__(
        self,
        origins: Origins,
        base_url: str,
        *,
        connection: int | str,
        credentials: Credentials | None = None,
        classify: Classify | None = None,
        concurrency: int = 8,
        hosts: Collection[str] = (),
    ) -> None:
        """
        Bind a connection to its upstream. Cheap: health and limits live in *origins*.

        Args:
            origins: The process's clients.
            base_url: http(s), with a path prefix or none; no userinfo, query or fragment.
            connection: Identifies the connection; calls under one identity share limits.
            credentials: None: calls go without.
            classify: Turns a non-2xx answer of this protocol into a failure, or None.
            concurrency: How many calls of this connection may be under way at once.
            hosts: Where pre-authenticated URLs may lead besides this origin: whole names, or
                endings that start with a dot.

        Raises:
            ValueError: *base_url* is not such an URL.
        """
        self._origins = origins
        self._root = Root.read(base_url)
        self._connection = connection
        self._credentials = credentials
        self._classify = classify
        self._concurrency = concurrency
        self._hosts = frozenset(hosts)

    async def call(
        self,
        method: str,
        *segments: str,
        params: Sequence[tuple[str, str]] = (),
        json: object = None,
        content: bytes | AsyncIterable[bytes] | None = None,
        headers: Mapping[str, str] = _NONE,
        retry: bool | None = None,
        deadline: float | None = None,
        max_bytes: int = MAX_BYTES,
        accept: Collection[int] = (),
    ) -> Answer:
        """
        Call ``base_url/segment/segment…`` and return its 2xx answer.

        Args:
            method: In capitals.
            segments: Each becomes exactly one percent-encoded path segment.
            params: The query, in order.
            json: Sent as the body, with its content type.
            content: Sent as the body, as it is.
            headers: Lower-case names; they win over our own.
            retry: Whether a broken or 5xx call may be repeated once; None: GET and HEAD only.
            deadline: Seconds for everything, retries included; None: 15 for reads, 30 for writes.
            max_bytes: Of the decompressed answer.
            accept: Statuses besides 2xx that are answers and not failures (a 302 whose Location
                is wanted, a 308 of an upload).

        Raises:
            Missing: A segment is empty, "." or "..", or upstream answered 404 or 410.
            ProviderFailure: Anything else that went wrong.
        """
        url = self._root.join(segments, params)
        if json is not None:
            content = msgspec.json.encode(json)
            headers = {"content-type": "application/json", **headers}
        return await self._whole(
            self._plan(method, url, headers, content, deadline, max_bytes=max_bytes, accept=accept),
            retry=retry,
        )

    async def follow(
        self,
        url: str,
        *,
        headers: Mapping[str, str] = _NONE,
        deadline: float | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Answer:
        """
        GET a ``nextLink``.

        Raises:
            Broken: It does not lie under this upstream's base URL; nothing was called.
            ProviderFailure: As with `call`.
        """
        checked = self._root.check(url)
        return await self._whole(
            self._plan("GET", checked, headers, None, deadline, max_bytes=max_bytes), retry=True
        )

    def stream(
        self,
        method: str,
        *segments: str,
        params: Sequence[tuple[str, str]] = (),
        content: bytes | AsyncIterable[bytes] | None = None,
        headers: Mapping[str, str] = _NONE,
        deadline: float | None = None,
        max_bytes: int | None = None,
        accept: Collection[int] = (),
    ) -> AbstractAsyncContextManager[StreamedAnswer]:
        """
        Call as `call` does, without retries, and read the body inside ``async with``.

        Enter, read and leave in one task. *deadline* None: 300 seconds for everything.
        """
        url = self._root.join(segments, params)
        return self._streamed(
            self._plan(
                method,
                url,
                headers,
                content,
                deadline or STREAM_SECONDS,
                max_bytes=max_bytes,
                accept=accept,
                steps=_STREAM_STEP_SECONDS,
            )
        )

    def open_stream(
        self,
        method: str,
        url: str,
        *,
        content: bytes | AsyncIterable[bytes] | None = None,
        headers: Mapping[str, str] = _NONE,
        authorised: bool = False,
        deadline: float | None = None,
        max_bytes: int | None = None,
        accept: Collection[int] = (),
    ) -> AbstractAsyncContextManager[StreamedAnswer]:
        """
        Call an absolute URL that upstream gave us: a pre-authenticated download or upload.

        Args:
            method: In capitals.
            url: On this origin, or https on one of the hosts named at construction.
            content: Sent as the body, as it is.
            headers: Lower-case names.
            authorised: Whether our credentials go along; then the URL must lie under the base URL.
            deadline: Seconds for everything; None: 300.
            max_bytes: Of the decompressed answer; None: no limit.
            accept: Statuses besides 2xx that are answers.

        Raises:
            Broken: The URL leads elsewhere; nothing was called.
        """
        checked = self._root.check(url) if authorised else self._root.admit(url, self._hosts)
        return self._streamed(
            self._plan(
                method,
                checked,
                headers,
                content,
                deadline or STREAM_SECONDS,
                max_bytes=max_bytes,
                accept=accept,
                steps=_STREAM_STEP_SECONDS,
                authorised=authorised,
            )
        )

    def throttled(self, seconds: int | None) -> Throttled:
        """Remember a throttle that came inside a 2xx answer; return what to raise."""
        return self._health(self._root.origin).throttle.remember(seconds)

    # --- a call, from the outside in

    def _plan(
        self,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str],
        content: bytes | AsyncIterable[bytes] | None,
        seconds: float | None,
        *,
        max_bytes: int | None,
        accept: Collection[int] = (),
        steps: Mapping[str, float | None] = _STEP_SECONDS,
        authorised: bool = True,
    ) -> _Call:
        if seconds is None:
            seconds = READ_SECONDS if method in ("GET", "HEAD") else WRITE_SECONDS
        ends = deadline.get()
        if ends is not None:
            seconds = min(seconds, ends - self._origins.clock.monotonic())
        origin = self._root.origin if authorised else origin_of(url)
        return _Call(
            method=method,
            url=url,
            headers=headers,
            content=content,
            credentials=self._credentials if authorised else None,
            health=self._health(origin),
            client=self._origins.client(origin),
            accept=accept,
            max_bytes=max_bytes,
            steps=steps,
            scope=asyncio.timeout(max(0.0, seconds)),
            fair=seconds >= _FAIR_SECONDS,
        )

    def _health(self, origin: str) -> Health:
        return self._origins.health(self._connection, origin, places=self._concurrency)

    async def _whole(self, call: _Call, *, retry: bool | None) -> Answer:
        call.health.throttle.check()
        may_repeat = (call.reads if retry is None else retry) and call.repeatable
        call.health.budget.deposit()
        try:
            async with call.scope:
                try:
                    answer = await self._authorised(call)
                except (Unreachable, TimedOut) as failure:
                    again = may_repeat or (call.repeatable and not failure.sent)
                    if isinstance(failure, Resting) or not again or not await self._paused(call):
                        raise
                    answer = await self._authorised(call)
                else:
                    if may_repeat and _passing(answer) and await self._paused(call):
                        answer = await self._authorised(call)
                return self._judged(call, answer)
        except TimeoutError:
            raise TimedOut(sent=call.sent) from None

    async def _paused(self, call: _Call) -> bool:
        """Wait a little before a retry; say whether one is allowed at all."""
        pause = secrets.SystemRandom().uniform(0.0, _LONGEST_PAUSE)
        ends = call.scope.when()
        left = _LONGEST_PAUSE if ends is None else ends - asyncio.get_running_loop().time()
        if pause >= left or not call.health.budget.withdraw():
            return False
        await self._origins.clock.sleep(pause)
        return True

    async def _authorised(self, call: _Call) -> Answer:
        """Make the call, and once more with a new token when the old one is refused."""
        token = await _token(call)
        async with self._sent(call, token) as response:
            answer = await _read(call, response)
        if answer.status != 401 or token is None:
            return answer
        token = await _token(call, rejected=token)
        async with self._sent(call, token) as response:
            answer = await _read(call, response)
        if answer.status == 401:
            raise NeedsReauth
        return answer

    @asynccontextmanager
    async def _streamed(self, call: _Call) -> AsyncIterator[StreamedAnswer]:
        call.health.throttle.check()
        try:
            async with call.scope:
                token = await _token(call)
                for last in (False, True):
                    async with self._sent(call, token) as response:
                        if _wanted(call, response.status_code):
                            call.health.throttle.passed()
                            yield StreamedAnswer(
                                response.status_code, _headers(response), _pieces(call, response)
                            )
                            return
                        answer = await _read(call, response)
                    if answer.status != 401 or token is None or last:
                        self._judged(call, answer)
                    token = await _token(call, rejected=token)
        except TimeoutError:
            if not call.scope.expired():
                raise
            raise TimedOut(sent=call.sent) from None

    @asynccontextmanager
    async def _sent(self, call: _Call, token: str | None) -> AsyncIterator[httpx.Response]:
        """Send once, within this connection's places and with the breaker's leave."""
        health = call.health
        call.sent = False
        async with health.places:
            health.throttle.check()
            permit = health.breaker.admit()
            call.broken = False
            fine: bool | None = None
            try:
                response = await self._send(call, token)
                try:
                    yield response
                finally:
                    await response.aclose()
                fine = response.status_code < 500
            finally:
                if call.broken or (call.fair and call.scope.expired()):
                    fine = False
                health.breaker.settle(permit, fine=fine)

    async def _send(self, call: _Call, token: str | None) -> httpx.Response:
        headers = {
            "accept": "application/json",
            "accept-encoding": "gzip",
            "user-agent": "access-gateway",
            **call.headers,
        }
        if token is not None and call.credentials is not None:
            scheme = call.credentials.scheme
            headers["authorization"] = f"{scheme} {token}" if scheme else token
        request = httpx.Request(
            call.method,
            call.url,
            headers=headers,
            content=call.content,
            extensions={"timeout": call.steps},
        )
        try:
            response = await call.client.send(request, stream=True)
        except (httpx.TransportError, OSError) as failure:
            call.broken = True
            call.sent = _left(request, failure)
            raise _translated(call, failure) from None
        except BaseException:
            call.sent = _left(request, None)
            raise
        call.sent = True
        return response

    # --- answers

    def _judged(self, call: _Call, answer: Answer) -> Answer:
        """Return a wanted answer; raise what any other one means."""
        if _wanted(call, answer.status):
            call.health.throttle.passed()
            return answer
        if 300 <= answer.status < 400:
            raise Broken
        if answer.status == 401:
            raise NeedsReauth
        failure = self._classified(answer)
        wait = retry_after(answer.headers.get("retry-after"), self._origins.clock.now())
        if isinstance(failure, Throttled):
            raise call.health.throttle.remember(wait or failure.retry_after)
        if answer.status == 429 or (answer.status == 503 and wait is not None):
            raise call.health.throttle.remember(wait)
        raise failure or _failure(answer.status)

    def _classified(self, answer: Answer) -> ProviderFailure | None:
        if self._classify is None:
            return None
        try:
            return self._classify(answer)
        except ProviderFailure:  # a body that is not what the protocol says
            return None


def _wanted(call: _Call, status: int) -> bool:
    return 200 <= status < 300 or status in call.accept


def _passing(answer: Answer) -> bool:
    """Whether the same call may well succeed in a moment."""
    return answer.status in _REPEATABLE and "retry-after" not in answer.headers


def _failure(status: int) -> ProviderFailure:
    """Return what a status means when the protocol has nothing to add."""
    if status in (404, 410):
        return Missing()
    if status in (408, 504):
        return TimedOut()
    refusal = _REFUSALS.get(status)
    if refusal is not None:
        return refusal(status=status)
    return Refused(status=status) if status < 500 else Broken()


async def _token(call: _Call, *, rejected: str | None = None) -> str | None:
    if call.credentials is None:
        return None
    token = await call.credentials.token(rejected=rejected)
    if rejected is not None and not call.repeatable:
        # Refused before it was carried out, and the body is spent: the caller may start over.
        raise Unreachable(sent=False)
    return token


async def _read(call: _Call, response: httpx.Response) -> Answer:
    """Read the whole body."""
    most = call.max_bytes if _wanted(call, response.status_code) else MAX_REFUSAL
    try:
        body = b"".join([piece async for piece in _pieces(call, response, most=most)])
    except Broken:
        if call.reads:
            raise
        raise Unreachable(sent=True) from None  # a write whose answer cannot be read
    return Answer(response.status_code, _headers(response), body)


async def _pieces(
    call: _Call, response: httpx.Response, *, most: int | None = -1
) -> AsyncIterator[bytes]:
    encoding = response.headers.get("content-encoding", "")
    limit = call.max_bytes if most == -1 else most
    try:
        async for piece in decoded(response.aiter_raw(), encoding=encoding, max_bytes=limit):
            yield piece
    except (httpx.TransportError, OSError) as failure:
        call.broken = True
        raise _translated(call, failure) from None


def _headers(response: httpx.Response) -> Mapping[str, str]:
    return {
        name.decode("latin-1").lower(): value.decode("latin-1")
        for name, value in response.headers.raw
    }


def _left(request: httpx.Request, failure: Exception | None) -> bool:
    """Whether a byte of *request* may have left; transports other than ours do not say."""
    if isinstance(failure, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)):
        return False
    return bool(request.extensions.get("sent", True))


def _translated(call: _Call, failure: Exception) -> ProviderFailure:
    if isinstance(failure, httpx.TimeoutException):
        return TimedOut(sent=call.sent)
    if isinstance(failure, httpx.RemoteProtocolError) and call.reads:
        return Broken()
    return Unreachable(sent=call.sent)
