"""Operators: the people whose accounts are connected."""

import uuid
from collections.abc import Collection

from sqlalchemy import delete, tuple_
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import note
from gateway.auth import tokens
from gateway.connections import shared
from gateway.held_writes import notices
from gateway.operations import rows, views
from gateway.operations.inputs import DisplayName, EmailAddress, Input, Patch
from gateway.store import timestamps
from gateway.store.tables import AccessToken, ConnectionRow, Operator, OperatorResource
from gateway.webhooks import targets


class NewOperator(Input):
    email: EmailAddress
    display_name: DisplayName


class OperatorChange(Patch):
    email: EmailAddress = ""
    display_name: DisplayName = ""


async def create(session: AsyncSession, new: NewOperator) -> views.Operator:
    """Add an operator."""
    operator = Operator(
        id=str(uuid.uuid4()),
        email=new.email,
        display_name=new.display_name,
        created_at=timestamps.now_ms(),
    )
    session.add(operator)
    note(session, "createOperator", operator.id)
    return views.Operator.of(operator)


async def list_all(
    session: AsyncSession, *, after: tuple[int, str] | None = None, limit: int | None = None
) -> list[views.Operator]:
    """Return operators, oldest first; *after* is (`created_at`, id) of the last one before."""
    order = (col(Operator.created_at), col(Operator.id))
    query = select(Operator).order_by(*order).limit(limit)
    if after is not None:
        query = query.where(tuple_(*order) > tuple_(*after))
    return [views.Operator.of(operator) for operator in await session.exec(query)]


async def list_named(session: AsyncSession, text: str, *, limit: int) -> list[views.Operator]:
    """Return operators whose address begins with *text*, by address."""
    listed = await rows.beginning_with(session, Operator, "email", text, limit=limit)
    return [views.Operator.of(operator) for operator in listed]


async def list_by_id(session: AsyncSession, ids: Collection[str]) -> list[views.Operator]:
    """Return the operators of *ids* that there are, by id."""
    query = select(Operator).where(col(Operator.id).in_(ids)).order_by(col(Operator.id))
    return [views.Operator.of(operator) for operator in await session.exec(query)]


async def read(session: AsyncSession, operator_id: str) -> views.Operator:
    """Return one operator."""
    return views.Operator.of(await rows.get(session, Operator, operator_id))


async def change(
    session: AsyncSession, operator_id: str, changed: OperatorChange
) -> views.Operator:
    """Change an operator's address or name."""
    operator = await rows.get(session, Operator, operator_id, for_update=True)
    operator.sqlmodel_update(changed.model_dump(exclude_unset=True))
    session.add(operator)
    note(session, "changeOperator", operator_id)
    return views.Operator.of(operator)


async def remove(session: AsyncSession, operator_id: str) -> None:
    """Remove an operator and its connections, and revoke its tokens."""
    operator = await rows.get(session, Operator, operator_id, for_update=True)
    resource_ids = await shared.remove(session, col(ConnectionRow.operator_id) == operator.id)
    await session.exec(
        delete(OperatorResource).where(col(OperatorResource.operator_id) == operator.id)
    )
    await tokens.revoke(session, col(AccessToken.operator_id) == operator.id)
    await targets.delete_of(session, notices.owner(operator.id))
    await tokens.bump_policy_rev(session, resource_ids)
    await session.delete(operator)
    note(session, "removeOperator", operator_id)
