"""
One connection's calls to one upstream, and the clients that carry them.

Every call has a total deadline and a size limit, and every failure is a member of
`providers.failures`. The only importer of httpx besides `providers.transport`.
"""

from collections.abc import (
    AsyncIterable,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from typing import Any, Protocol

from providers.answers import Answer, StreamedAnswer
from providers.failures import ProviderFailure

__all__ = ["Answer", "Credentials", "Origins", "StreamedAnswer", "Upstream", "deadline"]

MAX_BYTES = 16 * 1024 * 1024  # of a decompressed answer; reference, budgets

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
        """


class Origins:
    """The process's HTTP clients, one per origin, and what is known of each connection's health."""

    def __init__(self, *, apps: Mapping[str, Any] | None = None) -> None:
        """Take the ASGI *apps* that answer in this process, by origin ("https://host:port")."""

    async def aclose(self) -> None:
        """Close every client."""


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
    ) -> None:
        """
        Bind a connection to its upstream. Cheap: health and limits live in *origins*.

        Args:
            base_url: http(s), with a path prefix or none; no userinfo, query or fragment.
            connection: Identifies the connection; calls under one identity share limits.
            classify: Turns a non-2xx answer of this protocol into a failure, or None.
            concurrency: How many calls of this connection may be under way at once.

        Raises:
            ValueError: *base_url* is not such an URL.
        """

    async def call(
        self,
        method: str,
        *segments: str,
        params: Sequence[tuple[str, str]] = (),
        json: object = None,
        content: bytes | AsyncIterable[bytes] | None = None,
        headers: Mapping[str, str] = {},
        retry: bool | None = None,
        deadline: float | None = None,
        max_bytes: int = MAX_BYTES,
        accept: Collection[int] = (),
    ) -> Answer:
        """
        Call ``base_url/segment/segment…`` and return its 2xx answer.

        Args:
            segments: Each becomes exactly one percent-encoded path segment.
            json: Sent as the body, with its content type.
            retry: Whether a broken or 5xx call may be repeated once; None: GET and HEAD only.
            deadline: Seconds for everything, retries included; None: 15 for reads, 30 for writes.
            max_bytes: Of the decompressed answer.
            accept: Statuses besides 2xx that are answers and not failures (a 302 whose Location
                is wanted, a 308 of an upload).

        Raises:
            Missing: A segment is empty, "." or "..", or upstream answered 404 or 410.
            ProviderFailure: Anything else that went wrong.
        """
        raise NotImplementedError

    async def follow(
        self,
        url: str,
        *,
        headers: Mapping[str, str] = {},
        deadline: float | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Answer:
        """
        GET a ``nextLink``.

        Raises:
            Broken: It does not lie under this upstream's base URL; nothing was called.
        """
        raise NotImplementedError

    def stream(
        self,
        method: str,
        *segments: str,
        params: Sequence[tuple[str, str]] = (),
        content: bytes | AsyncIterable[bytes] | None = None,
        headers: Mapping[str, str] = {},
        deadline: float | None = None,
        max_bytes: int | None = None,
        accept: Collection[int] = (),
    ) -> AbstractAsyncContextManager[StreamedAnswer]:
        """Call as `call` does, without retries, and read the body inside ``async with``."""
        raise NotImplementedError

    def open_stream(
        self,
        method: str,
        url: str,
        *,
        content: bytes | AsyncIterable[bytes] | None = None,
        headers: Mapping[str, str] = {},
        authorised: bool = False,
        deadline: float | None = None,
        max_bytes: int | None = None,
        accept: Collection[int] = (),
    ) -> AbstractAsyncContextManager[StreamedAnswer]:
        """
        Call an absolute URL that upstream gave us: a pre-authenticated download or upload.

        Args:
            authorised: Whether our credentials go along; only to this upstream's own origin.

        Raises:
            Broken: The URL is not http(s), or is not this origin nor an allowed host.
        """
        raise NotImplementedError
