"""
The sandbox's identity servers: authorize and token endpoints, one server per provider.

Provider A and the projects keep a refresh token for ever; provider B, the collaboration content and
the boards give a new one with every use. Source: reference/wire.md 3.
"""

from sandbox.http import Handler, Request, Response, Router, call_endpoint
from sandbox.oauth import (
    provider_a as provider_a_oauth,
)
from sandbox.oauth import (
    provider_b as provider_b_oauth,
)
from sandbox.oauth import (
    task_providers,
)
from sandbox.oauth.authorization_server import AuthorizationServer
from sandbox.state import SandboxState


def create_handler(state: SandboxState) -> Handler:
    """Return the wire below ``/oauth``."""
    routes = Router()
    provider_a_oauth.install(routes, AuthorizationServer.of("provider-a", state))
    provider_b_oauth.install(routes, AuthorizationServer.of("provider-b", state))
    task_providers.install(
        routes, AuthorizationServer.of("tasks", state), AuthorizationServer.of("projects", state)
    )

    async def wire(request: Request) -> Response | None:
        found = routes.find(request.method, request.segments)
        return None if found is None else await call_endpoint(found[0], request, found[1])

    return wire
