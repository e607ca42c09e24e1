"""What the `token` commands do on the store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.auth import tokens
from gateway.cli.stores import opened, require_operator, require_resource
from gateway.store import timestamps
from gateway.store.tables import AccessToken
from policy import grants
from policy.refusals import InvalidInput, NotFound
from policy.vocabulary import Code, Surface

NEVER = "never"  # as an end: none


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What `token change` was told; None stays as it is."""

    name: str | None
    resource_ids: Sequence[int] | None
    expires: str | None
    settings: Mapping[str, Any]


async def create(
    *,
    name: str,
    operator_id: str,
    resource_ids: Sequence[int],
    expires: str | None,
    settings: Mapping[str, Any],
) -> Mapping[str, Any]:
    """Make a token; return it with its text."""
    full = grants.validate(settings)
    _check(name)
    ends = _moment(expires)
    async with opened() as (database, _, _settings), database.writing() as session:
        await require_operator(session, operator_id)
        for resource_id in resource_ids:
            await require_resource(session, resource_id)
        token, text = await tokens.create(
            session,
            tokens.NewToken(
                name=name,
                operator_id=operator_id,
                resource_ids=resource_ids,
                expires_at=ends,
                settings=full,
            ),
        )
        return {**tokens.view(token, resource_ids), "token": text}


async def listed(status: str | None) -> list[Mapping[str, Any]]:
    """Return tokens by id, of one status or all."""
    rows = select(AccessToken).order_by(col(AccessToken.id))
    if status is not None:
        if status not in list(tokens.Status):
            raise InvalidInput(f"status must be one of: {', '.join(tokens.Status)}.")
        rows = rows.where(*tokens.status_conditions(tokens.Status(status), timestamps.now_ms()))
    async with opened() as (database, _, _settings), database.reading() as session:
        found = (await session.exec(rows)).all()
        linked = await tokens.resources_of(session, found)
        return [tokens.view(row, linked[row.id or 0]) for row in found]


def surfaces(token: Mapping[str, Any]) -> list[str]:
    """Return the surfaces that a token, as listed, opens."""
    settings = token["settings"]
    opened_ones = {
        Surface.EMAIL: settings.get("emailAccessEnabled") is True,
        Surface.CALENDAR: settings.get("calendarAccessEnabled") is True,
        Surface.TASKS: bool(token["effectiveTaskOperations"]),
        Surface.COLLAB: settings.get("collabAccessEnabled") is True,
    }
    return [surface.value for surface, is_open in opened_ones.items() if is_open]


async def shown(token_id: int) -> Mapping[str, Any]:
    """Return one token."""
    async with opened() as (database, _, _settings), database.reading() as session:
        return await _view(session, await _known(session, token_id))


async def changed(token_id: int, changes: Changes) -> Mapping[str, Any]:
    """Change a token; return it."""
    if changes.name is not None:
        _check(changes.name)
    ends = None if changes.expires == NEVER else _moment(changes.expires)
    async with opened() as (database, _, _settings), database.writing() as session:
        await _known(session, token_id)
        for resource_id in changes.resource_ids or ():
            await require_resource(session, resource_id)
        token = await _known(session, token_id, to_change=True)
        token.settings = grants.merge(token.settings, changes.settings)
        if changes.name is not None:
            token.name = changes.name
        if changes.expires is not None:
            token.expires_at = ends
        if changes.resource_ids is not None:
            await tokens.replace_resources(session, token, changes.resource_ids)
        token.policy_rev += 1
        session.add(token)
        await session.flush()
        return await _view(session, token)


async def revoked(token_id: int) -> Mapping[str, Any]:
    """Revoke a token; return it."""
    async with opened() as (database, _, _settings), database.writing() as session:
        token = await _known(session, token_id, to_change=True)
        await tokens.revoke(session, col(AccessToken.id) == token_id)
        await session.refresh(token)
        return await _view(session, token)


async def rotated(token_id: int, grace: int) -> Mapping[str, Any]:
    """Give a token a new secret; return it with its text."""
    async with opened() as (database, _, _settings), database.writing() as session:
        token = await _known(session, token_id, to_change=True)
        try:
            text = await tokens.rotate(session, token, grace_seconds=grace)
        except tokens.Revoked:
            raise InvalidInput("A revoked token cannot get a new secret.") from None
        return {**await _view(session, token), "token": text}


def _check(name: str) -> None:
    if not 1 <= len(name.strip()) <= len(name) <= 100:
        raise InvalidInput("The name must have 1 to 100 characters.")


async def _known(session: AsyncSession, token_id: int, *, to_change: bool = False) -> AccessToken:
    token = await session.get(
        AccessToken, token_id, with_for_update=to_change, populate_existing=to_change
    )
    if token is None:
        raise NotFound(f"There is no token {token_id}.", code=Code.TOKEN_NOT_FOUND)
    return token


async def _view(session: AsyncSession, token: AccessToken) -> Mapping[str, Any]:
    linked = await tokens.resources_of(session, [token])
    return tokens.view(token, linked[token.id or 0])


def _moment(written: str | None) -> int | None:
    if written is None:
        return None
    try:
        return timestamps.parse(written)
    except ValueError:
        raise InvalidInput("The end must be a time, such as 2027-01-31T12:00:00Z.") from None
