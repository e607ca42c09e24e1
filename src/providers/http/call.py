"""
One call as it runs: token, place, breaker, deadline, retry, and what comes of it.

From the outside in: `perform` and `stream` bound the call in time, `_authorised` renews a refused
token, `_sent` takes a place and the breaker's leave, `_send` speaks to the transport.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, cast

import httpx

from providers.failures import (
    Broken,
    NeedsReauth,
    ProviderFailure,
    Throttled,
    TimedOut,
    Unreachable,
)
from providers.http import errors as http_errors
from providers.http.bodies import decompress
from providers.http.events import CallEvent, CallListener
from providers.http.resilience import CircuitOpen, Clock, Health
from providers.http.response import Response, StreamedResponse
from providers.http.retry_after import parse_retry_after

MAX_ERROR_BYTES = 256 * 1024  # bytes of an answer that is only read to see what went wrong
MAX_RETRY_DELAY_SECONDS = 0.5  # seconds before a retry; drawn from 0 to this or half the time left

_NO_BYTES = httpx.ByteStream(b"")

Classify = Callable[[Response], ProviderFailure | None]


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
class Call:
    """
    A call as it was asked for, and how far it got.

    Attributes:
        scope: Ends the whole call.
        counts_timeout: Whether upstream is given enough time to be blamed when that is over.
        public: Whether upstream must not be a machine of this network.
        steps: Seconds per step, as the transport takes them.
        upstream: What a watcher is told it was.
        connection: Whose credentials go along, as a watcher is told it; None: nobody's.
        sent: Whether a byte of the last try may have left.
        broken: Whether the last try failed on the way.
    """

    method: str
    url: httpx.URL
    headers: Mapping[str, str]
    content: bytes | AsyncIterable[bytes] | None
    accept: Collection[int]
    max_bytes: int | None
    credentials: Credentials | None
    classify: Classify | None
    client: httpx.AsyncClient
    health: Health
    clock: Clock
    steps: Mapping[str, float | None]
    scope: asyncio.Timeout
    counts_timeout: bool
    public: bool
    upstream: str
    listener: CallListener | None
    connection: int | str | None
    sent: bool = False
    broken: bool = False

    @property
    def reads(self) -> bool:
        return self.method in ("GET", "HEAD")

    @property
    def repeatable(self) -> bool:
        return self.content is None or isinstance(self.content, bytes)

    def wants(self, status: int) -> bool:
        return 200 <= status < 300 or status in self.accept


async def perform(call: Call, *, retry: bool | None) -> Response:
    """
    Make the call, perhaps twice, and read its whole answer.

    Args:
        call: Not begun.
        retry: Whether it may be repeated although it may have been carried out; None: a read may.

    Raises:
        ProviderFailure: Whatever went wrong.
    """
    call.health.throttle.check()
    call.health.budget.deposit()
    may_repeat = (call.reads if retry is None else retry) and call.repeatable
    try:
        async with call.scope:
            try:
                answer = await _authorised(call)
            except (Unreachable, TimedOut) as failure:
                again = may_repeat or (call.repeatable and not failure.sent)
                if isinstance(failure, CircuitOpen) or not again or not await _paused(call):
                    raise
                answer = await _authorised(call)
            else:
                passing = (
                    answer.status in http_errors.TRANSIENT_STATUSES
                    and "retry-after" not in answer.headers
                )
                if may_repeat and passing and await _paused(call):
                    answer = await _authorised(call)
            return _judged(call, answer)
    except TimeoutError:
        raise TimedOut(sent=call.sent) from None


@asynccontextmanager
async def stream(call: Call) -> AsyncIterator[StreamedResponse]:
    """Make the call once and hand out its answer while it comes; see `perform`."""
    call.health.throttle.check()
    try:
        async with call.scope:
            token = await _token(call)
            for last in (False, True):
                async with _sent(call, token) as response:
                    if call.wants(response.status_code):
                        call.health.throttle.passed()
                        headers, encoding = _headers(response)
                        chunks = _pieces(call, response, encoding, most=call.max_bytes)
                        yield StreamedResponse(response.status_code, headers, chunks)
                        return
                    answer = await _read(call, response)
                if answer.status != 401 or token is None or last:
                    _judged(call, answer)
                token = await _token(call, rejected=token)
    except TimeoutError:
        if not call.scope.expired():  # the reader's own
            raise
        raise TimedOut(sent=call.sent) from None


async def _paused(call: Call) -> bool:
    """Wait a little before a retry; say whether one is allowed at all."""
    ends = call.scope.when()
    left = MAX_RETRY_DELAY_SECONDS if ends is None else ends - asyncio.get_running_loop().time()
    if left <= 0 or not call.health.budget.withdraw():
        return False
    await call.clock.sleep(
        secrets.SystemRandom().uniform(0.0, min(MAX_RETRY_DELAY_SECONDS, left / 2))
    )
    return True


async def _authorised(call: Call) -> Response:
    """
    Make the call, and once more with a new token when the old one is refused.

    Raises:
        NeedsReauth: The new one is refused as well; it says where to reconnect.
    """
    token = await _token(call)
    async with _sent(call, token) as response:
        answer = await _read(call, response)
    if answer.status != 401 or token is None:
        return answer
    token = await _token(call, rejected=token)
    async with _sent(call, token) as response:
        answer = await _read(call, response)
    if answer.status == 401:
        await _token(call, rejected=token)  # knows where, and raises
    return answer


async def _token(call: Call, *, rejected: str | None = None) -> str | None:
    if call.credentials is None:
        return None
    try:
        token = await call.credentials.token(rejected=rejected)
    except (NeedsReauth, Throttled):
        raise
    except TimedOut:
        raise TimedOut(sent=False) from None
    except ProviderFailure:  # whatever befell the token, this call did not go out
        raise Unreachable(sent=False) from None
    if rejected is not None and not call.repeatable:
        # Refused before it was carried out, and the body is spent: the caller may start over.
        raise Unreachable(sent=False)
    return token


@asynccontextmanager
async def _sent(call: Call, token: str | None) -> AsyncIterator[httpx.Response]:
    """Send once, within this connection's places and with the breaker's leave."""
    health = call.health
    call.sent = call.broken = False
    async with health.slots:
        health.throttle.check()
        permit = health.breaker.admit()
        succeeded: bool | None = None
        began, outcome = time.perf_counter(), ""
        try:
            response = await _send(call, token)
            outcome = str(response.status_code)
            try:
                yield response
            finally:
                await response.aclose()
                # It holds itself by its stream, and with it the body that was sent.
                response.stream = _NO_BYTES
            succeeded = response.status_code < 500
        finally:
            if call.broken or (call.counts_timeout and call.scope.expired()):
                succeeded = False
            health.breaker.settle(permit, succeeded=succeeded)
            if call.listener is not None:
                ended = time.perf_counter()
                how = _ending(call, outcome)
                call.listener(
                    CallEvent(call.upstream, call.method, how, began, ended, call.connection)
                )


def _ending(call: Call, outcome: str) -> str:
    """Say how a try ended; *outcome* is the status that was answered, empty when none was."""
    if call.broken:
        return "broken"
    if call.scope.expired():
        return "late"
    return outcome or "cancelled"


async def _send(call: Call, token: str | None) -> httpx.Response:
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
        extensions={"timeout": call.steps, "public": call.public},
    )
    try:
        response = await call.client.send(request, stream=True)
    except (httpx.TransportError, OSError) as error:
        call.broken = True
        call.sent = http_errors.may_have_sent(request, error)
        raise http_errors.failure_of_error(error, sent=call.sent, reads=call.reads) from error
    except BaseException:
        call.sent = http_errors.may_have_sent(request)
        raise
    call.sent = True
    return response


async def _read(call: Call, response: httpx.Response) -> Response:
    """Read the whole body; that of a refusal counts as empty when it cannot be read."""
    wanted = call.wants(response.status_code)
    most = call.max_bytes if wanted else MAX_ERROR_BYTES
    headers, encoding = _headers(response)
    try:
        body = b"".join([piece async for piece in _pieces(call, response, encoding, most=most)])
    except Broken:
        if wanted and call.reads:
            raise
        if wanted:  # a write whose answer cannot be read
            raise Unreachable(sent=True) from None
        body = b""
    return Response(response.status_code, headers, body)


async def _pieces(
    call: Call, response: httpx.Response, encoding: str, *, most: int | None
) -> AsyncIterator[bytes]:
    # Not `aiter_raw`: that refuses answers which were made whole, as an app's are.
    raw = cast("httpx.AsyncByteStream", response.stream)
    try:
        async for piece in decompress(raw, encoding=encoding, max_bytes=most):
            yield piece
    except (httpx.TransportError, OSError) as error:
        call.broken = True
        raise http_errors.failure_of_error(error, sent=True, reads=call.reads) from error


def _headers(response: httpx.Response) -> tuple[Mapping[str, str], str]:
    """Return the headers that hold for the decompressed body, and how it is compressed."""
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1")
        for name, value in response.headers.raw
    }
    encoding = headers.pop("content-encoding", "")
    if encoding:
        headers.pop("content-length", None)
    return headers, encoding


def _judged(call: Call, answer: Response) -> Response:
    """Return a wanted answer; raise what any other one means."""
    if call.wants(answer.status):
        call.health.throttle.passed()
        return answer
    if answer.status == 401:
        raise NeedsReauth
    failure = _classified(call, answer)
    wait = parse_retry_after(answer.headers.get("retry-after"), call.clock.now())
    if isinstance(failure, Throttled):
        raise call.health.throttle.remember(wait or failure.retry_after)
    if answer.status == 429 or (answer.status == 503 and wait is not None):
        raise call.health.throttle.remember(wait)
    raise failure or http_errors.failure_of_status(answer.status)


def _classified(call: Call, answer: Response) -> ProviderFailure | None:
    if call.classify is None:
        return None
    try:
        return call.classify(answer)
    except ProviderFailure:  # a body that is not what the protocol says
        return None
