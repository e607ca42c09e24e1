"""The FastAPI application: management API, consent pages, explorer and API reference."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from fastapi import APIRouter, Depends, FastAPI
from starlette.types import ASGIApp

from gateway.http import oauth_pages, pages
from gateway.http.sandbox_mount import DemoToken
from gateway.management import (
    clients,
    connections,
    decisions,
    documents,
    error_handlers,
    explain,
    held_writes,
    openapi,
    operators,
    resources,
    rules,
    tokens,
)
from gateway.management.auth import require_admin, require_decider
from gateway.sign_in import routes as sign_in

if TYPE_CHECKING:
    from gateway.services import Services

_ROUTERS = (
    tokens.router,
    explain.router,
    rules.router,
    operators.router,
    resources.router,
    connections.router,
    documents.router,
    clients.router,
    held_writes.approver_router,
    decisions.router,
)


def build(services: "Services", *, sandbox: ASGIApp | None, demo: Sequence[DemoToken]) -> FastAPI:
    """
    Build the application, without FastAPI's own pages, redirects and telemetry.

    *sandbox* handles what is below /sandbox; the explorer offers the tokens of *demo*.
    """
    app = FastAPI(
        title="access-gateway",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        # Its spans would carry paths and queries.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.services = services
    error_handlers.install(app)
    app.router.routes.extend(_management_routes().routes)
    app.include_router(openapi.router)
    app.include_router(oauth_pages.router)
    sign_in.install(app)
    pages.install(app, sandbox=sandbox, demo=demo)
    return app


@cache
def _management_routes() -> APIRouter:
    """
    Return the routes of the management API.

    FastAPI compiles the models of a route when it is first matched. The routes are the same for
    all applications of a process, so that this work is done once.
    """
    router = APIRouter()
    for part in _ROUTERS:
        router.include_router(part, dependencies=[Depends(require_admin)])
    router.include_router(held_writes.router, dependencies=[Depends(require_decider)])
    return router
