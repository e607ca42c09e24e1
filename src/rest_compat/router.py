"""
The documented paths as one ASGI application, built from the table.

Paths are matched segment by segment on `raw_path`: an encoded slash stays inside its segment, an
empty segment is an empty id (which the graph refuses), and a trailing slash is never redirected
(docs/spec/requests.md#paths-and-ids). Rows match in order.
"""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from starlette.types import Receive, Scope, Send

from graph.documents.rest_operation import RestOperation
from policy.refusals import NotFound, Refusal
from policy.vocabulary import Code, Layer
from rest_compat import errors
from rest_compat.body import ClientGone
from rest_compat.calls import Calls, refused_call
from rest_compat.contents import send_stream
from rest_compat.descriptions import Description, DescriptionResponder
from rest_compat.endpoint import Responder
from rest_compat.graphql_of import GraphqlOfResponder
from rest_compat.readers import READERS, BodyReader
from rest_compat.request import RestRequest, path_segments
from rest_compat.responses import RestResponse, send_response
from rest_compat.saved.endpoint import SavedDocuments, SavedRoutes
from rest_compat.table import Endpoint
from rest_compat.translation.to_graphql import EXPLORER
from rest_compat.unknown_paths import describe_unknown


def rest_app(  # noqa: PLR0913 - each is a part of the process
    endpoints: Iterable[Endpoint],
    *,
    prepare: Callable[[str], RestOperation],
    calls: Calls,
    readers: Mapping[str, BodyReader] = READERS,
    descriptions: Iterable[Description] = (),
    saved: SavedDocuments | None = None,
    saved_rows: Mapping[str, Endpoint] = MappingProxyType({}),
    strict: bool = False,
    base_url: str = "",
) -> "Router":
    """
    Build the application that answers *endpoints* and *descriptions*, and 404 otherwise.

    *readers* maps the names in the table to readers of request bodies; *strict* refuses unknown
    query parameters, which a header names otherwise. *base_url* is the gateway's own address, for
    links. *saved* are the saved documents, and *saved_rows* the calls that write, by their root
    field. *prepare* plans the document of a row, for its first request.

    Raises:
        KeyError: A row names a reader that does not exist.
    """
    rows = [
        Responder(
            endpoint=endpoint,
            prepare=prepare,
            calls=calls,
            reader=readers[endpoint.body],
            strict=strict,
            explorer=base_url + EXPLORER,
        )
        for endpoint in endpoints
    ]
    described = [DescriptionResponder(description, calls=calls) for description in descriptions]
    table = Router([*rows, *described], calls=calls)
    table.add(GraphqlOfResponder(table.respond, calls=calls))
    if saved is not None:
        table.saved = SavedRoutes(saved, rows[0], rows=saved_rows, readers=readers)
    return table


class Row(Protocol):
    """Handler of a path: a row of the table, or a call without one."""

    @property
    def endpoint(self) -> Endpoint: ...

    def respond(
        self, request: RestRequest, path: Mapping[str, str], /
    ) -> Coroutine[Any, Any, RestResponse]: ...

    def refuse(self, refusal: BaseException, scope: Scope, /) -> RestResponse: ...


class Router:
    """Finds the row of a request; answers unknown paths and methods itself."""

    def __init__(self, rows: Sequence[Row], *, calls: Calls) -> None:
        self.saved: SavedRoutes | None = None
        self._calls = calls
        self._rows: dict[tuple[int, tuple[str, ...]], list[tuple[tuple[str, ...], Row]]] = {}
        self._prefixes: dict[tuple[str, ...], Endpoint] = {}
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Serve *row* too, after the rows that are there."""
        pattern = split_path(row.endpoint.path)
        self._rows.setdefault(_route_key(pattern), []).append((pattern, row))
        self._prefixes[split_path(row.endpoint.prefix)] = row.endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request; close a WebSocket."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        request = RestRequest(scope, receive)
        try:
            response = await self.respond(request)
        except ClientGone:
            return
        if response.stream is not None:
            await send_stream(response, response.stream, receive, send)
        else:
            await send_response(response, send, head=scope["method"] == "HEAD")

    def respond(self, request: RestRequest) -> Coroutine[Any, Any, RestResponse]:
        """Answer *request* by its row, or by 404 or 405."""
        scope = request.scope
        segments = path_segments(scope)
        matched = self._match_row(scope["method"], segments)
        if matched is not None:
            row, path = matched
            scope.setdefault("state", {})["route"] = row.endpoint.path
            return row.respond(request, path)
        if self.saved is not None and self.saved.serves(segments):
            return self.saved.respond(request, segments)
        return self._respond_without_row(request, segments)

    async def _respond_without_row(
        self, request: RestRequest, segments: tuple[str, ...]
    ) -> RestResponse:
        candidates = [
            row
            for pattern, row in self._rows.get(_route_key(segments), ())
            if match_path(pattern, segments) is not None
        ]
        if not candidates:
            message = describe_unknown(segments, self._patterns())
            return await self._reject(request, NotFound(message, layer=Layer.INPUT))
        allow = ("Allow", ", ".join(allowed_methods(row.endpoint.method for row in candidates)))
        if request.method == "OPTIONS":
            return RestResponse(status=204, headers=(allow,))
        message = f"This path does not allow {request.method}."
        refusal = errors.problem(Code.METHOD_NOT_ALLOWED, message)
        response = await self._reject(request, refusal)
        return response.with_headers(allow) if response.status == 405 else response

    def _patterns(self) -> Iterator[tuple[str, ...]]:
        """Iterate over the paths of the rows, in the order of the table."""
        return (pattern for rows in self._rows.values() for pattern, _ in rows)

    def refuse(self, scope: Scope, problem: BaseException) -> RestResponse:
        """Build the error response in the shape of the row, or of the surface of the path."""
        segments = path_segments(scope)
        matched = self._match_row(scope["method"], segments)
        if matched is not None:
            return matched[0].refuse(problem, scope)
        return self._error_response(problem, scope, self._endpoint_below_prefix(segments))

    def _match_row(
        self, method: str, segments: tuple[str, ...]
    ) -> tuple[Row, Mapping[str, str]] | None:
        """Return the row that answers, with its path parameters."""
        method = "GET" if method == "HEAD" else method
        for pattern, row in self._rows.get((len(segments), segments[:_KEY_SEGMENTS]), ()):
            if row.endpoint.method == method:
                path = match_path(pattern, segments)
                if path is not None:
                    return row, path
        return None

    async def _reject(self, request: RestRequest, problem: Refusal) -> RestResponse:
        """Answer what no row answers; under a surface's prefix only for admitted requests."""
        endpoint = self._endpoint_below_prefix(request.segments)
        if endpoint is None:
            return self._error_response(problem, request.scope, endpoint)
        call = refused_call(request, endpoint.bucket, problem, surface=endpoint.surface)
        return await self._calls.run(call)

    def _error_response(
        self, problem: BaseException, scope: Scope, endpoint: Endpoint | None
    ) -> RestResponse:
        surface = endpoint.surface if endpoint is not None else None
        return errors.refuse(problem, request_id=self._calls.request_id(scope), surface=surface)

    def _endpoint_below_prefix(self, segments: tuple[str, ...]) -> Endpoint | None:
        """Return any endpoint of the surface whose prefix *segments* start with."""
        for length in range(len(segments), 0, -1):
            if segments[:length] in self._prefixes:
                return self._prefixes[segments[:length]]
        return None


def _route_key(segments: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """Return the key under which a row and its requests meet: length and first segments."""
    return len(segments), segments[:_KEY_SEGMENTS]


_KEY_SEGMENTS = 3  # no parameter of the table stands before the fourth segment


def split_path(path: str) -> tuple[str, ...]:
    """Split a path of the table at its slashes."""
    return tuple(path.split("/")[1:])


def match_path(pattern: tuple[str, ...], segments: tuple[str, ...]) -> Mapping[str, str] | None:
    """Return the path parameters when *segments* fit *pattern*, else None."""
    parameters: dict[str, str] = {}
    for expected, segment in zip(pattern, segments, strict=True):
        if expected.startswith("{"):
            parameters[expected[1:-1]] = segment
        elif expected != segment:
            return None
    return parameters


def allowed_methods(methods: Iterable[str]) -> list[str]:
    """Return the methods of an `Allow` header for a path that has *methods*, in order."""
    allowed = {*methods, "OPTIONS"}
    return sorted(allowed | {"HEAD"} if "GET" in allowed else allowed)
