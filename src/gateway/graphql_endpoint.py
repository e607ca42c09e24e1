"""`/graphql` over HTTP: POST runs a document; a browser that GETs it is sent to the explorer."""

from collections.abc import Mapping

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from gateway.door import Door
from gateway.edge import passage
from graph.context import Context
from graph.http import respond
from graph.limits import MAX_BYTES
from graph.operations import Graph
from rest_compat.body import read_body


def install(app: FastAPI, *, door: Door, graph: Graph) -> None:
    """Add the endpoint to *app*."""

    @app.post("/graphql", include_in_schema=False)
    async def run(request: Request) -> Response:
        body = await read_body(
            request.receive, declared=request.headers.get("content-length"), limit=MAX_BYTES
        )

        async def admit(costs: Mapping[str, int]) -> Context:
            return await door.open(request.scope, costs)

        reply = await respond(
            graph,
            body,
            admit=admit,
            request_id=passage(request.scope).request_id,
            accept=request.headers.get("accept", ""),
        )
        headers = {**reply.headers, "Content-Type": reply.content_type}
        return Response(reply.body, status_code=reply.status, headers=headers)

    @app.get("/graphql", include_in_schema=False)
    async def explore(request: Request) -> Response:
        if "text/html" in request.headers.get("accept", ""):
            return RedirectResponse("/explorer/", status_code=302)
        raise HTTPException(405)
