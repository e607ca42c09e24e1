"""Jobs 7, 8 and 12: what the decision log says of calls and of changes by administrators."""

import contextlib
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from fastapi import Depends, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from gateway.audit.decision import EntryPoint, Outcome
from gateway.console import charts
from gateway.console.forms import SentForm
from gateway.console.jobs import change_token
from gateway.console.router import Router, Token, Visiting
from gateway.errors import CommandError
from gateway.explain.recorded import likely_call
from gateway.explain.request import METHODS, ExplainRequest
from gateway.management import paging
from gateway.management.paging import Filters
from gateway.operations import decisions, tokens, views
from gateway.operations.inputs import WholeNumberText
from gateway.operations.overviews import calls, changes, hours
from gateway.operations.validation import validated
from gateway.store.database import StorageUnavailable
from policy.refusals import NotFound
from rest_compat.body import parse

if TYPE_CHECKING:
    from gateway.services import Services

SHOWN = 20  # refused calls, and accounts of a chart
FORMATS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
REFRESH_SECONDS = 5
# Following keeps the session alive, so it ends by itself: after ten minutes.
MOST_REFRESHES = 120
TokenId = Annotated[WholeNumberText, Field(ge=1, le=2**63 - 1)]
Door = Literal[EntryPoint.REST, EntryPoint.GRAPHQL, EntryPoint.AGENT, EntryPoint.INTERNAL]

router = Router()


class CallFilters(Filters):
    """*follow*: how often the browser asks again."""

    token: TokenId | None = None
    verdict: Outcome | None = None
    door: Door | None = None
    kind: calls.Kind | None = None
    follow: Annotated[WholeNumberText, Field(ge=0, le=MOST_REFRESHES)] | None = None


@router.get("/calls")
async def list_calls(
    visit: Visiting, filters: Annotated[CallFilters, Depends(paging.query(CallFilters))]
) -> Response:
    """List calls; with *follow* the browser asks again so many times."""
    left, filters = filters.follow or 0, filters.model_copy(update={"follow": None})
    pager = visit.pager(filters)
    wanted = decisions.query({"tokenId": filters.token, "outcome": filters.verdict})
    await flush(visit.services)
    listed = await calls.newest(
        visit.database,
        wanted,
        door=filters.door,
        kind=filters.kind,
        limit=pager.limit,
        before=position(pager),
    )
    older = visit.query(pager, pageToken=pager.seal(listed.next)) if listed.next else ""
    seconds = REFRESH_SECONDS if left and pager.after is None else 0
    response = visit.page(
        "calls.html",
        page=listed,
        chosen=pager.filters,
        verdicts=Outcome,
        doors=get_args(Door),
        is_write=calls.is_write,
        here=visit.query(pager),
        older=older,
        follow=visit.query(pager, follow=MOST_REFRESHES),
        seconds=seconds,
    )
    if seconds:
        again = f"{visit.request.url.path}?{visit.query(pager, follow=left - 1)}"
        response.headers["Refresh"] = f"{seconds};url={again}"
    return response


@router.get("/why")
async def list_refused(visit: Visiting, request_id: str = "") -> Response:
    """List the newest refused calls, or lead to the one that was asked for."""
    if request_id.strip():
        return await show_call(visit, request_id.strip())
    await flush(visit.services)
    refused = decisions.query({"outcome": Outcome.REFUSED})
    listed = await calls.newest(visit.database, refused, limit=SHOWN)
    return visit.page("why.html", page=listed, older="", is_write=calls.is_write)


@router.get("/why/{request_id}")
async def show_call(visit: Visiting, request_id: str) -> Response:
    """Show what the log has of a request, and offer to try such a call again."""
    await flush(visit.services)
    try:
        explained = await decisions.explained(visit.database, request_id)
    except CommandError as error:
        raise NotFound(str(error)) from None
    first = next((each["decision"] for each in explained if each["layers"]), None)
    method, path = likely_call(first["operation"], first["resourceId"]) if first else ("", "")
    body = "" if method in {"", "GET", "DELETE"} else "{}"
    return visit.page(
        "why_call.html",
        "What was decided",
        request_id=request_id,
        explained=explained,
        token_id=first["tokenId"] if first else None,
        call={"method": method, "path": path, "body": body},
        methods=METHODS,
        reasons=await _reasons(visit.services, request_id),
    )


@router.post("/tokens/{token_id:int}/explain")
async def explain(visit: Visiting, form: SentForm, token: Token) -> Response:
    """Try a call by dry runs, and show the smallest change that would allow it."""
    method, path, body = (form.text(name) for name in ("method", "path", "body"))
    asked = {"method": method, "path": path, **({"body": parse(body.encode())} if body else {})}
    async with visit.database.reading() as session:
        chain = await tokens.with_ancestors(session, token.id)
    question = validated(ExplainRequest, asked).question()
    explanation = await visit.services.explainer.explain(chain, question)
    change = explanation.change or explanation.partial_change
    return visit.page(
        "explanation.html",
        "What would be decided",
        token=token,
        call={"method": method, "path": path, "body": body},
        methods=METHODS,
        explanation=explanation,
        change=change,
        remedy=change_token.text_of(change) if change else "",
    )


@router.get("/charts")
async def show_charts(visit: Visiting) -> Response:
    """Show the calls of the last day by hour, and how long upstreams took for each account."""
    await flush(visit.services)
    counted, times = await hours.counted(visit.database), visit.services.base.account_times
    slowest = times.slowest(SHOWN)
    async with visit.database.reading() as session:
        addresses = await visit.connections.addresses(session, [each.id for each in slowest])
    return visit.page(
        "charts.html",
        calls=charts.of_hours(counted),
        times=charts.of_times(slowest, addresses),
        since=times.since,
        workers=visit.services.settings.workers,
    )


class ChangeFilters(Filters):
    """*format*: of the export."""

    actor: str | None = None
    action: str | None = None
    token: TokenId | None = None
    format: Literal["csv", "json"] | None = None

    def query(self) -> decisions.DecisionQuery:
        return decisions.query({"operation": self.action, "tokenId": self.token})


Filtered = Annotated[ChangeFilters, Depends(paging.query(ChangeFilters))]


@router.get("/changes")
async def list_changes(visit: Visiting, filters: Filtered) -> Response:
    """List changes, newest first."""
    pager, wanted = visit.pager(filters), filters.query()
    await flush(visit.services)
    names = await changes.actors(visit.database)
    listed = await changes.newest(
        visit.database,
        [filters.actor] if filters.actor else names,
        wanted,
        limit=pager.fetch,
        before=position(pager),
    )
    return visit.page(
        "changes.html",
        changes=listed[: pager.limit],
        following=visit.following(pager, listed, "at", "id"),
        chosen=pager.filters,
        actors=names,
        most=changes.MOST_EXPORTED,
        exports={each: visit.query(pager, format=each) for each in FORMATS},
    )


@router.get("/changes/export")
async def export_changes(visit: Visiting, filters: Filtered) -> Response:
    """Send the changes as a file, in parts."""
    kind, wanted = filters.format or "csv", filters.query()
    await flush(visit.services)
    names = [filters.actor] if filters.actor else await changes.actors(visit.database)
    rows = changes.every(visit.database, names, wanted)
    return StreamingResponse(
        changes.as_csv(rows) if kind == "csv" else changes.as_json(rows),
        media_type=FORMATS[kind],
        headers={"Content-Disposition": f'attachment; filename="changes.{kind}"'},
    )


async def flush(services: "Services") -> None:
    """Store the decisions that wait in memory; what is stored already is shown all the same."""
    with contextlib.suppress(StorageUnavailable):
        await services.decisions.flush()


def position(pager: paging.Pager) -> calls.Position | None:
    """Return where a page of the log begins; None for the newest rows."""
    return None if pager.after is None else (int(pager.after[0]), int(pager.after[1]))


async def _reasons(services: "Services", request_id: str) -> views.ProviderErrors | None:
    """Return what providers answered behind the request; None if nothing is stored."""
    with contextlib.suppress(StorageUnavailable):  # what is stored already is read all the same
        await services.provider_errors.flush()
    try:
        return await decisions.reasons(services.database, services.keyring, request_id)
    except decisions.NoProviderErrors:
        return None
