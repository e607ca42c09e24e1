"""
Liveness and readiness probes, and the metrics endpoint.

`/healthz` and `/readyz` need no credential and return fixed words. `/metrics` needs the metrics
token or the admin token.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import orjson
from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.connections import expiry, shared
from gateway.feeds.push.registrations import count_by_failure
from gateway.lifecycle import Lifecycle
from gateway.store import timestamps
from gateway.store.background import last_runs
from gateway.store.database import StorageUnavailable
from gateway.store.tables import ConnectionRow
from gateway.telemetry.metrics import CONTENT_TYPE, Metrics
from gateway.webhooks import targets
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse

if TYPE_CHECKING:
    from gateway.services import Services

DATABASE_TIMEOUT_SECONDS = 2.0
METRICS = "/metrics"
OK, LOST, OFF, FAILING = "ok", "lost", "off", "failing"

T = TypeVar("T")

Probe = Callable[[RestRequest], Awaitable[RestResponse]]


def probes(services: "Services", metrics: Metrics, lifecycle: Lifecycle) -> Mapping[str, Probe]:
    """Return the handlers of GET by path."""
    digests = [*services.admins]
    if services.settings.metrics_token is not None:
        digests.append(_digest(services.settings.metrics_token.get_secret_value().encode()))

    async def alive(_: RestRequest) -> RestResponse:
        return _json(200, {"status": "ok"})

    async def ready(_: RestRequest) -> RestResponse:
        answers = lifecycle.serving and await _read(services, _connection_counts) is not None
        database = OK if answers else LOST
        checks = {
            "database": database,
            **await process_checks(services, has_database=database == OK),
        }
        # A process with a wrong clock would misjudge the ends of tokens. Without writes, reads are
        # still answered; without the shared count, each process applies its share of the limits:
        # still ready.
        is_ready = database == OK and services.database.clock.agrees and not lifecycle.draining
        status = "ready" if is_ready else "draining" if lifecycle.draining else "unready"
        return _json(200 if is_ready else 503, {"status": status, "checks": checks})

    async def figures(request: RestRequest) -> RestResponse:
        await services.entry.check_secret(request.scope, digests)
        metrics.set_shared_limits_lost(lost=_shared_limits_state(services) == LOST)
        metrics.set_background_tasks(last_runs)
        counts = await _read(services, _connection_counts)
        if counts is not None:
            metrics.set_connections(counts)
            metrics.set_silence(await _read(services, _silence) or {})
            soon = await _read(services, partial(expiry.ending, keyring=services.keyring)) or ()
            ending = Counter(connection.provider for connection in soon)
            metrics.set_health(await _read(services, _dead) or {}, ending)
            metrics.set_webhook_targets(await _read(services, targets.count_by_state) or {})
            metrics.set_push_registrations(await _read(services, _push_registrations) or {})
            metrics.set_late_looks(await _read(services, services.subscriptions.lateness) or 0.0)
        used, idle = services.database.pool_use()
        metrics.set_pool(used=used, idle=idle)
        return RestResponse(status=200, body=metrics.exposition(), content_type=CONTENT_TYPE)

    return {"/healthz": alive, "/readyz": ready, METRICS: figures}


async def process_checks(services: "Services", *, has_database: bool = True) -> dict[str, str]:
    """Return what `/readyz` says of this process, in one word each, but of the database itself."""
    return {
        "writes": OK if has_database and await _accepts_writes(services) else LOST,
        "clock": OK if services.database.clock.agrees else OFF,
        "background": OK if all(last_runs.values()) else FAILING,
        "sharedLimits": _shared_limits_state(services),
    }


def _json(status: int, content: Mapping[str, object]) -> RestResponse:
    return RestResponse(status=status, body=orjson.dumps(content))


async def _read(services: "Services", read: Callable[[AsyncSession], Awaitable[T]]) -> T | None:
    """Read from the database; None when it does not answer in time."""
    try:
        async with (
            asyncio.timeout(DATABASE_TIMEOUT_SECONDS),
            services.database.reading() as session,
        ):
            return await read(session)
    except (StorageUnavailable, TimeoutError):
        return None


async def _connection_counts(session: AsyncSession) -> dict[tuple[str, str], int]:
    """Count the connections by (provider, status)."""
    group = (col(ConnectionRow.provider), shared.STATUS)
    counts = select(*group, func.count()).outerjoin(shared.BASE, shared.IS_ON_BASE)
    rows = await session.exec(counts.group_by(*group))
    return {(provider, status): count for provider, status, count in rows}


async def _silence(session: AsyncSession) -> dict[str, float]:
    """
    Return provider -> seconds since the last answer of the active account silent for longest.

    An account that has never answered is silent since it was connected.
    """
    row, now = ConnectionRow, timestamps.now_ms()
    since = func.min(func.coalesce(row.last_ok_at, row.created_at))
    query = (
        select(row.provider, since)
        .outerjoin(shared.BASE, shared.IS_ON_BASE)
        .where(shared.STATUS == "active")
        .group_by(col(row.provider))
    )
    return {provider: max(0, now - at) / 1000 for provider, at in await session.exec(query)}


async def _dead(session: AsyncSession) -> dict[tuple[str, str], int]:
    """Count the dead connections by (provider, cause)."""
    group = (col(ConnectionRow.provider), shared.CAUSE)
    query = (
        select(*group, func.count())
        .outerjoin(shared.BASE, shared.IS_ON_BASE)
        .where(shared.STATUS.in_(("needs_reauth", "error")))
    )
    counts = await session.exec(query.group_by(*group))
    return {(provider, cause or "none"): count for provider, cause, count in counts}


async def _push_registrations(session: AsyncSession) -> dict[str, int]:
    """Count the registrations for notifications by state."""
    counts = await count_by_failure(session)
    active = counts.pop("", 0)
    return {"active": active, "failing": sum(counts.values())}


async def _accepts_writes(services: "Services") -> bool:
    try:
        async with asyncio.timeout(DATABASE_TIMEOUT_SECONDS):
            return await services.database.accepts_writes()
    except TimeoutError:
        return False


def _shared_limits_state(services: "Services") -> str:
    if services.redis is None or services.settings.rate_limits == "off":
        return OFF
    return LOST if services.redis.lost else OK


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()
