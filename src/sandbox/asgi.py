"""
What all sandbox wires share: a request with its path in decoded segments, an answer, and a router.

A wire is ``async (Request) -> Answer | None``, None meaning "not mine": wires that share a prefix
are asked in order. `control` puts faults, the call log and the credential check around them, `app`
makes an ASGI application of all.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

import orjson

from sandbox.oauth.tokens import TokenGrant

JSON = "application/json; charset=UTF-8"


class ConnectionCut(ConnectionResetError):
    """The connection breaks without an answer; a socket is closed, an in-process caller sees it."""


class Unanswered(Exception):
    """No answer comes: for *seconds*, or until the caller leaves; then the connection is cut."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


@dataclass(frozen=True, kw_only=True)
class Request:
    """
    One call as a wire sees it.

    Attributes:
        segments: The path below the mount, split at its raw slashes and then unquoted one by one,
            so an id may contain a slash. A trailing slash leaves no empty segment.
        query: Every parameter in order, decoded, blank ones kept.
        headers: Lower-case names.
        stream: The body as it comes, on paths that take large ones; *body* is empty then.
        public: The absolute address of the mount, without a trailing slash, for links.
        content: The same on the origin of pre-authenticated addresses.
        grant: What its access token stands for. Never None below the credential check, except on
            mounts that are open.
        batch: The id of the batch it came in, None for a call of its own.
        inner: Makes an inner call of a batch against the whole upstream: logged, faulted and
            checked like any other.
    """

    method: str
    segments: tuple[str, ...]
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    stream: AsyncIterator[bytes] | None = None
    public: str = ""
    content: str = ""
    grant: TokenGrant | None = None
    batch: str | None = None
    inner: "Callable[[Request], Awaitable[Answer]] | None" = None

    @property
    def path(self) -> str:
        """The path below the mount, decoded; for matching and logging, not for routing."""
        return "/" + "/".join(self.segments)

    def first(self, name: str, default: str = "") -> str:
        """Return the first value of a query parameter."""
        return next((value for key, value in self.query if key == name), default)

    def every(self, name: str) -> tuple[str, ...]:
        """Return every value of a query parameter."""
        return tuple(value for key, value in self.query if key == name)

    def link(self, **changed: str) -> str:
        """Return this call's absolute address, some query parameters set anew."""
        path = "/".join(quote(segment, safe="") for segment in self.segments)
        kept = [(name, value) for name, value in self.query if name not in changed]
        query = urlencode([*kept, *changed.items()])
        return f"{self.public}/{path}" + (f"?{query}" if query else "")

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body piece by piece, whichever way it came."""
        if self.stream is None:
            yield self.body
            return
        async for piece in self.stream:
            yield piece

    def json(self) -> Any:
        """
        Return the body as JSON, ``{}`` when there is none.

        Raises:
            ValueError: The body is not JSON.
        """
        return orjson.loads(self.body) if self.body.strip() else {}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """
    What a wire says. *body* may come in pieces, for answers that are sent slowly.

    Attributes:
        headers: Without Content-Length, which is added; with it when *pieces* are the body.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: AsyncIterator[bytes] | None = None


Handler = Callable[[Request], Awaitable[Answer | None]]
Endpoint = Callable[..., Answer | Awaitable[Answer]]


def as_json(
    content: Any, status: int = 200, headers: Mapping[str, str] | None = None, *, kind: str = JSON
) -> Answer:
    """Answer with JSON."""
    return Answer(
        status=status,
        body=orjson.dumps(content),
        headers={"content-type": kind, **(headers or {})},
    )


def read_target(target: str) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Split a request target (``/a/b%2Fc?x=1``) into decoded segments and query parameters."""
    path, _, query = target.partition("?")
    segments = tuple(unquote(part) for part in path.strip("/").split("/")) if path else ()
    return (() if segments == ("",) else segments), read_query(query)


def read_query(query: str) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a query string, in order, blank ones kept."""
    return tuple(parse_qsl(query, keep_blank_values=True))


class Routes:
    """
    A table of (method, path pattern) -> endpoint; first match wins.

    A pattern is ``/users/{user}/messages``; ``{name}`` takes one segment and gives it to the
    endpoint as a keyword, together with the request: ``endpoint(request, user=...)``.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[str, tuple[str, ...], Endpoint]] = []

    def add(self, method: str, pattern: str, endpoint: Endpoint) -> None:
        """Add a row."""
        self._rows.append((method, tuple(pattern.strip("/").split("/")), endpoint))

    def find(self, method: str, segments: Sequence[str]) -> tuple[Endpoint, dict[str, str]] | None:
        """Return the endpoint and what its pattern took, None when no row matches."""
        for row_method, pattern, endpoint in self._rows:
            if row_method != method or len(pattern) != len(segments):
                continue
            taken: dict[str, str] = {}
            for expected, actual in zip(pattern, segments, strict=True):
                if expected.startswith("{"):
                    taken[expected[1:-1]] = actual
                elif expected != actual:
                    break
            else:
                return endpoint, taken
        return None

    def knows(self, segments: Sequence[str]) -> bool:
        """Whether any method has a row for this path (405 rather than 404)."""
        methods = {row[0] for row in self._rows}
        return any(self.find(method, segments) is not None for method in methods)


async def call(endpoint: Endpoint, request: Request, taken: Mapping[str, str]) -> Answer:
    """Run an endpoint, synchronous or not."""
    answer = endpoint(request, **taken)
    return answer if isinstance(answer, Answer) else await answer
