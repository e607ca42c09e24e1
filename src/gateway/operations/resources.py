"""Resources: the containers of connections that operators own and tokens reach."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import Field
from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import note
from gateway.auth import tokens
from gateway.connections import shared
from gateway.operations import rows, views
from gateway.operations.inputs import Input, Name, Patch
from gateway.store import timestamps
from gateway.store.tables import ConnectionRow, Operator, OperatorResource, Resource
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code

OperatorIds = Annotated[list[str], Field(max_length=1000)]


class NewResource(Input):
    name: Name
    operator_ids: OperatorIds = Field(default_factory=list)


class ResourceChange(Patch):
    name: Name = ""
    operator_ids: OperatorIds = Field(default_factory=list)


class NotLinked(InvalidInput):
    """An input names a resource that its operator is not linked to."""

    def __init__(self, resource_id: int, *, field: str) -> None:
        why = f"names resource {resource_id}, which the operator is not linked to"
        super().__init__(
            f"{field} {why}.", code=Code.VALIDATION_ERROR, details=[Detail(field, why)]
        )


async def create(session: AsyncSession, new: NewResource) -> views.Resource:
    """Add a resource, linked to operators."""
    await _lock_operators(session, new.operator_ids)
    resource = Resource(name=new.name, created_at=timestamps.now_ms())
    session.add(resource)
    await session.flush()
    await link(session, resource, new.operator_ids)
    note(session, "createResource", resource.id)
    return await _view(session, resource)


async def list_all(
    session: AsyncSession, *, after: int = 0, limit: int | None = None
) -> list[views.Resource]:
    """Return resources by id; *after* is the id of the last one before."""
    query = select(Resource).where(col(Resource.id) > after).order_by(col(Resource.id))
    return await _views(session, (await session.exec(query.limit(limit))).all())


async def of_operator(session: AsyncSession, operator_id: str) -> list[views.Resource]:
    """Return the resources of an operator by id."""
    linked = select(OperatorResource.resource_id).where(
        col(OperatorResource.operator_id) == rows.valid_key(operator_id)
    )
    query = select(Resource).where(col(Resource.id).in_(linked)).order_by(col(Resource.id))
    return await _views(session, (await session.exec(query)).all())


async def read(session: AsyncSession, resource_id: int) -> views.Resource:
    """Return one resource."""
    return await _view(session, await rows.get(session, Resource, resource_id))


async def change(
    session: AsyncSession, resource_id: int, changed: ResourceChange
) -> views.Resource:
    """Change a resource's name or operators; a list replaces the previous one."""
    await rows.get(session, Resource, resource_id)
    await _lock_operators(session, changed.operator_ids)
    resource = await rows.get(session, Resource, resource_id, for_update=True)
    if "name" in changed.model_fields_set:
        resource.name = changed.name
        session.add(resource)
    if "operator_ids" in changed.model_fields_set:
        await link(session, resource, changed.operator_ids)
    note(session, "changeResource", resource_id)
    return await _view(session, resource)


async def remove(session: AsyncSession, resource_id: int) -> None:
    """Remove a resource, its connections and its links to tokens."""
    resource = await rows.get(session, Resource, resource_id, for_update=True)
    resource_ids = await shared.remove(session, col(ConnectionRow.resource_id) == resource.id)
    await tokens.bump_policy_rev(session, {resource.id or 0, *resource_ids})
    await session.delete(resource)
    note(session, "removeResource", resource_id)


async def link(session: AsyncSession, resource: Resource, operator_ids: Iterable[str]) -> None:
    """
    Make *operator_ids* the resource's operators, in place of the previous ones.

    The tokens of the previous ones reach nothing of the resource any more.
    """
    linked = OperatorResource
    await session.exec(delete(linked).where(col(linked.resource_id) == resource.id))
    for operator_id in dict.fromkeys(operator_ids):
        session.add(linked(operator_id=operator_id, resource_id=resource.id or 0))
    await session.flush()
    await tokens.bump_policy_rev(session, [resource.id or 0])


async def lock_linked(session: AsyncSession, operator_id: str, named: Mapping[str, int]) -> None:
    """
    Keep resources, and their links to an operator, until the transaction ends.

    *named* is field of the input -> id of the resource that it names.

    Raises:
        UnknownReference: A resource does not exist.
        NotLinked: The operator is not linked to a resource.
    """
    for field, resource_id in named.items():
        await rows.lock_reference(session, Resource, resource_id, field=field)
        # Links change under the lock of their resource (`change`), so they need none.
        if await session.get(OperatorResource, (operator_id, resource_id)) is None:
            raise NotLinked(resource_id, field=field)


async def _lock_operators(session: AsyncSession, operator_ids: Sequence[str]) -> None:
    for position, operator_id in enumerate(operator_ids):
        field = f"operatorIds[{position}]"
        await rows.lock_reference(session, Operator, operator_id, field=field)


async def _view(session: AsyncSession, resource: Resource) -> views.Resource:
    (view,) = await _views(session, [resource])
    return view


async def _views(session: AsyncSession, resources: Sequence[Resource]) -> list[views.Resource]:
    operator_ids: dict[int, list[str]] = {resource.id or 0: [] for resource in resources}
    for link_row in await session.exec(
        select(OperatorResource)
        .where(col(OperatorResource.resource_id).in_(operator_ids))
        .order_by(col(OperatorResource.operator_id))
    ):
        operator_ids[link_row.resource_id].append(link_row.operator_id)
    return [
        views.Resource.of(resource, operator_ids=operator_ids[resource.id or 0])
        for resource in resources
    ]
