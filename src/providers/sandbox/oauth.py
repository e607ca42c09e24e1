"""
The sandbox's identity servers: authorize and token endpoints, one server per provider.

Provider A and the projects keep a refresh token for ever; provider B, the collaboration content and
the boards give a new one with every use. Source: reference/wire.md 3.
"""

from providers.sandbox import oauth_a, oauth_b, oauth_tasks
from providers.sandbox.ground import Ground
from providers.sandbox.oauth_desk import Desk
from providers.sandbox.wire import Answer, Handler, Request, Routes, call


def open_wire(ground: Ground) -> Handler:
    """Return the wire below ``/oauth``."""
    routes = Routes()
    oauth_a.install(routes, Desk.of("provider-a", ground))
    oauth_b.install(routes, Desk.of("provider-b", ground))
    oauth_tasks.install(routes, Desk.of("tasks", ground), Desk.of("projects", ground))

    async def wire(request: Request) -> Answer | None:
        found = routes.find(request.method, request.segments)
        return None if found is None else await call(found[0], request, found[1])

    return wire
