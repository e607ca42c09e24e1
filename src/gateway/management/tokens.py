"""`/api/access-tokens`: access tokens, made, changed and revoked."""

from typing import Annotated

from fastapi import Depends, Response

from gateway.auth.token_status import Status
from gateway.http.request_services import AppServices
from gateway.management import paging
from gateway.management.bodies import body, described
from gateway.management.paging import Filters, Pager
from gateway.management.router import Router, RowId
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
    """Create an access token, whose text is in the response and never seen again."""
    async with services.database.writing() as session:
        return await tokens.create(session, new)


@router.get("", openapi_extra=paging.described(TokenFilters))
async def list_tokens(
    services: AppServices,
    query: Annotated[TokenFilters, Depends(paging.query(TokenFilters))],
    response: Response,
) -> views.AccessTokenPage:
    """List access tokens by id, without their texts."""
    pager = Pager(services.keyring, "tokens", query, response)
    async with services.database.reading() as session:
        listed = await tokens.list_all(
            session, **pager.filters, after=pager.after_id, limit=pager.fetch
        )
    return views.AccessTokenPage(tokens=listed[: pager.limit], **pager.page(listed))


@router.get("/{token_id}")
async def get_token(services: AppServices, token_id: RowId) -> views.ManagedAccessToken:
    """Read one access token with its settings."""
    async with services.database.reading() as session:
        return await tokens.read(session, token_id)


@router.patch("/{token_id}", openapi_extra=described(TokenChange, settings=settings_views.CHANGE))
async def change_token(
    services: AppServices,
    token_id: RowId,
    change: Annotated[TokenChange, Depends(body(TokenChange))],
) -> views.ManagedAccessToken:
    """
    Change an access token; a revoked one stays revoked.

    Settings are merged key by key, and null resets one to its default.
    """
    async with services.database.writing() as session:
        return await tokens.change(session, token_id, change)


@router.post("/{token_id}/rotate", openapi_extra=described(Rotation))
async def rotate_token(
    services: AppServices, token_id: RowId, rotation: Annotated[Rotation, Depends(body(Rotation))]
) -> views.MintedAccessToken:
    """
    Give an access token a new text.

    The old one ends at once, or after `graceSeconds`.
    """
    async with services.database.writing() as session:
        return await tokens.rotate(session, token_id, rotation)


@router.delete("/{token_id}", status_code=204)
async def revoke_token(services: AppServices, token_id: RowId) -> None:
    """Revoke an access token and its child tokens; no request that starts later passes."""
    async with services.database.writing() as session:
        await tokens.revoke(session, token_id)
