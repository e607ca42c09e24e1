"""
Rows that other rows refer to, looked up such that they stay until the transaction ends.

Whoever changes several rows takes them in this order, so that no two wait for each other: operator,
resource, connection, token, rule. SQLite lets one write at a time anyway.
"""

from sqlmodel import SQLModel
from sqlmodel.ext.asyncio.session import AsyncSession

_STAYS = {"read": True, "key_share": True}  # others may change the row, and not delete it


async def stays(session: AsyncSession, table: type[SQLModel], key: str | int) -> bool:
    """Say whether there is a row of this key; it cannot be deleted before the transaction ends."""
    return await session.get(table, key, with_for_update=_STAYS) is not None
