"""
The process as one ASGI application: REST, /graphql, the management API, the pages.

Building it has no side effects; starting it (ASGI lifespan, or `running()`) migrates the database.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope, Send

from gateway.connections.recheck import ConnectionRecheck
from gateway.documents import prepared
from gateway.feeds.stream import ChangesStream
from gateway.http import api_descriptions, client_addresses, graphql_endpoint, health
from gateway.http import connection_limits as limits
from gateway.http.admission_control import AdmissionControl
from gateway.http.caller_keys import CallerKeys
from gateway.http.dispatch import Dispatcher, LateApplication
from gateway.http.documents import explain
from gateway.http.graphql_call import Rows, mutation_rows
from gateway.http.middleware import CommonMiddleware
from gateway.http.request_state import end_turn
from gateway.http.sandbox_mount import DemoToken, SandboxApp, forgetting_faults
from gateway.infrastructure import Clock, Infrastructure
from gateway.lifecycle import Lifecycle, Worker
from gateway.ratelimit.prefix import DeploymentPrefix
from gateway.rule_intents.recovery import RuleIntentRecovery
from gateway.services import Services
from gateway.settings import Settings
from gateway.store.cleanup import HourlyCleanup
from gateway.store.serving import ServingLease
from providers.http.origins import Origins
from rest_compat.endpoint import Responder
from rest_compat.readers import READERS
from rest_compat.router import Router as RestRouter
from rest_compat.router import rest_app
from rest_compat.table import ENDPOINTS, changes

if TYPE_CHECKING:  # imported when it is first asked
    from fastapi import FastAPI
    from starlette.types import ASGIApp


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """
    The assembled process.

    Attributes:
        app: The management API, the pages, and unknown paths.
        lifecycle: The state between start and end.
        middleware: The outermost layer, which the server calls.
    """

    services: Services
    app: "LateApplication[FastAPI]"
    middleware: CommonMiddleware
    lifecycle: Lifecycle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.lifecycle.serve(receive, send)
            return
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

    def begin_drain(self) -> None:
        """Be unready, end streams, and close each connection after its next response."""
        self.lifecycle.draining = True
        self.services.streams.stop()

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Gateway"]:
        """Start and stop without a server."""
        async with self.lifecycle.run(self):
            yield self


def assemble(
    settings: Settings,
    *,
    sandbox: SandboxApp | None = None,
    clock: Clock = time.time,
    origins: Origins | None = None,
    demo: Sequence[DemoToken] = (),
) -> Gateway:
    """
    Build the process.

    Args:
        settings: Must hold the secrets (`Settings.ready_to_serve`).
        sandbox: Serves the sandbox upstreams in this process, at `/sandbox`.
        clock: Seconds since the epoch, for limits and expiry.
        origins: The HTTP clients; None makes new ones.
        demo: Tokens that the explorer offers to everybody; none on a real deployment.
    """
    settings.ready_to_serve()
    base = Infrastructure.open(settings, sandbox=sandbox, clock=clock, origins=origins)
    services = Services(settings, base)
    services.log_changes()
    entry, calls = services.entry, services.calls
    lifecycle = Lifecycle(
        database=base.database,
        workers=_workers(services, base),
        closers=(services.streams.aclose, *_closers(base)),
        migrates=settings.migrate,
    )
    graph = prepared.graph()
    graphql = graphql_endpoint.endpoint(calls, graph, services.documents, _mutation_rows())
    stream = _stream(services)
    mounted = sandbox and forgetting_faults(sandbox, base.clients)
    app = _late_application(services, sandbox=mounted, demo=demo)
    middleware = CommonMiddleware(
        Dispatcher(
            app,
            table=_table(services, stream),
            graphql=graphql,
            rest_of=graphql_endpoint.rest_of(calls, graph, services.documents, settings.base_url),
            explain=explain.explain(calls, graph, services.documents),
            probes=health.probes(services, base.metrics, lifecycle),
            entry=entry,
            agents=_agents(services, stream, clock),
            notifications=services.notifications.receive,
            admin_port=settings.admin_port,
        ),
        read_rate_state=entry.read_rate_state,
        admission=AdmissionControl(
            settings.max_active, settings.max_queued, base.metrics.observe_queue
        ),
        callers=CallerKeys(partial(client_addresses.bucket, proxies=settings.proxies)),
        draining=lambda: lifecycle.draining,
        metrics=base.metrics,
        tracing=base.tracing,
    )
    services.streams.app = middleware
    return Gateway(services=services, app=app, lifecycle=lifecycle, middleware=middleware)


def _table(services: Services, stream: ChangesStream) -> RestRouter:
    table = rest_app(
        services.rows,
        prepare=prepared.of_table,
        calls=services.calls,
        descriptions=api_descriptions.descriptions(services.documents),
        saved=services.documents,
        saved_rows=_mutation_rows(),
        strict=services.settings.strict_parameters,
        base_url=services.settings.base_url,
    )
    table.add(stream)
    return table


def _stream(services: Services) -> ChangesStream:
    feed = Responder(
        endpoint=changes.get("", "list_changes"),
        prepare=prepared.of_table,
        calls=services.calls,
        reader=READERS["json"],
        strict=services.settings.strict_parameters,
    )
    return ChangesStream(feed, services.streams, end_turn)


def _agents(services: Services, stream: ChangesStream, clock: Clock) -> "LateApplication[ASGIApp]":
    """Return the application of agents, which is imported for the first of them."""

    def build() -> "ASGIApp":
        from gateway import agents  # noqa: PLC0415 - see above

        return agents.application(services, _mutation_rows(), stream, clock)

    return LateApplication(build)


def _workers(services: Services, base: Infrastructure) -> tuple[Worker, ...]:
    """Return what runs in the background while the process serves, in the order of starting."""
    accounts = services.accounts
    return (
        *([DeploymentPrefix(base.database, base.redis)] if base.redis is not None else []),
        *([base.slots] if base.slots is not None else []),
        services.decisions,
        services.provider_errors,
        services.credentials,
        services.idempotency,
        services.rule_intents,
        accounts,
        services.releases,
        services.webhooks,
        services.polls,
        services.arrivals,
        services.holds,
        *([services.mail_pulls] if services.mail_pulls is not None else []),
        services.waiters,
        RuleIntentRecovery(
            base.database, services.keyring, accounts, services.authenticator.connections_of
        ),
        ConnectionRecheck(base.database, base.leases, accounts.test),
        HourlyCleanup(
            base.leases.take_turn,
            base.leases.sweep,
            services.oauth.sweep,
            services.uploads.sweep,
            services.feed_states.sweep,
            services.subscriptions.sweep,
            services.held_writes.sweep,
            services.provider_errors.sweep,
        ),
        base.last_success,
        base.last_uses,
        ServingLease(
            base.database,
            redis=services.settings.redis_url is not None,
            told=services.settings.limiting_processes > 1,  # by `gateway.server`, at its start
        ),
    )


def _closers(base: Infrastructure) -> tuple[Callable[[], Awaitable[None]], ...]:
    """Return what releases the process's resources, in the order of closing."""

    async def close_reader() -> None:
        base.reader.close()

    redis, tracing = base.redis, base.tracing
    return (
        close_reader,
        base.clients.aclose,
        *([base.slots.aclose] if base.slots is not None else []),
        *([redis.aclose] if redis is not None else []),
        base.database.close,
        *([partial(asyncio.to_thread, tracing.close)] if tracing is not None else []),
    )


def _late_application(services: Services, **parts: Any) -> "LateApplication[FastAPI]":
    """Return the application of the management API; *parts* as `management.application.build`."""

    def build() -> "FastAPI":
        from gateway.management import application  # noqa: PLC0415 - FastAPI is heavy

        _ = services.explainer  # imported here, in a thread, and not for its first question
        built = application.build(services, **parts)
        if services.settings.console:
            from gateway.console import routes  # noqa: PLC0415 - as above

            routes.install(built)
        return built

    return LateApplication(build)


@cache
def _mutation_rows() -> Rows:
    """Find the row of each mutation once: it parses the documents of all that write."""
    return mutation_rows(ENDPOINTS)
