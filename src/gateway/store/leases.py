"""
Leases: locks in the database that all processes share, and that expire.

`hold("refresh:7")` is a lock for one process at a time; `take_turn("recovery:7", 60)` lets one of
all processes run a periodic task.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sqlalchemy import text

from gateway.errors import Overloaded
from gateway.store.database import Database, StorageUnavailable
from gateway.store.timestamps import ClockMs, now_ms
from providers.failures import TimedOut

MAX_LEASE_SECONDS = 30.0  # after that, the lease of a crashed holder is free
_RETRY_SECONDS = 0.05
_RETENTION_MS = 24 * 60 * 60 * 1000  # an expired lease that nobody takes is deleted after a day

# One row per name, taken over once it has expired; the same statement on both databases.
_TAKE = text(
    "INSERT INTO leases (name, holder, until) VALUES (:name, :holder, :until)"
    " ON CONFLICT (name) DO UPDATE SET holder = :holder, until = :until"
    " WHERE leases.until <= :now RETURNING name"
)
_RELEASE = text("DELETE FROM leases WHERE name = :name AND holder = :holder")
_SWEEP = text("DELETE FROM leases WHERE until <= :before")


class Leases:
    """Takes and releases leases. One per process."""

    def __init__(self, database: Database, *, clock: ClockMs = now_ms) -> None:
        self._database = database
        self._clock = clock

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """
        Wait for the lease of *name*, hold it inside ``with`` and release it.

        Raises:
            TimedOut: Another process held it for all of `MAX_LEASE_SECONDS`.
            Overloaded: The database did not answer.
        """
        holder = secrets.token_hex(16)
        try:
            async with asyncio.timeout(MAX_LEASE_SECONDS):
                while not await self._take(name, holder):  # noqa: ASYNC110 - it is in a database
                    await asyncio.sleep(_RETRY_SECONDS)
        except TimeoutError:
            raise TimedOut(sent=False) from None
        except StorageUnavailable as failure:
            raise Overloaded from failure
        try:
            yield
        finally:
            # A lease that cannot be released expires by itself.
            with suppress(StorageUnavailable):
                async with self._database.writing() as session:
                    connection = await session.connection()
                    await connection.execute(_RELEASE, {"name": name, "holder": holder})

    async def take_turn(self, name: str, seconds: float) -> bool:
        """
        Take the lease of *name* and let it expire: True in one process per *seconds*.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        return await self._take(name, secrets.token_hex(16), seconds)

    async def sweep(self) -> None:
        """
        Delete leases that expired more than a day ago.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        async with self._database.writing() as session:
            connection = await session.connection()
            await connection.execute(_SWEEP, {"before": self._clock() - _RETENTION_MS})

    async def _take(self, name: str, holder: str, seconds: float = MAX_LEASE_SECONDS) -> bool:
        now = self._clock()
        until = now + round(seconds * 1000)
        values = {"name": name, "holder": holder, "until": until, "now": now}
        async with self._database.writing() as session:
            result = await (await session.connection()).execute(_TAKE, values)
            return result.first() is not None
