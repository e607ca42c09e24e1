"""Jobs 5 and 6: find a token; the page of one, where it is changed, expired or revoked."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from fastapi import Request, Response

from gateway.console import pages
from gateway.console.forms import SentForm
from gateway.console.router import Id, Job, Router
from gateway.http.request_services import AppServices
from gateway.operations import operators, tokens
from gateway.operations.tokens import TokenChange
from gateway.operations.validation import invalid, validated
from gateway.store import timestamps
from gateway.store.conflicts import retried
from policy import presets

if TYPE_CHECKING:
    from gateway.services import Services

SHOWN = 50
BATCH = 100  # tokens that a transaction ends
_HOUR_MS = 60 * 60 * 1000
NOW, NEVER = "now", "never"
# When a token ends -> as people say it. In hours, but for the first and the last one.
ENDS: Mapping[str, str] = MappingProxyType(
    {
        NOW: "At once and for good (revoke)",
        "1": "In an hour",
        "24": "In a day",
        "168": "In 7 days",
        "720": "In 30 days",
        "2160": "In 90 days",
        NEVER: "Never",
    }
)

router, ending = Router(), Router()
JOB = Job("/tokens", "Change a token", "The difference is shown before it is saved.", router)
END_JOB = Job(
    "/tokens/end", "Revoke or expire tokens", "One, or all of a person, now or later.", ending
)


@ending.get(END_JOB.path)
async def find_token_to_end(
    request: Request, services: AppServices, q: str = "", before: int | None = None
) -> Response:
    """List tokens, and people by their address."""
    return await _find(request, services, END_JOB.title, q, before)


@router.get(JOB.path)
async def find_token(
    request: Request, services: AppServices, q: str = "", before: int | None = None
) -> Response:
    """List tokens, newest first or by the beginning of their name."""
    return await _find(request, services, JOB.title, q, before)


async def _find(
    request: Request, services: "Services", title: str, q: str, before: int | None
) -> Response:
    text = q.strip()[:320]
    async with services.database.reading() as session:
        if text:
            listed = await tokens.list_named(session, text, limit=SHOWN + 1)
            people = await operators.list_named(session, text, limit=SHOWN + 1)
        else:
            listed = await tokens.list_newest(session, before=before, limit=SHOWN + 1)
            people = []
    return pages.page(
        request, "tokens.html", title=title, tokens=listed, people=people, shown=SHOWN, q=text
    )


@ending.get("/tokens/{token_id:int}")
async def show_token(request: Request, services: AppServices, token_id: Id) -> Response:
    """Show what a token may do, and what can be done with it."""
    async with services.database.reading() as session:
        token = await tokens.read(session, token_id)
        people = await operators.list_by_id(session, [token.operator_id])
    return pages.page(
        request,
        "token.html",
        title=token.name,
        token=token,
        person=people[0] if people else None,
        sentences=await asyncio.to_thread(presets.sentences, token.settings),
        ends=ENDS.items(),
    )


@ending.post("/tokens/{token_id:int}/end")
@retried
async def end_token(services: AppServices, token_id: Id, form: SentForm) -> Response:
    """Revoke a token, or move its end."""
    async with services.database.writing() as session:
        if _when(form) == NOW:
            await tokens.revoke(session, token_id)
        else:
            await tokens.change(session, token_id, _end(form))
    return pages.redirect(f"/tokens/{token_id}")


@ending.get("/people/{person_id}/tokens/end")
async def ask_to_end_all(request: Request, services: AppServices, person_id: str) -> Response:
    """Ask when all tokens of a person shall end."""
    async with services.database.reading() as session:
        person = await operators.read(session, person_id)
        listed = await tokens.list_roots(session, person.id, limit=SHOWN + 1)
    return pages.page(
        request,
        "end_all.html",
        title="End all tokens of this person",
        person=person,
        tokens=listed,
        shown=SHOWN,
        ends=list(ENDS.items())[:-1],
    )


@ending.post("/people/{person_id}/tokens/end")
async def end_all(services: AppServices, person_id: str, form: SentForm) -> Response:
    """
    End all active tokens of a person, with their child tokens; none ends later than before.

    They end one after the other, each as if it were ended alone, some in a transaction: while that
    goes on, other administrators wait for no more than these.
    """
    change = None if _when(form) == NOW else _end(form)
    if change is not None and change.expires_at is None:
        raise invalid("end", "must be a time")
    after: int | None = 0
    while after is not None:
        after = await _end_some(services, person_id, change, after)
    return pages.redirect(f"/people/{person_id}")


@retried
async def _end_some(
    services: "Services", person_id: str, change: TokenChange | None, after: int
) -> int | None:
    """End the active tokens behind the id *after*; return the last one's, None: there are none."""
    async with services.database.writing() as session:
        listed = await tokens.list_roots(session, person_id, after=after, limit=BATCH)
        for token in listed:
            if change is None:
                await tokens.revoke(session, token.id)
            elif token.expires_at is None or token.expires_at > (change.expires_at or 0):
                await tokens.change(session, token.id, change)
    return listed[-1].id if listed else None


def _when(form: SentForm) -> str:
    end = form.text("end")
    if end not in ENDS:
        raise invalid("end", "must be one of those on the page")
    return end


def _end(form: SentForm) -> TokenChange:
    end = _when(form)
    moment = None if end == NEVER else timestamps.now_ms() + int(end) * _HOUR_MS
    return validated(TokenChange, {"expiresAt": timestamps.optional_text(moment)})
