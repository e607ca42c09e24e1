"""Calls of an ASGI application in the way a server makes them, without a server."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # importing the gateway would distort the plain application's figures
    from benchmarks.rounds import Run

App = Callable[[Any, Any, Any], Awaitable[None]]


def call(
    app: App,
    method: str,
    target: str,
    token: str,
    body: bytes = b"",
    *,
    more_headers: Mapping[bytes, bytes] = MappingProxyType({}),
) -> "Run":
    """Return a function that makes one request and returns the response body."""
    path, _, query = target.partition("?")
    headers = [
        (b"host", b"127.0.0.1:8000"),
        (b"user-agent", b"benchmark"),
        (b"accept", b"application/json"),
        (b"authorization", f"Bearer {token}".encode()),
        *more_headers.items(),
    ]
    if body:
        headers += [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ]
    fixed = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8000),
    }
    message = {"type": "http.request", "body": body, "more_body": False}

    async def run() -> bytes:
        status, pieces = 0, []

        async def receive() -> Any:
            return message

        async def send(sent: Any) -> None:
            nonlocal status
            if sent["type"] == "http.response.start":
                status = sent["status"]
            else:
                pieces.append(sent.get("body", b""))

        await app({**fixed, "headers": list(headers), "state": {}}, receive, send)
        response = b"".join(pieces)
        if status != 200:
            raise AssertionError((status, response[:500]))
        return response

    return run
