"""
Request, response and router of the sandbox's protocols.

A handler is ``async (Request) -> Response | None``. None means that the path is not its own:
handlers that share a path prefix are tried in order. `control` adds faults, the call log and the
credential check; `app` makes one ASGI application of all handlers.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

import orjson

from sandbox.oauth.tokens import TokenGrant

JSON = "application/json; charset=UTF-8"


class ConnectionCut(ConnectionResetError):
    """The connection breaks without a response; in-process callers get this exception."""


class NoResponse(Exception):
    """No response for *seconds*, or until the client disconnects; then the connection is cut."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


@dataclass(frozen=True, kw_only=True)
class Request:
    """
    One call as a handler sees it.

    Attributes:
        segments: The path below the mount, split at its raw slashes and then unquoted one by one,
            so an id may contain a slash. A trailing slash leaves no empty segment.
        query: Every parameter in order, decoded, blank ones kept.
        headers: Lower-case names.
        stream: The body in chunks, on paths that take large bodies; *body* is empty then.
        public: Absolute URL of the mount, without a trailing slash, for links.
        content: The same URL on the origin of pre-authenticated URLs.
        grant: The permissions of the access token; None only on mounts that need no token.
        batch: Id of the batch that the call came in; None for a call of its own.
        inner: Runs an inner call of a batch against the whole upstream, with call log, faults and
            credential check.
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
    inner: "Callable[[Request], Awaitable[Response]] | None" = None

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
        """Return this call's absolute URL with some query parameters replaced."""
        path = "/".join(quote(segment, safe="") for segment in self.segments)
        unchanged = [(name, value) for name, value in self.query if name not in changed]
        query = urlencode([*unchanged, *changed.items()])
        return f"{self.public}/{path}" + (f"?{query}" if query else "")

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body in chunks, whether it was streamed or not."""
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
class Response:
    """
    A response; *pieces* replace *body* where it is sent slowly.

    Attributes:
        headers: Without Content-Length, which `app` adds, except when *pieces* are the body.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: AsyncIterator[bytes] | None = None


Handler = Callable[[Request], Awaitable[Response | None]]
Endpoint = Callable[..., Response | Awaitable[Response]]


def json_response(
    content: Any, status: int = 200, headers: Mapping[str, str] | None = None, *, kind: str = JSON
) -> Response:
    """Build a JSON response."""
    return Response(
        status=status, body=orjson.dumps(content), headers={"content-type": kind, **(headers or {})}
    )


def parse_target(target: str) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Split a request target (``/a/b%2Fc?x=1``) into decoded segments and parameters."""
    path, _, query = target.partition("?")
    segments = tuple(unquote(part) for part in path.strip("/").split("/")) if path else ()
    return (() if segments == ("",) else segments), parse_query(query)


def parse_query(query: str) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a query string, in order, blank ones kept."""
    return tuple(parse_qsl(query, keep_blank_values=True))


class Router:
    """
    Table of (method, path pattern) -> endpoint; the first match wins.

    A pattern is ``/users/{user}/messages``. ``{name}`` matches one segment, which the endpoint gets
    as a keyword argument: ``endpoint(request, user=...)``.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[str, tuple[str, ...], Endpoint]] = []

    def add(self, method: str, pattern: str, endpoint: Endpoint) -> None:
        """Add a row."""
        self._rows.append((method, tuple(pattern.strip("/").split("/")), endpoint))

    def find(self, method: str, segments: Sequence[str]) -> tuple[Endpoint, dict[str, str]] | None:
        """Return the endpoint and its path parameters; None when no row matches."""
        for row_method, pattern, endpoint in self._rows:
            if row_method != method or len(pattern) != len(segments):
                continue
            parameters: dict[str, str] = {}
            for expected, actual in zip(pattern, segments, strict=True):
                if expected.startswith("{"):
                    parameters[expected[1:-1]] = actual
                elif expected != actual:
                    break
            else:
                return endpoint, parameters
        return None

    def knows(self, segments: Sequence[str]) -> bool:
        """Whether any method has a row for this path (405 rather than 404)."""
        methods = {row[0] for row in self._rows}
        return any(self.find(method, segments) is not None for method in methods)


async def call_endpoint(
    endpoint: Endpoint, request: Request, parameters: Mapping[str, str]
) -> Response:
    """Run an endpoint, synchronous or not."""
    answer = endpoint(request, **parameters)
    return answer if isinstance(answer, Response) else await answer
