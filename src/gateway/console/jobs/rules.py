"""Job 10: the collab rules and recipient rules of a token, and examples tried against them."""

from typing import TYPE_CHECKING, Any

from fastapi import Request, Response

from gateway.console import pages
from gateway.console.forms import SentForm
from gateway.console.router import Id, Job, Router
from gateway.http.request_services import AppServices
from gateway.operations import recipient_rules, rules, tokens
from gateway.operations.rules import NewRule, RuleChange
from gateway.operations.validation import validated
from gateway.store.conflicts import retried
from policy.refusals import InvalidInput
from policy.vocabulary import RuleAction, RuleType

if TYPE_CHECKING:
    from gateway.services import Services

SHOWN = 50

router = Router()
JOB = Job("/rules", "Edit rules", "Of files and of recipients, and try an example.", router)


@router.get(JOB.path)
async def find_token(request: Request, services: AppServices, q: str = "") -> Response:
    """List tokens, newest first or by the beginning of their name."""
    text = q.strip()[:320]
    async with services.database.reading() as session:
        listed = (
            await tokens.list_named(session, text, limit=SHOWN + 1)
            if text
            else await tokens.list_newest(session, limit=SHOWN + 1)
        )
    return pages.page(
        request, "rule_tokens.html", title=JOB.title, tokens=listed, shown=SHOWN, q=text
    )


@router.get("/tokens/{token_id:int}/rules")
async def show_rules(
    request: Request, services: AppServices, token_id: Id, after: int = 0
) -> Response:
    """Show the rules of a token, collab rules by their ids."""
    return await _show(request, services, token_id, after=after)


@router.post("/tokens/{token_id:int}/rules/add")
@retried
async def add_rule(services: AppServices, token_id: Id, form: SentForm) -> Response:
    """Add a collab rule."""
    members = {
        "ruleType": form.text("ruleType"),
        "pattern": form.text("pattern"),
        "action": form.text("action"),
        **_description(form),
    }
    async with services.database.writing() as session:
        await rules.add(session, token_id, validated(NewRule, members))
    return _back(token_id)


@router.post("/tokens/{token_id:int}/rules/{rule_id:int}/change")
@retried
async def change_rule(services: AppServices, token_id: Id, rule_id: Id, form: SentForm) -> Response:
    """Change pattern, action and description of a collab rule."""
    members = {"pattern": form.text("pattern"), "action": form.text("action")}
    change = validated(RuleChange, {**members, "description": form.text("description") or None})
    async with services.database.writing() as session:
        await rules.change(session, token_id, rule_id, change)
    return _back(token_id)


@router.post("/tokens/{token_id:int}/rules/{rule_id:int}/remove")
@retried
async def remove_rule(
    services: AppServices, token_id: Id, rule_id: Id, _form: SentForm
) -> Response:
    """Remove a collab rule."""
    async with services.database.writing() as session:
        await rules.remove(session, token_id, rule_id)
    return _back(token_id)


@router.post("/tokens/{token_id:int}/recipients/{step}")
@retried
async def change_recipients(
    services: AppServices, token_id: Id, step: str, form: SentForm
) -> Response:
    """Add or remove a recipient rule."""
    change = {"add": recipient_rules.add, "remove": recipient_rules.remove}.get(step)
    if change is None:
        raise InvalidInput("A recipient rule is added or removed.")
    async with services.database.writing() as session:
        await change(session, token_id, form.text("action"), form.text("pattern"))
    return _back(token_id)


@router.post("/tokens/{token_id:int}/rules/try")
async def try_example(
    request: Request, services: AppServices, token_id: Id, form: SentForm
) -> Response:
    """Show what the rules decide on an address, or on content; nothing is read from providers."""
    tried: dict[str, Any] = {}
    async with services.database.reading() as session:
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
            decision = await rules.evaluate(session, token_id, facts)
            tried["content"] = decision
            if decision.rule_id is not None:
                tried["rule"] = await rules.read(session, token_id, decision.rule_id)
    if not tried:
        raise InvalidInput("Enter an address, or the id of content.")
    return await _show(request, services, token_id, tried=tried, form=form)


async def _show(
    request: Request, services: "Services", token_id: int, *, after: int = 0, **more: Any
) -> Response:
    async with services.database.reading() as session:
        token = await tokens.read(session, token_id)
        listed = await rules.list_all(session, token_id, after=after, limit=SHOWN + 1)
        recipients = await recipient_rules.list_all(session, token_id)
    return pages.page(
        request,
        "rules.html",
        title=f"Rules of {token.name}",
        token=token,
        rules=listed,
        shown=SHOWN,
        recipients=recipients[:SHOWN],
        more_recipients=len(recipients) - SHOWN,
        kinds=[*RuleType],
        actions=[*RuleAction],
        **more,
    )


def _description(form: SentForm) -> dict[str, str]:
    text = form.text("description")
    return {"description": text} if text else {}


def _back(token_id: int) -> Response:
    return pages.redirect(f"/tokens/{token_id}/rules")
