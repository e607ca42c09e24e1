"""
The two doors, reached without asking every route of the framework first.

The framework tries its routes one after another before it falls through to the table: more work
than answering. What it would do around an answer (exceptions become answers) is done here as well.
"""

from collections.abc import Awaitable, Callable

from fastapi import FastAPI, Request, Response
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TABLE = ("/api/access/", "/internal/api/access/")  # paths that belong to the table alone
GRAPHQL = "/graphql"


class Front:
    """Sends calls of the table and of GraphQL where they are answered, the rest to *app*."""

    def __init__(
        self, app: FastAPI, *, table: ASGIApp, graphql: Callable[[Request], Awaitable[Response]]
    ) -> None:
        async def run(scope: Scope, receive: Receive, send: Send) -> None:
            scope.setdefault("state", {})["route"] = GRAPHQL
            response = await graphql(Request(scope, receive, send))
            await response(scope, receive, send)

        self._app = app
        self._table = _guarded(table, app)
        self._graphql = _guarded(run, app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        await self._for(scope)(scope, receive, send)

    def _for(self, scope: Scope) -> ASGIApp:
        if scope["type"] == "http":
            path: str = scope["path"]
            if path.startswith(TABLE):
                return self._table
            if path == GRAPHQL and scope["method"] == "POST":
                return self._graphql
        return self._app


def _guarded(inner: ASGIApp, app: FastAPI) -> ASGIApp:
    """
    Answer exceptions of *inner* as *app* answers its own.

    What answers them, two layers of the framework, comes in when there is one, not before.
    """
    handlers = dict(app.exception_handlers)
    last_resort = handlers.pop(Exception, None)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await inner(scope, receive, sending)
        except Exception as problem:
            if begun:
                raise
            told = ExceptionMiddleware(_raising(problem), handlers=handlers)
            await ServerErrorMiddleware(told, handler=last_resort)(scope, receive, send)

    return guarded


def _raising(problem: Exception) -> ASGIApp:
    async def raising(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise problem

    return raising
