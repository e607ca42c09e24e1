"""Job 7: why a call was refused, and which change would allow it."""

import contextlib
from typing import TYPE_CHECKING

from fastapi import Request, Response

from gateway.audit.decision import Outcome
from gateway.console import pages
from gateway.console.forms import SentForm
from gateway.console.jobs import calls as followed
from gateway.console.jobs import remedies
from gateway.console.router import Id, Job, Router
from gateway.errors import CommandError
from gateway.explain.recorded import likely_call
from gateway.explain.request import METHODS, ExplainRequest
from gateway.http.request_services import AppServices
from gateway.operations import decisions, tokens, views
from gateway.operations.overviews import calls
from gateway.operations.validation import validated
from gateway.store.database import StorageUnavailable
from policy.refusals import NotFound
from rest_compat.body import parse

if TYPE_CHECKING:
    from gateway.services import Services

SHOWN = 20

router = Router()
JOB = Job("/why", "Why was this refused?", "And what would allow it.", router)


@router.get(JOB.path)
async def list_refused(request: Request, services: AppServices, request_id: str = "") -> Response:
    """List the newest refused calls, or lead to the one that was asked for."""
    if request_id.strip():
        return await show_call(request, services, request_id.strip())
    await followed.flush(services)
    refused = decisions.query({"outcome": Outcome.REFUSED})
    listed = await calls.newest(services.database, refused, limit=SHOWN)
    return pages.page(
        request,
        "why.html",
        title=JOB.title,
        page=listed,
        older=None,
        is_write=calls.is_write,
        second=followed.second,
    )


@router.get("/why/{request_id}")
async def show_call(request: Request, services: AppServices, request_id: str) -> Response:
    """Show what the log has of a request, and offer to try such a call again."""
    await followed.flush(services)
    try:
        explained = await decisions.explained(services.database, request_id)
    except CommandError as error:
        raise NotFound(str(error)) from None
    calls_of_tokens = [each for each in explained if each["layers"]]
    first = calls_of_tokens[0]["decision"] if calls_of_tokens else None
    method, path = likely_call(first["operation"], first["resourceId"]) if first else ("", "")
    return pages.page(
        request,
        "why_call.html",
        title="What was decided",
        request_id=request_id,
        explained=explained,
        token_id=first["tokenId"] if first else None,
        method=method,
        path=path,
        body="" if method in {"", "GET", "DELETE"} else "{}",
        methods=METHODS,
        reasons=await _reasons(services, request_id),
    )


@router.post("/tokens/{token_id:int}/explain")
async def explain(
    request: Request, services: AppServices, token_id: Id, form: SentForm
) -> Response:
    """Try a call by dry runs, and show the smallest change that would allow it."""
    method, path, body = form.text("method"), form.text("path"), form.text("body")
    asked = {"method": method, "path": path, **({"body": parse(body.encode())} if body else {})}
    question = validated(ExplainRequest, asked).question()
    async with services.database.reading() as session:
        chain = await tokens.with_ancestors(session, token_id)
        token = await tokens.read(session, token_id)
    explanation = await services.explainer.explain(chain, question)
    change = explanation.change or explanation.partial_change
    return pages.page(
        request,
        "explanation.html",
        title="What would be decided",
        token=token,
        call={"method": method, "path": path, "body": body},
        methods=METHODS,
        explanation=explanation,
        change=change,
        remedy=remedies.text_of(change) if change else "",
    )


async def _reasons(services: "Services", request_id: str) -> views.ProviderErrors | None:
    """Return what providers answered behind the request; None if nothing is stored."""
    with contextlib.suppress(StorageUnavailable):  # what is stored already is read all the same
        await services.provider_errors.flush()
    try:
        return await decisions.reasons(services.database, services.keyring, request_id)
    except decisions.NoProviderErrors:
        return None
