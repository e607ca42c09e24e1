"""Requests to a running gateway, over a socket of the standard library."""

import http.client
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from gateway.errors import CommandError

TIMEOUT_SECONDS = 60


def post(url: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """
    POST to *path* of the gateway at *url*; return the body of its response.

    A redirect is not followed, so that the token goes nowhere else.

    Raises:
        CommandError: *url* is not an address, or no gateway answers there.
    """
    parts = urlsplit(url)
    host = parts.hostname
    if host is None or parts.scheme not in {"http", "https"}:
        raise CommandError(f"{url} is not a base URL: http://… or https://…")
    if parts.scheme == "https":
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, parts.port, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context()
        )
    else:
        connection = http.client.HTTPConnection(host, parts.port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("POST", parts.path.rstrip("/") + path, body, dict(headers))
        return connection.getresponse().read()
    except (OSError, http.client.HTTPException) as failure:
        raise CommandError(f"No gateway answers at {url}: {failure}") from None
    finally:
        connection.close()
