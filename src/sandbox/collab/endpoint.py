"""Request handling of the content API: routing, refusals as responses, resource units."""

from collections.abc import Callable
from dataclasses import replace

from sandbox.collab import paths
from sandbox.collab.errors import invalid_request
from sandbox.collab.path_aliases import resolve_aliases
from sandbox.collab.requests import CollabCall
from sandbox.collab.resource_units import ResourceUnitMeter
from sandbox.http import Handler, Request, Response, Router
from sandbox.provider_b.odata.schema import QueryError
from sandbox.provider_b.responses import GraphError, error_response, to_graph_error
from sandbox.state import SandboxState

Endpoint = Callable[..., Response]


class CollabEndpoint:
    """
    Request handler of ``/v1.0`` and ``/beta``.

    Attributes:
        routes: Method and canonical path pattern -> ``operation(call, **path_arguments)``.
    """

    def __init__(self, state: SandboxState) -> None:
        self.store = state.content
        self.routes = Router()
        self._meter = ResourceUnitMeter(state.content)

    def handler(self) -> Handler:
        """Return the request handler."""

        async def handle(request: Request) -> Response | None:
            if request.segments[1:2] == ("$batch",):
                return None
            self.store.refresh()
            return await self.respond(request)

        return handle

    async def respond(self, request: Request) -> Response:
        """Return the response to a request, refusals included."""
        grant = request.grant
        call = CollabCall(
            request=request,
            store=self.store,
            version=request.segments[0],
            account=grant.account if grant else "",
            scopes=frozenset(scope.rsplit("/", 1)[-1] for scope in (grant.scopes if grant else ())),
            app_only=grant is not None and grant.app_only,
        )
        headers: dict[str, str] = {}
        try:
            headers = self._meter.charge(call.account, request)
            response = await self._answer(call)
        except QueryError as error:
            response = error_response(to_graph_error(error, code="invalidRequest"), request)
        except GraphError as refusal:
            response = error_response(refusal, request)
        request_id = request.headers.get("client-request-id")
        if request_id is not None:
            headers["client-request-id"] = request_id
        return replace(response, headers={**response.headers, **headers})

    async def _answer(self, call: CollabCall) -> Response:
        segments = resolve_aliases(call, paths.normalize_segments(call.request.segments[1:]))
        match = self.routes.find(call.request.method, segments)
        if match is None:
            if self.routes.knows(segments):
                raise GraphError(
                    405, "BadRequest", "The HTTP method is not supported for this resource."
                )
            raise invalid_request(
                f"Resource not found for the segment '{segments[-1] if segments else ''}'.",
                "BadRequest",
            )
        operation, arguments = match
        response = operation(call, **arguments)
        return response if isinstance(response, Response) else await response
