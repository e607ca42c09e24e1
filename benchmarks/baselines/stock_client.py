"""httpx clients: with the defaults, and tuned."""

import sys
from types import ModuleType

import httpx

TUNED = httpx.Limits(max_connections=10, max_keepalive_connections=10, keepalive_expiry=60.0)


def default() -> httpx.AsyncClient:
    """Return a client with all defaults: 100 connections."""
    return httpx.AsyncClient()


def tuned(transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """Return a client with few connections, with which httpx is fastest in bursts."""
    return httpx.AsyncClient(limits=TUNED, trust_env=False, transport=transport)


def provide_sniffio() -> None:
    """
    Replace the package `sniffio`, with which httpx costs a third less.

    httpcore imports it for every lock. anyio does not install it any more, and a failing import
    searches the whole path.
    """
    if "sniffio" in sys.modules:
        return
    replacement = ModuleType("sniffio")
    replacement.current_async_library = lambda: "asyncio"  # type: ignore[attr-defined]
    replacement.AsyncLibraryNotFoundError = RuntimeError  # type: ignore[attr-defined]
    sys.modules["sniffio"] = replacement
