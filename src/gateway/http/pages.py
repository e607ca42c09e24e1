"""
Static pages and documents: the explorer, the API reference, `/openapi.json`.

The explorer's starter tabs come from the server, because only the server knows whether a mutation
reaches a person: `starters/` holds queries, `starters/sandbox/` what only the sandbox offers. See
docs/spec/graphql.md#the-explorer.
"""

import asyncio
from pathlib import Path

import orjson
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import graph
from gateway.http.graphql_endpoint import GraphQLHandler
from gateway.http.openapi import document

# Own origin only; GraphiQL's editor needs workers from blobs and inline styles.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Names of assets hold a hash of their content; every other file is asked for by its ETag.
_HASHED = b"public, max-age=31536000, immutable"
_CHECKED = b"no-cache"
_STATIC = Path(graph.__file__).parent / "static"
_STARTERS = Path(__file__).parent / "starters"


class Pages:
    """A folder of static files under the page policy."""

    def __init__(self, folder: Path) -> None:
        self._files = StaticFiles(directory=folder, html=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                policy = (b"content-security-policy", PAGE_POLICY.encode())
                age = (b"cache-control", _HASHED if _is_hashed(scope, message) else _CHECKED)
                message["headers"] = [*message.get("headers", []), policy, age]
            await send(message)

        await self._files(scope, receive, sending)


def _is_hashed(scope: Scope, message: Message) -> bool:
    return "/assets/" in scope["path"] and message["status"] < 400


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

    on_sandbox = sandbox is not None
    documents = starter_documents(sandbox=on_sandbox)
    starters = orjson.dumps({"sandbox": on_sandbox, "documents": documents})

    @app.get("/explorer/starters.json", include_in_schema=False)
    async def explorer_starters() -> Response:
        return Response(starters, media_type="application/json")

    app.post("/graphql", include_in_schema=False)(graphql)

    @app.get("/graphql", include_in_schema=False)
    async def explore(request: Request) -> Response:
        if "text/html" in request.headers.get("accept", ""):  # a browser
            return RedirectResponse("/explorer/", status_code=302)
        raise HTTPException(405)

    for path, folder in (("/explorer", "explorer"), ("/docs", "docs")):
        if (_STATIC / folder).is_dir():
            _redirect(app, path)
            app.mount(path, Pages(_STATIC / folder), name=folder)
    if sandbox is not None:
        app.mount("/sandbox", sandbox, name="sandbox")


def starter_documents(*, sandbox: bool) -> list[str]:
    """Return the documents of the starter tabs, in order; a mutation only on the sandbox."""
    folders = (_STARTERS, _STARTERS / "sandbox") if sandbox else (_STARTERS,)
    files = (file for folder in folders for file in sorted(folder.glob("*.graphql")))
    return [file.read_text("utf-8") for file in files]


def _redirect(app: FastAPI, path: str) -> None:
    @app.get(path, include_in_schema=False)
    async def with_slash(_: Request) -> Response:
        return RedirectResponse(f"{path}/", status_code=307)
