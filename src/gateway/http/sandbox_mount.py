"""The sandbox upstreams in this process: served at `/sandbox`, and called without a socket."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from providers.http.origins import Origins

PATH = "/sandbox"


class DemoToken(NamedTuple):
    """
    A token of the demo that the explorer offers with one click.

    Attributes:
        sentence: Describes what it may do.
    """

    name: str
    sentence: str
    token: str


class SandboxApp(Protocol):
    """
    The sandbox as an ASGI application.

    Attributes:
        content_base: The base URL of downloads and uploads, which have another origin.
    """

    content_base: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


def in_process(origin: str, sandbox: SandboxApp | None) -> Mapping[str, Any]:
    """Return origin -> application for the upstream calls of a gateway at *origin*."""
    if sandbox is None:
        return MappingProxyType({})

    async def mounted(scope: Scope, receive: Receive, send: Send) -> None:
        await sandbox({**scope, "root_path": PATH}, receive, send)

    content = urlsplit(sandbox.content_base)
    return MappingProxyType({origin: mounted, f"{content.scheme}://{content.netloc}": mounted})


def forgetting_faults(sandbox: ASGIApp, origins: Origins) -> ASGIApp:
    """
    Return *sandbox* with a fresh upstream health after every change of its faults.

    What *origins* remember of the upstreams (the end of a throttle, an open circuit) was caused by
    the previous faults: it would outlast them, and refuse calls that upstream would answer.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await sandbox(scope, receive, send)
        if scope["type"] == "http" and _changes_faults(scope):
            origins.forget_all()

    return app


def _changes_faults(scope: Scope) -> bool:
    path: str = scope["path"].removeprefix(scope.get("root_path", ""))
    method: str = scope["method"]
    return method != "GET" and path.split("/")[1:2] == ["faults"]
