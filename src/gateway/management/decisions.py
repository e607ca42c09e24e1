"""`GET /api/decisions`: what was decided on the calls of tokens, newest first. Decisions 3."""

import contextlib
from typing import Annotated

from fastapi import Depends, Request, Response
from pydantic import BeforeValidator, Field

from gateway.audit import reading
from gateway.audit.decision import Outcome
from gateway.audit.log import DecisionLog
from gateway.audit.reading import DecisionFilter
from gateway.management import paging
from gateway.management.auth import Process
from gateway.management.paging import Filters, Pager, Whole
from gateway.management.router import Router
from gateway.operations import views
from gateway.store import timestamps
from gateway.store.database import StorageUnavailable
from policy.vocabulary import Code, Layer, Surface

router = Router(prefix="/api/decisions", tags=["decisions"])


async def _log(request: Request) -> DecisionLog:
    found: DecisionLog = request.app.state.services.decisions
    return found


def _moment(text: object) -> int:
    try:
        return timestamps.parse(str(text))
    except ValueError:
        raise ValueError("must be a time") from None


Moment = Annotated[int, BeforeValidator(_moment, json_schema_input_type=str)]


class DecisionFilters(Filters):
    token_id: Annotated[Whole, Field(ge=1, le=2**63 - 1)] | None = None
    outcome: Outcome | None = None
    surface: Surface | None = None
    since: Moment | None = None
    until: Moment | None = None
    operation: Annotated[str, Field(max_length=64)] | None = None
    layer: Layer | None = None
    code: Code | None = None
    request_id: Annotated[str, Field(max_length=128)] | None = None

    def wanted(self) -> DecisionFilter:
        """Return what the log is asked for."""
        return DecisionFilter(**self.model_dump(exclude={"limit", "page_token"}))


@router.get("", openapi_extra=paging.described(DecisionFilters))
async def list_decisions(
    process: Process,
    log: Annotated[DecisionLog, Depends(_log)],
    query: Annotated[DecisionFilters, Depends(paging.query(DecisionFilters))],
    response: Response,
) -> views.DecisionPage:
    """List decisions; `since` is part of the time asked for, `until` is not."""
    pager = Pager(process.keyring, "decisions", 200)
    limit, after = pager.limit(query, response), pager.after(query)
    with contextlib.suppress(StorageUnavailable):  # then what is stored is told
        await log.flush()
    before = None if after is None else (int(after[0]), int(after[1]))
    found = await reading.newest(process.database, query.wanted(), limit=limit + 1, before=before)
    positions = [(decision.at, number) for number, decision in found]
    return {
        "decisions": [decision.view(number) for number, decision in found[:limit]],
        **pager.page(query, found, limit, positions),
    }
