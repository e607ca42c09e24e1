"""The redirect URI of commands (RFC 8252): a loopback socket that takes one redirect."""

import asyncio
import errno
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qsl, urlsplit

from gateway.connections.oauth_servers import CALLBACK, LOOPBACK_HOST
from gateway.errors import CommandError

_MAX_LINE = 16 * 1024  # bytes
_PAGE = (
    b"<!doctype html><title>access-gateway</title><p>Please go back to the terminal. "
    b"You can close this page."
)


@asynccontextmanager
async def listen_for_redirect(
    port: int,
) -> AsyncIterator[tuple[int, "asyncio.Future[Mapping[str, str]]"]]:
    """
    Yield the port, and a future of the parameters of the provider's redirect.

    *port* 0 takes any free port. Only this machine reaches it: by its IPv4 loopback address, and
    where the machine has IPv6, by that too, because browsers look `localhost` up.

    Raises:
        CommandError: The port is in use.
    """
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

    try:
        servers = [await asyncio.start_server(answer, LOOPBACK_HOST, port, limit=_MAX_LINE)]
    except OSError as problem:
        if problem.errno != errno.EADDRINUSE:
            raise
        raise CommandError(
            f"Port {port} is in use. Name another with --callback-port, and register its "
            "redirect URI with the provider."
        ) from None
    port = servers[0].sockets[0].getsockname()[1]
    with suppress(OSError):  # no IPv6 here, or the port is taken there
        servers.append(await asyncio.start_server(answer, "::1", port, limit=_MAX_LINE))
    try:
        yield port, redirected
    finally:
        for server in servers:
            server.close()
