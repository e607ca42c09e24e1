"""
The documented paths as one ASGI application, built from the table.

Paths are matched segment by segment on `raw_path`: an encoded slash stays inside its segment, an
empty segment is an empty id (which the graph refuses in the surface's own way), and a trailing
slash is never redirected. Rows match in order.
"""

from collections.abc import Iterable, Mapping, Sequence

from starlette.types import Receive, Scope, Send

from policy.vocabulary import Code
from rest_compat import errors
from rest_compat.binding import INPUT
from rest_compat.body import ClientGone
from rest_compat.documents import document
from rest_compat.endpoint import Responder
from rest_compat.ledger import Ledger
from rest_compat.ports import AdmittedRequest, CallObserver, Graph, Problem, RequestEntry
from rest_compat.readers import READERS, BodyReader
from rest_compat.request import RestRequest, path_segments
from rest_compat.responses import RestResponse, send_response
from rest_compat.table import Endpoint


def rest_app(  # noqa: PLR0913 - each is a part of the process
    endpoints: Iterable[Endpoint],
    *,
    graph: Graph,
    entry: RequestEntry,
    ledger: Ledger,
    readers: Mapping[str, BodyReader] = READERS,
    observer: CallObserver | None = None,
) -> "Router":
    """
    Build the application that answers *endpoints*, and 404 for everything else.

    *readers* are the readers of request bodies by the name that rows call them. *left* is told of
    every call that came through the door, when it is over.

    Raises:
        Whatever ``graph.prepare`` raises: a document does not fit the schema.
        KeyError: A row names a reader that is not there.
    """
    rows = []
    for endpoint in endpoints:
        operation = graph.prepare(document(endpoint.document))
        variables = {variable.name: variable for variable in operation.variables}
        row = Responder(
            endpoint=endpoint,
            operation=operation,
            entry=entry,
            ledger=ledger,
            body=variables.get(INPUT),
            reader=readers[endpoint.body],
            observer=observer,
        )
        rows.append(row)
    return Router(rows, entry=entry, observer=observer)


class Router:
    """Finds the row of a request; answers itself when there is none."""

    def __init__(
        self,
        rows: Sequence[Responder],
        *,
        entry: RequestEntry,
        observer: CallObserver | None = None,
    ) -> None:
        self._entry = entry
        self._observer = observer
        self._rows: dict[tuple[int, tuple[str, ...]], list[tuple[tuple[str, ...], Responder]]] = {}
        self._prefixes: dict[tuple[str, ...], Endpoint] = {}
        for row in rows:
            pattern = split_path(row.endpoint.path)
            self._rows.setdefault(_shelf(pattern), []).append((pattern, row))
            self._prefixes[split_path(row.endpoint.prefix)] = row.endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request; a WebSocket is closed."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        call = RestRequest(scope, receive)
        try:
            answer = await self._answer(call)
        except ClientGone:
            return
        await send_response(answer, send, head=call.method == "HEAD")

    async def _answer(self, call: RestRequest) -> RestResponse:
        asked = call.segments
        found = self._row(call.method, asked)
        if found is not None:
            row, path = found
            call.scope.setdefault("state", {})["route"] = row.endpoint.path
            return await row.respond(call, path)
        shelf = self._rows.get(_shelf(asked), ())
        candidates = [row for pattern, row in shelf if match_path(pattern, asked) is not None]
        if not candidates:
            return await self._turn_away(
                call, Code.NOT_FOUND, "There is nothing at this path.", 404
            )
        allow = ("Allow", ", ".join(allowed_methods(row.endpoint.method for row in candidates)))
        if call.method == "OPTIONS":
            return RestResponse(status=204, headers=(allow,))
        message = f"{call.method} is not possible here."
        refusal = await self._turn_away(call, Code.METHOD_NOT_ALLOWED, message, 405)
        return refusal.with_headers(allow) if refusal.status == 405 else refusal

    def refuse(self, scope: Scope, failure: Problem) -> RestResponse:
        """Tell of *failure* as the row of *scope* would, or the surface that its path is under."""
        asked = path_segments(scope)
        found = self._row(scope["method"], asked)
        if found is not None:
            return found[0].refuse(failure, scope)
        return self._shaped(failure, scope, self._nearest(asked))

    def _row(
        self, method: str, asked: tuple[str, ...]
    ) -> tuple[Responder, Mapping[str, str]] | None:
        """Return the row that answers, with its path parameters."""
        method = "GET" if method == "HEAD" else method
        for pattern, row in self._rows.get(_shelf(asked), ()):
            if row.endpoint.method == method:
                path = match_path(pattern, asked)
                if path is not None:
                    return row, path
        return None

    async def _turn_away(
        self, call: RestRequest, code: Code, message: str, status: int
    ) -> RestResponse:
        """Answer what no row answers; under a surface's prefix the door comes first."""
        near = self._nearest(call.segments)
        visit: AdmittedRequest | None = None
        try:
            if near is not None:
                visit = await self._entry.admit(call.scope, near.charge, partial_fail=False)
            raise errors.problem(code, message, status=status)
        except Problem as failure:
            answer = self._shaped(failure, call.scope, near)
            if visit is not None and self._observer is not None:
                self._observer(visit, None, answer, failure)
            return answer

    def _shaped(self, failure: Problem, scope: Scope, near: Endpoint | None) -> RestResponse:
        return errors.error_response(
            failure,
            request_id=self._entry.request_id(scope),
            surface=near.surface if near is not None else None,
        )

    def _nearest(self, asked: tuple[str, ...]) -> Endpoint | None:
        """Return some row of the surface that *asked* lies under."""
        for length in range(len(asked), 0, -1):
            if asked[:length] in self._prefixes:
                return self._prefixes[asked[:length]]
        return None


def _shelf(asked: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """Return what rows and requests must have in common: length, and "api/access/…" to begin."""
    return len(asked), asked[:_ALIKE]


_ALIKE = 3  # no parameter of the table stands before the fourth segment


def split_path(path: str) -> tuple[str, ...]:
    """Split a path of the table at its slashes."""
    return tuple(path.split("/")[1:])


def match_path(pattern: tuple[str, ...], asked: tuple[str, ...]) -> Mapping[str, str] | None:
    """Return the path parameters when the segments *asked* fit *pattern*, else None."""
    found: dict[str, str] = {}
    for wanted, segment in zip(pattern, asked, strict=True):
        if wanted.startswith("{"):
            found[wanted[1:-1]] = segment
        elif wanted != segment:
            return None
    return found


def allowed_methods(methods: Iterable[str]) -> list[str]:
    """Return the complete `Allow` of a path that has *methods*, in alphabetical order."""
    known = {*methods, "OPTIONS"}
    return sorted(known | {"HEAD"} if "GET" in known else known)
