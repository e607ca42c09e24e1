"""
Handler of the sandbox's authorization servers, one per provider.

Provider A and the projects keep a refresh token; provider B, the collaboration content and the
boards replace it with every use: docs/spec/upstream/oauth.md#refresh-rules.
"""

from sandbox.http import Handler, Request, Response, Router, call_endpoint
from sandbox.oauth import provider_a, provider_b, task_providers
from sandbox.oauth.authorization_server import AuthorizationServer
from sandbox.state import SandboxState


def create_handler(state: SandboxState) -> Handler:
    """Return the handler below ``/oauth``."""
    router = Router()
    a, b, boards, projects = (
        AuthorizationServer.create(name, state)
        for name in ("provider-a", "provider-b", "tasks", "projects")
    )
    provider_a.add_routes(router, a)
    provider_b.add_routes(router, b)
    task_providers.add_routes(router, boards, projects)

    async def handle(request: Request) -> Response | None:
        match = router.find(request.method, request.segments)
        return None if match is None else await call_endpoint(match[0], request, match[1])

    return handle
