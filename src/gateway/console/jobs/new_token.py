"""Job 4: make a token from a preset, in sentences; its text is shown once."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from fastapi import Request, Response

from gateway.console import pages
from gateway.console.forms import Form, SentForm
from gateway.console.jobs import people
from gateway.console.router import Job, Router
from gateway.http.request_services import AppServices
from gateway.management.connections import Service
from gateway.operations import operators, resources, tokens
from gateway.operations.tokens import NewToken
from gateway.operations.validation import invalid, validated
from gateway.store import timestamps
from gateway.store.conflicts import retried
from policy import presets
from policy.presets import AGENT_PRESETS, PRESETS, PresetSettings

MAX_ACCOUNTS = 100  # of a person, offered on the page
_DAY_MS = 24 * 60 * 60 * 1000
NEVER = "0"
# Days -> as people say it.
LIFETIMES: Mapping[str, str] = MappingProxyType(
    {
        "1": "1 day",
        "7": "7 days",
        "30": "30 days",
        "90": "90 days",
        "365": "1 year",
        NEVER: "No end",
    }
)
_CHOSEN = "90"


class _Choice(NamedTuple):
    key: str
    name: str
    sentence: str
    details: list[str]


router = Router()
JOB = Job("/tokens/new", "Make a token", "From a preset, for a program or an agent.", router)


@router.get(JOB.path)
async def choose_person(request: Request, services: AppServices, q: str = "") -> Response:
    """Ask whose accounts the token is to reach."""
    return await people.choose(request, services, title=JOB.title, action=f"{JOB.path}/", q=q)


@router.get(f"{JOB.path}/{{person_id}}")
async def ask(
    request: Request, services: AppServices, service: Service, person_id: str
) -> Response:
    """Ask for the preset, the accounts and the end."""
    async with services.database.reading() as session:
        person = await operators.read(session, person_id)
        linked = await resources.of_operator(session, person.id)
        accounts = await service.list_all(session, operator_id=person.id, limit=MAX_ACCOUNTS)
    ids = {resource.id for resource in linked}
    return pages.page(
        request,
        "new_token.html",
        title=JOB.title,
        person=person,
        has_resource=bool(linked),
        accounts=[account for account in accounts if account.resource_id in ids],
        choices=await asyncio.to_thread(_choices),
        lifetimes=LIFETIMES.items(),
        chosen=_CHOSEN,
    )


@router.post(f"{JOB.path}/{{person_id}}")
@retried
async def make(request: Request, services: AppServices, person_id: str, form: SentForm) -> Response:
    """Make the token, and show its text this once."""
    async with services.database.writing() as session:
        linked = await resources.of_operator(session, person_id)
        members = {
            "name": form.text("name"),
            "operatorId": person_id,
            "resourceIds": [resource.id for resource in linked],
            **_end(form),
            **_rights(form),
        }
        token = await tokens.create(session, validated(NewToken, members))
    return pages.page(
        request,
        "made_token.html",
        title="The token is made",
        token=token,
        sentences=await asyncio.to_thread(presets.sentences, token.settings),
        base=services.settings.base_url,
        is_for_agent=form.text("preset").startswith(_AGENT),
    )


_AGENT = "agent:"


def _offered() -> dict[str, PresetSettings]:
    agents = {f"{_AGENT}{name}": preset for name, preset in AGENT_PRESETS.items()}
    return {**{str(name): preset for name, preset in PRESETS.items()}, **agents}


def _choices() -> list[_Choice]:
    return [
        _Choice(
            key,
            key.removeprefix(_AGENT) + (" for an agent" if key.startswith(_AGENT) else ""),
            preset.sentence,
            presets.sentences(preset.settings),
        )
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


def _end(form: Form) -> dict[str, str]:
    days = form.text("days")
    if days not in LIFETIMES:
        raise invalid("days", "must be one of those on the page")
    if days == NEVER:
        return {}
    return {"expiresAt": timestamps.to_text(timestamps.now_ms() + int(days) * _DAY_MS)}
