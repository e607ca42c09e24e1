"""Jobs 4, 5, 6 and 11: find tokens, make, rotate and end them, and look through their eyes."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from fastapi import Depends, Response
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.console import charts, pages
from gateway.console.forms import Form, SentForm
from gateway.console.jobs import people
from gateway.console.router import Id, Person, Router, Token, Visit, Visiting
from gateway.explain import eyes
from gateway.management import paging
from gateway.management.paging import Filters
from gateway.operations import operators, resources, tokens, views
from gateway.operations.overviews import quotas
from gateway.operations.tokens import NewToken, Rotation, TokenChange
from gateway.operations.validation import invalid, validated
from gateway.store import timestamps
from policy import presets
from policy.presets import AGENT_PRESETS, PRESETS, PresetSettings

SHOWN = 50
MAX_ACCOUNTS = 100  # of a person, offered on the page
_HOUR_MS = 60 * 60 * 1000
_AGENT = "agent:"
NOW, NEVER = "now", "never"
# When a token ends, in hours but for the first and the last one -> as people say it.
ENDS: Mapping[str, str] = MappingProxyType(
    {
        NOW: "At once and for good (revoke)",
        "1": "In an hour",
        "24": "In a day",
        "168": "In 7 days",
        "720": "In 30 days",
        "2160": "In 90 days",
        "8760": "In a year",
        NEVER: "Never",
    }
)

router = Router()


class TokenFilters(Filters):
    """*q*: the beginning of a name or of an address, or a number."""

    q: str | None = None


@router.get("/tokens")
@router.get("/tokens/end")
@router.get("/rules")
async def find_token(
    visit: Visiting, filters: Annotated[TokenFilters, Depends(paging.query(TokenFilters))]
) -> Response:
    """List tokens, newest first or by the beginning of their name, and people by their address."""
    pager, text = visit.pager(filters), (filters.q or "").strip()[:320]
    people_found: list[views.Operator] = []
    async with visit.database.reading() as session:
        if text:
            listed = await tokens.list_named(session, text, limit=pager.fetch)
            people_found = await operators.list_named(session, text, limit=pager.fetch)
        else:
            before = pager.after_id or None
            listed = await tokens.list_newest(session, before=before, limit=pager.fetch)
    return visit.page(
        "tokens.html",
        tokens=listed[: pager.limit],
        more=len(listed) > pager.limit,
        following="" if text else visit.following(pager, listed, "id"),
        people=people_found[: pager.limit],
        q=text,
        part="/rules" if visit.request.url.path.endswith("/rules") else "",
    )


@router.get("/tokens/{token_id:int}")
async def show_token(visit: Visiting, token: Token) -> Response:
    """Show what a token may do, what is left of its quota, and what can be done with it."""
    async with visit.database.reading() as session:
        chain = await tokens.with_ancestors(session, token.id)
        person = await people.with_id(session, token.operator_id)
    left = await quotas.left(visit.services.entry.limits.counter, chain)
    return visit.page(
        "token.html",
        token.name,
        token=token,
        person=person,
        quota=charts.of_quota(left) if left else None,
        sentences=await asyncio.to_thread(presets.sentences, token.settings),
        ends=ENDS,
    )


@router.change("/tokens/{token_id:int}/end", then="/tokens/{token_id}")
async def end_token(session: AsyncSession, form: Form, token_id: int) -> None:
    """Revoke a token, or move its end."""
    if _when(form) == NOW:
        await tokens.revoke(session, token_id)
    else:
        await tokens.change(session, token_id, _end(form))


@router.post("/tokens/{token_id:int}/rotate")
async def rotate(visit: Visiting, token_id: Id, form: SentForm) -> Response:
    """Give a token another text, and show it this once."""
    rotation = validated(Rotation, {"graceSeconds": form.number("graceSeconds")})
    token = await visit.write(lambda session: tokens.rotate(session, token_id, rotation))
    return await _show_text(visit, "The token has another text", token, is_for_agent=False)


@router.get("/people/{person_id}/tokens/end")
async def ask_to_end_all(visit: Visiting, person: Person) -> Response:
    """Ask when all tokens of a person shall end."""
    async with visit.database.reading() as session:
        listed = await tokens.list_roots(session, person.id, limit=SHOWN + 1)
    title, ends = "End all tokens of this person", dict(list(ENDS.items())[:-1])
    return visit.page("end_all.html", title, person=person, tokens=listed, shown=SHOWN, ends=ends)


@router.post("/people/{person_id}/tokens/end")
async def end_all(visit: Visiting, person_id: str, form: SentForm) -> Response:
    """
    End all active tokens of a person, with their child tokens; none ends later than before.

    They end one after the other, each as if it were ended alone, some in a transaction: while that
    goes on, other administrators wait for no more than these.
    """
    change = None if _when(form) == NOW else _end(form)
    if change is not None and change.expires_at is None:
        raise invalid("end", "must be a time")
    after: int | None = 0

    async def end_some(session: AsyncSession) -> int | None:
        return await tokens.end_some(session, person_id, change, after=after or 0)

    while after is not None:
        after = await visit.write(end_some)
    return pages.redirect(f"/people/{person_id}")


@router.get("/tokens/new/{person_id}")
async def ask_for_new(visit: Visiting, person: Person) -> Response:
    """Ask for the preset, the accounts and the end of a new token."""
    async with visit.database.reading() as session:
        linked = await resources.of_operator(session, person.id)
        accounts = await visit.connections.list_all(
            session, operator_id=person.id, limit=MAX_ACCOUNTS
        )
    ids = {resource.id for resource in linked}
    return visit.page(
        "new_token.html",
        "Make a token",
        person=person,
        has_resource=bool(linked),
        accounts=[account for account in accounts if account.resource_id in ids],
        choices=await asyncio.to_thread(_choices),
        ends=dict(list(ENDS.items())[1:]),
    )


@router.post("/tokens/new/{person_id}")
async def make(visit: Visiting, person_id: str, form: SentForm) -> Response:
    """Make the token, and show its text this once."""
    token = await visit.write(lambda session: _make(session, person_id, form))
    is_for_agent = form.text("preset").startswith(_AGENT)
    return await _show_text(visit, "The token is made", token, is_for_agent=is_for_agent)


async def _make(session: AsyncSession, person_id: str, form: Form) -> views.MintedAccessToken:
    linked = await resources.of_operator(session, person_id)
    members = {"name": form.text("name"), "operatorId": person_id, **_rights(form)}
    members["resourceIds"] = [resource.id for resource in linked]
    if _when(form) == NOW:
        raise invalid("end", "must be a time")
    if (end := _end(form).expires_at) is not None:
        members["expiresAt"] = timestamps.to_text(end)
    return await tokens.create(session, validated(NewToken, members))


async def _show_text(
    visit: Visit, title: str, token: views.MintedAccessToken, *, is_for_agent: bool
) -> Response:
    return visit.page(
        "made_token.html",
        title,
        token=token,
        sentences=await asyncio.to_thread(presets.sentences, token.settings),
        base=visit.services.settings.base_url,
        is_for_agent=is_for_agent,
    )


@router.get("/tokens/{token_id:int}/eyes")
async def show_sight(visit: Visiting, token: Token) -> Response:
    """Show what a token may do and see."""
    return visit.page(
        "eyes.html",
        f"Through the eyes of {token.name}",
        token=token,
        sentences=await asyncio.to_thread(presets.sentences, token.settings),
        sight=await eyes.sight(visit.services, token.id),
        minutes=eyes.LIFETIME_MS // 60_000,
    )


@router.post("/tokens/{token_id:int}/eyes")
async def open_eyes(visit: Visiting, token_id: Id, _form: SentForm) -> Response:
    """Make a short-lived child, and show the way to the explorer with it."""
    child, text = await eyes.open_eyes(visit.services, token_id)
    settings = visit.services.settings
    explorer = f"{settings.base_url if settings.admin_port else ''}/explorer/"
    more = {"child": child, "text": text, "explorer": explorer}
    return visit.page("open_eyes.html", "Open the explorer", **more)


def _offered() -> dict[str, PresetSettings]:
    agents = {f"{_AGENT}{name}": preset for name, preset in AGENT_PRESETS.items()}
    return {**{str(name): preset for name, preset in PRESETS.items()}, **agents}


def _choices() -> list[tuple[str, str, list[str]]]:
    """Return each preset that is offered: its word, and what it allows, in short and in detail."""
    return [
        (key, preset.sentence, presets.sentences(preset.settings))
        for key, preset in _offered().items()
    ]


def _rights(form: Form) -> dict[str, Any]:
    """Return the members of the preset and the accounts, as a caller of the API sends them."""
    key = form.text("preset")
    if key not in _offered():
        raise invalid("preset", "must be one of those on the page")
    chosen, offered = form.numbers("account"), form.numbers("offered")
    if offered and not chosen:
        raise invalid("accounts", "must be chosen: at least one of them")
    narrowed = {"allowedConnectionIds": chosen} if set(chosen) != set(offered) else {}
    if key.startswith(_AGENT):
        return {"settings": {**_offered()[key].settings, **narrowed}}
    return {"preset": key, **({"settings": narrowed} if narrowed else {})}


def _when(form: Form) -> str:
    end = form.text("end")
    if end not in ENDS:
        raise invalid("end", "must be one of those on the page")
    return end


def _end(form: Form) -> TokenChange:
    end = _when(form)
    moment = None if end == NEVER else timestamps.now_ms() + int(end) * _HOUR_MS
    return validated(TokenChange, {"expiresAt": timestamps.optional_text(moment)})
