"""
Dispatch of REST and GraphQL requests and of probes past the routes of the FastAPI application.

FastAPI would run its middleware stack and try its routes before either: 5 to 8 % of a whole REST
request, see docs/adr/0016-rest-and-graphql-bypass-framework-routes.md.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from threading import Lock
from typing import Generic, TypeVar

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.errors import Overloaded
from gateway.feeds.push.calls import PREFIX as NOTIFICATIONS
from gateway.feeds.push.calls import ROUTE as NOTIFICATIONS_ROUTE
from gateway.http import attachment_links
from gateway.http.admission_control import PROBES
from gateway.http.entry import RequestEntry
from gateway.http.health import METRICS
from gateway.http.request_state import request_state
from gateway.ratelimit.buckets import AGENTS_PATH
from gateway.store.database import StorageUnavailable
from graph import errors
from policy.refusals import NotFound, Refusal
from policy.vocabulary import Code
from rest_compat import errors as rest_errors
from rest_compat.body import ClientGone
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse, send_response
from rest_compat.router import Router
from rest_compat.unknown_paths import NOTHING

# Paths of the REST table alone.
App = TypeVar("App", bound=ASGIApp)

REST_PREFIXES = ("/api/access/", "/api/saved/", "/internal/api/access/")
GRAPHQL = "/graphql"
CONSOLE = "/console"
REST_OF = "/graphql/rest-of"
EXPLAIN = "/graphql/explain"
# Without secrets: the reference of the management API is read beside that of the surfaces.
MANAGEMENT_DESCRIPTION = "/api/management/openapi.json"
_EVERYWHERE = frozenset({*PROBES, MANAGEMENT_DESCRIPTION})
Handler = Callable[[RestRequest], Awaitable[RestResponse]]


class Dispatcher:
    """
    Passes REST requests to *table*, POST /graphql to *graphql*, the rest to *probes* and *app*.

    POST /graphql/rest-of goes to *rest_of*, POST /graphql/explain to *explain*.

    None of the first three needs FastAPI, which *app* imports with its first request.
    """

    def __init__(  # noqa: PLR0913 - what it passes requests to
        self,
        app: ASGIApp,
        *,
        table: Router,
        graphql: Handler,
        rest_of: Handler,
        explain: Handler,
        probes: Mapping[str, Handler],
        entry: RequestEntry,
        agents: ASGIApp,
        notifications: Handler,
        admin_port: int | None = None,
    ) -> None:
        """
        *probes* are handlers of GET by path; *agents* answers agents; *entry* opens signed links
        to attachments, which are calls of *table*; *notifications* answers the calls of providers.

        *admin_port* is that of the listener for administrators; None: there is only one.
        """
        self._app = app
        self._table = table
        handlers = {GRAPHQL: graphql, REST_OF: rest_of, EXPLAIN: explain}
        self._graphql = {path: _route(path, handler) for path, handler in handlers.items()}
        self._probes = {path: _route(path, probe) for path, probe in probes.items()}
        self._agents = agents
        self._notifications = _route(NOTIFICATIONS_ROUTE, notifications)
        self._links = attachment_links.follow_links(entry, table)
        self._admin_port = admin_port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection; unexpected exceptions are left to the middleware."""
        if self._admin_port is not None and not self._is_served(scope):
            response = self.refuse(scope, NotFound(NOTHING))
            await send_response(response, send, head=scope["method"] == "HEAD")
            return
        endpoint = self._endpoint(scope)
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        try:
            await endpoint(scope, receive, send)
        except ClientGone:
            return
        except _MethodNotAllowed:
            message = "This path does not allow this method."
            problem = rest_errors.problem(Code.METHOD_NOT_ALLOWED, message)
            response = self._table.refuse(scope, problem).with_headers(("Allow", "GET"))
            await send_response(response, send, head=scope["method"] == "HEAD")
        except (StorageUnavailable, Refusal) as failure:
            if request_state(scope).status:  # the response has begun
                raise
            refusal = failure if isinstance(failure, Refusal) else Overloaded()
            response = self.refuse(scope, refusal)
            await send_response(response, send, head=scope["method"] == "HEAD")

    def refuse(self, scope: Scope, failure: Exception) -> RestResponse:
        """Build the response for *failure*, a refusal or a bug, in the error shape of the path."""
        if scope["path"] == GRAPHQL:
            request_id = request_state(scope).request_id
            error = errors.described(failure, surface=None, request_id=request_id)
            status = error["extensions"]["httpStatus"]
            return RestResponse(status=status, body=orjson.dumps({"errors": [error]}))
        return self._table.refuse(scope, failure)

    def _is_served(self, scope: Scope) -> bool:
        """Return whether the listener of the request serves its path."""
        if scope["type"] != "http":
            return True
        path: str = scope["path"]
        is_admin = scope["server"] is not None and scope["server"][1] == self._admin_port
        is_management = path.startswith("/api/") and not path.startswith(REST_PREFIXES)
        is_management |= path == CONSOLE or path.startswith(f"{CONSOLE}/")
        return path in _EVERYWHERE or is_admin == (is_management or path == METRICS)

    def _endpoint(self, scope: Scope) -> ASGIApp | None:
        if scope["type"] == "websocket":
            return self._table  # which closes it
        if scope["type"] == "http":
            path: str = scope["path"]
            if path.startswith(attachment_links.PREFIX) and scope["method"] in ("GET", "HEAD"):
                return self._links
            if path.startswith(NOTIFICATIONS) and scope["method"] == "POST":
                return self._notifications
            if path.startswith(REST_PREFIXES):
                return self._table
            if scope["method"] == "POST" and path in self._graphql:
                return self._graphql[path]
            if path == AGENTS_PATH:
                return self._agents
            if path in self._probes:
                return self._probes[path] if scope["method"] == "GET" else _refuse_method
        return None


class _MethodNotAllowed(Exception):
    """A probe was asked with another method than GET."""


async def _refuse_method(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise _MethodNotAllowed


def _route(path: str, handle: Handler) -> ASGIApp:
    """Return *handle* as an ASGI application; logs and metrics name *path*."""

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["route"] = path
        response = await handle(RestRequest(scope, receive))
        await send_response(response, send, head=False)

    return run


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
