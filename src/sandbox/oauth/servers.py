"""
The sandbox's identity servers: authorize and token endpoints, one server per provider.

Provider A and the projects keep a refresh token for ever; provider B, the collaboration content and
the boards give a new one with every use. Source: reference/wire.md 3.
"""

from sandbox.asgi import Answer, Handler, Request, Routes, call
from sandbox.oauth import (
    provider_a as provider_a_oauth,
)
from sandbox.oauth import (
    provider_b as provider_b_oauth,
)
from sandbox.oauth import (
    task_providers,
)
from sandbox.oauth.token_requests import Desk
from sandbox.state import Ground


def open_wire(ground: Ground) -> Handler:
    """Return the wire below ``/oauth``."""
    routes = Routes()
    provider_a_oauth.install(routes, Desk.of("provider-a", ground))
    provider_b_oauth.install(routes, Desk.of("provider-b", ground))
    task_providers.install(routes, Desk.of("tasks", ground), Desk.of("projects", ground))

    async def wire(request: Request) -> Answer | None:
        found = routes.find(request.method, request.segments)
        return None if found is None else await call(found[0], request, found[1])

    return wire
