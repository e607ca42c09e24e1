"""
What all sandbox wires share: a request with its path in decoded segments, an answer, and a router.

A wire is ``async (Request) -> Answer``; `control.Wire` puts faults and the call log around it and
makes an ASGI application of it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson

JSON = "application/json; charset=UTF-8"


@dataclass(frozen=True, kw_only=True)
class Request:
    """
    One call as a wire sees it.

    Attributes:
        segments: The path below the mount, split at its raw slashes and then unquoted one by one,
            so an id may contain a slash. A trailing slash leaves no empty segment.
        query: Every parameter in order, decoded, blank ones kept.
        headers: Lower-case names.
        public: The absolute address of the mount, without a trailing slash, for links.
        batch: The id of the batch it came in, None for a call of its own.
    """

    method: str
    segments: tuple[str, ...]
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    public: str = ""
    batch: str | None = None

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
        headers: Without Content-Length, which is added.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = MappingProxyType({})
    pieces: AsyncIterator[bytes] | None = None


Handler = Callable[[Request], Awaitable[Answer]]
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
