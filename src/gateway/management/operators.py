"""`/api/operators`: the people whose accounts are connected. Decisions 3."""

import uuid
from typing import Annotated

from fastapi import Depends, Response
from sqlalchemy import delete, tuple_
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.auth import tokens
from gateway.management import ids, paging
from gateway.management.auth import Process
from gateway.management.bodies import Address, Body, Change, DisplayName, body, described
from gateway.management.error_handlers import not_found
from gateway.management.paging import Filters, Pager
from gateway.management.router import Router
from gateway.operations import views
from gateway.store import timestamps
from gateway.store.tables import AccessToken, ConnectionRow, Operator, OperatorResource
from policy.vocabulary import Code

router = Router(prefix="/api/operators", tags=["operators"])


class NewOperator(Body):
    email: Address
    display_name: DisplayName


class OperatorChange(Change):
    email: Address = ""
    display_name: DisplayName = ""


@router.post("", status_code=201, openapi_extra=described(NewOperator))
async def create_operator(
    process: Process, new: Annotated[NewOperator, Depends(body(NewOperator))]
) -> views.Operator:
    """Add an operator."""
    operator = Operator(
        id=str(uuid.uuid4()),
        email=new.email,
        display_name=new.display_name,
        created_at=timestamps.now_ms(),
    )
    async with process.database.writing() as session:
        session.add(operator)
    return view(operator)


@router.get("", openapi_extra=paging.described(Filters))
async def list_operators(
    process: Process, query: Annotated[Filters, Depends(paging.query(Filters))], response: Response
) -> views.OperatorPage:
    """List operators, oldest first."""
    pager = Pager(process.keyring, "operators", 200)
    limit, after = pager.limit(query, response), pager.after(query)
    order = (col(Operator.created_at), col(Operator.id))
    rows = select(Operator).order_by(*order).limit(limit + 1)
    if after is not None:
        rows = rows.where(tuple_(*order) > tuple_(*after))
    async with process.database.reading() as session:
        found = (await session.exec(rows)).all()
    positions = [(row.created_at, row.id) for row in found]
    return {
        "operators": [view(row) for row in found[:limit]],
        **pager.page(query, found, limit, positions),
    }


@router.get("/{operator_id}")
async def get_operator(process: Process, operator_id: str) -> views.Operator:
    """Read one operator."""
    async with process.database.reading() as session:
        return view(await _known(session, operator_id))


@router.patch("/{operator_id}", openapi_extra=described(OperatorChange))
async def change_operator(
    process: Process,
    operator_id: str,
    change: Annotated[OperatorChange, Depends(body(OperatorChange))],
) -> views.Operator:
    """Change address or name."""
    async with process.database.writing() as session:
        operator = await _known(session, operator_id, to_change=True)
        operator.sqlmodel_update(change.model_dump(exclude_unset=True))
        session.add(operator)
    return view(operator)


@router.delete("/{operator_id}", status_code=204)
async def delete_operator(process: Process, operator_id: str) -> None:
    """Remove an operator: its tokens are revoked, its connections removed."""
    async with process.database.writing() as session:
        operator = await _known(session, operator_id, to_change=True)
        touched = await session.exec(
            select(ConnectionRow.resource_id).where(col(ConnectionRow.operator_id) == operator.id)
        )
        resources = set(touched)
        for table in (ConnectionRow, OperatorResource):
            await session.exec(delete(table).where(col(table.operator_id) == operator.id))
        await tokens.revoke(session, col(AccessToken.operator_id) == operator.id)
        await tokens.bump_policy_rev(session, resources)
        await session.delete(operator)


def view(operator: Operator) -> views.Operator:
    """Return the Operator object."""
    return {
        "id": operator.id,
        "email": operator.email,
        "displayName": operator.display_name,
        "createdAt": timestamps.to_text(operator.created_at),
    }


async def _known(session: AsyncSession, operator_id: str, *, to_change: bool = False) -> Operator:
    operator = await session.get(Operator, ids.name(operator_id), with_for_update=to_change)
    if operator is None:
        raise not_found(Code.OPERATOR_NOT_FOUND, "operator")
    return operator
