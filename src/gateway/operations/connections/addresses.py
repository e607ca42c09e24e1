"""Addresses of own servers as operators write them: their forms, and where a secret may go."""

from gateway.operations.validation import invalid
from providers.catalogue.descriptors import OwnServer


def server_url(server: OwnServer, url: str | None) -> str:
    """Return the address of an own server; an administrator may name any server."""
    if url is None:
        raise invalid("baseUrl", f"is required: the server, such as {server.example}")
    try:
        return https_url(url) if server.scheme == "https" else _endpoint_url(url, server.scheme)
    except ValueError as failure:
        reason = str(failure) if server.scheme == "https" else str(failure).rstrip(".")
        raise invalid("baseUrl", f"is no {server.protocol} server: {reason}") from None


def _endpoint_url(url: str, scheme: str) -> str:
    from providers.imap.endpoints import Endpoint  # noqa: PLC0415 - few connections need it

    Endpoint.parse(url, scheme)
    return url.strip().rstrip("/")


def https_url(url: str) -> str:
    """Return an https address without a slash at its end; raises ValueError for another."""
    from providers.http.urls import BaseUrl  # noqa: PLC0415 - httpx is heavy for a command

    server = BaseUrl.parse(url.strip())
    if server.origin.startswith("http:") and not server.is_loopback:
        raise ValueError("Plain http may only lead to this machine.")
    return url.strip().rstrip("/")


def check_submission_url(url: str) -> None:
    """Raise InvalidInput unless *url* is a server for outgoing mail."""
    from providers.imap.endpoints import Endpoint  # noqa: PLC0415 - few connections need it

    try:
        Endpoint.parse(url, "smtp")
    except ValueError as failure:
        raise invalid("credentials.submissionUrl", f"is no server: {failure}") from None


def check_token_url(url: str) -> None:
    """Raise InvalidInput unless *url* is an https address."""
    try:
        https_url(url)
    except ValueError as failure:
        raise invalid("credentials.tokenUrl", f"is no token endpoint: {failure}") from None
