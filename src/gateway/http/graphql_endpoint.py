"""`/graphql` over HTTP: POST runs a document; a browser that GETs it is sent to the explorer."""

from collections.abc import Awaitable, Callable, Mapping

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from gateway.http.entry import RequestEntry
from gateway.http.graphql_idempotency import IdempotentMutation, to_refusal
from graph.context import Context
from graph.documents.cost_limits import MAX_BYTES
from graph.documents.operations import Graph
from graph.request_execution import NO_SURFACE_COST, HttpResponse, refusal_response, respond
from policy.refusals import Refusal
from rest_compat.body import read_body
from rest_compat.ledger import KEY_HEADER, Ledger
from rest_compat.ports import Problem
from rest_compat.preferences import Preferences, read_preferences

Answering = Callable[[Request], Awaitable[Response]]


def endpoint(door: RequestEntry, graph: Graph, ledger: Ledger) -> Answering:
    """Make what answers POST."""

    async def run(request: Request) -> Response:
        stated = read_preferences(request.headers.getlist("prefer"))
        preferred = Preferences(partial_fail=stated.partial_fail)  # the schema is strict anyway
        reply = await _answer(door, graph, ledger, request, preferred)
        headers = {**reply.headers, **dict(preferred.applied), "Content-Type": reply.content_type}
        return Response(reply.body, status_code=reply.status, headers=headers)

    return run


async def _answer(
    door: RequestEntry, graph: Graph, ledger: Ledger, request: Request, preferred: Preferences
) -> HttpResponse:
    """Find out who calls; only then read the body, run it and write down that it ran."""
    request_id, accept = door.request_id(request.scope), request.headers.get("accept", "")
    try:
        caller = await door.authenticate(request.scope, NO_SURFACE_COST)
    except Refusal as refusal:
        return refusal_response(refusal, request_id=request_id, accept=accept)
    body = await _body(request)
    visitor: Context | None = None

    async def admit(costs: Mapping[str, int]) -> Context:
        nonlocal visitor
        visitor = await door.charge_caller(request.scope, caller, costs)
        visitor.require_all = preferred.partial_fail
        return visitor

    once = None
    if isinstance(body, bytes):
        once = IdempotentMutation(request.headers.getlist(KEY_HEADER), body, door, ledger)
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
        if visitor is not None:
            door.recorder.record_graphql(visitor, status)
    return reply


async def _body(request: Request) -> bytes | Refusal:
    """Read the body, or tell what kept it from arriving whole."""
    declared = request.headers.get("content-length")
    try:
        return await read_body(request.receive, declared=declared, limit=MAX_BYTES)
    except Problem as problem:
        return to_refusal(problem)


def install(app: FastAPI, answer: Answering) -> None:
    """Add the endpoint to *app*; *answer* answers POST."""
    app.post("/graphql", include_in_schema=False)(answer)

    @app.get("/graphql", include_in_schema=False)
    async def explore(request: Request) -> Response:
        if "text/html" in request.headers.get("accept", ""):
            return RedirectResponse("/explorer/", status_code=302)
        raise HTTPException(405)
