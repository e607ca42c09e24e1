"""`/api/oauth-clients`: applications that people sign in, and one-time links for these people."""

from typing import Annotated

from fastapi import Depends

from gateway.http.request_services import AppServices
from gateway.management.bodies import body, described
from gateway.management.router import Router, RowId
from gateway.operations import rows
from gateway.sign_in import clients, grants, views
from gateway.sign_in.clients import NewClient
from gateway.store.tables import AccessToken

router = Router(prefix="/api", tags=["Clients"])


@router.post("/oauth-clients", status_code=201, openapi_extra=described(NewClient))
async def create_client(
    services: AppServices, new: Annotated[NewClient, Depends(body(NewClient))]
) -> views.RegisteredClient:
    """Register an application; its secret is in the response and never seen again."""
    async with services.database.writing() as session:
        return await clients.add(session, new)


@router.get("/oauth-clients")
async def list_clients(services: AppServices) -> views.ClientList:
    """List the registered applications, oldest first, without their secrets."""
    async with services.database.reading() as session:
        return views.ClientList(clients=await clients.list_all(session))


@router.delete("/oauth-clients/{client_id}", status_code=204)
async def delete_client(services: AppServices, client_id: str) -> None:
    """Remove an application, and revoke the tokens that were granted to it."""
    async with services.database.writing() as session:
        await clients.remove(session, client_id)


@router.post("/access-tokens/{token_id}/sign-in-links", status_code=201)
async def create_sign_in_link(services: AppServices, token_id: RowId) -> views.SignInLink:
    """Make a one-time link by which a person grants an application a part of an access token."""
    async with services.database.writing() as session:
        token = await rows.get(session, AccessToken, token_id)
        return await grants.make_link(session, token, services.settings.base_url)
