"""POST /graphql over HTTP."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response

from gateway.http.entry import RequestEntry
from gateway.http.graphql_idempotency import IdempotentMutation, Rows, to_refusal
from graph.context import Context
from graph.documents.cost_limits import MAX_BYTES_WITH_FILES
from graph.documents.operations import Graph
from graph.request_execution import (
    NO_SURFACE_COST,
    HttpResponse,
    RunOnce,
    refusal_response,
    respond,
)
from policy.refusals import Refusal
from rest_compat.body import read_body
from rest_compat.ledger import KEY_HEADER, Ledger
from rest_compat.ports import Problem
from rest_compat.preferences import Preferences, read_preferences

GraphQLHandler = Callable[[Request], Awaitable[Response]]


def endpoint(entry: RequestEntry, graph: Graph, ledger: Ledger, rows: Rows) -> GraphQLHandler:
    """Build the handler of POST /graphql; *rows* are those of `mutation_rows`."""

    def once(keys: Sequence[str], body: bytes) -> RunOnce:
        return IdempotentMutation(keys, body, entry, ledger, rows)

    async def run(request: Request) -> Response:
        requested = read_preferences(request.headers.getlist("prefer"))
        preferences = Preferences(
            partial_fail=requested.partial_fail
        )  # the schema is strict anyway
        reply = await _respond(entry, graph, once, request, preferences)
        headers = {**reply.headers, **dict(preferences.applied), "Content-Type": reply.content_type}
        return Response(reply.body, status_code=reply.status, headers=headers)

    return run


async def _respond(
    entry: RequestEntry,
    graph: Graph,
    make_once: Callable[[Sequence[str], bytes], RunOnce],
    request: Request,
    preferences: Preferences,
) -> HttpResponse:
    """Authenticate the caller, then read and run the document, and record the decision."""
    request_id, accept = entry.request_id(request.scope), request.headers.get("accept", "")
    try:
        caller = await entry.authenticate(request.scope, NO_SURFACE_COST)
    except Refusal as refusal:
        return refusal_response(refusal, request_id=request_id, accept=accept)
    body = await _body(request)
    context: Context | None = None

    async def admit(costs: Mapping[str, int]) -> Context:
        nonlocal context
        context = await entry.charge_caller(request.scope, caller, costs)
        context.require_all = preferences.partial_fail
        return context

    once = None
    if isinstance(body, bytes):
        once = make_once(request.headers.getlist(KEY_HEADER), body)
    status = 0
    try:
        reply = await respond(
            graph, body, admit=admit, request_id=request_id, accept=accept, once=once
        )
        status = reply.status
    except Exception:
        status = 500
        raise
    finally:
        if context is not None:
            entry.recorder.record_graphql(context, status)
    return reply


async def _body(request: Request) -> bytes | Refusal:
    """Read the body; return the refusal of one that did not arrive whole."""
    declared = request.headers.get("content-length")
    try:
        return await read_body(request.receive, declared=declared, limit=MAX_BYTES_WITH_FILES)
    except Problem as problem:
        return to_refusal(problem)
