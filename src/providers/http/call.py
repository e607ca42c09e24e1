"""
One upstream call: token, slot, circuit breaker, deadline, retry, and the failure that comes of it.

From the outside in: `perform` and `stream` set the deadline, `_authorised` renews a refused token,
`_attempt` takes a slot and asks the circuit breaker, `_send` calls the transport.
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
    ClientRefused,
    NeedsReauth,
    ProviderFailure,
    Throttled,
    TimedOut,
    Unreachable,
)
from providers.http import answers
from providers.http import errors as http_errors
from providers.http.bodies import decompress
from providers.http.events import CallEvent, CallListener
from providers.http.resilience import CircuitOpen, Clock, Health
from providers.http.response import Response, StreamedResponse
from providers.http.retry_after import parse_retry_after
from providers.write_fence import WriteFence

MAX_ERROR_BYTES = 256 * 1024  # of a response that is read only to classify its failure
MAX_RETRY_DELAY_SECONDS = 0.5  # a delay is random, up to this or half of the time left

_NO_BYTES = httpx.ByteStream(b"")

Classify = Callable[[Response], ProviderFailure | None]


class Credentials(Protocol):
    """Source of a connection's access tokens."""

    @property
    def scheme(self) -> str:
        """The scheme of the Authorization header ("Bearer"); empty: the token stands alone."""

    async def token(self, *, rejected: str | None = None) -> str:
        """
        Return an access token.

        Args:
            rejected: A token that upstream just refused with 401; forces one refresh.

        Raises:
            NeedsReauth: A person must reconnect the account.
            ClientRefused: The provider refuses our OAuth client.
            ProviderFailure: No token could be fetched now.
        """


@dataclass(slots=True, kw_only=True)
class Call:
    """
    A call and its progress.

    Attributes:
        timeout: The deadline of the whole call.
        counts_timeout: Whether passing the deadline counts as a failure of upstream: not when it
            had hardly any time.
        public: Whether upstream must not be a host of this network.
        step_timeouts: Seconds per step, as the transport takes them.
        user_agent: The header.
        upstream: As in `CallEvent`.
        connection: As in `CallEvent`.
        fence: Asked before each attempt; None for reads and for requests without a lease.
        weight: How many slots of the account it takes.
        sent: Whether a byte of the last attempt may have left.
        broken: Whether the last attempt failed in transport.
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
    step_timeouts: Mapping[str, float | None]
    timeout: asyncio.Timeout
    counts_timeout: bool
    public: bool
    user_agent: str
    upstream: str
    listener: CallListener | None
    connection: int | str | None
    fence: WriteFence | None = None
    weight: int = 1
    sent: bool = False
    broken: bool = False

    @property
    def is_read(self) -> bool:
        return self.method in ("GET", "HEAD")

    @property
    def repeatable(self) -> bool:
        return self.content is None or isinstance(self.content, bytes)

    def accepts(self, status: int) -> bool:
        return 200 <= status < 300 or status in self.accept


async def perform(call: Call, *, retry: bool | None) -> Response:
    """
    Make the call, retry it at most once, and read the whole response.

    Args:
        call: Not begun.
        retry: Whether it may be repeated after it may have been carried out; None: reads only.

    Raises:
        ProviderFailure: The failure of the last attempt.
    """
    call.health.throttle.check()
    call.health.budget.deposit()
    may_repeat = (call.is_read if retry is None else retry) and call.repeatable
    try:
        async with call.timeout:
            try:
                response = await _authorised(call)
            except (Unreachable, TimedOut) as failure:
                retryable = may_repeat or (call.repeatable and not failure.sent)
                is_final = isinstance(failure, CircuitOpen | ClientRefused)
                if is_final or not retryable or not await _back_off(call):
                    raise
                response = await _authorised(call)
            else:
                transient = (
                    response.status in http_errors.TRANSIENT_STATUSES
                    and "retry-after" not in response.headers
                )
                if may_repeat and transient and await _back_off(call):
                    response = await _authorised(call)
            return _checked(call, response)
    except TimeoutError:
        raise TimedOut(sent=call.sent) from None


@asynccontextmanager
async def stream(call: Call) -> AsyncIterator[StreamedResponse]:
    """Make the call without retries and yield its response as it arrives; see `perform`."""
    call.health.throttle.check()
    try:
        async with call.timeout:
            token = await _token(call)
            for is_last in (False, True):
                async with _attempt(call, token) as streamed:
                    if call.accepts(streamed.status_code):
                        call.health.throttle.reset()
                        headers, encoding = _headers(streamed)
                        chunks = _chunks(call, streamed, encoding, max_bytes=call.max_bytes)
                        yield StreamedResponse(streamed.status_code, headers, chunks)
                        return
                    response = await _read(call, streamed)
                if response.status != 401 or token is None or is_last:
                    _checked(call, response)
                token = await _token(call, rejected=token)
    except TimeoutError:
        if not call.timeout.expired():  # a timeout of the caller's own
            raise
        raise TimedOut(sent=call.sent) from None


async def _back_off(call: Call) -> bool:
    """Wait before a retry; return False, at once, when none is allowed."""
    ends = call.timeout.when()
    left = MAX_RETRY_DELAY_SECONDS if ends is None else ends - asyncio.get_running_loop().time()
    if left <= 0 or not call.health.budget.withdraw():
        return False
    await call.clock.sleep(
        secrets.SystemRandom().uniform(0.0, min(MAX_RETRY_DELAY_SECONDS, left / 2))
    )
    return True


async def _authorised(call: Call) -> Response:
    """
    Attempt the call, and again with a new token when the token is refused.

    Raises:
        NeedsReauth: The new token is refused as well; it names the place to reconnect.
    """
    token = await _token(call)
    async with _attempt(call, token) as streamed:
        response = await _read(call, streamed)
    if response.status != 401 or token is None:
        return response
    token = await _token(call, rejected=token)
    async with _attempt(call, token) as streamed:
        response = await _read(call, streamed)
    if response.status == 401:
        answers.collect(call.upstream, call.connection, response)
        await _token(call, rejected=token)  # raises, with the place to reconnect
    return response


async def _token(call: Call, *, rejected: str | None = None) -> str | None:
    if call.credentials is None:
        return None
    try:
        token = await call.credentials.token(rejected=rejected)
    except (ClientRefused, NeedsReauth, Throttled):
        raise
    except TimedOut:
        raise TimedOut(sent=False) from None
    except ProviderFailure:  # of the token endpoint: this call was not sent
        raise Unreachable(sent=False) from None
    if rejected is not None and not call.repeatable:
        # Refused before it was carried out, and the body is consumed: the caller may start over.
        raise Unreachable(sent=False)
    return token


@asynccontextmanager
async def _attempt(call: Call, token: str | None) -> AsyncIterator[httpx.Response]:
    """Send once, in slots of the account and with a permit of the connection's breaker."""
    health = call.health
    call.sent = call.broken = False
    release_slots = await health.slots.acquire(call.weight)
    try:
        health.throttle.check()
        permit = health.breaker.admit()
        succeeded: bool | None = None
        began, outcome = time.perf_counter(), ""
        try:
            if call.fence is not None:
                await call.fence.confirm()
            response = await _send(call, token)
            outcome = str(response.status_code)
            try:
                yield response
            finally:
                await response.aclose()
                # Breaks the cycle of the response and its stream, which keeps the sent body alive.
                response.stream = _NO_BYTES
            succeeded = response.status_code < 500
        finally:
            if call.broken or (call.counts_timeout and call.timeout.expired()):
                succeeded = False
            health.breaker.settle(permit, succeeded=succeeded)
            if call.listener is not None:
                ended = time.perf_counter()
                outcome = _outcome(call, outcome)
                call.listener(
                    CallEvent(call.upstream, call.method, outcome, began, ended, call.connection)
                )
    finally:
        release_slots()


def _outcome(call: Call, status: str) -> str:
    """Return the outcome of `CallEvent`; *status* is empty when there was no response."""
    if call.broken:
        return "broken"
    if call.timeout.expired():
        return "late"
    return status or "cancelled"


async def _send(call: Call, token: str | None) -> httpx.Response:
    headers = {
        "accept": "application/json",
        "accept-encoding": "gzip",
        "user-agent": call.user_agent,
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
        extensions={"timeout": call.step_timeouts, "public": call.public},
    )
    try:
        response = await call.client.send(request, stream=True)
    except (httpx.TransportError, OSError) as error:
        call.broken = True
        call.sent = http_errors.may_have_sent(request, error)
        raise http_errors.failure_of_error(error, sent=call.sent, is_read=call.is_read) from error
    except BaseException:
        call.sent = http_errors.may_have_sent(request)
        raise
    call.sent = True
    return response


async def _read(call: Call, response: httpx.Response) -> Response:
    """Read the whole body; an error's body that cannot be read counts as empty."""
    accepted = call.accepts(response.status_code)
    max_bytes = call.max_bytes if accepted else MAX_ERROR_BYTES
    headers, encoding = _headers(response)
    chunks = _chunks(call, response, encoding, max_bytes=max_bytes)
    try:
        body = b"".join([chunk async for chunk in chunks])
    except Broken:
        if accepted and call.is_read:
            raise
        if accepted:  # a write whose response cannot be read
            raise Unreachable(sent=True) from None
        body = b""
    return Response(response.status_code, headers, body)


async def _chunks(
    call: Call, response: httpx.Response, encoding: str, *, max_bytes: int | None
) -> AsyncIterator[bytes]:
    # Not `aiter_raw`: it refuses responses whose content is set already, as an ASGI app's are.
    raw = cast("httpx.AsyncByteStream", response.stream)
    try:
        async for chunk in decompress(raw, encoding=encoding, max_bytes=max_bytes):
            yield chunk
    except (httpx.TransportError, OSError) as error:
        call.broken = True
        raise http_errors.failure_of_error(error, sent=True, is_read=call.is_read) from error


def _headers(response: httpx.Response) -> tuple[Mapping[str, str], str]:
    """Return the headers that apply to the decompressed body, and the Content-Encoding."""
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1")
        for name, value in response.headers.raw
    }
    encoding = headers.pop("content-encoding", "")
    if encoding:
        headers.pop("content-length", None)
    return headers, encoding


def _checked(call: Call, response: Response) -> Response:
    """Return an accepted response; raise the failure that another one stands for."""
    if call.accepts(response.status):
        call.health.throttle.reset()
        return response
    answers.collect(call.upstream, call.connection, response)
    raise _failure_of(call, response)


def _failure_of(call: Call, response: Response) -> ProviderFailure:
    """Return the failure that a response which is not accepted stands for; note its throttle."""
    if response.status == 401:
        return NeedsReauth()
    failure = _classified(call, response)
    wait = parse_retry_after(response.headers.get("retry-after"), call.clock.now())
    if isinstance(failure, Throttled):
        return call.health.throttle.extend(wait or failure.named)
    throttled = response.status == 503 and wait is not None and failure is None
    if response.status == 429 or throttled:
        return call.health.throttle.extend(wait)
    return failure or http_errors.failure_of_status(response.status)


def _classified(call: Call, response: Response) -> ProviderFailure | None:
    if call.classify is None:
        return None
    try:
        return call.classify(response)
    except ProviderFailure:  # the body violates the protocol
        return None
