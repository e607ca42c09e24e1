"""Snapshot of the policy: operators, resources, unrevoked root tokens, rules, saved documents."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.auth import tokens
from gateway.errors import CommandError
from gateway.operations.documents import collection
from gateway.operations.policy_document import VERSION, RuleKey
from gateway.store import timestamps
from gateway.store.tables import (
    AccessToken,
    CollabRule,
    DeploymentRow,
    Operator,
    OperatorResource,
    Resource,
    SavedDocumentRow,
)
from policy.documents import ANY, DocumentRules, read_documents
from policy.settings import DEFAULTS

MANUAL = "manual"  # the source of rules that operators made
_LOCK = text("SELECT pg_advisory_xact_lock(7301121)")  # an arbitrary number for this lock


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResource:
    """A resource, and the addresses of its operators."""

    row: Resource
    operators: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredToken:
    """
    A token that is neither revoked nor a child token, which its holder made and is not policy.

    *operator* is an address, *resources* are names.
    """

    row: AccessToken
    operator: str
    resources: frozenset[str]
    rules: Mapping[RuleKey, CollabRule]

    @property
    def settings(self) -> dict[str, object]:
        """Every setting, as stored or by default."""
        return {name: self.row.settings.get(name, value) for name, value in DEFAULTS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySnapshot:
    """
    Everything stored, by name.

    Attributes:
        document_limits: The limits to saved documents that unrevoked tokens have; those of child
            tokens as their ancestors narrow them.
        shared: (kind, name) -> the ids of all that have this name, where there are several.
    """

    operators: Mapping[str, Operator]
    resources: Mapping[str, StoredResource]
    tokens: Mapping[str, StoredToken]
    documents: Mapping[str, SavedDocumentRow]
    document_limits: Collection[DocumentRules]
    shared: Mapping[tuple[str, str], Sequence[object]]

    def require_unique(self, kind: str, names: Iterable[str]) -> None:
        """
        Check that each of *names* belongs to one operator, resource or token.

        Raises:
            CommandError: Several share one of the names.
        """
        for name in names:
            if ids := self.shared.get((kind, name)):
                listed = ", ".join(map(str, ids))
                raise CommandError(
                    f"Several {kind}s are named {name!r} ({listed}); a document identifies "
                    "them by name, so give them different names."
                )


async def take_snapshot(session: AsyncSession, *, for_update: bool = False) -> PolicySnapshot:
    """Read everything; *for_update* blocks writers of tokens and documents until the commit."""
    if for_update and (await session.connection()).dialect.name == "postgresql":
        # In the order in which writers of documents take them, so that no deadlock occurs.
        await session.exec(select(DeploymentRow.id).with_for_update())
        await session.exec(_LOCK)  # type: ignore[call-overload]  # plain SQL
    operators = (await session.exec(select(Operator).order_by(Operator.id))).all()
    resources = (await session.exec(select(Resource).order_by(col(Resource.id)))).all()
    unrevoked = (
        select(AccessToken)
        .where(col(AccessToken.revoked_at).is_(None), col(AccessToken.parent_id).is_(None))
        .order_by(col(AccessToken.id))
    )
    token_rows = (
        await session.exec(unrevoked.with_for_update() if for_update else unrevoked)
    ).all()
    addresses = {operator.id: operator.email for operator in operators}
    names = {resource.id: resource.name for resource in resources}
    linked = await tokens.resources_of(session, token_rows)
    links, rules = await _links(session, addresses), await _rules(session)
    return PolicySnapshot(
        operators={operator.email: operator for operator in operators},
        resources={
            row.name: StoredResource(row=row, operators=frozenset(links[row.id]))
            for row in resources
        },
        tokens={
            row.name: StoredToken(
                row=row,
                operator=addresses.get(row.operator_id, ""),
                resources=frozenset(names[number] for number in linked[row.id or 0]),
                rules=rules[row.id],
            )
            for row in token_rows
        },
        documents={row.name: row for row in await collection.rows(session)},
        document_limits=await _document_limits(session),
        shared={
            **_shared("operator", ((row.email, row.id) for row in operators)),
            **_shared("resource", ((row.name, row.id) for row in resources)),
            **_shared("token", ((row.name, row.id) for row in token_rows)),
        },
    )


def to_document(snapshot: PolicySnapshot) -> dict[str, Any]:
    """
    Return the policy document of *snapshot*, sorted by name.

    Rules that the gateway made for what tokens created are not policy and stay out.

    Raises:
        CommandError: A name is shared by several.
    """
    snapshot.require_unique("operator", snapshot.operators)
    snapshot.require_unique("resource", snapshot.resources)
    snapshot.require_unique("token", snapshot.tokens)
    return {
        "version": VERSION,
        "operators": [
            {"email": email, "displayName": operator.display_name}
            for email, operator in sorted(snapshot.operators.items())
        ],
        "resources": [
            {"name": name, "operators": sorted(resource.operators)}
            for name, resource in sorted(snapshot.resources.items())
        ],
        "tokens": [token_entry(token) for _, token in sorted(snapshot.tokens.items())],
        "documents": [
            {"name": name, **document_fields(row)}
            for name, row in sorted(snapshot.documents.items())
        ],
    }


def token_entry(token: StoredToken) -> dict[str, Any]:
    """Return the entry of one token."""
    return {
        "name": token.row.name,
        "operator": token.operator,
        "resources": sorted(token.resources),
        "expiresAt": timestamps.optional_text(token.row.expires_at),
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


def document_fields(row: SavedDocumentRow) -> dict[str, Any]:
    """Return the members of the entry of a saved document, without its name."""
    return {
        "document": row.text,
        "method": row.method,
        "path": row.path,
        "status": row.status,
        "description": row.description,
    }


def _shared(
    kind: str, named: Iterable[tuple[str, object]]
) -> dict[tuple[str, str], Sequence[object]]:
    ids_of = defaultdict(list)
    for name, row_id in named:
        ids_of[kind, name].append(row_id)
    return {key: ids for key, ids in ids_of.items() if len(ids) > 1}


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


async def _document_limits(session: AsyncSession) -> set[DocumentRules]:
    unrevoked = select(AccessToken.id, AccessToken.parent_id, AccessToken.settings).where(
        col(AccessToken.revoked_at).is_(None)
    )
    limits: dict[int | None, DocumentRules | None] = {None: None}
    # A parent is older than its children, so its limit is known before theirs.
    for token_id, parent_id, settings in await session.exec(
        unrevoked.order_by(col(AccessToken.id))
    ):
        if parent_id in limits:
            own, parent = read_documents(settings.get("documents", ANY)), limits[parent_id]
            limits[token_id] = own.intersection(parent) if own and parent else own or parent
    return {limit for limit in limits.values() if limit is not None}
