"""
Liveness and readiness probes, and the metrics endpoint.

`/healthz` and `/readyz` need no credential and return fixed words. `/metrics` needs the metrics
token or the admin token.
"""

import asyncio
import hashlib
import hmac
from collections.abc import Callable

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from sqlalchemy import func
from sqlmodel import col, select

from gateway.auth.authenticator import read_bearer
from gateway.ratelimit.redis import RedisLimiter
from gateway.services import Services
from gateway.store.database import StorageUnavailable
from gateway.store.tables import ConnectionRow
from gateway.telemetry.metrics import CONTENT_TYPE, Metrics
from policy.refusals import Unauthenticated
from policy.vocabulary import UnauthorizedReason

DATABASE_TIMEOUT_SECONDS = 2.0
OK, LOST, OFF = "ok", "lost", "off"


def install(
    app: FastAPI, services: Services, metrics: Metrics, *, serving: Callable[[], bool]
) -> None:
    """Add the endpoints to *app*; *serving* tells whether it has started and is not stopping."""
    digests = [services.admin_digest]
    if services.settings.metrics_token is not None:
        digests.append(_digest(services.settings.metrics_token.get_secret_value().encode()))

    @app.get("/healthz", include_in_schema=False)
    async def alive() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz", include_in_schema=False)
    async def ready() -> Response:
        database = OK if serving() and await _connection_counts(services) is not None else LOST
        checks = {"database": database, "sharedLimits": _shared_limits_state(services)}
        # Without the shared count, each process applies its share of the limits: still ready.
        is_ready = database == OK
        status = "ready" if is_ready else "unready"
        return JSONResponse(
            {"status": status, "checks": checks}, status_code=200 if is_ready else 503
        )

    @app.get("/metrics", include_in_schema=False)
    async def figures(request: Request) -> Response:
        credential_digest = _digest(read_bearer(request.scope["headers"], str.encode))
        if not any([hmac.compare_digest(credential_digest, digest) for digest in digests]):  # noqa: C419 - all compared
            raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
        metrics.set_shared_limits_lost(lost=_shared_limits_state(services) == LOST)
        counts = await _connection_counts(services)
        if counts is not None:
            metrics.set_connections(counts)
        return Response(metrics.exposition(), media_type=CONTENT_TYPE)


async def _connection_counts(services: Services) -> dict[tuple[str, str], int] | None:
    """Count the connections by (provider, status); None when the database does not answer."""
    group = (col(ConnectionRow.provider), col(ConnectionRow.status))
    try:
        async with (
            asyncio.timeout(DATABASE_TIMEOUT_SECONDS),
            services.database.reading() as session,
        ):
            rows = await session.exec(select(*group, func.count()).group_by(*group))
            return {(provider, status): count for provider, status, count in rows}
    except (StorageUnavailable, TimeoutError):
        return None


def _shared_limits_state(services: Services) -> str:
    if not isinstance(services.counter, RedisLimiter):
        return OFF
    return LOST if services.counter.lost else OK


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()
