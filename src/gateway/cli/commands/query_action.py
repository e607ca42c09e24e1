"""What `query` does: one POST to /graphql, over a socket or to a gateway made in this process."""

import asyncio
import http.client
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson
from starlette.types import ASGIApp, Message

from gateway.cli import in_process
from gateway.errors import CommandError

PATH = "/graphql"
PATIENCE = 60  # seconds that a gateway may take


async def answered(body: Mapping[str, Any], *, token: str, url: str | None) -> Any:
    """
    Return what the gateway answers, whatever its status.

    Raises:
        CommandError: Nothing answers at *url*, or something that is no gateway.
    """
    if not token.isascii() or not token.isprintable() or " " in token:
        raise CommandError("This is no token: agw_…, one word.")
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    sent = orjson.dumps(body)
    if url is not None:
        raw = await asyncio.to_thread(_over_a_socket, url, headers, sent)
    else:
        async with in_process.running() as gateway:
            raw = await _here(gateway, headers, sent)
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise CommandError(f"What answers at {url} is no gateway.") from None


def _over_a_socket(url: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """POST *body*; a redirection is not followed, so the token goes nowhere else."""
    parts = urlsplit(url)
    host, secure = parts.hostname, parts.scheme == "https"
    if host is None or parts.scheme not in {"http", "https"}:
        raise CommandError(f"{url} is no base URL: http://… or https://…")
    connection = (
        http.client.HTTPSConnection(
            host, parts.port, timeout=PATIENCE, context=ssl.create_default_context()
        )
        if secure
        else http.client.HTTPConnection(host, parts.port, timeout=PATIENCE)
    )
    try:
        connection.request("POST", parts.path.rstrip("/") + PATH, body, dict(headers))
        return connection.getresponse().read()
    except (OSError, http.client.HTTPException) as failure:
        raise CommandError(f"No gateway answers at {url}: {failure}") from None
    finally:
        connection.close()


async def _here(app: ASGIApp, headers: Mapping[str, str], body: bytes) -> bytes:
    """Give the request to *app* itself and return the body of its answer."""
    sent = bytearray()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.extend(message.get("body", b""))

    length = (b"content-length", str(len(body)).encode())
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": PATH,
        "raw_path": PATH.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()] + [length],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    await app(scope, receive, send)
    return bytes(sent)
