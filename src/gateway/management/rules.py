"""`/api/access-tokens/{tokenId}/collab-rules`: which content a token may reach. Decisions 4."""

from typing import Annotated

from fastapi import Depends, Response
from pydantic import Field
from sqlalchemy import delete, func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.management import paging
from gateway.management.auth import Process
from gateway.management.bodies import Body, Change, Text, body, described
from gateway.management.error_handlers import not_found
from gateway.management.ids import long
from gateway.management.paging import Filters, Pager, Whole
from gateway.management.router import Router
from gateway.management.tokens import known
from gateway.operations import rule_rows, views
from gateway.operations.rule_rows import ActionWord, NewRule, Pattern, view
from gateway.store import timestamps
from gateway.store.tables import AccessToken, CollabRule
from policy import patterns
from policy.refusals import Conflict
from policy.vocabulary import Code, RuleAction, RuleType

router = Router(prefix="/api/access-tokens/{token_id}/collab-rules", tags=["collab rules"])
MAX_RULES = 100_000  # per token; decisions 4


class RuleChange(Change):
    pattern: Pattern = None
    action: ActionWord = None
    description: Text | None = None


class Rules(Body):
    rules: list[NewRule]


class RuleFilters(Filters):
    limit: Annotated[Whole, Field(ge=1)] = 100
    rule_type: RuleType | None = None
    action: RuleAction | None = None


@router.get("", openapi_extra=paging.described(RuleFilters))
async def list_rules(
    process: Process,
    token_id: str,
    query: Annotated[RuleFilters, Depends(paging.query(RuleFilters))],
    response: Response,
) -> views.CollabRulePage:
    """List a token's rules by id."""
    async with process.database.reading() as session:
        token = await known(session, token_id)
        pager = Pager(process.keyring, f"rules:{token.id}", 500)
        limit, after = pager.limit(query, response), pager.after(query)
        rows = select(CollabRule).where(col(CollabRule.token_id) == token.id)
        if query.rule_type is not None:
            rows = rows.where(col(CollabRule.rule_type) == query.rule_type.value)
        if query.action is not None:
            rows = rows.where(col(CollabRule.action) == query.action.value)
        if after is not None:
            rows = rows.where(col(CollabRule.id) > after[0])
        found = (await session.exec(rows.order_by(col(CollabRule.id)).limit(limit + 1))).all()
    positions = [(row.id or 0,) for row in found]
    return {
        "rules": [view(row) for row in found[:limit]],
        **pager.page(query, found, limit, positions),
    }


@router.post("", status_code=201, openapi_extra=described(NewRule))
async def create_rule(
    process: Process, token_id: str, new: Annotated[NewRule, Depends(body(NewRule))]
) -> views.CollabRule:
    """Add a rule."""
    async with process.database.writing() as session:
        token = await known(session, token_id, to_change=True)
        row = await add(session, token, new)
    return view(row)


@router.put("", openapi_extra=described(Rules))
async def replace_rules(
    process: Process, token_id: str, new: Annotated[Rules, Depends(body(Rules))]
) -> views.CollabRules:
    """Replace every rule, or none."""
    async with process.database.writing() as session:
        token = await known(session, token_id, to_change=True)
        if len(new.rules) > MAX_RULES:
            raise _too_many()
        rows = rule_rows.all_made(token, new.rules)
        await session.exec(delete(CollabRule).where(col(CollabRule.token_id) == token.id))
        session.add_all(rows)
        _changed(session, token)
        await session.flush()
    return {"rules": [view(row) for row in rows]}


@router.get("/{rule_id}")
async def get_rule(process: Process, token_id: str, rule_id: str) -> views.CollabRule:
    """Read one rule."""
    async with process.database.reading() as session:
        return view(await _known_rule(session, await known(session, token_id), rule_id))


@router.patch("/{rule_id}", openapi_extra=described(RuleChange))
async def change_rule(
    process: Process,
    token_id: str,
    rule_id: str,
    change: Annotated[RuleChange, Depends(body(RuleChange))],
) -> views.CollabRule:
    """Change pattern, action or description; the type stays."""
    async with process.database.writing() as session:
        token = await known(session, token_id, to_change=True)
        row = await _known_rule(session, token, rule_id)
        given = change.model_fields_set
        action = (
            rule_rows.read_action(change.action) if "action" in given else RuleAction(row.action)
        )
        pattern = change.pattern if "pattern" in given else row.pattern
        raw = patterns.normalise(RuleType(row.rule_type), pattern, action)
        if (raw, action) != (row.pattern, row.action):
            row.pattern, row.action = raw, action
            with session.no_autoflush:
                await _unique(session, row)
        if "description" in given:
            row.description = change.description
        row.updated_at = timestamps.now_ms()
        session.add(row)
        _changed(session, token)
        await session.flush()
    return view(row)


@router.delete("/{rule_id}", status_code=204)
async def delete_rule(process: Process, token_id: str, rule_id: str) -> None:
    """Remove a rule."""
    async with process.database.writing() as session:
        token = await known(session, token_id, to_change=True)
        await session.delete(await _known_rule(session, token, rule_id))
        _changed(session, token)


async def add(session: AsyncSession, token: AccessToken, new: NewRule) -> CollabRule:
    """
    Add a rule to *token*.

    Raises:
        InvalidInput: Type, pattern or action are none.
        Conflict: The token has it already, or too many.
    """
    row = rule_rows.made(token, new)
    held = await session.exec(select(func.count()).where(col(CollabRule.token_id) == token.id))
    if held.one() >= MAX_RULES:
        raise _too_many()
    await _unique(session, row)
    session.add(row)
    _changed(session, token)
    await session.flush()
    return row


async def _unique(session: AsyncSession, row: CollabRule) -> None:
    same = await session.exec(
        select(CollabRule.id).where(
            col(CollabRule.token_id) == row.token_id,
            col(CollabRule.rule_type) == row.rule_type,
            col(CollabRule.pattern) == row.pattern,
            col(CollabRule.action) == row.action,
        )
    )
    if any(rule_id != row.id for rule_id in same):
        raise _duplicate()


async def _known_rule(session: AsyncSession, token: AccessToken, rule_id: str) -> CollabRule:
    row = await session.get(CollabRule, long(rule_id))
    if row is None or row.token_id != token.id:
        raise not_found(Code.RULE_NOT_FOUND, "rule")
    return row


def _changed(session: AsyncSession, token: AccessToken) -> None:
    token.policy_rev += 1
    session.add(token)


def _duplicate() -> Conflict:
    return Conflict("This token has the same rule already.", code=Code.DUPLICATE_RULE)


def _too_many() -> Conflict:
    return Conflict(f"A token has at most {MAX_RULES} rules.", code=Code.RULE_LIMIT)
