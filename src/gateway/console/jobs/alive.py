"""Job 1: is everything alive, on the first page; and the settings that matter here."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, get_args

from fastapi import Response

from gateway.console.router import Router, Visiting
from gateway.http import health
from gateway.operations import connections, decisions
from gateway.operations.approvals import decisions as approvals
from gateway.operations.overviews.deployment import further_settings, settings_that_matter
from gateway.store import timestamps
from gateway.unknown_variables import unknown_variables
from gateway.version import API_VERSION, VERSION

if TYPE_CHECKING:
    from gateway.services import Services

SHOWN = 20  # connections of each status
COUNTED = 100  # failures of upstreams, and held writes
_HOUR_MS = 60 * 60 * 1000

router = Router()


@router.get("/")
async def first_page(visit: Visiting) -> Response:
    """Show what works and what does not, and the jobs."""
    broken = {}
    async with visit.database.reading() as session:
        for status in get_args(connections.Status):
            if status != "active":
                broken[status] = await visit.connections.list_all(
                    session, status=status, limit=SHOWN + 1
                )
        waiting = await approvals.count_waiting(session, most=COUNTED + 1)
        has_accounts = bool(await visit.connections.list_all(session, limit=1))
    since = timestamps.to_text(timestamps.now_ms() - _HOUR_MS)
    recent = decisions.query({"layer": "upstream", "since": since})
    return visit.page(
        "alive.html",
        broken={status: listed for status, listed in broken.items() if listed},
        shown=SHOWN,
        has_accounts=has_accounts,
        failures=await decisions.list_newest(visit.database, recent, limit=COUNTED + 1),
        counted=COUNTED,
        waiting=waiting,
        checks=await health.process_checks(visit.services),
        version=f"{VERSION}, API {API_VERSION}",
        warnings=await asyncio.to_thread(lambda: [*_warnings(visit.services)]),
    )


@router.get("/settings")
async def show_settings(visit: Visiting) -> Response:
    """Show the settings that matter here, without secrets; of the others, those that are set."""
    settings = visit.services.settings
    matter, (changed, hidden) = settings_that_matter(settings), further_settings(settings)
    return visit.page("settings.html", settings=matter, changed=changed, hidden=hidden)


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
