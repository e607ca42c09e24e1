"""What the `policy` commands do on the store: all of a document in one transaction, or nothing."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete
from sqlmodel import col
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.auth import tokens
from gateway.cli.stores import opened
from gateway.operations.policy_changes import REVOKE, Change, changes, plain
from gateway.operations.policy_document import Policy, RuleKey, TokenEntry, parsed
from gateway.operations.policy_snapshot import MANUAL, KeptToken, Stock, exported, stock
from gateway.store import timestamps
from gateway.store.tables import AccessToken, CollabRule, Operator, OperatorResource, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What was done; *texts* is name -> the text of each new token, never seen again."""

    changes: Sequence[Change]
    texts: Mapping[str, str]

    @property
    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {"changes": [one.as_json for one in self.changes], "tokens": dict(self.texts)}


async def export() -> dict[str, Any]:
    """Return the document of what there is."""
    async with opened() as (database, _, _settings), database.reading() as session:
        return exported(await stock(session))


async def diff(text: str, *, prune: bool) -> list[Change]:
    """Return what `apply` would change."""
    wanted = parsed(text)
    async with opened() as (database, _, _settings), database.reading() as session:
        return changes(await stock(session), wanted, prune=prune)


async def apply(text: str, *, prune: bool) -> Applied:
    """Make the store what the document says; a second time changes nothing."""
    wanted = parsed(text)
    async with opened() as (database, _, _settings), database.writing() as session:
        kept = await stock(session, to_change=True)
        found = changes(kept, wanted, prune=prune)
        texts = await write(session, kept, wanted, found)
        return Applied(changes=found, texts=texts)


async def write(
    session: AsyncSession, kept: Stock, wanted: Policy, found: Sequence[Change]
) -> dict[str, str]:
    """Carry out what was *found*; return the texts of new tokens by name."""
    touched = {(("token" if one.kind == "rule" else one.kind), one.name) for one in found}
    people = await _operators(session, kept, wanted, touched)
    places = await _resources(session, kept, wanted, touched, people)
    texts = {}
    for entry in wanted.tokens:
        there = kept.tokens.get(entry.name)
        if there is None:
            texts[entry.name] = await _create(session, entry, people, places)
        elif ("token", entry.name) in touched:
            await _change(session, there, entry, places)
    gone = [kept.tokens[one.name].row.id for one in found if one.verb == REVOKE]
    if gone:
        await tokens.revoke(session, col(AccessToken.id).in_(gone))
    return texts


async def _operators(
    session: AsyncSession, kept: Stock, wanted: Policy, touched: set[tuple[str, str]]
) -> dict[str, str]:
    """Make and change operators; return address -> id of all."""
    ids = {email: row.id for email, row in kept.operators.items()}
    for entry in wanted.operators:
        if ("operator", entry.email) not in touched:
            continue
        row = kept.operators.get(entry.email) or Operator(
            id=str(uuid.uuid4()),
            email=entry.email,
            display_name=entry.display_name,
            created_at=timestamps.now_ms(),
        )
        row.display_name = entry.display_name
        session.add(row)
        ids[entry.email] = row.id
    await session.flush()
    return ids


async def _resources(
    session: AsyncSession,
    kept: Stock,
    wanted: Policy,
    touched: set[tuple[str, str]],
    people: Mapping[str, str],
) -> dict[str, int]:
    """Make and link resources; return name -> id of all."""
    ids = {name: one.row.id or 0 for name, one in kept.resources.items()}
    for entry in wanted.resources:
        if ("resource", entry.name) not in touched:
            continue
        if entry.name not in ids:
            row = Resource(name=entry.name, created_at=timestamps.now_ms())
            session.add(row)
            await session.flush()
            ids[entry.name] = row.id or 0
        number = ids[entry.name]
        await session.exec(
            delete(OperatorResource).where(col(OperatorResource.resource_id) == number)
        )
        for email in dict.fromkeys(entry.operators):
            session.add(OperatorResource(operator_id=people[email], resource_id=number))
    await session.flush()
    return ids


async def _create(
    session: AsyncSession, entry: TokenEntry, people: Mapping[str, str], places: Mapping[str, int]
) -> str:
    token, text = await tokens.create(session, new_token(entry, people, places))
    add_rules(session, token, entry.keyed_rules)
    return text


def new_token(
    entry: TokenEntry, people: Mapping[str, str], places: Mapping[str, int]
) -> tokens.NewToken:
    """Return what a new token is made of; *people* and *places* are name -> id."""
    return tokens.NewToken(
        name=entry.name,
        operator_id=people[entry.operator],
        resource_ids=[places[name] for name in entry.resources],
        expires_at=entry.expires_at,
        settings=plain(entry.full_settings),
    )


def add_rules(
    session: AsyncSession, token: AccessToken, described: Mapping[RuleKey, str | None]
) -> None:
    """Add rules that *token* does not have."""
    now = timestamps.now_ms()
    for (rule_type, pattern, action), description in described.items():
        session.add(
            CollabRule(
                token_id=token.id or 0,
                rule_type=rule_type,
                pattern=pattern,
                action=action,
                description=description,
                source=MANUAL,
                created_at=now,
                updated_at=now,
            )
        )


async def _change(
    session: AsyncSession, there: KeptToken, entry: TokenEntry, places: Mapping[str, int]
) -> None:
    token, given = there.row, entry.model_fields_set
    if "expires_at" in given:
        token.expires_at = entry.expires_at
    if "settings" in given:
        token.settings = plain(entry.full_settings)
    if "resources" in given:
        await tokens.replace_resources(session, token, [places[name] for name in entry.resources])
    if "rules" in given:
        await _rules(session, there, entry.keyed_rules)
    token.policy_rev += 1
    session.add(token)
    await session.flush()


async def _rules(
    session: AsyncSession, there: KeptToken, wanted: Mapping[RuleKey, str | None]
) -> None:
    for key, rule in there.rules.items():
        if key not in wanted:
            if rule.source == MANUAL:
                await session.delete(rule)
        elif (rule.description, rule.source) != (wanted[key], MANUAL):
            rule.description, rule.source = wanted[key], MANUAL
            rule.updated_at = timestamps.now_ms()
            session.add(rule)
    new = {key: words for key, words in wanted.items() if key not in there.rules}
    add_rules(session, there.row, new)
