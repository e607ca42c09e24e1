"""A call, and one attempt at it: slot, circuit breaker, request, and the response as it arrives."""

import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Mapping
from types import TracebackType
from typing import Protocol

import httpx
import msgspec

from providers.failures import Broken, ProviderFailure, Unreachable
from providers.http import errors as http_errors
from providers.http.bodies import (
    UNCOUNTED_BYTES,
    check_number_of_values,
    decompress,
    decompressed,
    read_decompressed,
)
from providers.http.events import CallEvent, CallListener, in_shared_lookup
from providers.http.messages import Fields, IncomingResponse, Request, Transport
from providers.http.request_headers import RequestHeaders
from providers.http.resilience import Clock, Health, Permit
from providers.http.response import Response
from providers.http.time_limit import TimeLimit
from providers.write_fence import WriteFence

_ALWAYS_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})  # RFC 9110, section 8.6
MAX_ERROR_BYTES = 256 * 1024  # of a response that is read only to classify its failure

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


class Call(msgspec.Struct, kw_only=True):
    """
    A call and its progress.

    Attributes:
        origin: Of *url*, as `Request.origin`.
        host: Of *url*, as the header of that name.
        all_headers: Makes the headers of its requests out of *headers*.
        transport: Carries its requests.
        limit: The deadline of the whole call, or that of a block which ends sooner.
        owns_limit: Whether the limit begins and ends with the call.
        counts_timeout: Whether passing the deadline counts as a failure of upstream: not when it
            had hardly any time.
        public: Whether upstream must not be a host of this network.
        step_timeouts: Seconds per step, as the transport takes them.
        upstream: As in `CallEvent`.
        connection: As in `CallEvent`.
        fence: Asked before each attempt; None for reads and for requests without a lease.
        may_change: Whether it may change anything upstream.
        weight: How many slots of the account it takes.
        sent: Whether a byte of the last attempt may have left.
        broken: Whether the last attempt failed in transport.
    """

    method: str
    url: httpx.URL
    origin: str
    host: bytes
    headers: Mapping[str, str]
    content: bytes | AsyncIterable[bytes] | None
    accept: Collection[int]
    max_bytes: int | None
    credentials: Credentials | None
    classify: Classify | None
    all_headers: RequestHeaders
    transport: Transport
    health: Health
    clock: Clock
    step_timeouts: Mapping[str, float | None]
    limit: TimeLimit
    owns_limit: bool
    counts_timeout: bool
    public: bool
    upstream: str
    listener: CallListener | None
    connection: int | str | None
    fence: WriteFence | None = None
    may_change: bool = True
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


class Attempt:
    """One attempt, in slots of the account and with a permit of the connection's breaker."""

    __slots__ = ("_began", "_call", "_incoming", "_permit", "_release_slots", "_token")

    def __init__(self, call: Call, token: str | None) -> None:
        self._call = call
        self._token = token
        self._incoming: IncomingResponse | None = None
        self._permit: Permit | None = None

    async def __aenter__(self) -> IncomingResponse:
        call, health = self._call, self._call.health
        call.sent = call.broken = False
        self._release_slots = await health.slots.acquire(call.weight)
        try:
            if health.throttle.until:
                health.throttle.check()
            self._permit = health.breaker.admit()
            self._began = time.perf_counter()
            if call.fence is not None:
                await call.fence.confirm()
            request = _request(call, self._token)
            try:
                self._incoming = await call.transport.send(request)
            except (httpx.TransportError, OSError) as error:
                call.broken = True
                call.sent = http_errors.may_have_sent(request, error)
                raise http_errors.failure_of_error(
                    error, sent=call.sent, is_read=call.is_read
                ) from error
            except BaseException:
                call.sent = http_errors.may_have_sent(request)
                raise
        except BaseException:
            self._end(succeeded=None)
            raise
        call.sent = True
        return self._incoming

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        raised: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        incoming, succeeded = self._incoming, None
        try:
            if incoming is not None:
                await incoming.aclose()
                if raised is None:
                    succeeded = incoming.status < 500
        finally:
            self._end(succeeded=succeeded)

    def _end(self, *, succeeded: bool | None) -> None:
        """Report the outcome, and give the slots back; *succeeded* None: it was broken off."""
        call = self._call
        try:
            if self._permit is None:
                return
            outcome = "" if self._incoming is None else str(self._incoming.status)
            if succeeded is None:
                if call.broken or (call.counts_timeout and call.limit.expired):
                    succeeded = False
                outcome = _outcome(call, outcome)
            call.health.breaker.settle(self._permit, succeeded=succeeded)
            if call.listener is not None:
                call.listener(
                    CallEvent(
                        call.upstream,
                        call.method,
                        outcome,
                        self._began,
                        time.perf_counter(),
                        call.connection,
                        in_shared_lookup.get(),
                    )
                )
        finally:
            self._release_slots()


def _outcome(call: Call, status: str) -> str:
    """Return the outcome of `CallEvent`; *status* is empty when there was no response."""
    if call.broken:
        return "broken"
    if call.limit.expired:
        return "late"
    return status or "cancelled"


def _request(call: Call, token: str | None) -> Request:
    body = call.content
    authorization = None
    if token is not None and call.credentials is not None:
        scheme = call.credentials.scheme
        authorization = f"{scheme} {token}" if scheme else token
    fields, lines = call.all_headers.complete(call.host, call.headers, authorization)
    if body is not None or call.method in _ALWAYS_WITH_LENGTH:
        added = _of_body(fields, body)
        fields, lines = [*fields, *added], b"\r\n".join([lines, *map(_line, added)])
    return Request(
        method=call.method,
        url=call.url,
        origin=call.origin,
        fields=fields,
        lines=lines,
        body=body,
        timeouts=call.step_timeouts,
        public=call.public,
    )


def _of_body(fields: Fields, body: bytes | AsyncIterable[bytes] | None) -> Fields:
    """Return the headers of *body* that are not among *fields*."""
    if body is None or isinstance(body, bytes):
        return ((b"content-length", b"%d" % len(body or b"")),)
    if any(name == b"content-length" for name, _ in fields):
        return ()
    return ((b"transfer-encoding", b"chunked"),)


def _line(field: tuple[bytes, bytes]) -> bytes:
    return b"%b: %b" % field


async def fetch(call: Call, token: str | None) -> Response:
    """Make one attempt, and read the whole response; an error's unreadable body is empty."""
    async with Attempt(call, token) as incoming:
        return await read(call, incoming)


async def read(call: Call, incoming: IncomingResponse) -> Response:
    """Read the whole body; an error's body that cannot be read counts as empty."""
    accepted = 200 <= incoming.status < 300 or incoming.status in call.accept
    max_bytes = call.max_bytes if accepted else MAX_ERROR_BYTES
    headers, encoding = headers_of(incoming)
    try:
        body = incoming.whole()
        if body is None:
            body = await _body(call, incoming, encoding, max_bytes=max_bytes)
        elif encoding or (max_bytes is not None and len(body) > max_bytes):
            body = decompressed(body, encoding=encoding, max_bytes=max_bytes)
        if len(body) > UNCOUNTED_BYTES and "xml" not in headers.get("content-type", ""):
            await check_number_of_values(body)
    except Broken:
        if accepted and not call.may_change:
            raise
        if accepted:  # a write whose response cannot be read
            raise Unreachable(sent=True) from None
        body = b""
    return Response(incoming.status, headers, body)


async def _body(
    call: Call, incoming: IncomingResponse, encoding: str, *, max_bytes: int | None
) -> bytes:
    try:
        return await read_decompressed(incoming, encoding=encoding, max_bytes=max_bytes)
    except (httpx.TransportError, OSError) as error:
        call.broken = True
        raise http_errors.failure_of_error(error, sent=True, is_read=call.is_read) from error


async def read_chunks(
    call: Call, incoming: IncomingResponse, encoding: str, *, max_bytes: int | None
) -> AsyncIterator[bytes]:
    """Yield the body of a response, decompressed, as it arrives."""
    try:
        async for chunk in decompress(incoming, encoding=encoding, max_bytes=max_bytes):
            yield chunk
    except (httpx.TransportError, OSError) as error:
        call.broken = True
        raise http_errors.failure_of_error(error, sent=True, is_read=call.is_read) from error


def headers_of(incoming: IncomingResponse) -> tuple[Mapping[str, str], str]:
    """Return the headers that apply to the decompressed body, and the Content-Encoding."""
    headers: dict[str, str] = {}
    for name, value in incoming.headers:  # a comprehension costs a function more
        headers[name.decode("latin-1")] = value.decode("latin-1")
    encoding = headers.pop("content-encoding", "")
    if encoding:
        headers.pop("content-length", None)
    return headers, encoding
