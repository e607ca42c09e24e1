"""Collab rules of a token: added, listed, changed, replaced, removed and evaluated."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import WithJsonSchema
from sqlalchemy import delete, func, insert
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import note
from gateway.operations import rows, views
from gateway.operations.inputs import Input, Patch, ShortText
from gateway.store import timestamps
from gateway.store.tables import AccessToken, CollabRule
from policy import patterns
from policy.refusals import Conflict, Detail, InvalidInput
from policy.rule_facts import Facts, Rule
from policy.rules import Decision, RuleSet
from policy.vocabulary import Code, RuleAction, RuleType
from providers import collab_ids

MAX_RULES = 100_000  # per token; docs/spec/collab.md
_READ = 5_000  # rules of one query of an evaluation
_BATCH = 250  # rules that are read or stored before other requests go on

RuleKey = tuple[str, str, str]  # type, normalized pattern, action

# Parsed below instead of by pydantic, because their errors have codes of their own.
TypeWord = Annotated[Any, WithJsonSchema({"type": "string", "enum": [*RuleType]})]
Pattern = Annotated[Any, WithJsonSchema({"type": "string"})]
ActionWord = Annotated[Any, WithJsonSchema({"type": "string", "enum": [*RuleAction]})]
# The member of a rule that an error of a code is about.
_MEMBERS: Mapping[Code, str] = MappingProxyType(
    {
        Code.INVALID_RULE_TYPE: "ruleType",
        Code.INVALID_PATTERN: "pattern",
        Code.INVALID_ACTION: "action",
    }
)


class NewRule(Input):
    rule_type: TypeWord
    pattern: Pattern
    action: ActionWord
    description: ShortText | None = None


class RuleChange(Patch):
    pattern: Pattern = None
    action: ActionWord = None
    description: ShortText | None = None


async def add(session: AsyncSession, token_id: int, new: NewRule) -> views.CollabRule:
    """
    Add a rule to a token.

    Raises:
        InvalidInput: Type, pattern or action are invalid.
        Conflict: The token has the rule already, or too many rules.
    """
    token = await rows.get(session, AccessToken, token_id, for_update=True)
    rule = new_row(token_id, _key(new), new.description)
    count = await session.exec(select(func.count()).where(col(CollabRule.token_id) == token_id))
    if count.one() >= MAX_RULES:
        raise _too_many()
    await _require_unique(session, rule)
    session.add(rule)
    await _policy_changed(session, token)
    note(session, "createRule", rule.id, token=token)
    return views.CollabRule.of(rule)


async def replace(
    session: AsyncSession, token_id: int, new_rules: Sequence[NewRule]
) -> AsyncIterator[list[views.CollabRule]]:
    """
    Replace every rule of a token, or none; yield the new ones in batches, in the given order.

    Other requests go on between two batches. The set is complete when the iterator has ended.

    Raises:
        InvalidInput: Type, pattern or action of a rule are invalid; the message names its position.
        Conflict: Two rules are the same, or there are too many.
    """
    token = await rows.get(session, AccessToken, token_id, for_update=True)
    if len(new_rules) > MAX_RULES:
        raise _too_many()
    keys = await distinct_keys(new_rules)
    await session.exec(delete(CollabRule).where(col(CollabRule.token_id) == token.id))
    # Without objects of the ORM: making and tracking 20,000 of them takes seconds.
    add_rows = insert(CollabRule).returning(col(CollabRule.id), sort_by_parameter_order=True)
    connection = await session.connection()
    items = tuple(keys.items())
    for start in range(0, len(items), _BATCH):
        batch = [_values(*item) for item in items[start : start + _BATCH]]
        added = [{"token_id": token_id, **values} for values in batch]
        ids = (await connection.execute(add_rows, added)).scalars()
        yield [views.CollabRule(id=row or 0, **new) for row, new in zip(ids, batch, strict=True)]
        await asyncio.sleep(0)
    await _policy_changed(session, token)
    note(session, "replaceRules", token_id, token=token)


async def list_all(  # noqa: PLR0913 - filters and a page
    session: AsyncSession,
    token_id: int,
    *,
    rule_type: RuleType | None = None,
    action: RuleAction | None = None,
    after: int = 0,
    limit: int | None = None,
) -> list[views.CollabRule]:
    """Return a token's rules by id; *after* is the id of the last one before."""
    await rows.get(session, AccessToken, token_id)
    query = select(CollabRule).where(
        col(CollabRule.token_id) == token_id, col(CollabRule.id) > after
    )
    if rule_type is not None:
        query = query.where(col(CollabRule.rule_type) == rule_type.value)
    if action is not None:
        query = query.where(col(CollabRule.action) == action.value)
    return [
        views.CollabRule.of(rule)
        for rule in await session.exec(query.order_by(col(CollabRule.id)).limit(limit))
    ]


async def read(session: AsyncSession, token_id: int, rule_id: int) -> views.CollabRule:
    """Return one rule of a token."""
    token = await rows.get(session, AccessToken, token_id)
    return views.CollabRule.of(await _get(session, token, rule_id))


async def change(
    session: AsyncSession, token_id: int, rule_id: int, changed: RuleChange
) -> views.CollabRule:
    """
    Change a rule's pattern, action or description; its type stays.

    Raises:
        InvalidInput: Pattern or action are invalid.
        Conflict: The token has the same rule already.
    """
    token = await rows.get(session, AccessToken, token_id, for_update=True)
    rule = await _get(session, token, rule_id)
    members = changed.model_fields_set
    action = _action(changed.action) if "action" in members else RuleAction(rule.action)
    pattern = changed.pattern if "pattern" in members else rule.pattern
    raw = patterns.normalize(RuleType(rule.rule_type), pattern, action)
    if (raw, action) != (rule.pattern, rule.action):
        rule.pattern, rule.action = raw, action
        with session.no_autoflush:
            await _require_unique(session, rule)
    if "description" in members:
        rule.description = changed.description
    rule.updated_at = timestamps.now_ms()
    session.add(rule)
    await _policy_changed(session, token)
    note(session, "changeRule", rule_id, token=token)
    return views.CollabRule.of(rule)


async def remove(session: AsyncSession, token_id: int, rule_id: int) -> views.CollabRule:
    """Remove a rule; return it as it was."""
    token = await rows.get(session, AccessToken, token_id, for_update=True)
    rule = await _get(session, token, rule_id)
    removed = views.CollabRule.of(rule)
    await session.delete(rule)
    await _policy_changed(session, token)
    note(session, "removeRule", rule_id, token=token)
    return removed


def new_row(token_id: int, key: RuleKey, description: str | None = None) -> CollabRule:
    """Return the row of a new rule."""
    return CollabRule(token_id=token_id, **_values(key, description))


# -- evaluation ----------------------------------------------------------------------------------


async def evaluate(session: AsyncSession, token_id: int, facts: Facts) -> Decision:
    """Decide by a token's rules on content of which *facts* are known."""
    token = await rows.get(session, AccessToken, token_id)
    allow_by_default = token.settings.get("collabAllowAllDefault") is True
    rules: list[Rule] = []
    while batch := await _some_rules(session, token_id, after=rules[-1].id if rules else 0):
        rules += batch
    # Off the event loop: there may be a hundred thousand rules.
    compiled = await asyncio.to_thread(RuleSet.compile, rules, allow_by_default=allow_by_default)
    return compiled.decide(facts)


async def _some_rules(session: AsyncSession, token_id: int, *, after: int) -> list[Rule]:
    """Return the next rules of a token behind the id *after*, by id."""
    rule_id = col(CollabRule.id)
    columns = (rule_id, CollabRule.rule_type, CollabRule.pattern, CollabRule.action)
    of_token = select(*columns).where(col(CollabRule.token_id) == token_id, rule_id > after)
    return [
        Rule(number or 0, RuleType(kind), pattern, RuleAction(action))
        for number, kind, pattern, action in await session.exec(
            of_token.order_by(rule_id).limit(_READ)
        )
    ]


def facts_of(  # noqa: PLR0913 - each is an option of the command
    content_id: str | None,
    *,
    folders: Iterable[str],
    site: str | None,
    mime_type: str | None,
    labels: Iterable[str],
    content_type: str | None,
) -> Facts:
    """
    Return the facts about content that ids of the API describe.

    Args:
        content_id: A `collab:` id of an item, drive, list, list item or site; None: unknown.
        folders: The ids of the folders that contain it.
        site: The id of its site.
        mime_type: Its MIME type, in any case.
        labels: The ids of its sensitivity labels, in any case.
        content_type: The id of its content type.

    Raises:
        InvalidInput: `INVALID_ID`: an id has not the form of one.
    """
    facts: dict[str, Any] = {} if content_id is None else _facts_of_id(content_id)
    ancestors = [collab_ids.split_item(folder) for folder in folders]
    site_id = collab_ids.split_site(site) if site is not None else None
    if None in ancestors or (site is not None and site_id is None):
        raise InvalidInput(
            "A folder or site is identified by its collab: id.", code=Code.INVALID_ID
        )
    if site_id is not None:
        facts["site_id"] = site_id
    return Facts(
        **facts,
        ancestors=frozenset((item.drive, item.item) for item in ancestors if item is not None),
        mime_type=mime_type and mime_type.lower(),
        label_ids=frozenset(label.lower() for label in labels),
        content_type_id=content_type,
    )


def _facts_of_id(text: str) -> dict[str, Any]:
    if item := collab_ids.split_item(text):
        return {"item": (item.drive, item.item), "drive_id": item.drive}
    if drive := collab_ids.split_drive(text):
        return {"drive_id": drive}
    if row := collab_ids.split_list_item(text):
        return {"site_id": row.site, "list_id": row.list, "list_item_id": row.item}
    if list_ := collab_ids.split_list(text):
        return {"site_id": list_.site, "list_id": list_.list}
    if site := collab_ids.split_site(text):
        return {"site_id": site}
    raise InvalidInput("This is not an id of the API (collab:…).", code=Code.INVALID_ID)


# -- helpers -------------------------------------------------------------------------------------


async def distinct_keys(new_rules: Sequence[NewRule]) -> dict[RuleKey, str | None]:
    """Return the descriptions of rules by their keys, in the given order."""
    keys: dict[RuleKey, str | None] = {}
    for position, new in enumerate(new_rules):
        if position % _BATCH == 0:
            await asyncio.sleep(0)
        try:
            key = _key(new)
        except InvalidInput as refusal:
            field = f"rules[{position}].{_MEMBERS[refusal.code]}"
            raise InvalidInput(
                f"{field}: {refusal.message}",
                code=refusal.code,
                details=[Detail(field, refusal.message)],
            ) from None
        if key in keys:
            raise Conflict(f"rules[{position}] repeats an earlier rule.", code=Code.DUPLICATE_RULE)
        keys[key] = new.description
    return keys


def _key(new: NewRule) -> RuleKey:
    rule_type, action = _rule_type(new.rule_type), _action(new.action)
    pattern = patterns.normalize(rule_type, new.pattern, action)
    return rule_type.value, pattern, action.value


def _values(key: RuleKey, description: str | None) -> dict[str, Any]:
    """Return the columns of a new rule but its token."""
    rule_type, pattern, action = key
    now = timestamps.now_ms()
    return {
        "rule_type": rule_type,
        "pattern": pattern,
        "action": action,
        "description": description,
        "source": "manual",
        "created_at": now,
        "updated_at": now,
    }


def _rule_type(word: object) -> RuleType:
    if word not in [member.value for member in RuleType]:
        known_types = ", ".join(RuleType)
        raise InvalidInput(f"ruleType must be one of: {known_types}.", code=Code.INVALID_RULE_TYPE)
    return RuleType(word)


def _action(word: object) -> RuleAction:
    if word not in [member.value for member in RuleAction]:
        raise InvalidInput("action must be allow or block.", code=Code.INVALID_ACTION)
    return RuleAction(word)


async def _get(session: AsyncSession, token: AccessToken, rule_id: int) -> CollabRule:
    rule = await rows.get(session, CollabRule, rule_id)
    if rule.token_id != token.id:
        raise rows.NoSuchRow(CollabRule, rule_id)
    return rule


async def _require_unique(session: AsyncSession, rule: CollabRule) -> None:
    same = await session.exec(
        select(CollabRule.id).where(
            col(CollabRule.token_id) == rule.token_id,
            col(CollabRule.rule_type) == rule.rule_type,
            col(CollabRule.pattern) == rule.pattern,
            col(CollabRule.action) == rule.action,
        )
    )
    if any(rule_id != rule.id for rule_id in same):
        raise Conflict("This token already has this rule.", code=Code.DUPLICATE_RULE)


async def _policy_changed(session: AsyncSession, token: AccessToken) -> None:
    token.policy_rev += 1
    session.add(token)
    await session.flush()


def _too_many() -> Conflict:
    return Conflict(f"A token has at most {MAX_RULES} rules.", code=Code.RULE_LIMIT)
