"""`/graphql` over HTTP: POST runs a document; a browser that GETs it is sent to the explorer."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from gateway.door import Door
from gateway.edge import passage
from graph import errors
from graph.context import Context
from graph.http import respond
from graph.limits import MAX_BYTES
from graph.operations import Graph
from policy.refusals import Refusal
from rest_compat.body import read_body
from rest_compat.ports import Problem


def endpoint(door: Door, graph: Graph) -> Callable[[Request], Awaitable[Response]]:
    """Make what answers POST."""

    async def run(request: Request) -> Response:
        visitor: Context | None = None

        async def admit(costs: Mapping[str, int]) -> Context:
            nonlocal visitor
            visitor = await door.open(request.scope, costs)
            return visitor

        request_id, status = passage(request.scope).request_id, 0
        declared = request.headers.get("content-length")
        try:
            body = await read_body(request.receive, declared=declared, limit=MAX_BYTES)
            reply = await respond(
                graph,
                body,
                admit=admit,
                request_id=request_id,
                accept=request.headers.get("accept", ""),
            )
            status = reply.status
        except Problem as problem:  # the body did not arrive whole
            return _refused(problem.message, problem.extensions, request_id)
        except Refusal as refusal:
            told = errors.extensions(refusal, surface=None, request_id=request_id)
            return _refused(refusal.message, told, request_id)
        except Exception:
            status = 500
            raise
        finally:
            if visitor is not None:
                door.recorder.graphql(visitor, status)
        headers = {**reply.headers, "Content-Type": reply.content_type}
        return Response(reply.body, status_code=reply.status, headers=headers)

    return run


def install(app: FastAPI, *, door: Door, graph: Graph) -> None:
    """Add the endpoint to *app*."""
    app.post("/graphql", include_in_schema=False)(endpoint(door, graph))

    @app.get("/graphql", include_in_schema=False)
    async def explore(request: Request) -> Response:
        if "text/html" in request.headers.get("accept", ""):
            return RedirectResponse("/explorer/", status_code=302)
        raise HTTPException(405)


def _refused(message: str, extensions: Mapping[str, Any], request_id: str) -> Response:
    """Say in GraphQL's shape what stopped a request before it was one."""
    told = {"message": message, "extensions": {**extensions, "requestId": request_id}}
    return Response(
        orjson.dumps({"errors": [told]}),
        status_code=extensions["httpStatus"],
        media_type="application/json",
    )
