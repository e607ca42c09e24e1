"""
What machines ask about the process: is it alive, is it ready, how is it doing.

`/healthz` and `/readyz` answer everybody and say nothing but words of ours. `/metrics` wants the
metrics token, or the admin token.
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
from gateway.ratelimit.shared import SharedLimiter
from gateway.services import Services
from gateway.store.database import StorageUnavailable
from gateway.store.tables import ConnectionRow
from gateway.telemetry import metrics
from gateway.telemetry.metrics import Metrics
from policy.refusals import Unauthenticated
from policy.vocabulary import UnauthorizedReason

PATIENCE = 2.0  # seconds that the database gets
OK, LOST, OFF = "ok", "lost", "off"


def install(
    app: FastAPI, services: Services, counted: Metrics, *, serving: Callable[[], bool]
) -> None:
    """Add the probes to *app*; *serving* says whether it has started and is not stopping."""
    keys = [services.admin_digest]
    if services.settings.metrics_token is not None:
        keys.append(_digest(services.settings.metrics_token.get_secret_value().encode()))

    @app.get("/healthz", include_in_schema=False)
    async def alive() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz", include_in_schema=False)
    async def ready() -> Response:
        database = OK if serving() and await _counts(services) is not None else LOST
        checks = {"database": database, "sharedLimits": _shared(services)}
        # Without the shared count each process goes on with its share of the limits: still ready.
        good = database == OK
        status = "ready" if good else "unready"
        return JSONResponse({"status": status, "checks": checks}, status_code=200 if good else 503)

    @app.get("/metrics", include_in_schema=False)
    async def figures(request: Request) -> Response:
        given = _digest(read_bearer(request.scope["headers"], str.encode))
        if not any([hmac.compare_digest(given, key) for key in keys]):  # noqa: C419 - all compared
            raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
        counted.set_shared_limits_lost(lost=_shared(services) == LOST)
        counts = await _counts(services)
        if counts is not None:
            counted.set_connections(counts)
        return Response(counted.exposition(), media_type=metrics.CONTENT_TYPE)


async def _counts(services: Services) -> dict[tuple[str, str], int] | None:
    """Count the connections by (provider, status); None: the database does not answer."""
    by = (col(ConnectionRow.provider), col(ConnectionRow.status))
    try:
        async with asyncio.timeout(PATIENCE), services.database.reading() as session:
            rows = await session.exec(select(*by, func.count()).group_by(*by))
            return {(provider, status): count for provider, status, count in rows}
    except (StorageUnavailable, TimeoutError):
        return None


def _shared(services: Services) -> str:
    if not isinstance(services.counter, SharedLimiter):
        return OFF
    return LOST if services.counter.lost else OK


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()
