"""Access tokens: created, listed, changed, rotated and revoked."""

import asyncio
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated, Any

from pydantic import Field
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import note
from gateway.auth import token_status, token_views, tokens
from gateway.auth.token_status import Status
from gateway.operations import resources, rows, views
from gateway.operations.inputs import FutureTime, Input, Name, Patch, RowId, Time
from gateway.operations.validation import invalid
from gateway.store import timestamps
from gateway.store.tables import AccessToken, CollabRule, Operator
from policy import accounts, describe, grants
from policy.presets import PRESETS, Preset
from policy.settings import DEFAULTS
from policy.vocabulary import RuleAction

ResourceIds = Annotated[list[RowId], Field(min_length=1, max_length=1000)]
MAX_GRACE_SECONDS = 86_400
BATCH = 100  # tokens that a transaction of `end_some` ends


class NewToken(Input):
    name: Name
    operator_id: str
    resource_ids: ResourceIds
    expires_at: FutureTime | None = None
    preset: Annotated[Preset, Field(strict=False)] | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


class TokenChange(Patch):
    name: Name = ""
    resource_ids: ResourceIds = Field(default_factory=list)
    expires_at: Time | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


class Rotation(Input):
    grace_seconds: Annotated[int, Field(ge=0, le=MAX_GRACE_SECONDS)] = 0


async def create(session: AsyncSession, new: NewToken) -> views.MintedAccessToken:
    """
    Create a token; its text is in the returned object and is never seen again.

    Raises:
        InvalidInput: A setting cannot be read.
        UnknownReference: The operator or a resource does not exist.
        NotLinked: The operator is not linked to a resource.
    """
    preset = PRESETS[new.preset].settings if new.preset else {}
    # Off the event loop: a thousand international domains take a fifth of a second.
    settings = await asyncio.to_thread(grants.validate, {**preset, **new.settings})
    _require_narrower(settings, new.settings)
    await rows.lock_reference(session, Operator, new.operator_id, field="operatorId")
    await _lock_resources(session, new.operator_id, new.resource_ids)
    token, text = await tokens.create(
        session,
        name=new.name,
        operator_id=new.operator_id,
        resource_ids=new.resource_ids,
        expires_at=new.expires_at,
        settings=settings,
    )
    note(session, "createToken", token.id, token=token)
    return views.MintedAccessToken.of(await _view(session, token), token=text)


async def list_all(
    session: AsyncSession,
    *,
    operator_id: str | None = None,
    status: Status | None = None,
    after: int = 0,
    limit: int | None = None,
) -> list[views.ManagedAccessToken]:
    """Return tokens by id; *after* is the id of the last one before."""
    query = select(AccessToken).where(col(AccessToken.id) > after).order_by(col(AccessToken.id))
    if operator_id is not None:
        query = query.where(col(AccessToken.operator_id) == rows.valid_key(operator_id))
    if status is not None:
        query = query.where(*tokens.status_conditions(status, timestamps.now_ms()))
    return await _views(session, (await session.exec(query.limit(limit))).all())


async def list_newest(
    session: AsyncSession, *, operator_id: str | None = None, before: int | None = None, limit: int
) -> list[views.ManagedAccessToken]:
    """Return tokens, newest first; *before* is the id of the last one of the page before."""
    query = select(AccessToken).order_by(col(AccessToken.id).desc()).limit(limit)
    if operator_id is not None:
        query = query.where(col(AccessToken.operator_id) == rows.valid_key(operator_id))
    if before is not None:
        query = query.where(col(AccessToken.id) < before)
    return await _views(session, (await session.exec(query)).all())


async def list_roots(
    session: AsyncSession, operator_id: str, *, after: int = 0, limit: int
) -> list[views.ManagedAccessToken]:
    """Return the active tokens of an operator that are not child tokens, by id."""
    query = (
        select(AccessToken)
        .where(
            col(AccessToken.operator_id) == rows.valid_key(operator_id),
            col(AccessToken.id) > after,
            col(AccessToken.parent_id).is_(None),
            *tokens.status_conditions(Status.ACTIVE, timestamps.now_ms()),
        )
        .order_by(col(AccessToken.id))
    )
    return await _views(session, (await session.exec(query.limit(limit))).all())


async def list_named(
    session: AsyncSession, text: str, *, limit: int
) -> list[views.ManagedAccessToken]:
    """Return tokens whose name begins with *text*, by name; a number is an id, too."""
    listed = await rows.beginning_with(session, AccessToken, "name", text, limit=limit)
    if text.isdecimal() and text.isascii() and len(text) < 19:
        of_id = await session.get(AccessToken, int(text))
        listed = [*([of_id] if of_id is not None and of_id not in listed else []), *listed]
    return await _views(session, listed)


async def read(session: AsyncSession, token_id: int) -> views.ManagedAccessToken:
    """Return one token."""
    return await _view(session, await rows.get(session, AccessToken, token_id))


async def with_ancestors(session: AsyncSession, token_id: int) -> Sequence[AccessToken]:
    """Return a token, its parent, and so on."""
    token = await rows.get(session, AccessToken, token_id)
    return token, *(await tokens.ancestors_of(session, [token]))[token_id]


async def change(
    session: AsyncSession, token_id: int, changed: TokenChange
) -> views.ManagedAccessToken:
    """
    Change a token; settings are merged key by key, and null resets one to its default.

    Raises:
        InvalidInput: A setting cannot be read.
        UnknownReference: A resource does not exist.
        NotLinked: The token's operator is not linked to a resource.
    """
    operator_id = (await rows.get(session, AccessToken, token_id)).operator_id
    await _lock_resources(session, operator_id, changed.resource_ids)
    token = await rows.get(session, AccessToken, token_id, for_update=True)
    if "name" in changed.model_fields_set:
        token.name = changed.name
    if "expires_at" in changed.model_fields_set:
        token.expires_at = changed.expires_at
    token.settings = await asyncio.to_thread(grants.merge, token.settings, changed.settings)
    _require_narrower(token.settings, changed.settings)
    if "resource_ids" in changed.model_fields_set:
        await tokens.replace_resources(session, token, changed.resource_ids)
    token.policy_rev += 1
    session.add(token)
    await session.flush()
    await tokens.shorten_children(session, token)
    note(session, "changeToken", token_id, token=token)
    return await _view(session, token)


def _require_narrower(settings: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Check the accounts that a request names; a token that is narrowed later narrows them too."""
    if given.get("accounts"):
        accounts.require_narrower(settings)


async def rotate(
    session: AsyncSession, token_id: int, rotation: Rotation
) -> views.MintedAccessToken:
    """
    Give a token a new secret; the old one ends at once or after the grace period.

    Raises:
        InvalidInput: The token is revoked.
    """
    token = await rows.get(session, AccessToken, token_id, for_update=True)
    try:
        text = await tokens.rotate(session, token, grace_seconds=rotation.grace_seconds)
    except tokens.Revoked:
        raise invalid("tokenId", "belongs to a revoked token, which gets no new text") from None
    note(session, "rotateToken", token_id, token=token)
    return views.MintedAccessToken.of(await _view(session, token), token=text)


async def revoke(session: AsyncSession, token_id: int) -> views.ManagedAccessToken:
    """Revoke a token and its descendants; no request that starts later passes with one of them."""
    token = await rows.get(session, AccessToken, token_id, for_update=True)
    await tokens.revoke(session, col(AccessToken.id) == token_id)
    await session.refresh(token)
    note(session, "revokeToken", token_id, token=token)
    return await _view(session, token)


async def end_some(
    session: AsyncSession, operator_id: str, end: TokenChange | None, *, after: int
) -> int | None:
    """
    End some active tokens of an operator behind the id *after*, each as if it were ended alone.

    *end* moves their ends, but none to a later time; None revokes them. Returns the id of the
    last one; None: there are none.
    """
    listed = await list_roots(session, operator_id, after=after, limit=BATCH)
    for token in listed:
        if end is None:
            await revoke(session, token.id)
        elif token.expires_at is None or token.expires_at > (end.expires_at or 0):
            await change(session, token.id, end)
    return listed[-1].id if listed else None


async def _lock_resources(
    session: AsyncSession, operator_id: str, resource_ids: Sequence[int]
) -> None:
    named = {f"resourceIds[{position}]": id_ for position, id_ in enumerate(resource_ids)}
    await resources.lock_linked(session, operator_id, named)


async def _view(session: AsyncSession, token: AccessToken) -> views.ManagedAccessToken:
    (view,) = await _views(session, [token])
    return view


async def _views(
    session: AsyncSession, listed: Sequence[AccessToken]
) -> list[views.ManagedAccessToken]:
    resource_ids = await tokens.resources_of(session, listed)
    ancestors = await tokens.ancestors_of(session, listed)
    blocking = await _with_block_rules(
        session,
        {token.id for token in listed} | {each.id for row in ancestors.values() for each in row},
    )

    def shown() -> list[views.ManagedAccessToken]:
        return [
            _shown(token, ancestors[token.id or 0], resource_ids[token.id or 0], blocking)
            for token in listed
        ]

    return await asyncio.to_thread(shown)  # off the event loop, as above


def _shown(
    token: AccessToken,
    ancestors: Sequence[AccessToken],
    resource_ids: list[int],
    blocking: AbstractSet[int | None],
) -> views.ManagedAccessToken:
    """Return the API's object; *blocking* are the ids of the tokens that have a block rule."""
    settings = token_views.effective_settings(token, ancestors)
    operations = grants.effective_operations(settings)
    has_block_rules = any(each.id in blocking for each in (token, *ancestors))
    return views.ManagedAccessToken.of(
        token,
        resource_ids=resource_ids,
        status=token_status.status(token, timestamps.now_ms()),
        settings={**DEFAULTS, **settings},
        effective_email_operations=operations["effectiveEmailOperations"],
        effective_task_operations=operations["effectiveTaskOperations"],
        effective_collab_operations=operations["effectiveCollabOperations"],
        warnings=describe.warnings(grants.Grant.read(settings), has_block_rules=has_block_rules),
    )


async def _with_block_rules(
    session: AsyncSession, token_ids: AbstractSet[int | None]
) -> frozenset[int | None]:
    """Return the ids of the tokens that have a block rule."""
    query = select(CollabRule.token_id).where(
        col(CollabRule.token_id).in_(token_ids), col(CollabRule.action) == RuleAction.BLOCK.value
    )
    return frozenset((await session.exec(query.distinct())).all())
