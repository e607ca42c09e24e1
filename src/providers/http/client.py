"""
One connection's calls to one upstream.

Every call has a total deadline and a size limit, and every failure is a member of
`providers.failures`. This module and those it is split into are the only importers of httpx.
"""

import asyncio
from collections.abc import AsyncIterable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from types import MappingProxyType

import httpx
import msgspec

from providers.dry_run import forbid_writes
from providers.failures import Throttled, TimedOut
from providers.http import call
from providers.http.call import Call, Classify, Credentials
from providers.http.origins import Origins
from providers.http.resilience import Health
from providers.http.response import Response, StreamedResponse
from providers.http.urls import BaseUrl, origin_of

__all__ = [
    "Classify",
    "Credentials",
    "Origins",
    "Response",
    "StreamedResponse",
    "Upstream",
    "deadline",
]

MAX_BYTES = 16 * 1024 * 1024  # of a decompressed answer; reference, budgets
READ_SECONDS = 15.0  # a whole read, retries included; decisions, "Merge"
WRITE_SECONDS = 30.0
STREAM_SECONDS = 300.0  # reference, budgets: uploads

# Seconds without progress, per step. A read is given up early enough to be tried once more.
_READ_STEPS = MappingProxyType({"connect": 5.0, "read": 10.0, "write": 10.0, "pool": None})
_OTHER_STEPS = MappingProxyType({"connect": 5.0, "read": None, "write": None, "pool": None})
_STREAM_STEPS = MappingProxyType({"connect": 5.0, "read": 30.0, "write": 30.0, "pool": None})
_BLAME_SECONDS = 1.0  # who gave upstream less than this cannot say that it failed
_ELSEWHERE = "elsewhere"  # the hosts of pre-authenticated URLs share one health per connection
_NONE: Mapping[str, str] = MappingProxyType({})

# When the request being served must be answered, on the `time.monotonic` scale; None: no limit.
deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


class Upstream:
    """One connection's calls to one origin."""

    def __init__(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        origins: Origins,
        base_url: str,
        *,
        connection: int | str,
        name: str = "upstream",
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
            name: What a watcher is told it is: the provider's code, or another word of ours.
            credentials: None: calls go without.
            classify: Turns a non-2xx answer of this protocol into a failure, or None.
            concurrency: How many calls of this connection may be under way at once.
            hosts: Where pre-authenticated URLs may lead besides this origin: whole names, or
                endings that start with a dot.

        Raises:
            ValueError: *base_url* is not such an URL.
        """
        self._origins = origins
        self._root = BaseUrl.read(base_url)
        self._connection = connection
        self._name = name
        self._credentials = credentials
        self._classify = classify
        self._concurrency = concurrency
        self._hosts = frozenset(hosts)

    async def call(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        method: str,
        *segments: str,
        params: Sequence[tuple[str, str]] = (),
        json: object = None,
        content: bytes | AsyncIterable[bytes] | None = None,
        headers: Mapping[str, str] = _NONE,
        retry: bool | None = None,
        changes: bool | None = None,
        deadline: float | None = None,
        max_bytes: int = MAX_BYTES,
        accept: Collection[int] = (),
    ) -> Response:
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
            changes: Whether anything upstream may be different afterwards; None: unless it is GET
                or HEAD. See `providers.dry_run`.
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
            ),
            retry=retry,
        )

    async def follow(
        self,
        url: str,
        *,
        headers: Mapping[str, str] = _NONE,
        deadline: float | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Response:
        """
        GET a ``nextLink``.

        Raises:
            Broken: It does not lie under this upstream's base URL; nothing was called.
            ProviderFailure: As with `call`.
        """
        checked = self._root.check(url)
        return await call.perform(
            self._plan("GET", checked, headers, None, deadline, max_bytes=max_bytes), retry=True
        )

    def stream(  # noqa: PLR0913 - keyword-only, each with a default
        self,
        method: str,
        *segments: str,
        params: Sequence[tuple[str, str]] = (),
        content: bytes | AsyncIterable[bytes] | None = None,
        headers: Mapping[str, str] = _NONE,
        deadline: float | None = None,
        max_bytes: int | None = None,
        accept: Collection[int] = (),
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        """
        Call as `call` does, without retries, and read the body inside ``async with``.

        Enter, read and leave in one task, and make no other call of this connection inside: the
        stream holds one of its places. *deadline* None: 300 seconds for everything. A body that
        is too large, damaged or cut raises from `StreamedResponse.chunks`.
        """
        url = self._root.join(segments, params)
        return call.stream(
            self._plan(
                method,
                url,
                headers,
                content,
                deadline or STREAM_SECONDS,
                max_bytes=max_bytes,
                accept=accept,
                steps=_STREAM_STEPS,
            )
        )

    def open_stream(  # noqa: PLR0913 - keyword-only, each with a default
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
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        """
        Call an absolute URL that upstream gave us: a pre-authenticated download or upload.

        Args:
            method: In capitals.
            url: On this origin, https on one of the hosts named at construction, or answered by
                an app of this process.
            content: Sent as the body, as it is.
            headers: Lower-case names.
            authorised: Whether our credentials go along; then the URL must lie under the base URL.
            deadline: Seconds for everything; None: 300.
            max_bytes: Of the decompressed answer; None: no limit.
            accept: Statuses besides 2xx that are answers.

        Raises:
            Broken: The URL leads elsewhere; nothing was called.
        """
        known = self._hosts | self._origins.own
        checked = self._root.check(url) if authorised else self._root.admit(url, known)
        return call.stream(
            self._plan(
                method,
                checked,
                headers,
                content,
                deadline or STREAM_SECONDS,
                max_bytes=max_bytes,
                accept=accept,
                steps=_STREAM_STEPS,
                authorised=authorised,
            )
        )

    def throttled(self, seconds: int | None) -> Throttled:
        """Remember a throttle that came inside a 2xx answer; return what to raise."""
        return self._health(self._root.origin).throttle.remember(seconds)

    def _plan(  # noqa: PLR0913 - facts of a call
        self,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str],
        content: bytes | AsyncIterable[bytes] | None,
        seconds: float | None,
        *,
        max_bytes: int | None,
        accept: Collection[int] = (),
        steps: Mapping[str, float | None] = _OTHER_STEPS,
        authorised: bool = True,
        changes: bool | None = None,
    ) -> Call:
        forbid_writes(method, changes=changes)
        if seconds is None:
            reads = method in ("GET", "HEAD")
            seconds, steps = (READ_SECONDS, _READ_STEPS) if reads else (WRITE_SECONDS, steps)
        ends = deadline.get()
        if ends is not None:
            seconds = min(seconds, ends - self._origins.clock.monotonic())
        if seconds <= 0:
            raise TimedOut(sent=False)
        origin = self._root.origin if authorised else origin_of(url)
        foreign = origin != self._root.origin
        return Call(
            method=method,
            url=url,
            headers=headers,
            content=content,
            accept=accept,
            max_bytes=max_bytes,
            credentials=self._credentials if authorised else None,
            classify=self._classify,
            client=self._origins.client(origin),
            health=self._health(_ELSEWHERE if foreign else origin),
            clock=self._origins.clock,
            steps=steps,
            scope=asyncio.timeout(seconds),
            counts_timeout=seconds >= _BLAME_SECONDS,
            public=foreign and not self._origins.allow_private,
            upstream=self._name,
            listener=self._origins.listener,
            connection=self._connection if authorised else None,
        )

    def _health(self, origin: str) -> Health:
        return self._origins.health(self._connection, origin, concurrency=self._concurrency)
