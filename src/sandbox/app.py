"""
The sandbox as one ASGI application: the protocols of all upstreams, and the control paths.

A protocol is added by a row in `HANDLERS`.
"""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from sandbox.boards import endpoint as boards
from sandbox.boards import responses as board_answers
from sandbox.collab import routes as c_api
from sandbox.collab.files import signed_urls as c_places
from sandbox.concurrency import LIMITS
from sandbox.control import Control, Mount, Upstream
from sandbox.http import (
    ConnectionCut,
    Handler,
    NoResponse,
    Request,
    Response,
    json_response,
    parse_target,
)
from sandbox.oauth import routes
from sandbox.oauth.tokens import UPSTREAMS
from sandbox.origins import other_origin
from sandbox.projects import endpoints as projects
from sandbox.provider_a import batch as a_batch
from sandbox.provider_a import people as a_people
from sandbox.provider_a import pubsub as a_pubsub
from sandbox.provider_a.gmail import routes as a_mail
from sandbox.provider_a.gmail import uploads as a_upload
from sandbox.provider_a.google_calendar import routes as a_calendar
from sandbox.provider_b import batch as b_batch
from sandbox.provider_b import people as b_people
from sandbox.provider_b import subscriptions as b_subscriptions
from sandbox.provider_b.outlook_calendar import routes as b_calendar
from sandbox.provider_b.outlook_mail import routes as b_mail
from sandbox.provider_b.outlook_mail import upload_sessions
from sandbox.quota_units import QuotaMeter
from sandbox.state import SandboxState, open_state

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

# (upstream, first path segments, factory of the handler); tried in this order.
HANDLERS: tuple[tuple[str, tuple[str, ...], Callable[[SandboxState], Handler]], ...] = (
    ("providerA", ("gmail",), a_mail.create_handler),
    ("providerA", ("upload", "gmail"), a_upload.create_handler),
    ("providerA", ("batch",), a_batch.create_handler),
    ("providerA", ("calendar",), a_calendar.create_handler),
    ("providerA", ("v1", "projects"), a_pubsub.create_handler),
    ("providerA", ("v1",), a_people.create_handler),
    ("providerB", ("v1.0",), b_mail.create_handler),
    ("providerB", ("v1.0",), b_calendar.create_handler),
    ("providerB", ("v1.0", "subscriptions"), b_subscriptions.create_handler),
    ("providerB", ("v1.0",), b_people.create_handler),
    ("providerB", ("v1.0",), b_batch.create_handler),
    ("providerB", upload_sessions.PREFIX, upload_sessions.create_upload_handler),
    ("tasks", ("v2",), boards.create_handler),
    ("projects", (), projects.create_handler),
    ("collab", ("content",), c_places.create_handler),
    *(("collab", (version,), b_batch.create_handler) for version in ("v1.0", "beta")),
    *(("collab", (version,), c_api.create_handler) for version in ("v1.0", "beta")),
    ("oauth", (), routes.create_handler),
)

# Handlers that are called without an access token: their URLs carry the authority.
OPEN_HANDLERS = frozenset(
    {("oauth", ()), ("collab", ("content",)), ("providerB", upload_sessions.PREFIX)}
)

# Fault kinds that only one upstream has.
OWN_FAULTS: Mapping[str, Mapping[str, Callable[..., Response]]] = {
    "tasks": board_answers.FAULT_RESPONSES
}

MOUNTS: Mapping[str, str] = {
    "provider-a": "providerA",
    "provider-b": "providerB",
    "collab": "collab",
    "tasks": "tasks",
    "projects": "projects",
    "oauth": "oauth",
}
_GZIP_FROM = 1024  # bytes


class Sandbox:
    """
    The ASGI application.

    Attributes:
        state: The database and the stores over it; access tokens are issued there.
        public_base: URL under which clients see the sandbox.
        content_base: URL of the origin of pre-authenticated URLs (downloads, upload sessions).
        upstreams: By name: ``providerA``, ``providerB``, ``collab``, ``tasks``, ``projects``,
            ``oauth``.
    """

    def __init__(
        self, state: SandboxState, *, public_base: str, content_base: str | None = None
    ) -> None:
        """
        Create the handlers of all protocols.

        Args:
            state: The state that they share.
            public_base: URL under which clients see the sandbox, for links.
            content_base: URL of the same sandbox on the origin of pre-authenticated URLs; None
                means `other_origin` of *public_base*.
        """
        self.state = state
        self.public_base = public_base.rstrip("/")
        self.content_base = (content_base or other_origin(public_base)).rstrip("/")
        self.upstreams = {
            name: Upstream(
                name=name,
                state=state,
                own_faults=OWN_FAULTS.get(name, {}),
                concurrency=LIMITS[name]() if name in LIMITS else None,
                quota=QuotaMeter() if name == "providerA" else None,
            )
            for name in UPSTREAMS
        }
        for name, prefix, opener in HANDLERS:
            self.mount(name, prefix, opener(state), is_open=(name, prefix) in OPEN_HANDLERS)
        self._control = Control(self.upstreams)

    def mount(
        self, upstream: str, prefix: tuple[str, ...], handler: Handler, *, is_open: bool = False
    ) -> None:
        """Add a handler after the existing ones."""
        mount = Mount(prefix=prefix, handler=handler, is_open=is_open)
        self.upstreams[upstream].mounts.append(mount)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; raises ConnectionCut where there is no socket to close."""
        if scope["type"] == "lifespan":
            await _run_lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        try:
            answer = await self._answer(scope, receive)
        except NoResponse as no_response:
            await _wait_for_disconnect(receive, no_response.seconds)
            await _cut(receive, send)
        except ConnectionCut:
            await _cut(receive, send)
        else:
            await _send(answer, scope["method"], send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        target = _target(scope)
        segments, query = parse_target(target)
        headers = _headers(scope)
        streams = segments[:1] == ("collab",) and scope["method"] == "PUT"
        pieces = _pieces(receive)
        request = Request(
            method=scope["method"],
            segments=segments,
            query=query,
            headers=headers,
            body=b"" if streams else b"".join([piece async for piece in pieces]),
            stream=pieces if streams else None,
        )
        if not segments:
            return json_response({"upstreams": list(MOUNTS)})
        if segments[0] in {"faults", "calls"}:
            if not _is_local(scope):
                return json_response({"error": "Loopback only."}, 403)
            return self._control.answer(request)
        name = MOUNTS.get(segments[0])
        if name is None:
            return json_response({"error": "No such upstream."}, 404)
        below = replace(
            request,
            segments=segments[1:],
            public=f"{self.public_base}/{segments[0]}",
            content=f"{self.content_base}/{segments[0]}",
        )
        answer = await self.upstreams[name].call(below, target.partition(f"/{segments[0]}")[2])
        return _compressed(answer, headers) if name == "providerA" else answer


def create(data_dir: Path | None, *, public_base: str, content_base: str | None = None) -> Sandbox:
    """Open the sandbox over the database in *data_dir*; None keeps everything in memory."""
    return Sandbox(open_state(data_dir), public_base=public_base, content_base=content_base)


def _target(scope: Scope) -> str:
    """Return path and query as sent, relative to the mount of the sandbox."""
    raw: bytes = scope.get("raw_path") or str(scope["path"]).encode()
    path = raw.decode("latin-1").partition("?")[0]
    root = scope.get("root_path", "")
    if root and path.startswith(f"{root}/"):
        path = path[len(root) :]
    query: bytes = scope.get("query_string", b"")
    return f"{path}?{query.decode('latin-1')}" if query else path


def _headers(scope: Scope) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _is_local(scope: Scope) -> bool:
    client = scope.get("client")
    if client is None:  # in-process, or a Unix socket
        return True
    try:
        return ip_address(client[0]).is_loopback
    except ValueError:
        return False


async def _pieces(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionCut("the client disconnected")
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


def _compressed(answer: Response, headers: Mapping[str, str]) -> Response:
    """Compress as provider A does: only when Accept-Encoding and User-Agent both name gzip."""
    wanted = all("gzip" in headers.get(name, "") for name in ("accept-encoding", "user-agent"))
    unsuitable = answer.pieces is not None or "content-encoding" in answer.headers
    if not wanted or unsuitable or len(answer.body) < _GZIP_FROM:
        return answer
    return Response(
        status=answer.status,
        body=gzip.compress(answer.body, 1, mtime=0),
        headers={**answer.headers, "content-encoding": "gzip", "vary": "Accept-Encoding"},
    )


async def _send(answer: Response, method: str, send: Send) -> None:
    headers = {**answer.headers}
    if answer.status not in {204, 304}:
        headers.setdefault("content-length", str(len(answer.body)))
    start = {
        "type": "http.response.start",
        "status": answer.status,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
    }
    await send(start)
    if answer.pieces is not None and method != "HEAD":
        async for piece in answer.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else answer.body})


async def _wait_for_disconnect(receive: Receive, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while (await receive())["type"] != "http.disconnect":
                pass


async def _cut(receive: Receive, send: Send) -> None:
    """
    Close the socket without a response.

    ASGI has no message for this, so the transport is taken from the server's callables. In-process
    calls have no socket: there the exception stands for the broken connection.
    """
    for server_callable in (receive, send):
        transport = getattr(getattr(server_callable, "__self__", None), "transport", None)
        if transport is not None:
            transport.abort()
            await _wait_for_disconnect(receive, 5.0)
            return
    raise ConnectionCut("cut by the sandbox")


async def _run_lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
