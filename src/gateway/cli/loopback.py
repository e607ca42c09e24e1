"""The redirect URI of commands (RFC 8252): a loopback socket that takes one redirect."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlsplit

from gateway.connections.oauth_servers import CALLBACK

_MAX_LINE = 16 * 1024  # bytes
_PAGE = (
    b"<!doctype html><title>access-gateway</title><p>Please go back to the terminal. "
    b"You can close this page."
)


@asynccontextmanager
async def listen_for_redirect() -> AsyncIterator[tuple[str, "asyncio.Future[Mapping[str, str]]"]]:
    """Yield the redirect URI, and a future of the parameters of the provider's redirect."""
    redirected: asyncio.Future[Mapping[str, str]] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                line = await reader.readline()
            target = urlsplit(line.split(b" ")[1].decode("ascii"))
            is_callback = target.path == CALLBACK
        except (TimeoutError, ValueError, IndexError):
            is_callback = False
        head = b"HTTP/1.1 200 OK" if is_callback else b"HTTP/1.1 404 Not Found"
        writer.write(
            head + b"\r\ncontent-type: text/html; charset=utf-8\r\ncache-control: no-store\r\n"
            b"content-security-policy: default-src 'none'\r\nreferrer-policy: no-referrer\r\n"
            b"connection: close\r\n\r\n" + (_PAGE if is_callback else b"")
        )
        if is_callback and not redirected.done():
            redirected.set_result(dict(parse_qsl(target.query)))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=_MAX_LINE)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}{CALLBACK}", redirected
    finally:
        server.close()
