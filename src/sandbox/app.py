"""
The sandbox as one ASGI application: every upstream's wires under their paths, and the controls.

A wire joins by a line in `WIRES`.
"""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from sandbox.asgi import Answer, ConnectionCut, Handler, Request, Unanswered, as_json, read_target
from sandbox.boards import endpoint as boards
from sandbox.boards import responses as board_answers
from sandbox.collab import routes as c_api
from sandbox.collab.files import signed_urls as c_places
from sandbox.control import Control, Mount, Upstream
from sandbox.oauth import servers
from sandbox.oauth.tokens import UPSTREAMS
from sandbox.origins import other_origin
from sandbox.projects import endpoints as projects
from sandbox.provider_a import batch as a_batch
from sandbox.provider_a.gmail import routes as a_mail
from sandbox.provider_a.gmail import uploads as a_upload
from sandbox.provider_a.google_calendar import routes as a_calendar
from sandbox.provider_b import batch as b_batch
from sandbox.provider_b.outlook_calendar import routes as b_calendar
from sandbox.provider_b.outlook_mail import routes as b_mail
from sandbox.state import Ground, open_ground

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

# (upstream, first path segments, opener[, open to calls without a token]); asked in this order.
WIRES: tuple[tuple[str, tuple[str, ...], Callable[[Ground], Handler]], ...] = (
    ("providerA", ("gmail",), a_mail.open_wire),
    ("providerA", ("upload", "gmail"), a_upload.open_wire),
    ("providerA", ("batch",), a_batch.open_wire),
    ("providerA", ("calendar",), a_calendar.open_wire),
    ("providerB", ("v1.0",), b_mail.open_wire),
    ("providerB", ("v1.0",), b_calendar.open_wire),
    ("providerB", ("v1.0",), b_batch.open_wire),
    ("tasks", ("v2",), boards.open_wire),
    ("projects", (), projects.open_wire),
    ("collab", ("content",), c_places.open_wire),
    *(("collab", (version,), b_batch.open_wire) for version in ("v1.0", "beta")),
    *(("collab", (version,), c_api.open_wire) for version in ("v1.0", "beta")),
    ("oauth", (), servers.open_wire),
)

# Wires whose addresses carry their own authority, called without a token.
OPEN_WIRES = frozenset({("oauth", ()), ("collab", ("content",))})

# Fault kinds that one upstream alone has.
SPOKEN: Mapping[str, Mapping[str, Callable[..., Answer]]] = {"tasks": board_answers.SPOKEN}

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
        ground: The store and what is kept over it (tokens are issued there).
        public_base, content_base: Where clients see it, and where pre-authenticated addresses
            (downloads, upload sessions) lie.
        upstreams: By name: ``providerA``, ``providerB``, ``collab``, ``tasks``, ``projects``,
            ``oauth``.
    """

    def __init__(
        self, ground: Ground, *, public_base: str, content_base: str | None = None
    ) -> None:
        """
        Put the wires together.

        Args:
            ground: What they stand on.
            public_base: The address that clients see the sandbox under, for links.
            content_base: The same sandbox on the origin of pre-authenticated addresses; None for
                `other_origin` of *public_base*.
        """
        self.ground = ground
        self.public_base = public_base.rstrip("/")
        self.content_base = (content_base or other_origin(public_base)).rstrip("/")
        self.upstreams = {
            name: Upstream(name=name, ground=ground, spoken=SPOKEN.get(name, {}))
            for name in UPSTREAMS
        }
        for name, prefix, opener in WIRES:
            self.mount(name, prefix, opener(ground), is_open=(name, prefix) in OPEN_WIRES)
        self._control = Control(self.upstreams)

    def mount(
        self, upstream: str, prefix: tuple[str, ...], handler: Handler, *, is_open: bool = False
    ) -> None:
        """Add a wire behind those that are there."""
        mount = Mount(prefix=prefix, handler=handler, is_open=is_open)
        self.upstreams[upstream].mounts.append(mount)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; a cut connection is raised when no socket is at hand to close."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] != "http":
            return
        try:
            answer = await self._answer(scope, receive)
        except Unanswered as silence:
            await _wait_for_leaving(receive, silence.seconds)
            await _cut(receive, send)
        except ConnectionCut:
            await _cut(receive, send)
        else:
            await _send(answer, scope["method"], send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        target = _target(scope)
        segments, query = read_target(target)
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
            return as_json({"upstreams": list(MOUNTS)})
        if segments[0] in {"faults", "calls"}:
            if not _is_local(scope):
                return as_json({"error": "Loopback only."}, 403)
            return self._control.answer(request)
        name = MOUNTS.get(segments[0])
        if name is None:
            return as_json({"error": "No such upstream."}, 404)
        below = replace(
            request,
            segments=segments[1:],
            public=f"{self.public_base}/{segments[0]}",
            content=f"{self.content_base}/{segments[0]}",
        )
        answer = await self.upstreams[name].call(below, target.partition(f"/{segments[0]}")[2])
        return _zipped(answer, headers) if name == "providerA" else answer


def create(data_dir: Path | None, *, public_base: str, content_base: str | None = None) -> Sandbox:
    """Open the sandbox over the store in *data_dir* (None: in memory)."""
    return Sandbox(open_ground(data_dir), public_base=public_base, content_base=content_base)


def _target(scope: Scope) -> str:
    """Return path and query as sent, below the place where the sandbox is mounted."""
    raw: bytes = scope.get("raw_path") or str(scope["path"]).encode()
    path = raw.decode("latin-1").partition("?")[0]
    root = scope.get("root_path", "")
    if root and path.startswith(f"{root}/"):
        path = path[len(root) :]
    query: bytes = scope.get("query_string", b"")
    return f"{path}?{query.decode('latin-1')}" if query else path


def _headers(scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


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
            raise ConnectionCut("the caller left")
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


def _zipped(answer: Answer, headers: Mapping[str, str]) -> Answer:
    """Compress as provider A does: when both Accept-Encoding and User-Agent name gzip."""
    asked = "gzip" in headers.get("accept-encoding", "") and "gzip" in headers.get("user-agent", "")
    spoken_for = answer.pieces is not None or "content-encoding" in answer.headers
    if not asked or spoken_for or len(answer.body) < _GZIP_FROM:
        return answer
    return Answer(
        status=answer.status,
        body=gzip.compress(answer.body, 1, mtime=0),
        headers={**answer.headers, "content-encoding": "gzip", "vary": "Accept-Encoding"},
    )


async def _send(answer: Answer, method: str, send: Send) -> None:
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


async def _wait_for_leaving(receive: Receive, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while (await receive())["type"] != "http.disconnect":
                pass


async def _cut(receive: Receive, send: Send) -> None:
    """
    Close the socket without an answer.

    The server's transport is reached through the callable it gave us, because ASGI has no word
    for this. Without a socket (in-process) the exception itself is the broken connection.
    """
    for given in (receive, send):
        transport = getattr(getattr(given, "__self__", None), "transport", None)
        if transport is not None:
            transport.abort()
            await _wait_for_leaving(receive, 5.0)
            return
    raise ConnectionCut("cut by the sandbox")


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
