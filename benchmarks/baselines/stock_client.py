"""httpx as it is installed, and as one tunes it."""

import sys
from types import ModuleType

import httpx

TUNED = httpx.Limits(max_connections=10, max_keepalive_connections=10, keepalive_expiry=60.0)


def default() -> httpx.AsyncClient:
    """Return a client with all defaults: 100 connections."""
    return httpx.AsyncClient()


def tuned(transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """Return a client with few connections: what stock httpx is best at in bursts."""
    return httpx.AsyncClient(limits=TUNED, trust_env=False, transport=transport)


def provide_sniffio() -> None:
    """
    Stand in for the package `sniffio`.

    httpcore asks it on every lock. anyio does not install it any more, and an import that fails
    searches the whole path: with it, stock httpx costs a third less.
    """
    if "sniffio" in sys.modules:
        return
    stand_in = ModuleType("sniffio")
    stand_in.current_async_library = lambda: "asyncio"  # type: ignore[attr-defined]
    stand_in.AsyncLibraryNotFoundError = RuntimeError  # type: ignore[attr-defined]
    sys.modules["sniffio"] = stand_in
