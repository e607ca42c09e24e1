"""
Static pages and documents: the explorer, the API reference, `/openapi.json`.

The explorer's starter tabs come from the server, because only the server knows whether a mutation
reaches a person: `starters/` holds queries, `starters/sandbox/` what only the sandbox offers. See
docs/spec/graphql.md#the-explorer.

What is the same for everybody is compressed. Responses of the API never are: they hold secrets
beside text that strangers write, and the length of a compressed response would reveal the one to
whoever chooses the other (BREACH). See docs/guides/behind-a-proxy.md#compression.
"""

import asyncio
import gzip
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import orjson
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import graph
from gateway.http.api_descriptions import access_document, operation_documents
from gateway.http.sandbox_mount import DemoToken
from providers.catalogue import tables as catalogue

# Own origin only; GraphiQL's editor needs workers from blobs and inline styles.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Names of assets hold a hash of their content; every other file is asked for by its ETag.
_HASHED = b"public, max-age=31536000, immutable"
_CHECKED = b"no-cache"
MIN_BYTES = 1024  # a smaller response is not worth it
_LEVEL = 6
_COMPRESSIBLE = ("text/", "application/json", "application/javascript", "image/svg+xml", "font/ttf")
_STATIC = Path(graph.__file__).parent / "static"
_STARTERS = Path(__file__).parent / "starters"


class Pages:
    """A folder of static files under the page policy."""

    def __init__(self, folder: Path) -> None:
        self._files = CompressedOnce(StaticFiles(directory=folder, html=True))

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


async def _answered_before() -> None:
    """Have `Allow` name POST, which `gateway.http.dispatch` answers."""


def install(app: FastAPI, *, sandbox: ASGIApp | None, demo: Sequence[DemoToken] = ()) -> None:
    """Add the pages to *app*; the explorer offers *demo*."""

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> Response:
        # Building it takes a while: in a thread, so that other requests go on.
        content = await asyncio.to_thread(_access_json)
        body, headers = await compressed(request.scope, content)
        return Response(body, media_type="application/json", headers=headers)

    @app.get("/", include_in_schema=False)
    async def start() -> Response:
        return RedirectResponse("/explorer/", status_code=302)

    on_sandbox = sandbox is not None
    documents = starter_documents(sandbox=on_sandbox)
    profiles = [token._asdict() for token in demo]
    starters = orjson.dumps(
        {
            "sandbox": on_sandbox,
            "documents": documents,
            "profiles": profiles,
            "products": {kind: dict(names) for kind, names in catalogue.PRODUCTS.items()},
        }
    )

    @app.get("/explorer/starters.json", include_in_schema=False)
    async def explorer_starters() -> Response:
        return Response(starters, media_type="application/json")

    @app.get("/explorer/operations.json", include_in_schema=False)
    async def explorer_operations() -> Response:
        return Response(_operations_json(), media_type="application/json")

    app.post("/graphql", include_in_schema=False)(_answered_before)

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


@cache
def _access_json() -> bytes:
    return orjson.dumps(access_document())


@cache
def _operations_json() -> bytes:
    return orjson.dumps(operation_documents())


def starter_documents(*, sandbox: bool) -> list[str]:
    """
    Return the documents of the four starter tabs, in order; a mutation only on the sandbox.

    A file of the sandbox takes the place of the one with its number.
    """
    folders = (_STARTERS, _STARTERS / "sandbox") if sandbox else (_STARTERS,)
    files = {file.name[:2]: file for folder in folders for file in folder.glob("*.graphql")}
    return [files[number].read_text("utf-8") for number in sorted(files)]


def _redirect(app: FastAPI, path: str) -> None:
    @app.get(path, include_in_schema=False)
    async def with_slash(_: Request) -> Response:
        return RedirectResponse(f"{path}/", status_code=307)


# -- compression


async def compressed(scope: Scope, content: bytes) -> tuple[bytes, dict[str, str]]:
    """Return *content* as a client takes it, with the headers for that."""
    headers = {"Vary": "Accept-Encoding"}
    if not _accepts_gzip(scope):
        return content, headers
    packed = await asyncio.to_thread(gzip.compress, content, _LEVEL, mtime=0)
    return packed, {**headers, "Content-Encoding": "gzip"}


class CompressedOnce:
    """Compresses the successful responses of *app* for clients that accept gzip."""

    def __init__(self, app: ASGIApp) -> None:
        """*app* answers every client alike, with an ETag that changes with the content."""
        self._app = app
        self._compressed: dict[str, bytes] = {}  # by ETag

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _accepts_gzip(scope):
            await self._app(scope, receive, send)
            return
        start: Message = {}
        body = bytearray()

        async def sending(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_compressible(message):
                start = message
                return
            if not start or message["type"] != "http.response.body":
                await send(message)
                return
            body.extend(message.get("body", b""))
            if not message.get("more_body"):
                await self._send(scope, start, bytes(body), send)

        await self._app(scope, receive, sending)

    async def _send(self, scope: Scope, start: Message, body: bytes, send: Send) -> None:
        headers = MutableHeaders(raw=list(start["headers"]))
        etag = headers["etag"]
        if scope["method"] != "HEAD":
            compressed = self._compressed.get(etag)
            if compressed is None:
                compressed = await asyncio.to_thread(gzip.compress, body, _LEVEL, mtime=0)
                self._compressed[etag] = compressed
            body = compressed
            headers["content-length"] = str(len(body))
        elif "content-length" in headers:
            del headers["content-length"]
        headers["content-encoding"] = "gzip"
        headers["etag"] = f"W/{etag.removeprefix('W/')}"  # equal content, other bytes
        headers.add_vary_header("accept-encoding")
        await send({**start, "headers": headers.raw})
        await send({"type": "http.response.body", "body": body})


def _accepts_gzip(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    accepted = {
        name.strip().lower(): "".join(parameters.split())
        for name, _, parameters in (
            part.partition(";") for part in headers.get("accept-encoding", "").split(",")
        )
    }
    # A range counts the bytes of the identity.
    return (
        "gzip" in accepted and accepted["gzip"] not in {"q=0", "q=0.0"} and "range" not in headers
    )


def _is_compressible(start: Message) -> bool:
    headers = Headers(raw=list(start.get("headers", ())))
    length = headers.get("content-length", "")
    return (
        start["status"] == 200
        and "etag" in headers
        and "content-encoding" not in headers
        and headers.get("content-type", "").startswith(_COMPRESSIBLE)
        and length.isdecimal()
        and int(length) >= MIN_BYTES
    )
