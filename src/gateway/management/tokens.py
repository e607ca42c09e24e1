"""`/api/access-tokens`: access tokens, made, changed and revoked."""

from typing import Annotated

from fastapi import Depends, Response

from gateway.auth.token_status import Status
from gateway.http.request_services import AppServices
from gateway.management import paging
from gateway.management.bodies import body, described
from gateway.management.paging import Filters, Pager
from gateway.management.router import Router, row_id
from gateway.operations import settings_views, tokens, views
from gateway.operations.tokens import NewToken, Rotation, TokenChange

router = Router(prefix="/api/access-tokens", tags=["Access tokens"])


class TokenFilters(Filters):
    operator_id: str | None = None
    status: Status | None = None


@router.post("", status_code=201, openapi_extra=described(NewToken, settings=settings_views.CHANGE))
async def create_token(
    services: AppServices, new: Annotated[NewToken, Depends(body(NewToken))]
) -> views.MintedAccessToken:
    """Make a token; its text is in the response and never seen again."""
    async with services.database.writing() as session:
        return await tokens.create(session, new)


@router.get("", openapi_extra=paging.described(TokenFilters))
async def list_tokens(
    services: AppServices,
    query: Annotated[TokenFilters, Depends(paging.query(TokenFilters))],
    response: Response,
) -> views.AccessTokenPage:
    """List tokens by id."""
    pager = Pager(services.keyring, "tokens", query, response)
    async with services.database.reading() as session:
        listed = await tokens.list_all(
            session, **pager.filters, after=pager.after_id, limit=pager.fetch
        )
    return views.AccessTokenPage(tokens=listed[: pager.limit], **pager.page(listed))


@router.get("/{token_id}")
async def get_token(services: AppServices, token_id: str) -> views.ManagedAccessToken:
    """Read one token."""
    async with services.database.reading() as session:
        return await tokens.read(session, row_id(token_id))


@router.patch("/{token_id}", openapi_extra=described(TokenChange, settings=settings_views.CHANGE))
async def change_token(
    services: AppServices, token_id: str, change: Annotated[TokenChange, Depends(body(TokenChange))]
) -> views.ManagedAccessToken:
    """Change a token; settings are merged key by key, null resets one to its default."""
    async with services.database.writing() as session:
        return await tokens.change(session, row_id(token_id), change)


@router.post("/{token_id}/rotate", openapi_extra=described(Rotation))
async def rotate_token(
    services: AppServices, token_id: str, rotation: Annotated[Rotation, Depends(body(Rotation))]
) -> views.MintedAccessToken:
    """Give a token a new secret; the old one dies at once, or after the grace asked for."""
    async with services.database.writing() as session:
        return await tokens.rotate(session, row_id(token_id), rotation)


@router.delete("/{token_id}", status_code=204)
async def revoke_token(services: AppServices, token_id: str) -> None:
    """Revoke a token; no request that starts later passes with it."""
    async with services.database.writing() as session:
        await tokens.revoke(session, row_id(token_id))
