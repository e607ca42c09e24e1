"""`/api/resources`: the containers that connections hang on. Decisions 3."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Response
from pydantic import Field
from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.auth import tokens
from gateway.management import paging
from gateway.management.auth import Process
from gateway.management.bodies import Body, Change, Name, body, described, invalid
from gateway.management.error_handlers import not_found
from gateway.management.ids import long, name
from gateway.management.paging import Filters, Pager
from gateway.management.router import Router
from gateway.operations import views
from gateway.operations.row_locks import stays
from gateway.store import timestamps
from gateway.store.tables import ConnectionRow, Operator, OperatorResource, Resource
from policy.vocabulary import Code

router = Router(prefix="/api/resources", tags=["resources"])
OperatorIds = Annotated[list[str], Field(max_length=1000)]


class NewResource(Body):
    name: Name
    operator_ids: OperatorIds = Field(default_factory=list)


class ResourceChange(Change):
    name: Name = ""
    operator_ids: OperatorIds = Field(default_factory=list)


@router.post("", status_code=201, openapi_extra=described(NewResource))
async def create_resource(
    process: Process, new: Annotated[NewResource, Depends(body(NewResource))]
) -> views.Resource:
    """Add a resource, linked to operators."""
    resource = Resource(name=new.name, created_at=timestamps.now_ms())
    async with process.database.writing() as session:
        await _all_stay(session, new.operator_ids)
        session.add(resource)
        await session.flush()
        await _link(session, resource, new.operator_ids)
        return await _view(session, resource)


@router.get("", openapi_extra=paging.described(Filters))
async def list_resources(
    process: Process, query: Annotated[Filters, Depends(paging.query(Filters))], response: Response
) -> views.ResourcePage:
    """List resources by id."""
    pager = Pager(process.keyring, "resources", 200)
    limit, after = pager.limit(query, response), pager.after(query)
    rows = select(Resource).order_by(col(Resource.id)).limit(limit + 1)
    if after is not None:
        rows = rows.where(col(Resource.id) > after[0])
    async with process.database.reading() as session:
        found = (await session.exec(rows)).all()
        resources = [await _view(session, row) for row in found[:limit]]
    positions = [(row.id or 0,) for row in found]
    return {"resources": resources, **pager.page(query, found, limit, positions)}


@router.get("/{resource_id}")
async def get_resource(process: Process, resource_id: str) -> views.Resource:
    """Read one resource."""
    async with process.database.reading() as session:
        return await _view(session, await known(session, long(resource_id)))


@router.patch("/{resource_id}", openapi_extra=described(ResourceChange))
async def change_resource(
    process: Process,
    resource_id: str,
    change: Annotated[ResourceChange, Depends(body(ResourceChange))],
) -> views.Resource:
    """Change the name or the operators; a list replaces the one before."""
    async with process.database.writing() as session:
        await known(session, long(resource_id))
        await _all_stay(session, change.operator_ids)
        resource = await known(session, long(resource_id), to_change=True)
        if "name" in change.model_fields_set:
            resource.name = change.name
            session.add(resource)
        if "operator_ids" in change.model_fields_set:
            await _link(session, resource, change.operator_ids)
        return await _view(session, resource)


@router.delete("/{resource_id}", status_code=204)
async def delete_resource(process: Process, resource_id: str) -> None:
    """Remove a resource, its connections and its links to tokens."""
    async with process.database.writing() as session:
        resource = await known(session, long(resource_id), to_change=True)
        connections = col(ConnectionRow.resource_id) == resource.id
        await session.exec(delete(ConnectionRow).where(connections))
        await tokens.bump_policy_rev(session, [resource.id or 0])
        await session.delete(resource)


async def known(session: AsyncSession, resource_id: int, *, to_change: bool = False) -> Resource:
    """
    Return the resource; *to_change*: as it is now, and other writers wait until the end.

    Raises:
        NotFound: `RESOURCE_NOT_FOUND`.
    """
    resource = await session.get(
        Resource, resource_id, with_for_update=to_change, populate_existing=to_change
    )
    if resource is None:
        raise not_found(Code.RESOURCE_NOT_FOUND, "resource")
    return resource


async def _all_stay(session: AsyncSession, operator_ids: Sequence[str]) -> None:
    for position, operator_id in enumerate(operator_ids):
        if not await stays(session, Operator, name(operator_id)):
            raise invalid(f"operatorIds[{position}]", "is not an operator")


async def _link(session: AsyncSession, resource: Resource, operator_ids: Sequence[str]) -> None:
    linked = OperatorResource
    await session.exec(delete(linked).where(col(linked.resource_id) == resource.id))
    for operator_id in dict.fromkeys(operator_ids):
        session.add(linked(operator_id=operator_id, resource_id=resource.id or 0))
    await session.flush()


async def _view(session: AsyncSession, resource: Resource) -> views.Resource:
    operators = await session.exec(
        select(OperatorResource.operator_id)
        .where(col(OperatorResource.resource_id) == resource.id)
        .order_by(col(OperatorResource.operator_id))
    )
    return {
        "id": resource.id or 0,
        "name": resource.name,
        "operatorIds": list(operators),
        "createdAt": timestamps.to_text(resource.created_at),
    }
