"""The FastAPI application: management API, consent pages, explorer and API reference."""

from fastapi import Depends, FastAPI
from starlette.types import ASGIApp

from gateway.http import oauth_pages, pages
from gateway.http.graphql_endpoint import GraphQLHandler
from gateway.management import error_handlers, routes
from gateway.management.auth import require_admin
from gateway.services import Services


def build(
    services: Services, *, graphql: GraphQLHandler, sandbox: ASGIApp | None, default: ASGIApp
) -> FastAPI:
    """
    Build the application, without FastAPI's own pages, redirects and telemetry.

    *graphql* handles POST /graphql, *sandbox* what is below /sandbox; unknown paths go to
    *default*.
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
    for router in routes.ROUTERS:
        app.include_router(router, dependencies=[Depends(require_admin)])
    app.include_router(oauth_pages.router)
    pages.install(app, graphql=graphql, sandbox=sandbox)
    app.router.default = default
    return app
