"""
The process as one ASGI application: REST, /graphql, the management API, the pages.

Building it has no side effects; starting it (ASGI lifespan, or `running()`) migrates the database.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI
from starlette.types import Receive, Scope, Send

from gateway.audit import recorder
from gateway.audit.log import DecisionLog
from gateway.auth import tokens
from gateway.auth.authenticator import Authenticator
from gateway.auth.token_lookup import RowReader, open_row_reader
from gateway.connections.accounts import Accounts
from gateway.connections.credentials import CredentialRepository
from gateway.connections.health import LastSuccess
from gateway.connections.oauth_flow import OAuthFlow
from gateway.connections.recheck import ConnectionRecheck
from gateway.connections.reconnect_links import ReconnectLinks
from gateway.connections.token_endpoints import TokenEndpoints
from gateway.explain.explainer import Explainer
from gateway.explain.runner import DryRunner
from gateway.http import connection_limits as limits
from gateway.http import graphql_endpoint, health, oauth_pages, pages
from gateway.http.admission_control import AdmissionControl
from gateway.http.dispatch import Dispatcher
from gateway.http.entry import AddressLimits, RequestEntry
from gateway.http.middleware import CommonMiddleware
from gateway.http.sandbox_mount import SandboxApp, forgetting_faults, in_process
from gateway.lifecycle import Lifecycle, Worker
from gateway.management import error_handlers, routes
from gateway.management.auth import require_admin
from gateway.ratelimit.memory import MemoryLimiter
from gateway.ratelimit.redis import RedisLimiter
from gateway.ratelimit.windows import UnlimitedCounter, configured_windows
from gateway.rule_intents.log import RuleIntentLog
from gateway.rule_intents.recovery import RuleIntentRecovery
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
from providers.http.events import CallEvent
from providers.http.origins import Origins
from rest_compat.endpoint import OMITTED_WHEN_EMPTY
from rest_compat.ports import Operation
from rest_compat.router import rest_app
from rest_compat.table import ENDPOINTS, Endpoint

if TYPE_CHECKING:
    from gateway.telemetry.tracing import Tracing

INTERNAL = "/internal"
Clock = Callable[[], float]  # seconds since the epoch


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """
    The assembled process.

    Attributes:
        app: The management API, the pages, the probes; unknown paths go to the REST table.
        middleware: The outermost layer, which the server calls.
        background: Small writes that no response waits for.
    """

    services: Services
    app: FastAPI
    middleware: CommonMiddleware
    background: BackgroundJobs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.middleware(scope, receive, send)

    @property
    def connection_limits(self) -> limits.Limits:
        """The limits that `gateway.http.protocol` applies."""
        settings = self.services.settings
        return limits.Limits(
            connections=settings.max_connections,
            per_address=settings.max_connections_per_address,
            proxies=settings.proxies,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Gateway"]:
        """Start and stop without a server."""
        async with self.app.router.lifespan_context(self.app):
            yield self


def assemble(
    settings: Settings,
    *,
    sandbox: SandboxApp | None = None,
    clock: Clock = time.time,
    origins: Origins | None = None,
) -> Gateway:
    """
    Build the process.

    Args:
        settings: Must hold the secrets (`Settings.ready_to_serve`).
        sandbox: Serves the sandbox upstreams in this process, at `/sandbox`.
        clock: Seconds since the epoch, for limits and expiry.
        origins: The HTTP clients; None makes new ones.
    """
    settings.ready_to_serve()
    base = _Infrastructure.open(settings, sandbox=sandbox, clock=clock, origins=origins)
    services = _services(settings, base)
    entry, idempotency = services.entry, services.idempotency
    lifecycle = Lifecycle(
        database=base.database, workers=_workers(services, base), closers=_closers(services, base)
    )
    app = _application(lifecycle, services)
    health.install(app, services, base.metrics, serving=lambda: lifecycle.serving)
    graphql = graphql_endpoint.endpoint(entry, _graph(), idempotency)
    pages.install(
        app, graphql=graphql, sandbox=sandbox and forgetting_faults(sandbox, base.clients)
    )
    table = rest_app(
        _endpoints(settings),
        graph=_Documents(),
        entry=entry,
        ledger=idempotency,
        observer=entry.recorder.record_rest,
    )
    app.router.default = table
    middleware = CommonMiddleware(
        Dispatcher(app, table=table, graphql=graphql),
        read_rate_state=entry.read_rate_state,
        admission=AdmissionControl(active=settings.max_active, queued=settings.max_queued),
        metrics=base.metrics,
        tracing=base.tracing,
    )
    return Gateway(services=services, app=app, middleware=middleware, background=base.background)


@dataclass(frozen=True, kw_only=True)
class _Infrastructure:
    """Infrastructure below the services; it knows neither tokens nor requests."""

    database: Database
    reader: RowReader
    leases: Leases
    background: BackgroundJobs
    clients: Origins
    clock: Clock
    last_success: LastSuccess
    metrics: Metrics
    tracing: "Tracing | None"

    @classmethod
    def open(
        cls,
        settings: Settings,
        *,
        sandbox: SandboxApp | None,
        clock: Clock,
        origins: Origins | None,
    ) -> "_Infrastructure":
        """Build it, and have every upstream call counted and traced; nothing is connected yet."""
        database, metrics, tracing = Database.open(settings.database), Metrics(), _tracing(settings)
        last_success = LastSuccess(database, clock=_milliseconds(clock))
        clients = origins or Origins(apps=in_process(settings.origin, sandbox))
        listeners = [
            metrics.count_upstream_call,
            recorder.count_upstream_call,
            last_success.record,
            *([tracing.record_upstream_call] if tracing else []),
        ]

        def notify(event: CallEvent) -> None:
            for listener in listeners:
                listener(event)

        clients.listener = notify
        return cls(
            database=database,
            reader=open_row_reader(database),
            leases=Leases(database),
            background=BackgroundJobs(),
            clients=clients,
            clock=clock,
            last_success=last_success,
            metrics=metrics,
            tracing=tracing,
        )


def _services(settings: Settings, base: _Infrastructure) -> Services:
    database, now_ms = base.database, _milliseconds(base.clock)
    keyring = Keyring.read(_secret(settings.secret_keys))
    endpoints = TokenEndpoints(base.clients, settings)
    links = ReconnectLinks(keyring, settings.base_url, has_client=endpoints.has_client)
    credentials = CredentialRepository(
        base.reader,
        database,
        keyring,
        endpoints=endpoints.token_endpoint,
        leases=base.leases,
        links=links,
    )
    accounts = Accounts(base.clients, credentials, database, settings.upstreams)
    decisions = DecisionLog(
        database,
        keyring,
        days=settings.decision_days,
        clock=now_ms,
        on_dropped=base.metrics.count_lost_decisions,
        on_row=base.metrics.count_decision,
    )
    authenticator = _authenticator(settings, base, links)
    rule_intents = RuleIntentLog(database, keyring)
    counter = _counter(settings, base.clock)
    idempotency = IdempotencyStore(database, keyring)
    entry = RequestEntry(
        authenticator=authenticator,
        limits=AddressLimits(
            counter, configured_windows(settings.rate_limit_windows), settings.proxies
        ),
        keyring=keyring,
        accounts=accounts,
        decisions=decisions,
        rule_intents=rule_intents,
    )
    runner = DryRunner(
        entry, _endpoints(settings), graph=_graph(), documents=_Documents(), ledger=idempotency
    )
    return Services(
        settings=settings,
        database=database,
        keyring=keyring,
        links=links,
        authenticator=authenticator,
        counter=counter,
        entry=entry,
        accounts=accounts,
        oauth=OAuthFlow(database, keyring, endpoints, forget=accounts.forget),
        decisions=decisions,
        rule_intents=rule_intents,
        idempotency=idempotency,
        explainer=Explainer(runner, authenticator),
        admin_digest=hashlib.sha256(_secret(settings.admin_token).encode()).digest(),
    )


def _authenticator(
    settings: Settings, base: _Infrastructure, links: ReconnectLinks
) -> Authenticator:
    upstreams = settings.upstreams

    async def store_use(token_id: int, now_ms: int) -> None:
        async with base.database.writing() as session:
            await tokens.record_use(session, token_id, now_ms)

    return Authenticator(
        base.reader,
        base_url=lambda kind, provider: upstreams.get((kind, provider), ""),
        reconnect=lambda connection: links.link_for(
            connection.id,
            provider=connection.provider,
            mode=connection.mode,
            status=connection.status,
        ),
        record_use=lambda token_id, now_ms: base.background.run(
            ("touch", token_id), store_use(token_id, now_ms)
        ),
        clock=_milliseconds(base.clock),
    )


def _workers(services: Services, base: _Infrastructure) -> tuple[Worker, ...]:
    """Return what runs in the background while the process serves, in the order of starting."""
    accounts, leases = services.accounts, base.leases
    return (
        services.decisions,
        services.idempotency,
        services.rule_intents,
        RuleIntentRecovery(base.database, services.keyring, accounts),
        ConnectionRecheck(base.database, leases, accounts.test),
        HourlyCleanup(leases, leases.sweep, services.oauth.sweep),
        base.last_success,
    )


def _closers(
    services: Services, base: _Infrastructure
) -> tuple[Callable[[], Awaitable[None]], ...]:
    """Return what releases the process's resources, in the order of closing."""

    async def close_reader() -> None:
        base.reader.close()

    counter, tracing = services.counter, base.tracing
    return (
        base.background.drain,
        close_reader,
        base.clients.aclose,
        *([counter.aclose] if isinstance(counter, RedisLimiter) else []),
        base.database.close,
        *([partial(asyncio.to_thread, tracing.close)] if tracing is not None else []),
    )


def _application(lifecycle: Lifecycle, services: Services) -> FastAPI:
    """Build the FastAPI application, without its own pages, redirects and telemetry."""
    app = FastAPI(
        title="access-gateway",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifecycle.run,
        # Its spans would carry paths and queries.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.services = services
    error_handlers.install(app)
    for router in routes.ROUTERS:
        app.include_router(router, dependencies=[Depends(require_admin)])
    app.include_router(oauth_pages.router)
    return app


@cache
def _graph() -> Graph:
    """Build the schema once, however often a process is assembled."""
    return Graph(schema.build())


class _Documents:
    """Prepares each internal document once per interpreter; operations are immutable."""

    @staticmethod
    @cache
    def prepare(text: str) -> Operation:
        return _graph().prepare_rest(text, omit_when_empty=OMITTED_WHEN_EMPTY)


def _endpoints(settings: Settings) -> tuple[Endpoint, ...]:
    if not settings.internal_enabled:
        return ENDPOINTS
    collab = [row.mounted(INTERNAL) for row in ENDPOINTS if row.surface is Surface.COLLAB]
    return (*ENDPOINTS, *collab)


def _tracing(settings: Settings) -> "Tracing | None":
    if settings.traces_endpoint is None:
        return None
    from gateway.telemetry.tracing import Tracing  # noqa: PLC0415 - heavy, and rarely used

    return Tracing.to(settings.traces_endpoint, share=settings.traces_share)


def _counter(settings: Settings, clock: Callable[[], float]) -> RequestCounter:
    if settings.rate_limits == "off":
        return UnlimitedCounter()
    if settings.redis_url:
        url = settings.redis_url.get_secret_value()
        return RedisLimiter(url, processes=settings.limiting_processes, clock=clock)
    return MemoryLimiter(clock=clock)


def _milliseconds(clock: Clock) -> Callable[[], int]:
    return lambda: int(clock() * 1000)


def _secret(setting: Any) -> str:
    return str(setting.get_secret_value()) if setting is not None else ""
