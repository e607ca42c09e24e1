"""
Checks of the head of a request that the HTTP parser leaves to the server, and their response.

Each check refuses a request that two servers may read differently: which host it is for, where its
body ends. See docs/spec/requests.md#http.
"""

import uuid
from collections.abc import Sequence
from typing import NamedTuple

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gateway.version import API_VERSION
from policy.vocabulary import Code

Headers = Sequence[tuple[bytes, bytes]]

# Characters of a host and a port, RFC 3986; a user name would need "@".
_HOST = frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%!$&'()*+;=:[]"
)
_SCHEMES = (b"http://", b"https://")


class HeadRefusal(NamedTuple):
    """Status and sentence of the answer to a head that is not served."""

    status: int
    message: str


def refusal_of(version: str, headers: Headers) -> HeadRefusal | None:
    """Return why a request of this HTTP *version* and these *headers* is not served, or None."""
    if version not in ("1.1", "1.0"):
        return HeadRefusal(505, "HTTP/1.1 is served here.")
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) > 1 or (not hosts and version == "1.1"):
        return HeadRefusal(400, "The request needs exactly one Host header.")
    if hosts and not (hosts[0] and _HOST.issuperset(hosts[0])):
        return HeadRefusal(400, "The Host header is not a host.")
    codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
    if codings:
        if version == "1.0" or any(name == b"content-length" for name, _ in headers):
            return HeadRefusal(400, "Transfer-Encoding cannot be used in this request.")
        if codings != [b"chunked"]:
            return HeadRefusal(501, "The only Transfer-Encoding that is served is chunked.")
    return None


def origin_form(target: bytes, headers: Headers) -> bytes | None:
    """
    Return path and query of a request's *target*.

    None when the target is neither a path nor an address on the host that the `Host` header names.
    """
    if b"#" in target:
        return None
    if target.startswith(b"/"):
        return target
    scheme = next((each for each in _SCHEMES if target[: len(each)].lower() == each), None)
    if scheme is None:
        return None
    rest = target[len(scheme) :]
    end = min([len(rest), *(index for mark in b"/?" if (index := rest.find(mark)) >= 0)])
    host = next((value for name, value in headers if name == b"host"), b"")
    if rest[:end].lower() != host.lower() or not host:
        return None
    path = rest[end:]
    return path if path.startswith(b"/") else b"/" + path


def error_response(status: int, code: Code, message: str) -> bytes:
    """Return the response to data that are refused before they are a request."""
    request_id = str(uuid.uuid4())
    body = orjson.dumps({"error": code.value, "message": message, "requestId": request_id})
    lines = (
        "content-type: application/json",
        f"content-length: {len(body)}",
        f"x-request-id: {request_id}",
        f"x-api-version: {API_VERSION}",
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "x-frame-options: DENY",
        "connection: close",
    )
    head = "".join(f"{line}\r\n" for line in lines)
    return STATUS_LINE[status] + head.encode() + b"\r\n" + body
