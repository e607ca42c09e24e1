"""Requests to a running gateway, over a socket of the standard library."""

import http.client
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing
from urllib.parse import urlsplit

from gateway.errors import CommandError

TIMEOUT_SECONDS = 60
STREAM_SECONDS = 45  # of silence; a stream sends a comment every 15 seconds


def post(url: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """
    POST to *path* of the gateway at *url*; return the body of its response.

    A redirect is not followed, so that the token goes nowhere else.

    Raises:
        CommandError: *url* is not an address, or no gateway answers there.
    """
    with closing(_connection(url, TIMEOUT_SECONDS)) as connection:
        try:
            return _posted(connection, url, path, headers, body).read()
        except (OSError, http.client.HTTPException) as failure:
            raise CommandError(f"No gateway answers at {url}: {failure}") from None


def events(url: str, path: str, headers: Mapping[str, str], body: bytes) -> Iterator[bytes]:
    """
    POST to *path*, as `post`; yield the data of each server-sent event, or the body of a response.

    Empty data is yielded for each other line, so that a reader can leave a silent stream.

    Raises:
        CommandError: As `post`, also when the stream breaks off.
    """
    with closing(_connection(url, STREAM_SECONDS)) as connection:
        try:
            response = _posted(connection, url, path, headers, body)
            if response.getheader("content-type") != "text/event-stream":
                yield response.read()
                return
            for line in response:
                yield line.removeprefix(b"data: ").strip() if line.startswith(b"data: ") else b""
        except (OSError, http.client.HTTPException) as failure:
            raise CommandError(f"No gateway answers at {url}: {failure}") from None


def _posted(
    connection: http.client.HTTPConnection,
    url: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes,
) -> http.client.HTTPResponse:
    connection.request("POST", urlsplit(url).path.rstrip("/") + path, body, dict(headers))
    return connection.getresponse()


def _connection(url: str, timeout: float) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    host = parts.hostname
    if host is None or parts.scheme not in {"http", "https"}:
        raise CommandError(f"{url} is not a base URL: http://… or https://…")
    if parts.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=context)
    return http.client.HTTPConnection(host, parts.port, timeout=timeout)
