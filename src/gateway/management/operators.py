"""`/api/operators`: the people whose accounts are connected."""

from typing import Annotated

from fastapi import Depends, Response
from sqlmodel import col

from gateway.http.request_services import AppServices
from gateway.management import paging
from gateway.management.bodies import body, described
from gateway.management.paging import Filters, Pager
from gateway.management.revocations import tell_revocations
from gateway.management.router import Router
from gateway.operations import operators, views
from gateway.operations.operators import NewOperator, OperatorChange
from gateway.store.tables import ConnectionRow

router = Router(prefix="/api/operators", tags=["Operators"])


@router.post("", status_code=201, openapi_extra=described(NewOperator))
async def create_operator(
    services: AppServices, new: Annotated[NewOperator, Depends(body(NewOperator))]
) -> views.Operator:
    """Add an operator, whose accounts can be connected then."""
    async with services.database.writing() as session:
        return await operators.create(session, new)


@router.get("", openapi_extra=paging.described(Filters))
async def list_operators(
    services: AppServices,
    query: Annotated[Filters, Depends(paging.query(Filters))],
    response: Response,
) -> views.OperatorPage:
    """List operators, oldest first."""
    pager = Pager(services.keyring, "operators", query, response)
    after = None if pager.after is None else (pager.after[0], pager.after[1])
    async with services.database.reading() as session:
        listed = await operators.list_all(session, after=after, limit=pager.fetch)
    page = pager.page(listed, lambda row: (row.created_at, row.id))
    return views.OperatorPage(operators=listed[: pager.limit], **page)


@router.get("/{operator_id}")
async def get_operator(services: AppServices, operator_id: str) -> views.Operator:
    """Read one operator."""
    async with services.database.reading() as session:
        return await operators.read(session, operator_id)


@router.patch("/{operator_id}", openapi_extra=described(OperatorChange))
async def change_operator(
    services: AppServices,
    operator_id: str,
    change: Annotated[OperatorChange, Depends(body(OperatorChange))],
) -> views.Operator:
    """Change the address or the name of an operator."""
    async with services.database.writing() as session:
        return await operators.change(session, operator_id, change)


@router.delete("/{operator_id}", status_code=204)
async def delete_operator(services: AppServices, operator_id: str, response: Response) -> None:
    """Remove an operator with the connections, and revoke the tokens."""
    removed = col(ConnectionRow.operator_id) == operator_id
    _, revocations = await services.revoker.remove(
        services.database, removed, lambda session: operators.remove(session, operator_id)
    )
    tell_revocations(revocations, response)
