"""Static pages and documents: the explorer, the API reference, `/openapi.json`."""

import asyncio
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import graph
from gateway.http import graphql_endpoint
from gateway.http.graphql_endpoint import GraphQLHandler
from gateway.http.openapi import document

# Own origin only; GraphiQL's editor needs workers from blobs and inline styles.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_STATIC = Path(graph.__file__).parent / "static"


class Pages:
    """A folder of static files under the page policy."""

    def __init__(self, folder: Path) -> None:
        self._files = StaticFiles(directory=folder, html=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                policy = (b"content-security-policy", PAGE_POLICY.encode())
                message["headers"] = [*message.get("headers", []), policy]
            await send(message)

        await self._files(scope, receive, sending)


def install(app: FastAPI, *, graphql: GraphQLHandler, sandbox: ASGIApp | None) -> None:
    """Add the pages to *app*; *graphql* handles POST /graphql."""

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        # Building it takes a while: in a thread, so that other requests go on.
        content = await asyncio.to_thread(document, app)
        return Response(content, media_type="application/json")

    @app.get("/", include_in_schema=False)
    async def start() -> Response:
        return RedirectResponse("/explorer/", status_code=302)

    graphql_endpoint.install(app, graphql)
    for path, folder in (("/explorer", "explorer"), ("/docs", "docs")):
        if (_STATIC / folder).is_dir():
            _redirect(app, path)
            app.mount(path, Pages(_STATIC / folder), name=folder)
    if sandbox is not None:
        app.mount("/sandbox", sandbox, name="sandbox")


def _redirect(app: FastAPI, path: str) -> None:
    @app.get(path, include_in_schema=False)
    async def with_slash(_: Request) -> Response:
        return RedirectResponse(f"{path}/", status_code=307)
