"""`/api/access-tokens`: making, changing and revoking access tokens. Decisions 3."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends, Response
from pydantic import Field
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.auth import tokens
from gateway.management import paging
from gateway.management.auth import Process
from gateway.management.bodies import Body, Change, Long, Name, Time, body, described, invalid
from gateway.management.error_handlers import not_found
from gateway.management.ids import long, name
from gateway.management.paging import Filters, Pager
from gateway.management.router import Router
from gateway.operations import settings_views, views
from gateway.operations.row_locks import stays
from gateway.store import timestamps
from gateway.store.tables import AccessToken, Operator, Resource
from policy import grants
from policy.vocabulary import Code

router = Router(prefix="/api/access-tokens", tags=["access tokens"])
ResourceIds = Annotated[list[Long], Field(min_length=1, max_length=1000)]
MAX_GRACE = 86_400  # seconds; decisions 3


class NewToken(Body):
    name: Name
    operator_id: str
    resource_ids: ResourceIds
    expires_at: Time | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


class TokenChange(Change):
    name: Name = ""
    resource_ids: ResourceIds = Field(default_factory=list)
    expires_at: Time | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


class Rotation(Body):
    grace_seconds: Annotated[int, Field(ge=0, le=MAX_GRACE)] = 0


class TokenFilters(Filters):
    operator_id: str | None = None
    status: tokens.Status | None = None


@router.post("", status_code=201, openapi_extra=described(NewToken, settings=settings_views.CHANGE))
async def create_token(
    process: Process, new: Annotated[NewToken, Depends(body(NewToken))]
) -> views.MintedAccessToken:
    """Make a token; its text is in the answer and never seen again."""
    settings = grants.validate(new.settings)
    async with process.database.writing() as session:
        if not await stays(session, Operator, name(new.operator_id)):
            raise invalid("operatorId", "is not an operator")
        await _all_stay(session, new.resource_ids)
        token, text = await tokens.create(
            session,
            tokens.NewToken(
                name=new.name,
                operator_id=new.operator_id,
                resource_ids=new.resource_ids,
                expires_at=new.expires_at,
                settings=settings,
            ),
        )
        return {**await _view(session, token), "token": text}


@router.get("", openapi_extra=paging.described(TokenFilters))
async def list_tokens(
    process: Process,
    query: Annotated[TokenFilters, Depends(paging.query(TokenFilters))],
    response: Response,
) -> views.AccessTokenPage:
    """List tokens by id."""
    pager = Pager(process.keyring, "tokens", 200)
    limit, after = pager.limit(query, response), pager.after(query)
    rows = select(AccessToken).order_by(col(AccessToken.id)).limit(limit + 1)
    if after is not None:
        rows = rows.where(col(AccessToken.id) > after[0])
    if query.operator_id is not None:
        rows = rows.where(col(AccessToken.operator_id) == name(query.operator_id))
    if query.status is not None:
        rows = rows.where(*tokens.status_conditions(query.status, timestamps.now_ms()))
    async with process.database.reading() as session:
        found = (await session.exec(rows)).all()
        linked = await tokens.resources_of(session, found)
    positions = [(row.id or 0,) for row in found]
    return {
        "tokens": [tokens.view(row, linked[row.id or 0]) for row in found[:limit]],
        **pager.page(query, found, limit, positions),
    }


@router.get("/{token_id}")
async def get_token(process: Process, token_id: str) -> views.ManagedAccessToken:
    """Read one token."""
    async with process.database.reading() as session:
        return await _view(session, await known(session, token_id))


@router.patch("/{token_id}", openapi_extra=described(TokenChange, settings=settings_views.CHANGE))
async def change_token(
    process: Process,
    token_id: str,
    change: Annotated[TokenChange, Depends(body(TokenChange))],
) -> views.ManagedAccessToken:
    """Change a token; settings are merged key by key, null resets one to its default."""
    async with process.database.writing() as session:
        await known(session, token_id)
        await _all_stay(session, change.resource_ids)
        token = await known(session, token_id, to_change=True)
        given = change.model_fields_set
        if "name" in given:
            token.name = change.name
        if "expires_at" in given:
            token.expires_at = change.expires_at
        token.settings = grants.merge(token.settings, change.settings)
        if "resource_ids" in given:
            await tokens.replace_resources(session, token, change.resource_ids)
        token.policy_rev += 1
        session.add(token)
        await session.flush()
        return await _view(session, token)


@router.post("/{token_id}/rotate", openapi_extra=described(Rotation))
async def rotate_token(
    process: Process, token_id: str, rotation: Annotated[Rotation, Depends(body(Rotation))]
) -> views.MintedAccessToken:
    """Give a token a new secret; the old one dies at once, or after the grace asked for."""
    async with process.database.writing() as session:
        token = await known(session, token_id, to_change=True)
        try:
            text = await tokens.rotate(session, token, grace_seconds=rotation.grace_seconds)
        except tokens.Revoked:
            raise invalid("tokenId", "is of a revoked token: it gets no new secret") from None
        return {**await _view(session, token), "token": text}


@router.delete("/{token_id}", status_code=204)
async def revoke_token(process: Process, token_id: str) -> None:
    """Revoke a token; no request that starts later passes with it."""
    async with process.database.writing() as session:
        token = await known(session, token_id, to_change=True)
        await tokens.revoke(session, col(AccessToken.id) == token.id)


async def known(session: AsyncSession, token_id: str, *, to_change: bool = False) -> AccessToken:
    """
    Return the token of a path; *to_change*: as it is now, and other writers wait until the end.

    Raises:
        NotFound: `TOKEN_NOT_FOUND`.
    """
    token = await session.get(
        AccessToken, long(token_id), with_for_update=to_change, populate_existing=to_change
    )
    if token is None:
        raise not_found(Code.TOKEN_NOT_FOUND, "access token")
    return token


async def _all_stay(session: AsyncSession, resource_ids: Sequence[int]) -> None:
    for position, resource_id in enumerate(resource_ids):
        if not await stays(session, Resource, resource_id):
            raise invalid(f"resourceIds[{position}]", "is not a resource")


async def _view(session: AsyncSession, token: AccessToken) -> views.ManagedAccessToken:
    linked = await tokens.resources_of(session, [token])
    return tokens.view(token, linked[token.id or 0])
