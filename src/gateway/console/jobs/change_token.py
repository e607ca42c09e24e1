"""Job 5, its forms: every setting of a token, the difference of a change, and saving it."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from fastapi import Request, Response
from pydantic import TypeAdapter

from gateway.console import pages
from gateway.console.forms import Form, SentForm
from gateway.console.router import Id, Router
from gateway.http.request_services import AppServices
from gateway.management.bodies import inlined
from gateway.operations import rows, tokens
from gateway.operations.overviews import token_changes
from gateway.operations.settings_views import TokenSettings
from gateway.operations.tokens import TokenChange
from gateway.operations.validation import invalid, validated
from gateway.store import timestamps
from gateway.store.conflicts import retried
from gateway.store.tables import AccessToken
from policy.refusals import Conflict, InvalidInput
from policy.vocabulary import Code
from rest_compat.body import parse

_CHANGED_MEANWHILE = (
    "Somebody changed this token meanwhile. Nothing was saved: go back to its page, and look at "
    "what it allows now."
)

router = Router()


class Field(NamedTuple):
    """
    A setting as part of a form.

    Attributes:
        control: `switch`, `choice`, `words`, `number` or `json`.
        words: The words to choose from.
    """

    name: str
    description: str
    group: str
    control: str
    words: tuple[str, ...]


@router.get("/tokens/{token_id:int}/change")
async def ask(request: Request, services: AppServices, token_id: Id) -> Response:
    """Show every setting in a form."""
    async with services.database.reading() as session:
        row = await rows.get(session, AccessToken, token_id)
        token = await tokens.read(session, token_id)
    return pages.page(
        request,
        "change_token.html",
        title="Change a token",
        token=token,
        revision=row.policy_rev,
        groups=_groups(),
        settings=token.settings,
        as_json=as_json,
        ends=(timestamps.optional_text(token.expires_at) or "")[:16],
    )


@router.post("/tokens/{token_id:int}/change")
async def preview(
    request: Request, services: AppServices, token_id: Id, form: SentForm
) -> Response:
    """Show the difference that the form makes; nothing is saved."""
    async with services.database.reading() as session:
        token = await tokens.read(session, token_id)
        change = _change(form, token.settings, token.name, token.expires_at)
        wanted = validated(TokenChange, change)
        difference = await token_changes.compare(session, token_id, wanted)
    if difference.revision != form.number("revision"):
        raise Conflict(_CHANGED_MEANWHILE, code=Code.PRECONDITION_FAILED)
    return pages.page(
        request,
        "token_difference.html",
        title="Is this what you want?",
        token=token,
        difference=difference,
        change=json.dumps(change),
        as_json=as_json,
    )


@router.post("/tokens/{token_id:int}/save")
@retried
async def save(services: AppServices, token_id: Id, form: SentForm) -> Response:
    """Save a change, unless the token was changed since its difference was shown."""
    change = validated(TokenChange, parse(form.text("change").encode()))
    async with services.database.writing() as session:
        await tokens.change(session, token_id, change)
        row = await rows.get(session, AccessToken, token_id)
        if row.policy_rev != form.number("revision") + 1:
            raise Conflict(_CHANGED_MEANWHILE, code=Code.PRECONDITION_FAILED)
    return pages.redirect(f"/tokens/{token_id}")


def as_json(value: Any) -> str:
    """Return a value as JSON; empty for None."""
    return "" if value is None else json.dumps(value, ensure_ascii=False)


@cache
def _groups() -> Mapping[str, list[Field]]:
    """Return the settings by surface, in the order of the specification."""
    schema = TypeAdapter(TokenSettings).json_schema()
    members = inlined(schema["properties"], schema.get("$defs", {}))
    groups: dict[str, list[Field]] = {}
    for name, member in members.items():
        control, words = _control(member)
        group = next((title for part, title in _GROUPS if part in name), "Everything")
        field = Field(name, member["description"], group, control, words)
        groups.setdefault(group, []).append(field)
    return groups


_GROUPS = (
    *(("mail", "Mail"), ("sendMode", "Mail"), ("alendar", "Calendars"), ("timeframe", "Calendars")),
    *(("task", "Tasks"), ("Task", "Tasks"), ("ollab", "Files and lists")),
)


def _control(member: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return the control of a setting by its JSON schema, and the words to choose from."""
    kinds = [each.get("type") for each in member.get("anyOf", ())]
    match member:
        case {"type": "boolean"}:
            return "switch", ()
        case {"type": "string", "enum": words}:
            return "choice", tuple(words)
        case {"type": "array", "items": {"enum": words}}:
            return "words", tuple(words)
    return ("number" if kinds == ["integer", "null"] else "json"), ()


def _change(
    form: Form, settings: Mapping[str, Any], name: str, expires_at: int | None
) -> dict[str, Any]:
    """Return what the form changes, as a caller of the API sends it."""
    change: dict[str, Any] = {}
    changed = dict(_changed_settings(form, settings))
    if changed:
        change["settings"] = changed
    if form.text("name") != name:
        change["name"] = form.text("name")
    end = form.text("expiresAt")
    if end != (timestamps.optional_text(expires_at) or "")[:16]:
        change["expiresAt"] = f"{end}:00Z" if end else None
    if not change:
        raise InvalidInput("The form changes nothing.")
    return change


def _changed_settings(form: Form, settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for field in (field for fields in _groups().values() for field in fields):
        value, before = _value(form, field), settings[field.name]
        if field.control == "words":
            if not isinstance(before, list) or set(value) != set(before):
                yield field.name, value
        elif value != json.loads(json.dumps(before)):
            yield field.name, value


def _value(form: Form, field: Field) -> Any:
    text = form.text(field.name)
    match field.control:
        case "switch":
            return field.name in form
        case "words":
            return form.texts(field.name)
        case "number":
            return form.number(field.name) if text else None
        case "json":
            return _json(field.name, text) if text else None
    return text


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise invalid(name, "must be JSON") from None
