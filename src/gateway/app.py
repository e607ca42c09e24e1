"""
The process as one ASGI application: the REST table, /graphql, the management API, the pages.

Building it touches nothing; starting it (ASGI lifespan, or `running()`) migrates the database.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.audit import recorder
from gateway.audit.log import DecisionLog
from gateway.auth import tokens
from gateway.auth.authenticator import Authenticator
from gateway.auth.token_lookup import RowReader, open_row_reader
from gateway.connections import oauth_pages
from gateway.connections.accounts import Accounts
from gateway.connections.credentials import CredentialRepository
from gateway.connections.health import LastSuccess
from gateway.connections.oauth_flow import OAuthFlow
from gateway.connections.recheck import ConnectionRecheck
from gateway.connections.reconnect_links import ReconnectLinks
from gateway.connections.token_endpoints import TokenEndpoints
from gateway.demo.sandbox_mount import forgetting
from gateway.explain.explainer import Explainer
from gateway.explain.runner import DryRunner
from gateway.http import connection_limits as limits
from gateway.http import graphql_endpoint, health, pages
from gateway.http.admission_control import AdmissionControl
from gateway.http.dispatch import Dispatcher
from gateway.http.entry import RequestEntry
from gateway.http.middleware import CommonMiddleware
from gateway.management import connections as managed_connections
from gateway.management import decisions as managed_decisions
from gateway.management import error_handlers
from gateway.management import explain as managed_explain
from gateway.management import operators as managed_operators
from gateway.management import resources as managed_resources
from gateway.management import rules as managed_rules
from gateway.management import tokens as managed_tokens
from gateway.management.auth import admitted
from gateway.ratelimit.limiter import Limiter, SlidingLog, Unlimited, windows
from gateway.ratelimit.shared import SharedLimiter
from gateway.secrets.keyring import Keyring
from gateway.services import Services
from gateway.settings import Settings
from gateway.store.background import BackgroundJobs
from gateway.store.cleanup import HourlyCleanup
from gateway.store.database import Database
from gateway.store.idempotency import IdempotencyStore
from gateway.store.leases import Leases
from gateway.telemetry.metrics import Metrics
from graph import schema
from graph.documents.operations import Graph
from policy.quota import RequestCounter
from policy.vocabulary import Surface
from providers.http.events import CallEvent, CallListener
from providers.http.origins import Origins
from rest_compat.endpoint import OMITTED_WHEN_EMPTY
from rest_compat.ports import Operation
from rest_compat.router import rest_app
from rest_compat.table import ENDPOINTS, Endpoint
from sandbox.origins import other_origin

if TYPE_CHECKING:
    from gateway.telemetry.tracing import Tracing

INTERNAL = "/internal"


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """
    The assembled process.

    Attributes:
        app: The management API and the pages; everything else falls through to the table.
        middleware: The outermost layer, which the server calls.
        background: Small writes under way.
    """

    services: Services
    app: FastAPI
    middleware: CommonMiddleware
    background: BackgroundJobs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        await self.middleware(scope, receive, send)

    @property
    def connection_limits(self) -> limits.Limits:
        """What `protocol` asks."""
        settings = self.services.settings
        return limits.Limits(
            connections=settings.max_connections,
            per_address=settings.max_connections_per_address,
            proxies=self.services.proxies,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Gateway"]:
        """Start and stop without a server."""
        async with self.app.router.lifespan_context(self.app):
            yield self


def assemble(
    settings: Settings,
    *,
    sandbox: ASGIApp | None = None,
    clock: Callable[[], float] = time.time,
    origins: Origins | None = None,
) -> Gateway:
    """
    Put the process together.

    Args:
        settings: Must hold the secrets (`Settings.ready_to_serve`).
        sandbox: Answers the sandbox upstreams in this process, at `/sandbox`.
        clock: Seconds since the epoch, for limits and expiry.
        origins: The HTTP clients; None makes new ones.
    """
    settings.ready_to_serve()
    database = Database.open(settings.database)
    lookup = open_row_reader(database)
    background = BackgroundJobs()
    clients = origins or Origins(apps=_in_process(settings, sandbox))
    counted = Metrics()
    tracing = _tracing(settings)
    last_success = LastSuccess(database, clock=lambda: int(clock() * 1000))
    clients.listener = _watch(
        counted.called,
        recorder.count_upstream_call,
        last_success.record,
        *([tracing.called] if tracing else []),
    )
    endpoints = TokenEndpoints(clients, settings)
    services = _services(settings, database, lookup, background, clock, endpoints)
    leases = Leases(database)
    vault = CredentialRepository(
        lookup,
        database,
        services.keyring,
        endpoints=endpoints.token_endpoint,
        leases=leases,
        links=services.links,
    )
    accounts = Accounts(clients, vault, database, settings.upstreams)
    decisions = DecisionLog(
        database,
        services.keyring,
        days=settings.decision_days,
        clock=lambda: int(clock() * 1000),
        on_dropped=counted.decisions_lost,
        on_row=counted.decided,
    )
    door = RequestEntry(services, accounts, decisions)
    ledger = IdempotencyStore(database, services.keyring)
    oauth = OAuthFlow(database, services.keyring, endpoints, forget=accounts.forget)

    serving = False

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        nonlocal serving
        await database.migrate()
        try:
            async with (
                decisions.running(),
                ledger.running(),
                door.rulebook.running(),
                door.mending.running(),
                ConnectionRecheck(database, leases, accounts.test).running(),
                HourlyCleanup(leases, leases.sweep, oauth.sweep).running(),
                last_success.running(),
            ):
                serving = True
                yield
        finally:
            serving = False
            await background.drain()
            lookup.close()
            await clients.aclose()
            if isinstance(services.counter, SharedLimiter):
                await services.counter.aclose()
            await database.close()
            if tracing is not None:
                await asyncio.to_thread(tracing.close)

    app = _application(lifespan)
    app.state.services, app.state.door, app.state.accounts = services, door, accounts
    app.state.oauth, app.state.decisions = oauth, decisions
    health.install(app, services, counted, serving=lambda: serving)
    graphql = graphql_endpoint.endpoint(door, _graph(), ledger)
    pages.install(app, graphql=graphql, sandbox=sandbox and forgetting(sandbox, clients))
    app.state.routes = (*app.routes, *(route for one in _MANAGED for route in one.routes))
    table = rest_app(
        _endpoints(settings),
        graph=_Documents(),
        entry=door,
        ledger=ledger,
        observer=door.recorder.record_rest,
    )
    app.router.default = table
    app.state.explainer = Explainer(
        _stage(settings, services, door, ledger), services.authenticator
    )
    admission = AdmissionControl(active=settings.max_active, queued=settings.max_queued)
    middleware = CommonMiddleware(
        Dispatcher(app, table=table, graphql=graphql),
        peek=door.read_rate_state,
        admission=admission,
        metrics=counted,
        tracing=tracing,
    )
    return Gateway(services=services, app=app, middleware=middleware, background=background)


def _services(  # noqa: PLR0913, PLR0917 - each made before it
    settings: Settings,
    database: Database,
    lookup: RowReader,
    background: BackgroundJobs,
    clock: Callable[[], float],
    endpoints: TokenEndpoints,
) -> Services:
    upstreams = settings.upstreams
    keyring = Keyring.read(_secret(settings.secret_keys))
    links = ReconnectLinks(keyring, settings.base_url, has_client=endpoints.has_client)

    def touch(token_id: int, now: int) -> None:
        background.run(("touch", token_id), _touch(database, token_id, now))

    return Services(
        settings=settings,
        database=database,
        keyring=keyring,
        links=links,
        authenticator=Authenticator(
            lookup,
            base_url=lambda kind, provider: upstreams.get((kind, provider), ""),
            reconnect=links.link_for,
            touch=touch,
            clock=lambda: int(clock() * 1000),
        ),
        counter=_counter(settings, clock),
        windows=windows(settings.rate_limit_windows),
        proxies=settings.proxies,
        admin_digest=hashlib.sha256(_secret(settings.admin_token).encode()).digest(),
    )


def _application(lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]]) -> FastAPI:
    """Make the framework's part: nothing of its own pages, redirects or telemetry."""
    app = FastAPI(
        title="access-gateway",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        # Its spans would carry paths and queries to whatever provider the process has.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    error_handlers.install(app)
    for router in _MANAGED:
        app.include_router(router, dependencies=[Depends(admitted)])
    app.include_router(oauth_pages.router)
    return app


_MANAGED = (
    managed_tokens.router,
    managed_explain.router,
    managed_rules.router,
    managed_operators.router,
    managed_resources.router,
    managed_connections.router,
    managed_decisions.router,
)


@cache
def _graph() -> Graph:
    """Build the schema once, however often a process is assembled."""
    return Graph(schema.build())


class _Documents:
    """Prepares each internal document once; what comes out is never changed."""

    @staticmethod
    @cache
    def prepare(text: str) -> Operation:
        """See `rest_compat.ports.Graph`."""
        return _graph().prepare_rest(text, omit_when_empty=OMITTED_WHEN_EMPTY)


def _stage(
    settings: Settings, services: Services, door: RequestEntry, ledger: IdempotencyStore
) -> DryRunner:
    return DryRunner(
        services,
        door,
        _endpoints(settings),
        graph=_graph(),
        documents=_Documents(),
        ledger=ledger,
    )


def _endpoints(settings: Settings) -> tuple[Endpoint, ...]:
    if not settings.internal_enabled:
        return ENDPOINTS
    collab = [row.mounted(INTERNAL) for row in ENDPOINTS if row.surface is Surface.COLLAB]
    return (*ENDPOINTS, *collab)


def _tracing(settings: Settings) -> "Tracing | None":
    if settings.traces_endpoint is None:
        return None
    from gateway.telemetry.tracing import Tracing  # noqa: PLC0415 - heavy, and few want it

    return Tracing.to(settings.traces_endpoint, share=settings.traces_share)


def _watch(*watching: CallListener) -> CallListener:
    """Tell each of *watching* of upstream calls."""

    def called(told: CallEvent) -> None:
        for watch in watching:
            watch(told)

    return called


def _counter(settings: Settings, clock: Callable[[], float]) -> RequestCounter:
    if settings.rate_limits == "off":
        return Unlimited()
    if settings.redis_url:
        url = settings.redis_url.get_secret_value()
        return SharedLimiter(url, processes=settings.counting, clock=clock)
    return Limiter(SlidingLog(clock=clock), clock=clock)


def _in_process(settings: Settings, sandbox: ASGIApp | None) -> Mapping[str, Any]:
    """Map the sandbox's origins to the app itself, so that its upstreams need no socket."""
    if sandbox is None:
        return MappingProxyType({})

    async def mounted(scope: Scope, receive: Receive, send: Send) -> None:
        await sandbox({**scope, "root_path": "/sandbox"}, receive, send)

    # Downloads and uploads lie on another origin, as they do upstream.
    return MappingProxyType({settings.origin: mounted, other_origin(settings.origin): mounted})


async def _touch(database: Database, token_id: int, now: int) -> None:
    async with database.writing() as session:
        await tokens.record_use(session, token_id, now)


def _secret(setting: Any) -> str:
    return str(setting.get_secret_value()) if setting is not None else ""
