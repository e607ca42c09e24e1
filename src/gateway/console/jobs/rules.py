"""Job 10: the collab rules and recipient rules of a token, and examples tried against them."""

from typing import Any

from fastapi import Response
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.console.forms import Form, SentForm
from gateway.console.router import Id, Paged, Router, Visit, Visiting
from gateway.management.paging import Filters
from gateway.operations import recipient_rules, rules, tokens
from gateway.operations.rules import NewRule, RuleChange
from gateway.operations.validation import validated
from policy.refusals import InvalidInput
from policy.vocabulary import RuleAction, RuleType

SHOWN = 50  # recipient rules
_PATH = "/tokens/{token_id:int}"
_RULES = "/tokens/{token_id}/rules"

router = Router()


@router.get(f"{_PATH}/rules")
async def show_rules(visit: Visiting, token_id: Id, filters: Paged) -> Response:
    """Show the rules of a token, collab rules by their ids."""
    return await _show(visit, token_id, filters)


@router.change(f"{_PATH}/rules/add", then=_RULES)
async def add_rule(session: AsyncSession, form: Form, token_id: int) -> None:
    """Add a collab rule."""
    members = form.filled("ruleType", "pattern", "action", "description")
    await rules.add(session, token_id, validated(NewRule, members))


@router.change(f"{_PATH}/rules/{{rule_id:int}}/change", then=_RULES)
async def change_rule(session: AsyncSession, form: Form, token_id: int, rule_id: int) -> None:
    """Change pattern, action and description of a collab rule."""
    members = {"description": None, **form.filled("pattern", "action", "description")}
    await rules.change(session, token_id, rule_id, validated(RuleChange, members))


@router.change(f"{_PATH}/rules/{{rule_id:int}}/remove", then=_RULES)
async def remove_rule(session: AsyncSession, _form: Form, token_id: int, rule_id: int) -> None:
    """Remove a collab rule."""
    await rules.remove(session, token_id, rule_id)


@router.change(f"{_PATH}/recipients/{{step}}", then=_RULES)
async def change_recipients(session: AsyncSession, form: Form, token_id: int, step: str) -> None:
    """Add or remove a recipient rule."""
    change = {"add": recipient_rules.add, "remove": recipient_rules.remove}.get(step)
    if change is None:
        raise InvalidInput("A recipient rule is added or removed.")
    await change(session, token_id, form.text("action"), form.text("pattern"))


@router.post(f"{_PATH}/rules/try")
async def try_example(visit: Visiting, token_id: Id, form: SentForm) -> Response:
    """Show what the rules decide on an address, or on content; nothing is read from providers."""
    tried: dict[str, Any] = {}
    async with visit.database.reading() as session:
        if address := form.text("address"):
            tried["recipient"] = await recipient_rules.evaluate(session, token_id, address)
        if content := form.text("content"):
            facts = rules.facts_of(
                content,
                folders=form.text("folders").split(),
                site=form.text("site") or None,
                mime_type=form.text("mimeType") or None,
                labels=(),
                content_type=None,
            )
            tried["content"] = decision = await rules.evaluate(session, token_id, facts)
            if decision.rule_id is not None:
                tried["rule"] = await rules.read(session, token_id, decision.rule_id)
    if not tried:
        raise InvalidInput("Enter an address, or the id of content.")
    return await _show(visit, token_id, Filters(), tried=tried, form=form)


async def _show(visit: Visit, token_id: int, filters: Filters, **more: Any) -> Response:
    pager = visit.pager(filters, name=f"rules of {token_id}")
    async with visit.database.reading() as session:
        token = await tokens.read(session, token_id)
        listed = await rules.list_all(session, token_id, after=pager.after_id, limit=pager.fetch)
        recipients = await recipient_rules.list_all(session, token_id)
    return visit.page(
        "rules.html",
        f"Rules of {token.name}",
        token=token,
        rules=listed[: pager.limit],
        following=visit.following(pager, listed, "id"),
        recipients=recipients[:SHOWN],
        more_recipients=len(recipients) - SHOWN,
        kinds=RuleType,
        actions=RuleAction,
        **more,
    )
