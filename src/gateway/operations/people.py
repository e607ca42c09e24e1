"""What the `operator` and `resource` commands do on the store."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlmodel import col, select

from gateway.cli.documents import checked
from gateway.cli.stores import opened, require_operator
from gateway.management.operators import NewOperator, view
from gateway.management.resources import NewResource
from gateway.store import timestamps
from gateway.store.tables import Operator, OperatorResource, Resource


async def operator_added(email: str, name: str) -> Mapping[str, Any]:
    """Add an operator; return them."""
    new = checked(NewOperator, {"email": email, "displayName": name})
    row = Operator(
        id=str(uuid.uuid4()),
        email=new.email,
        display_name=new.display_name,
        created_at=timestamps.now_ms(),
    )
    async with opened() as (database, _, _settings), database.writing() as session:
        session.add(row)
    return view(row)


async def operators_listed() -> list[Mapping[str, Any]]:
    """Return operators, oldest first."""
    async with opened() as (database, _, _settings), database.reading() as session:
        rows = await session.exec(
            select(Operator).order_by(col(Operator.created_at), col(Operator.id))
        )
        return [view(row) for row in rows]


async def resource_added(name: str, operator_ids: Sequence[str]) -> Mapping[str, Any]:
    """Add a resource of these operators; return it."""
    new = checked(NewResource, {"name": name, "operatorIds": list(operator_ids)})
    row = Resource(name=new.name, created_at=timestamps.now_ms())
    async with opened() as (database, _, _settings), database.writing() as session:
        for operator_id in new.operator_ids:
            await require_operator(session, operator_id)
        session.add(row)
        await session.flush()
        for operator_id in dict.fromkeys(new.operator_ids):
            session.add(OperatorResource(operator_id=operator_id, resource_id=row.id or 0))
    return _resource(row, new.operator_ids)


async def resources_listed() -> list[Mapping[str, Any]]:
    """Return resources by id."""
    async with opened() as (database, _, _settings), database.reading() as session:
        rows = (await session.exec(select(Resource).order_by(col(Resource.id)))).all()
        links: dict[int, list[str]] = defaultdict(list)
        for link in await session.exec(select(OperatorResource)):
            links[link.resource_id].append(link.operator_id)
    return [_resource(row, links[row.id or 0]) for row in rows]


def _resource(row: Resource, operator_ids: Iterable[str]) -> Mapping[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "operatorIds": sorted(set(operator_ids)),
        "createdAt": timestamps.to_text(row.created_at),
    }
