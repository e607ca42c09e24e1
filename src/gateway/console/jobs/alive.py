"""Job 1: is everything alive. Its page is the first one, with the other jobs."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, get_args

from fastapi import Request, Response

from gateway.console import pages
from gateway.console.router import Job, Router
from gateway.http import health
from gateway.http.request_services import AppServices
from gateway.management.connections import Service
from gateway.operations import connections, decisions
from gateway.operations.approvals import decisions as approvals
from gateway.store import timestamps
from gateway.unknown_variables import unknown_variables
from gateway.version import API_VERSION, VERSION

if TYPE_CHECKING:
    from gateway.services import Services

SHOWN = 20  # connections of each status
COUNTED = 100  # failures of upstreams, and held writes
_HOUR_MS = 60 * 60 * 1000

router = Router()
JOB = Job("/", "Is everything alive?", "Accounts, upstreams, this process and warnings.", router)


@router.get("/")
async def first_page(request: Request, services: AppServices, service: Service) -> Response:
    """Show what works and what does not, and the jobs."""
    broken = {}
    async with services.database.reading() as session:
        for status in get_args(connections.Status):
            if status != "active":
                broken[status] = await service.list_all(session, status=status, limit=SHOWN + 1)
        waiting = await approvals.count_waiting(session, most=COUNTED + 1)
        has_accounts = bool(await service.list_all(session, limit=1))
    since = timestamps.to_text(timestamps.now_ms() - _HOUR_MS)
    recent = decisions.query({"layer": "upstream", "since": since})
    return pages.page(
        request,
        "alive.html",
        title=JOB.title,
        broken={status: listed for status, listed in broken.items() if listed},
        shown=SHOWN,
        has_accounts=has_accounts,
        failures=await decisions.list_newest(services.database, recent, limit=COUNTED + 1),
        counted=COUNTED,
        waiting=waiting,
        checks=await health.process_checks(services),
        version=f"{VERSION}, API {API_VERSION}",
        warnings=await asyncio.to_thread(lambda: [*_warnings(services)]),
    )


def _warnings(services: "Services") -> Iterator[str]:
    """Yield a sentence for each thing that an administrator should know of."""
    settings = services.settings
    yield from unknown_variables()
    if settings.rate_limits == "off":
        yield "There are no rate limits: AGW_RATE_LIMITS is off, which is for load tests."
    if not settings.decision_days:
        yield "No decision log is written: AGW_DECISION_DAYS is 0."
    if services.decisions.dropped:
        yield f"{services.decisions.dropped} rows of the decision log were lost since the start."
    if settings.sandbox:
        yield "Every account leads to the sandbox: AGW_SANDBOX is on."
