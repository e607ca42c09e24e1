"""The way into the collaboration content: routes, refusals as answers, and what calls cost."""

from collections.abc import Callable
from dataclasses import replace

from sandbox.collab import paths
from sandbox.collab.errors import bad
from sandbox.collab.path_aliases import resolved
from sandbox.collab.requests import Call
from sandbox.collab.resource_units import Meter
from sandbox.http import Handler, Request, Response, Router
from sandbox.provider_b.odata.schema import QueryError
from sandbox.provider_b.responses import Refusal, problem, query_refusal
from sandbox.state import SandboxState

Endpoint = Callable[..., Response]


class Door:
    """
    The wire below ``/v1.0`` and ``/beta``.

    Attributes:
        routes: (method, pattern in the one spelling) -> ``endpoint(call, **taken)``.
    """

    def __init__(self, state: SandboxState) -> None:
        self.store = state.content
        self.routes = Router()
        self._meter = Meter(state.content)

    def handler(self) -> Handler:
        """Return the wire."""

        async def wire(request: Request) -> Response | None:
            if request.segments[1:2] == ("$batch",):
                return None
            self.store.refresh()
            return await self.answer(request)

        return wire

    async def answer(self, request: Request) -> Response:
        """Answer a call."""
        grant = request.grant
        call = Call(
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
            answer = await self._answer(call)
        except QueryError as error:
            answer = problem(query_refusal(error, code="invalidRequest"), request)
        except Refusal as refusal:
            answer = problem(refusal, request)
        given = request.headers.get("client-request-id")
        if given is not None:
            headers["client-request-id"] = given
        return replace(answer, headers={**answer.headers, **headers})

    async def _answer(self, call: Call) -> Response:
        segments = resolved(call, paths.spelt(call.request.segments[1:]))
        found = self.routes.find(call.request.method, segments)
        if found is None:
            if self.routes.knows(segments):
                raise Refusal(
                    405, "BadRequest", "The HTTP method is not supported for this resource."
                )
            raise bad(
                f"Resource not found for the segment '{segments[-1] if segments else ''}'.",
                "BadRequest",
            )
        endpoint, taken = found
        answer = endpoint(call, **taken)
        return answer if isinstance(answer, Response) else await answer
