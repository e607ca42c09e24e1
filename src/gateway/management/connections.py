"""`/api/connections`: connected accounts; their credentials are stored and never returned."""

from typing import Annotated

from fastapi import Depends, Response
from pydantic import Field
from sqlmodel import col

from gateway.audit.changes import log_change
from gateway.http.oauth_pages import callback_url
from gateway.http.request_services import AppServices
from gateway.management import paging
from gateway.management.bodies import body, described
from gateway.management.paging import Filters, Pager
from gateway.management.revocations import tell_revocations
from gateway.management.router import Router, RowId
from gateway.operations import rows, views
from gateway.operations.connections import (
    ConnectionChange,
    ConnectionService,
    Kind,
    NewConnection,
    NewReconnectLink,
    Status,
    check_view,
)
from gateway.operations.connections.sharing import SharedConnection
from gateway.operations.inputs import WholeNumberText
from gateway.operations.server_discovery import search
from gateway.operations.server_discovery import views as discovery_views
from gateway.operations.server_discovery.search import ServerSearch
from gateway.store.tables import ConnectionRow

router = Router(prefix="/api/connections", tags=["Connections"])


async def service_of(services: AppServices) -> ConnectionService:
    """Return the operations on connections of this deployment."""
    return ConnectionService(
        keyring=services.keyring,
        allowed_origins=services.settings.upstream_origins,
        links=services.links,
    )


Service = Annotated[ConnectionService, Depends(service_of)]


class ConnectionFilters(Filters):
    resource_id: Annotated[WholeNumberText, Field(ge=-(2**63), le=2**63 - 1)] | None = None
    operator_id: str | None = None
    kind: Kind | None = None
    status: Status | None = None


@router.post("", status_code=201, openapi_extra=described(NewConnection))
async def create_connection(
    services: AppServices,
    service: Service,
    new: Annotated[NewConnection, Depends(body(NewConnection))],
) -> views.Connection:
    """Connect an account by its credentials, or for a consent that follows."""
    async with services.database.writing() as session:
        return await service.create(session, new)


@router.post("/discover", openapi_extra=described(ServerSearch))
async def discover_servers(
    services: AppServices, wanted: Annotated[ServerSearch, Depends(body(ServerSearch))]
) -> discovery_views.ServerDiscovery:
    """Search for the mail and calendar servers of an address and try them, storing nothing."""
    dns_server = services.settings.dns_server
    discovery = await search.run(services.accounts, wanted, dns_server=dns_server)
    return discovery_views.view(discovery)


@router.post("/{connection_id}/shared", status_code=201, openapi_extra=described(SharedConnection))
async def create_shared_connection(
    services: AppServices,
    service: Service,
    connection_id: RowId,
    new: Annotated[SharedConnection, Depends(body(SharedConnection))],
) -> views.Connection:
    """Connect a mailbox that is shared with the owner of a connection, by its credentials."""
    async with services.database.writing() as session:
        return await service.share(session, connection_id, new)


@router.get("", openapi_extra=paging.described(ConnectionFilters))
async def list_connections(
    services: AppServices,
    service: Service,
    query: Annotated[ConnectionFilters, Depends(paging.query(ConnectionFilters))],
    response: Response,
) -> views.ConnectionPage:
    """List connections by id, without credentials."""
    pager = Pager(services.keyring, "connections", query, response)
    async with services.database.reading() as session:
        listed = await service.list_all(
            session, **pager.filters, after=pager.after_id, limit=pager.fetch
        )
    return views.ConnectionPage(connections=listed[: pager.limit], **pager.page(listed))


@router.get("/{connection_id}")
async def get_connection(
    services: AppServices, service: Service, connection_id: RowId
) -> views.Connection:
    """Read one connection, without its credentials."""
    async with services.database.reading() as session:
        return await service.read(session, connection_id)


@router.patch("/{connection_id}", openapi_extra=described(ConnectionChange))
async def change_connection(
    services: AppServices,
    service: Service,
    connection_id: RowId,
    change: Annotated[ConnectionChange, Depends(body(ConnectionChange))],
) -> views.Connection:
    """Change a connection; new credentials or status `active` make it usable again."""
    async with services.database.writing() as session:
        connection = await service.change(session, connection_id, change)
    services.accounts.forget(connection.id)
    return connection


@router.delete("/{connection_id}", status_code=204)
async def delete_connection(
    services: AppServices, service: Service, connection_id: RowId, response: Response
) -> None:
    """
    Remove a connection and its credentials, and revoke its consent at the provider.

    The header `X-Consent-Revocation` has the result.
    """
    removed = col(ConnectionRow.id) == connection_id
    _, revocations = await services.revoker.remove(
        services.database, removed, lambda session: service.remove(session, connection_id)
    )
    services.accounts.forget(connection_id)
    tell_revocations(revocations, response)


@router.post("/{connection_id}/test")
async def test_connection(services: AppServices, connection_id: RowId) -> views.ConnectionTest:
    """Test a connection with one harmless read upstream."""
    async with services.database.reading() as session:
        row = await rows.get_connection(session, connection_id)
    return views.ConnectionTest.of(await services.accounts.test(row))


@router.post("/{connection_id}/check")
async def check_connection(services: AppServices, connection_id: RowId) -> views.ConnectionCheck:
    """Check what can be checked of an account without changing anything in it."""
    async with services.database.reading() as session:
        row = await rows.get_connection(session, connection_id)
    return check_view(await services.accounts.check(row))


@router.post("/{connection_id}/reconnect")
async def reconnect_connection(services: AppServices, connection_id: RowId) -> views.Consent:
    """Begin a new consent, for which a person opens `authorizeUrl` before `expiresAt`."""
    redirect_uri = callback_url(services.settings.base_url)
    started = await services.oauth.start(connection_id, redirect_uri=redirect_uri)
    await log_change(services.database, "reconnectConnection", connection_id)
    return views.Consent.of(started)


@router.post(
    "/{connection_id}/reconnect-link", status_code=201, openapi_extra=described(NewReconnectLink)
)
async def create_reconnect_link(
    services: AppServices,
    connection_id: RowId,
    new: Annotated[NewReconnectLink, Depends(body(NewReconnectLink))],
) -> views.ReconnectLink:
    """Make a one-time link with which the account's owner renews its credentials."""
    link = await services.one_time_links.create(connection_id, hours=new.hours)
    return views.ReconnectLink.of(link)
