"""Exports, compares and applies policy documents: everything in one transaction, or nothing."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import col
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import note
from gateway.auth import token_format, tokens
from gateway.operations import resources, rules
from gateway.operations.documents import batch
from gateway.operations.policy_changes import (
    REVOKE,
    Change,
    changes,
    edited_documents,
    plain,
    removed_documents,
)
from gateway.operations.policy_document import Policy, RuleKey, TokenEntry
from gateway.operations.policy_snapshot import (
    MANUAL,
    PolicySnapshot,
    StoredToken,
    take_snapshot,
    to_document,
)
from gateway.store import timestamps
from gateway.store.tables import AccessToken, Operator, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The changes made; *texts* is name -> text of each new token, which is never seen again."""

    changes: Sequence[Change]
    texts: Mapping[str, str]

    @property
    def as_json(self) -> dict[str, Any]:
        return {"changes": [change.as_json for change in self.changes], "tokens": dict(self.texts)}


async def export(session: AsyncSession) -> dict[str, Any]:
    """Return the document of the stored policy."""
    return to_document(await take_snapshot(session))


async def diff(session: AsyncSession, policy: Policy, *, prune: bool) -> list[Change]:
    """Return what `apply` would change; *prune* ends tokens and documents that *policy* omits."""
    return changes(await take_snapshot(session), policy, prune=prune)


async def apply(session: AsyncSession, policy: Policy, *, prune: bool) -> Applied:
    """Make the store match *policy*; applying it again changes nothing."""
    snapshot = await take_snapshot(session, for_update=True)
    planned = changes(snapshot, policy, prune=prune)
    touched = {
        ("token" if change.kind == "rule" else change.kind, change.name) for change in planned
    }
    operator_ids = await _write_operators(session, snapshot, policy, touched)
    resource_ids = await _write_resources(session, snapshot, policy, touched, operator_ids)
    texts = {}
    for entry in policy.tokens:
        stored = snapshot.tokens.get(entry.name)
        if stored is None:
            texts[entry.name] = await create_token(session, entry, operator_ids, resource_ids)
        elif ("token", entry.name) in touched:
            await _change_token(session, stored, entry, resource_ids)
    edited, removed = edited_documents(policy, planned), removed_documents(planned)
    if edited or removed:
        await batch.write(session, snapshot.documents, edited.values(), removed)
    revoked = [snapshot.tokens[change.name].row.id for change in planned if change.verb == REVOKE]
    if revoked:
        await tokens.revoke(session, col(AccessToken.id).in_(revoked))
        for row in (
            snapshot.tokens[change.name].row for change in planned if change.verb == REVOKE
        ):
            note(session, "revokeToken", row.id, token=row)
    return Applied(changes=planned, texts=texts)


async def _write_operators(
    session: AsyncSession, snapshot: PolicySnapshot, policy: Policy, touched: set[tuple[str, str]]
) -> dict[str, str]:
    """Create and change operators; return address -> id of all."""
    ids = {email: row.id for email, row in snapshot.operators.items()}
    for entry in policy.operators:
        if ("operator", entry.email) not in touched:
            continue
        row = snapshot.operators.get(entry.email) or Operator(
            id=str(uuid.uuid4()),
            email=entry.email,
            display_name=entry.display_name,
            created_at=timestamps.now_ms(),
        )
        row.display_name = entry.display_name
        session.add(row)
        is_new = entry.email not in ids
        note(session, "createOperator" if is_new else "changeOperator", row.id)
        ids[entry.email] = row.id
    await session.flush()
    return ids


async def _write_resources(
    session: AsyncSession,
    snapshot: PolicySnapshot,
    policy: Policy,
    touched: set[tuple[str, str]],
    operator_ids: Mapping[str, str],
) -> dict[str, int]:
    """Create and link resources; return name -> id of all."""
    ids = {name: resource.row.id or 0 for name, resource in snapshot.resources.items()}
    for entry in policy.resources:
        if ("resource", entry.name) not in touched:
            continue
        if entry.name in ids:
            row = snapshot.resources[entry.name].row
            note(session, "changeResource", row.id)
        else:
            row = Resource(name=entry.name, created_at=timestamps.now_ms())
            session.add(row)
            await session.flush()
            ids[entry.name] = row.id or 0
            note(session, "createResource", row.id)
        await resources.link(session, row, [operator_ids[email] for email in entry.operators])
    return ids


async def create_token(
    session: AsyncSession,
    entry: TokenEntry,
    operator_ids: Mapping[str, str],
    resource_ids: Mapping[str, int],
    *,
    secret: token_format.GeneratedToken | None = None,
) -> str:
    """Create the token that *entry* describes, with its rules; the ids are by name."""
    token, text = await tokens.create(
        session,
        name=entry.name,
        operator_id=operator_ids[entry.operator],
        resource_ids=[resource_ids[name] for name in entry.resources],
        expires_at=entry.expires_at,
        # An imported token is an older one: its file names the settings that it had.
        settings=plain(entry.full_settings({}) if secret else entry.full_settings()),
        secret=secret,
    )
    note(session, "createToken", token.id, token=token)
    for key, description in entry.keyed_rules.items():
        session.add(rules.new_row(token.id or 0, key, description))
    return text


async def _change_token(
    session: AsyncSession, stored: StoredToken, entry: TokenEntry, resource_ids: Mapping[str, int]
) -> None:
    token, members = stored.row, entry.model_fields_set
    if "expires_at" in members:
        token.expires_at = entry.expires_at
    if "settings" in members:
        token.settings = plain(entry.full_settings(stored.settings))
    if "resources" in members:
        await tokens.replace_resources(
            session, token, [resource_ids[name] for name in entry.resources]
        )
    if "rules" in members:
        await _change_rules(session, stored, entry.keyed_rules)
    token.policy_rev += 1
    session.add(token)
    await session.flush()
    await tokens.shorten_children(session, token)
    note(session, "changeToken", token.id, token=token)


async def _change_rules(
    session: AsyncSession, stored: StoredToken, described: Mapping[RuleKey, str | None]
) -> None:
    for key, rule in stored.rules.items():
        if key not in described:
            if rule.source == MANUAL:
                await session.delete(rule)
        elif (rule.description, rule.source) != (described[key], MANUAL):
            rule.description, rule.source = described[key], MANUAL
            rule.updated_at = timestamps.now_ms()
            session.add(rule)
    for key, description in described.items():
        if key not in stored.rules:
            session.add(rules.new_row(stored.row.id or 0, key, description))
