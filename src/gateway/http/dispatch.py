"""
Dispatch of REST and GraphQL requests past the routes of the FastAPI application.

FastAPI would run its middleware stack and try its routes before either: 5 to 8 % of a whole REST
request, see docs/adr/0016-rest-and-graphql-bypass-framework-routes.md.
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

REST_PREFIXES = ("/api/access/", "/internal/api/access/")  # paths of the REST table alone
GRAPHQL = "/graphql"


class Dispatcher:
    """Passes REST requests to *table*, POST /graphql to *graphql*, and the rest to *app*."""

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
        """Serve one connection; unexpected exceptions are left to the middleware."""
        endpoint = self._endpoint(scope)
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await endpoint(scope, receive, sending)
        except ClientGone:
            return
        except StorageUnavailable:
            if started:
                raise
            response = self.refuse(scope, Overloaded())
            await send_response(response, send, head=scope["method"] == "HEAD")

    def refuse(self, scope: Scope, failure: Exception) -> RestResponse:
        """Build the response for *failure*, a refusal or a bug, in the error shape of the path."""
        extensions = errors.extensions(
            failure, surface=None, request_id=request_state(scope).request_id
        )
        message = errors.message(failure)
        if scope["path"] == GRAPHQL:
            body = {"errors": [{"message": message, "extensions": extensions}]}
            return RestResponse(status=extensions["httpStatus"], body=orjson.dumps(body))
        return self._table.refuse(scope, Problem(message, extensions))

    def _endpoint(self, scope: Scope) -> ASGIApp | None:
        if scope["type"] == "http":
            path: str = scope["path"]
            if path.startswith(REST_PREFIXES):
                return self._table
            if path == GRAPHQL and scope["method"] == "POST":
                return self._graphql
        return None
