"""Notices of new held writes: wake-up calls with ids alone (docs/spec/held-writes.md#notices)."""

from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.store.database import Database
from gateway.store.further_tables import HeldWriteRow
from gateway.store.timestamps import from_ms
from gateway.webhooks import targets
from gateway.webhooks.targets import Owner
from graph.scalars import format_datetime

KIND = "held_writes"
ALL = ""  # the id of the owner of targets that are told of every write


def owner(operator_id: str | None) -> Owner:
    """Return the owner of the targets for the writes of an operator; None: of all of them."""
    return Owner(KIND, operator_id or ALL)


async def tell(database: Database, session: AsyncSession, row: HeldWriteRow) -> None:
    """Have the targets called, once the transaction that holds the write has committed."""
    body = {
        "type": "write.held",
        "timestamp": format_datetime(from_ms(row.created_at)),
        "data": {"id": row.id, "tokenId": row.token_id, "operatorId": row.operator_id},
    }
    for target in await targets.list_of(session, KIND, [ALL, row.operator_id]):
        await targets.wake(database, session, target.id, row.id, body, until=row.expires_at)
