"""
What one process at a time may do, agreed in the database: `held("refresh:7")`.

And what all processes together do once in a while: `turn("recovery:7", 60)`.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from sqlalchemy import text

from gateway.errors import Overloaded
from gateway.store.database import Database, StorageUnavailable
from gateway.store.timestamps import now_ms
from providers.failures import TimedOut

LONGEST = 30.0  # seconds; a holder that crashed is not waited for any longer
_PAUSE = 0.05  # seconds between two tries
_FORGOTTEN = 24 * 60 * 60 * 1000  # milliseconds after its end that a lease is kept, for nothing

# The same on both databases: one row per name, taken over when its time is up.
_TAKE = text(
    "INSERT INTO leases (name, holder, until) VALUES (:name, :holder, :until)"
    " ON CONFLICT (name) DO UPDATE SET holder = :holder, until = :until"
    " WHERE leases.until <= :now RETURNING name"
)
_RELEASE = text("DELETE FROM leases WHERE name = :name AND holder = :holder")
_SWEEP = text("DELETE FROM leases WHERE until <= :before")


class Leases:
    """Takes and releases leases. One per process."""

    def __init__(self, database: Database, *, clock: Callable[[], int] = now_ms) -> None:
        """*clock* is in milliseconds since the epoch."""
        self._database = database
        self._clock = clock

    @asynccontextmanager
    async def held(self, name: str) -> AsyncIterator[None]:
        """
        Wait for the lease of *name* and hold it.

        Raises:
            TimedOut: Somebody held it for too long.
            Overloaded: The database did not answer.
        """
        holder = secrets.token_hex(16)
        try:
            async with asyncio.timeout(LONGEST):
                while not await self._take(name, holder):  # noqa: ASYNC110 - it is in a database
                    await asyncio.sleep(_PAUSE)
        except TimeoutError:
            raise TimedOut(sent=False) from None
        except StorageUnavailable as failure:
            raise Overloaded from failure
        try:
            yield
        finally:
            # What cannot be released ends by itself.
            with suppress(StorageUnavailable):
                async with self._database.writing() as session:
                    connection = await session.connection()
                    await connection.execute(_RELEASE, {"name": name, "holder": holder})

    async def turn(self, name: str, seconds: float) -> bool:
        """
        Take the lease of *name* and let it run out: one process gets it within *seconds*.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        return await self._take(name, secrets.token_hex(16), seconds)

    async def sweep(self) -> None:
        """
        Forget what ended long ago.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        async with self._database.writing() as session:
            connection = await session.connection()
            await connection.execute(_SWEEP, {"before": self._clock() - _FORGOTTEN})

    async def _take(self, name: str, holder: str, seconds: float = LONGEST) -> bool:
        now = self._clock()
        until = now + round(seconds * 1000)
        values = {"name": name, "holder": holder, "until": until, "now": now}
        async with self._database.writing() as session:
            done = await (await session.connection()).execute(_TAKE, values)
            return done.first() is not None
