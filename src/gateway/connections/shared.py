"""
Connections that use the credentials of another one, their base: shared mailboxes and calendars.

A shared connection is a row of its own, with its own mailbox and without credentials. Its base is
the connection of a person who may open the mailbox. What the base decides for both is in `resolved`
here, and in the query of the authentication (`gateway.auth.token_queries`).
See docs/spec/shared-mailboxes.md#connections.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, case, delete, update
from sqlalchemy.orm import aliased
from sqlmodel import and_, col, or_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.store.tables import ConnectionRow

BASE = aliased(ConnectionRow)
IS_ON_BASE = col(BASE.id) == col(ConnectionRow.shared_on)
# The status of a connection: that of its base while the base does not work.
STATUS: ColumnElement[str] = case(
    (col(BASE.status) != "active", col(BASE.status)), else_=col(ConnectionRow.status)
)

CAUSE: ColumnElement[str | None] = case(
    (col(BASE.status) != "active", col(BASE.status_cause)), else_=col(ConnectionRow.status_cause)
)


def has_status(status: str) -> ColumnElement[bool]:
    """Match the connections of a status, in a query that joins `BASE`, by the index of statuses."""
    is_so = STATUS.in_([status])
    if status == "active":  # as nearly all are, so that a page finds them at once
        return is_so
    row, base = aliased(ConnectionRow), aliased(ConnectionRow)
    own = select(col(row.id)).where(col(row.status) == status)
    on_base = select(col(row.id)).join(base, col(base.id) == col(row.shared_on))
    ids = own.union_all(on_base.where(col(base.status) == status))
    return and_(col(ConnectionRow.id).in_(ids), is_so)


def resolved(row: ConnectionRow, base: ConnectionRow | None) -> ConnectionRow:
    """Return *row* with what its *base* decides, as a copy that belongs to no session."""
    if base is None:
        return row
    decided = {
        "granted_scopes": base.granted_scopes,
        "can_write": row.can_write and base.can_write,
        "base_url": base.base_url,
        "expires_at": base.expires_at,
    }
    if base.status != "active":
        names = ("status", "status_detail", "status_cause")
        decided |= {name: getattr(base, name) for name in names}
    return ConnectionRow(**{**row.model_dump(), **decided})


async def read(session: AsyncSession, row: ConnectionRow) -> ConnectionRow:
    """Return *row* with what its base decides; see `resolved`."""
    if row.shared_on is None:
        return row
    return resolved(row, await session.get(ConnectionRow, row.shared_on))


async def are_on(session: AsyncSession, base_id: int | None) -> bool:
    """Return whether any connection is shared on *base_id*."""
    return bool(await resources_on(session, base_id))


async def resources_on(session: AsyncSession, base_id: int | None) -> Sequence[int]:
    """Return the resources of the connections that are shared on *base_id*."""
    query = select(ConnectionRow.resource_id).where(col(ConnectionRow.shared_on) == base_id)
    return (await session.exec(query)).all()


async def revive(session: AsyncSession, base_id: int | None) -> None:
    """Use the connections again that lacked a scope of their base, whose consent is a new one."""
    lacking = col(ConnectionRow.shared_on) == base_id, col(ConnectionRow.status) == "needs_reauth"
    values = {"status": "active", "status_detail": None, "status_cause": None}
    await session.exec(update(ConnectionRow).where(*lacking).values(**values))


async def remove(session: AsyncSession, removed: ColumnElement[bool]) -> set[int]:
    """
    Remove the connections of *removed*, and those that are shared on them.

    Returns:
        The resources of all of them.
    """
    gone = with_shared(removed)
    resource_ids = set(await session.exec(select(ConnectionRow.resource_id).where(gone)))
    await session.exec(delete(ConnectionRow).where(gone))
    return resource_ids


def with_shared(removed: ColumnElement[bool]) -> ColumnElement[bool]:
    """Match the connections of *removed*, and those that go with them because they are shared."""
    bases = select(col(ConnectionRow.id)).where(removed).correlate(None)
    return or_(removed, col(ConnectionRow.shared_on).in_(bases))
