"""
The calls of one connection to its upstream.

Every call has a total deadline and a size limit, and every failure is a member of
`providers.failures`. The numbers are those of docs/spec/limits.md#upstream-calls.
"""

from collections.abc import AsyncIterable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from types import MappingProxyType

import httpx
import msgspec

from providers.dry_run import READ_METHODS, before_call, is_write
from providers.failures import Throttled, TimedOut
from providers.http import call, failed_responses, time_limit
from providers.http.attempt import Call, Classify, Credentials
from providers.http.origins import Origins
from providers.http.request_headers import RequestHeaders
from providers.http.response import Response, StreamedResponse
from providers.http.urls import BaseUrl, origin_of
from providers.write_fence import WriteFence, current_fence

__all__ = [
    "Classify",
    "Credentials",
    "Origins",
    "Response",
    "StreamedResponse",
    "Upstream",
    "deadline",
]

MAX_BYTES = 16 * 1024 * 1024  # of a decompressed response
READ_SECONDS = 15.0  # of a whole read, retries included
WRITE_SECONDS = 30.0
STREAM_SECONDS = 300.0
MAX_PATIENCE_SECONDS = 4  # of one wait for throttled parts of a batch: guesses are 1, 2 and 4

# Seconds without progress, per step. A read times out early enough to be retried.
_READ_TIMEOUTS = MappingProxyType({"connect": 5.0, "read": 10.0, "write": 10.0, "pool": None})
_WRITE_TIMEOUTS = MappingProxyType({"connect": 5.0, "read": None, "write": None, "pool": None})
_STREAM_TIMEOUTS = MappingProxyType({"connect": 5.0, "read": 30.0, "write": 30.0, "pool": None})
_MIN_FAIR_SECONDS = 1.0  # running out of less time does not count as a failure of upstream
_OTHER_ORIGINS = "other"  # hosts of pre-authenticated URLs share one `Health` per connection
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})

# Deadline of the request being served, on the `time.monotonic` scale; None: no deadline.
deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


class Upstream:
    """HTTP client of one connection."""

    def __init__(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        origins: Origins,
        base_url: str,
        *,
        connection: int | str,
        account: object = None,
        name: str = "upstream",
        credentials: Credentials | None = None,
        classify: Classify | None = None,
        concurrency: int = 8,
        hosts: Collection[str] = (),
    ) -> None:
        """
        Bind a connection to its upstream. Cheap: limits and health live in *origins*.

        Args:
            origins: The process's clients.
            base_url: http(s), perhaps with a path prefix; no userinfo, query or fragment.
            connection: Key of the health: calls with the same key share it.
            account: Key of the concurrency limit; None: the connection has its own, in this
                process alone.
            name: As `CallEvent.upstream`.
            credentials: None: calls are sent without.
            classify: Returns the failure of a non-2xx response; None: its status says it all.
            concurrency: Concurrent calls of this account.
            hosts: Hosts of pre-authenticated URLs besides this origin: names, or suffixes that
                start with a dot.

        Raises:
            ValueError: *base_url* is not such a URL.
        """
        self._origins = origins
        self._base_url = BaseUrl.parse(base_url)
        self._connection = connection
        self._name = name
        self._credentials = credentials
        self._classify = classify
        self._shared = account, concurrency
        self._hosts = frozenset(hosts)
        self._headers = RequestHeaders(origins.user_agent)
        self._host = self._base_url.host

    async def call(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        method: str,
        *segments: str,
        params: Sequence[tuple[str, str]] = (),
        json: object = None,
        content: bytes | AsyncIterable[bytes] | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
        retry: bool | None = None,
        changes: bool | None = None,
        deadline: float | None = None,
        max_bytes: int = MAX_BYTES,
        accept: Collection[int] = (),
        weight: int = 1,
    ) -> Response:
        """
        Call ``base_url/segment/segment…`` and return its 2xx response.

        Args:
            method: In capitals.
            segments: Each becomes exactly one percent-encoded path segment.
            params: The query, in order.
            json: The body, to be encoded.
            content: The body as bytes, instead of *json*.
            headers: Names in lower case; they override our own.
            retry: Whether a call that broke off or failed with 5xx may be retried once; None: GET
                and HEAD only.
            changes: Whether the call may change anything upstream; None: unless it is GET or HEAD.
                See `providers.dry_run`.
            deadline: Seconds for everything, retries included; None: `READ_SECONDS` or
                `WRITE_SECONDS`.
            max_bytes: Limit of the decompressed response.
            accept: Statuses besides 2xx that do not raise (a 302 whose Location is wanted, a 308
                of an upload).
            weight: How many of the concurrent calls it counts as; at most all of them.

        Raises:
            Missing: A segment is empty, "." or "..", or upstream responded 404 or 410.
            ProviderFailure: Any other failure.
        """
        url = self._base_url.join(segments, params)
        if json is not None:
            content = msgspec.json.encode(json)
            headers = {"content-type": "application/json", **headers}
        return await call.perform(
            self._plan(
                method,
                url,
                headers,
                content,
                deadline,
                max_bytes=max_bytes,
                accept=accept,
                changes=changes,
                weight=weight,
            ),
            retry=retry,
        )

    async def follow(
        self,
        url: str,
        *,
        headers: Mapping[str, str] = _NO_HEADERS,
        deadline: float | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Response:
        """
        GET the link to a next page.

        Raises:
            Broken: It does not lie under the base URL; nothing was called.
            ProviderFailure: As with `call`.
        """
        checked = self._base_url.parse_page_link(url)
        return await call.perform(
            self._plan("GET", checked, headers, None, deadline, max_bytes=max_bytes), retry=True
        )

    async def read_link(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        method: str,
        url: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
        deadline: float | None = None,
        max_bytes: int = MAX_BYTES,
        accept: Collection[int] = (),
    ) -> Response:
        """
        Call an address that upstream sent, by a method that changes nothing; otherwise as `call`.

        Raises:
            Broken: It does not lie under the base URL; nothing was called.
            ProviderFailure: As with `call`.
        """
        checked = self._base_url.parse_page_link(url)
        planned = self._plan(
            method,
            checked,
            headers,
            content,
            deadline,
            max_bytes=max_bytes,
            accept=accept,
            changes=False,
        )
        return await call.perform(planned, retry=True)

    def stream(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        method: str,
        *segments: str,
        params: Sequence[tuple[str, str]] = (),
        content: bytes | AsyncIterable[bytes] | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
        deadline: float | None = None,
        max_bytes: int | None = None,
        accept: Collection[int] = (),
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        """
        Call as `call` does, without retries; the body is read inside ``async with``.

        Enter, read and leave in one task, and make no other call of this connection inside: the
        stream holds one of its slots. *deadline* None: `STREAM_SECONDS`. A body that is too
        large, damaged or cut off raises from `StreamedResponse.chunks`.
        """
        url = self._base_url.join(segments, params)
        return call.stream(
            self._plan(
                method,
                url,
                headers,
                content,
                deadline or STREAM_SECONDS,
                max_bytes=max_bytes,
                accept=accept,
                steps=_STREAM_TIMEOUTS,
            )
        )

    def open_stream(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        method: str,
        url: str,
        *,
        content: bytes | AsyncIterable[bytes] | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
        authorized: bool = False,
        deadline: float | None = None,
        max_bytes: int | None = None,
        accept: Collection[int] = (),
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        """
        Call an absolute URL that upstream sent: a pre-authenticated download or upload.

        Args:
            method: In capitals.
            url: On this origin, https on one of the *hosts* of the constructor, or served by an
                app of this process.
            content: As in `call`.
            headers: Names in lower case.
            authorized: Whether our credentials are sent; the URL must lie under the base URL then.
            deadline: Seconds for everything; None: `STREAM_SECONDS`.
            max_bytes: Limit of the decompressed response; None: no limit.
            accept: As in `call`.

        Raises:
            Broken: The URL leads elsewhere; nothing was called.
        """
        if authorized:
            checked = self._base_url.parse_page_link(url)
        else:
            hosts = self._hosts | self._origins.in_process
            checked = self._base_url.parse_preauthenticated(url, hosts)
        return call.stream(
            self._plan(
                method,
                checked,
                headers,
                content,
                deadline or STREAM_SECONDS,
                max_bytes=max_bytes,
                accept=accept,
                steps=_STREAM_TIMEOUTS,
                authorized=authorized,
            )
        )

    def collect(self, response: Response) -> None:
        """Collect an accepted response that is a failure nevertheless: `failed_responses`."""
        failed_responses.collect(self._name, self._connection, response)

    def throttled(self, seconds: int | None) -> Throttled:
        """
        Remember a throttle that the last 2xx response reported; return the failure to raise.

        *seconds*: as `Throttled.named`.
        """
        origin = self._base_url.origin
        throttle = self._origins.health(self._connection, origin, self._shared).throttle
        throttle.take_back_reset()
        return throttle.extend(seconds)

    async def wait_for_throttle(self, seconds: int | None) -> None:
        """
        Remember a throttle that the last 2xx response reported, and sleep until it is over.

        Raises:
            Throttled: The wait is longer than `MAX_PATIENCE_SECONDS`, or than the time left.
        """
        throttled = self.throttled(seconds)
        ends, clock = deadline.get(), self._origins.clock
        if throttled.retry_after > MAX_PATIENCE_SECONDS or (
            ends is not None and clock.monotonic() + throttled.retry_after >= ends
        ):
            raise throttled
        await clock.sleep(throttled.retry_after)

    def _plan(  # noqa: PLR0913 - the parts of a call
        self,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str],
        content: bytes | AsyncIterable[bytes] | None,
        seconds: float | None,
        *,
        max_bytes: int | None,
        accept: Collection[int] = (),
        steps: Mapping[str, float | None] = _WRITE_TIMEOUTS,
        authorized: bool = True,
        changes: bool | None = None,
        weight: int = 1,
    ) -> Call:
        fence = None
        if method not in READ_METHODS or changes:
            fence = self._confirm_write(method, changes=changes)
        if seconds is None:
            is_read = method in READ_METHODS
            seconds, steps = (READ_SECONDS, _READ_TIMEOUTS) if is_read else (WRITE_SECONDS, steps)
        ends = deadline.get()
        if ends is not None:
            seconds = min(seconds, ends - self._origins.clock.monotonic())
        if seconds <= 0:
            raise TimedOut(sent=False)
        limit = time_limit.sooner_than(seconds)
        own_origin = self._base_url.origin
        origin = own_origin if authorized else origin_of(url)
        is_foreign = origin != own_origin
        return Call(
            method=method,
            url=url,
            origin=origin,
            host=url.netloc if is_foreign else self._host,
            headers=headers,
            content=content,
            accept=accept,
            max_bytes=max_bytes,
            credentials=self._credentials if authorized else None,
            classify=self._classify,
            all_headers=self._headers,
            transport=self._origins.transport_to(origin),
            health=self._origins.health(
                self._connection, _OTHER_ORIGINS if is_foreign else origin, self._shared
            ),
            clock=self._origins.clock,
            step_timeouts=steps,
            limit=time_limit.TimeLimit(seconds) if limit is None else limit,
            owns_limit=limit is None,
            counts_timeout=seconds >= _MIN_FAIR_SECONDS,
            public=is_foreign and not self._origins.allow_private,
            upstream=self._name,
            listener=self._origins.listener,
            connection=self._connection if authorized else None,
            fence=fence,
            may_change=is_write(method, changes=changes),
            weight=weight,
        )

    def _confirm_write(self, method: str, *, changes: bool | None) -> WriteFence | None:
        """
        Return the fence of a call that may write; None when it does not.

        Raises:
            WriteAttempted: As `before_call`.
        """
        connection = self._connection if isinstance(self._connection, int) else None
        before_call(method, changes=changes, connection=connection)
        return current_fence() if is_write(method, changes=changes) else None
