"""The policy that a store holds, read whole: operators, resources, living tokens and rules."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.auth import tokens
from gateway.errors import CommandError
from gateway.operations.policy_document import VERSION, RuleKey
from gateway.store import timestamps
from gateway.store.tables import AccessToken, CollabRule, Operator, OperatorResource, Resource
from policy.settings import DEFAULTS

MANUAL = "manual"  # source of rules that people made
_ONE_AT_A_TIME = text("SELECT pg_advisory_xact_lock(7301121)")  # any number of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptResource:
    """A resource, and the addresses of its operators."""

    row: Resource
    operators: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptToken:
    """A token that is not revoked; *operator* is an address, *resources* are names."""

    row: AccessToken
    operator: str
    resources: frozenset[str]
    rules: Mapping[RuleKey, CollabRule]

    @property
    def settings(self) -> dict[str, object]:
        """Every setting, as stored or by default."""
        return {name: self.row.settings.get(name, value) for name, value in DEFAULTS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """
    What there is, by name.

    Attributes:
        shared: (kind, name) -> the ids of those that have this name, where they are several.
    """

    operators: Mapping[str, Operator]
    resources: Mapping[str, KeptResource]
    tokens: Mapping[str, KeptToken]
    shared: Mapping[tuple[str, str], Sequence[object]]

    def telling_apart(self, kind: str, names: Iterable[str]) -> None:
        """
        Check that *names* say which ones are meant.

        Raises:
            CommandError: Several have one of these names.
        """
        for name in names:
            if ids := self.shared.get((kind, name)):
                listed = ", ".join(map(str, ids))
                raise CommandError(
                    f"Several {kind}s are named {name!r} ({listed}); a document knows them by "
                    "their names, so give them different ones."
                )


async def stock(session: AsyncSession, *, to_change: bool = False) -> Stock:
    """Read everything; *to_change* keeps other writers of tokens waiting until the end."""
    if to_change and (await session.connection()).dialect.name == "postgresql":
        await session.exec(_ONE_AT_A_TIME)  # type: ignore[call-overload]  # plain SQL
    people = (await session.exec(select(Operator).order_by(Operator.id))).all()
    resources = (await session.exec(select(Resource).order_by(col(Resource.id)))).all()
    living = (
        select(AccessToken)
        .where(col(AccessToken.revoked_at).is_(None))
        .order_by(col(AccessToken.id))
    )
    rows = (await session.exec(living.with_for_update() if to_change else living)).all()
    addresses = {one.id: one.email for one in people}
    names = {one.id: one.name for one in resources}
    linked = await tokens.resources_of(session, rows)
    links, rules = await _links(session, addresses), await _rules(session)
    return Stock(
        operators={one.email: one for one in people},
        resources={
            one.name: KeptResource(row=one, operators=frozenset(links[one.id])) for one in resources
        },
        tokens={
            one.name: KeptToken(
                row=one,
                operator=addresses.get(one.operator_id, ""),
                resources=frozenset(names[number] for number in linked[one.id or 0]),
                rules=rules[one.id],
            )
            for one in rows
        },
        shared={
            **_shared("operator", ((one.email, one.id) for one in people)),
            **_shared("resource", ((one.name, one.id) for one in resources)),
            **_shared("token", ((one.name, one.id) for one in rows)),
        },
    )


def exported(kept: Stock) -> dict[str, Any]:
    """
    Write the document of *kept*, in the order of the names.

    Rules that the gateway made for what tokens make are no policy and stay out.

    Raises:
        CommandError: Names do not tell things apart.
    """
    kept.telling_apart("operator", kept.operators)
    kept.telling_apart("resource", kept.resources)
    kept.telling_apart("token", kept.tokens)
    return {
        "version": VERSION,
        "operators": [
            {"email": email, "displayName": one.display_name}
            for email, one in sorted(kept.operators.items())
        ],
        "resources": [
            {"name": name, "operators": sorted(one.operators)}
            for name, one in sorted(kept.resources.items())
        ],
        "tokens": [token_entry(one) for _, one in sorted(kept.tokens.items())],
    }


def token_entry(token: KeptToken) -> dict[str, Any]:
    """Write one token."""
    ends = token.row.expires_at
    return {
        "name": token.row.name,
        "operator": token.operator,
        "resources": sorted(token.resources),
        "expiresAt": None if ends is None else timestamps.to_text(ends),
        "settings": token.settings,
        "rules": [
            {
                "ruleType": rule.rule_type,
                "pattern": rule.pattern,
                "action": rule.action,
                "description": rule.description,
            }
            for _, rule in sorted(token.rules.items())
            if rule.source == MANUAL
        ],
    }


def _shared(
    kind: str, named: Iterable[tuple[str, object]]
) -> dict[tuple[str, str], Sequence[object]]:
    found = defaultdict(list)
    for name, number in named:
        found[kind, name].append(number)
    return {place: ids for place, ids in found.items() if len(ids) > 1}


async def _links(
    session: AsyncSession, addresses: Mapping[str, str]
) -> Mapping[int | None, list[str]]:
    links: dict[int | None, list[str]] = defaultdict(list)
    for link in await session.exec(select(OperatorResource)):
        links[link.resource_id].append(addresses[link.operator_id])
    return links


async def _rules(session: AsyncSession) -> Mapping[int | None, dict[RuleKey, CollabRule]]:
    rules: dict[int | None, dict[RuleKey, CollabRule]] = defaultdict(dict)
    for rule in await session.exec(select(CollabRule)):
        rules[rule.token_id][rule.rule_type, rule.pattern, rule.action] = rule
    return rules
