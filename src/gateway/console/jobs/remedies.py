"""Job 7, its end: what a remedy changes is shown, and applied as it was shown."""

import json
from typing import Any

from fastapi import Request, Response

from gateway.console import pages
from gateway.console.forms import Form, SentForm
from gateway.console.jobs.change_token import as_json
from gateway.console.router import Id, Router
from gateway.http.request_services import AppServices
from gateway.operations import tokens
from gateway.operations.overviews import remedies
from gateway.operations.overviews.remedies import Remedy
from gateway.operations.validation import validated
from gateway.store.conflicts import retried
from rest_compat.body import parse

router = Router()


@router.post("/tokens/{token_id:int}/remedy")
async def preview(
    request: Request, services: AppServices, token_id: Id, form: SentForm
) -> Response:
    """Show the difference that a remedy makes; nothing is saved."""
    text = form.text("change")
    async with services.database.reading() as session:
        token = await tokens.read(session, token_id)
        difference, rules = await remedies.compare(session, token_id, _read(form))
    return pages.page(
        request,
        "token_difference.html",
        title="Is this what you want?",
        token=token,
        difference=difference,
        rules=rules,
        change=text,
        as_json=as_json,
        action="remedy/apply",
        button="Apply it",
    )


@router.post("/tokens/{token_id:int}/remedy/apply")
@retried
async def apply(services: AppServices, token_id: Id, form: SentForm) -> Response:
    """Apply a remedy, unless the token was changed since its difference was shown."""
    async with services.database.writing() as session:
        await remedies.apply(session, token_id, _read(form), revision=form.number("revision"))
    return pages.redirect(f"/tokens/{token_id}")


def text_of(change: Any) -> str:
    """Return the change of an explanation as the form holds it: without its words."""
    members = change.as_json()
    return json.dumps({name: value for name, value in members.items() if name != "text"})


def _read(form: Form) -> Remedy:
    return validated(Remedy, parse(form.text("change").encode()))
