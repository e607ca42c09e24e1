"""
Jobs 5 and 7: the forms of a token's settings, and the remedy that would allow a call.

Either way the difference is shown first, and what is saved is what was shown.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from fastapi import Response
from pydantic import TypeAdapter
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.console.forms import Form, SentForm
from gateway.console.router import Router, Token, Visiting
from gateway.management.bodies import inlined
from gateway.operations import rows, tokens, views
from gateway.operations.overviews import remedies, token_changes
from gateway.operations.overviews.remedies import Remedy
from gateway.operations.settings_views import TokenSettings
from gateway.operations.tokens import TokenChange
from gateway.operations.validation import invalid, validated
from gateway.store import timestamps
from gateway.store.tables import AccessToken
from policy.refusals import Conflict, InvalidInput
from policy.vocabulary import Code
from rest_compat.body import parse

_CHANGED_MEANWHILE = (
    "Somebody changed this token meanwhile. Nothing was saved: go back to its page, and look at "
    "what it allows now."
)

_TEMPLATE, _TITLE = "token_difference.html", "Is this what you want?"

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
async def ask(visit: Visiting, token: Token) -> Response:
    """Show every setting in a form."""
    async with visit.database.reading() as session:
        row = await rows.get(session, AccessToken, token.id)
    return visit.page(
        "change_token.html",
        f"Change {token.name}",
        token=token,
        revision=row.policy_rev,
        groups=_groups(),
        settings=token.settings,
        ends=(timestamps.optional_text(token.expires_at) or "")[:16],
    )


@router.post("/tokens/{token_id:int}/change")
async def preview(visit: Visiting, form: SentForm, token: Token) -> Response:
    """Show the difference that the form makes; nothing is saved."""
    change = _change(form, token)
    wanted = validated(TokenChange, change)
    async with visit.database.reading() as session:
        difference = await token_changes.compare(session, token.id, wanted)
    if difference.revision != form.number("revision"):
        raise Conflict(_CHANGED_MEANWHILE, code=Code.PRECONDITION_FAILED)
    more = {"change": json.dumps(change), "action": "save"}
    return visit.page(_TEMPLATE, _TITLE, token=token, difference=difference, **more)


@router.change("/tokens/{token_id:int}/save", then="/tokens/{token_id}")
async def save(session: AsyncSession, form: Form, token_id: int) -> None:
    """Save a change, unless the token was changed since its difference was shown."""
    change = validated(TokenChange, parse(form.text("change").encode()))
    await tokens.change(session, token_id, change)
    row = await rows.get(session, AccessToken, token_id)
    if row.policy_rev != form.number("revision") + 1:
        raise Conflict(_CHANGED_MEANWHILE, code=Code.PRECONDITION_FAILED)


@router.post("/tokens/{token_id:int}/remedy")
async def preview_remedy(visit: Visiting, form: SentForm, token: Token) -> Response:
    """Show the difference that a remedy makes; nothing is saved."""
    async with visit.database.reading() as session:
        difference, rules = await remedies.compare(session, token.id, _remedy(form))
    more = {"change": form.text("change"), "action": "remedy/apply", "rules": rules}
    return visit.page(_TEMPLATE, _TITLE, token=token, difference=difference, **more)


@router.change("/tokens/{token_id:int}/remedy/apply", then="/tokens/{token_id}")
async def apply(session: AsyncSession, form: Form, token_id: int) -> None:
    """Apply a remedy, unless the token was changed since its difference was shown."""
    await remedies.apply(session, token_id, _remedy(form), revision=form.number("revision"))


def text_of(change: Any) -> str:
    """Return the change of an explanation as the form holds it: without its words."""
    members = change.as_json()
    return json.dumps({name: value for name, value in members.items() if name != "text"})


def _remedy(form: Form) -> Remedy:
    return validated(Remedy, parse(form.text("change").encode()))


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


def _change(form: Form, token: views.ManagedAccessToken) -> dict[str, Any]:
    """Return what the form changes, as a caller of the API sends it."""
    changed = dict(_changed_settings(form, token.settings))
    change: dict[str, Any] = {"settings": changed} if changed else {}
    if form.text("name") != token.name:
        change["name"] = form.text("name")
    end = form.text("expiresAt")
    if end != (timestamps.optional_text(token.expires_at) or "")[:16]:
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
            return bool(form.texts(field.name))
        case "words":
            return form.texts(field.name)
        case "number":
            return form.number(field.name) if text else None
        case "json":
            try:
                return json.loads(text) if text else None
            except ValueError:
                raise invalid(field.name, "must be JSON") from None
    return text
