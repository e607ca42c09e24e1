"""`/api/resources`: the containers of connections."""

from typing import Annotated

from fastapi import Depends, Response
from sqlmodel import col

from gateway.http.request_services import AppServices
from gateway.management import paging
from gateway.management.bodies import body, described
from gateway.management.paging import Filters, Pager
from gateway.management.revocations import tell_revocations
from gateway.management.router import Router, RowId
from gateway.operations import resources, views
from gateway.operations.resources import NewResource, ResourceChange
from gateway.store.tables import ConnectionRow

router = Router(prefix="/api/resources", tags=["Resources"])


@router.post("", status_code=201, openapi_extra=described(NewResource))
async def create_resource(
    services: AppServices, new: Annotated[NewResource, Depends(body(NewResource))]
) -> views.Resource:
    """Add a resource and link it to operators."""
    async with services.database.writing() as session:
        return await resources.create(session, new)


@router.get("", openapi_extra=paging.described(Filters))
async def list_resources(
    services: AppServices,
    query: Annotated[Filters, Depends(paging.query(Filters))],
    response: Response,
) -> views.ResourcePage:
    """List resources by id."""
    pager = Pager(services.keyring, "resources", query, response)
    async with services.database.reading() as session:
        listed = await resources.list_all(session, after=pager.after_id, limit=pager.fetch)
    return views.ResourcePage(resources=listed[: pager.limit], **pager.page(listed))


@router.get("/{resource_id}")
async def get_resource(services: AppServices, resource_id: RowId) -> views.Resource:
    """Read one resource."""
    async with services.database.reading() as session:
        return await resources.read(session, resource_id)


@router.patch("/{resource_id}", openapi_extra=described(ResourceChange))
async def change_resource(
    services: AppServices,
    resource_id: RowId,
    change: Annotated[ResourceChange, Depends(body(ResourceChange))],
) -> views.Resource:
    """Change the name of a resource, or its operators, whose list replaces the one before."""
    async with services.database.writing() as session:
        return await resources.change(session, resource_id, change)


@router.delete("/{resource_id}", status_code=204)
async def delete_resource(services: AppServices, resource_id: RowId, response: Response) -> None:
    """Remove a resource, its connections and its links to tokens."""
    removed = col(ConnectionRow.resource_id) == resource_id
    _, revocations = await services.revoker.remove(
        services.database, removed, lambda session: resources.remove(session, resource_id)
    )
    tell_revocations(revocations, response)
