"""
The two doors, reached without asking every route of the framework first.

The framework tries its routes one after another before it falls through to the table: more work
than answering.
"""

from collections.abc import Awaitable, Callable

import orjson
from fastapi import FastAPI, Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import Overloaded
from gateway.http.middleware import request_state
from gateway.store.database import StorageUnavailable
from graph import errors
from rest_compat.body import ClientGone
from rest_compat.ports import Problem
from rest_compat.responses import RestResponse, send_response
from rest_compat.router import Router

TABLE = ("/api/access/", "/internal/api/access/")  # paths that belong to the table alone
GRAPHQL = "/graphql"


class Dispatcher:
    """Sends calls of the table and of GraphQL where they are answered, the rest to *app*."""

    def __init__(
        self, app: FastAPI, *, table: Router, graphql: Callable[[Request], Awaitable[Response]]
    ) -> None:
        async def run(scope: Scope, receive: Receive, send: Send) -> None:
            scope.setdefault("state", {})["route"] = GRAPHQL
            response = await graphql(Request(scope, receive, send))
            await response(scope, receive, send)

        self._app = app
        self._table = table
        self._graphql = run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection; a bug is left to who called."""
        door = self._door(scope)
        if door is None:
            await self._app(scope, receive, send)
            return
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await door(scope, receive, sending)
        except ClientGone:
            return
        except StorageUnavailable:
            if begun:
                raise
            answer = self.refuse(scope, Overloaded())
            await send_response(answer, send, head=scope["method"] == "HEAD")

    def refuse(self, scope: Scope, failure: Exception) -> RestResponse:
        """Tell of *failure*, a refusal or a bug, in the shape of the path."""
        told = errors.extensions(failure, surface=None, request_id=request_state(scope).request_id)
        message = errors.message(failure)
        if scope["path"] == GRAPHQL:
            body = {"errors": [{"message": message, "extensions": told}]}
            return RestResponse(status=told["httpStatus"], body=orjson.dumps(body))
        return self._table.refuse(scope, Problem(message, told))

    def _door(self, scope: Scope) -> ASGIApp | None:
        if scope["type"] == "http":
            path: str = scope["path"]
            if path.startswith(TABLE):
                return self._table
            if path == GRAPHQL and scope["method"] == "POST":
                return self._graphql
        return None
