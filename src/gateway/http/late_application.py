"""An ASGI application that is imported and built when it is first asked."""

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from starlette.types import ASGIApp, Receive, Scope, Send

App = TypeVar("App", bound=ASGIApp)


class LateApplication(Generic[App]):
    """
    Builds an application in a thread for its first request, while other requests go on.

    A process that serves REST and GraphQL alone never imports the web framework: half a second of
    processor time at its start, and 20 MB (docs/guides/benchmarks.md).
    """

    def __init__(self, build: Callable[[], App]) -> None:
        self._build = build
        self._lock = Lock()
        self._app: App | None = None

    def built(self) -> App:
        """Return the application; the first call builds it."""
        with self._lock:
            if self._app is None:
                self._app = self._build()
            return self._app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if app is None:
            app = await asyncio.to_thread(self.built)
        await app(scope, receive, send)
