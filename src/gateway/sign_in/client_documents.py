"""
Client id metadata documents: a client's id is the https URL of a document that describes it.

The document is fetched from public addresses alone, without credentials and without following
redirects, at most 5 seconds and 10 KiB. See docs/spec/sign-in.md#client-documents.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import msgspec

from gateway.sign_in import redirect_uris
from gateway.sign_in.failures import SignInFailed
from gateway.store.timestamps import now_ms
from policy.refusals import Refusal
from providers.bounded_map import BoundedMap
from providers.failures import ProviderFailure
from providers.http.client import Upstream
from providers.http.origins import Origins
from providers.http.urls import BaseUrl
from rest_compat.body import parse

MAX_BYTES = 10 * 1024
SECONDS = 5.0
KEPT_MS = 10 * 60_000
MAX_KEPT = 256  # documents, per process
_NAME = 100  # characters
# A base URL that no server has: every other one is foreign to it, and must then be public.
_NOWHERE = "https://client-documents.invalid"
_HEADERS = MappingProxyType({"accept": "application/json"})
_URL = re.compile(r"https://[A-Za-z0-9.-]+(:[0-9]+)?/[!$-;=?-Z_a-z~]*")


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """
    An application that asks for a grant.

    Attributes:
        name: What it calls itself, or what the operator called it; untrusted text.
        host: The host of its document; empty: it is registered here.
    """

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    host: str = ""


_kept: BoundedMap[str, tuple[int, Client]] = BoundedMap(MAX_KEPT)  # with the end, in milliseconds


def is_url(client_id: str) -> bool:
    """Return whether *client_id* can be the URL of a document: https, with a path, no fragment."""
    return (
        len(client_id) <= redirect_uris.MAX_URI
        and _URL.fullmatch(client_id) is not None
        and not any(segment in (".", "..") for segment in urlsplit(client_id).path.split("/"))
        and urlsplit(client_id).path != "/"
    )


async def fetch(origins: Origins, url: str) -> Client:
    """
    Return the client that the document at *url* describes; kept for ten minutes.

    Raises:
        SignInFailed: It cannot be fetched, or does not describe this client.
    """
    until, client = _kept.get(url, (0, None))
    if client is None or until <= now_ms():
        client = _read(url, await _download(origins, url))
        _kept[url] = (now_ms() + KEPT_MS, client)
    return client


async def _download(origins: Origins, url: str) -> bytes:
    origin = BaseUrl.parse(url.partition("?")[0]).origin
    connection = f"client-document {origin}"
    upstream = Upstream(
        origins, _NOWHERE, connection=connection, name="client-document", hosts=(origin,)
    )
    try:
        async with upstream.open_stream(
            "GET", url, headers=_HEADERS, deadline=SECONDS, max_bytes=MAX_BYTES
        ) as response:
            return b"".join([chunk async for chunk in response.chunks])
    except (ProviderFailure, OSError):
        raise _unusable("it cannot be fetched from a public address") from None
    finally:
        origins.forget(connection)


def _read(url: str, body: bytes) -> Client:
    """Return what *body* describes; *url* must be the client id in it."""
    try:
        document: Any = parse(body)
    except Refusal:
        raise _unusable("it is not a JSON object") from None
    if not isinstance(document, Mapping) or document.get("client_id") != url:
        raise _unusable("its client_id is not its address")
    if document.get("token_endpoint_auth_method", "none") != "none":
        raise _unusable("its token_endpoint_auth_method is not none")
    uris = document.get("redirect_uris")
    if not isinstance(uris, list) or not 0 < len(uris) <= 50:
        raise _unusable("it needs 1 to 50 redirect_uris")
    usable = tuple(uri for uri in uris if isinstance(uri, str) and redirect_uris.is_usable(uri))
    host = urlsplit(url).hostname or ""
    return Client(id=url, name=shown(document.get("client_name")), redirect_uris=usable, host=host)


def shown(name: object) -> str:
    """Return a name that a stranger chose, without what would change how a line is read."""
    text = name if isinstance(name, str) else ""
    return "".join(char for char in text if char.isprintable())[:_NAME].strip() or "unnamed"


def _unusable(reason: str) -> SignInFailed:
    message = f"The document of this client cannot be used: {reason}."
    return SignInFailed("invalid_client", message, status=400)
