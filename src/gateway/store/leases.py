"""
Leases: locks in the database that all processes share, and that expire.

`hold("refresh:7")` is a lock for one process at a time; `take_turn("recovery:7", 60)` lets one of
all processes run a periodic task.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sqlalchemy import delete, false, or_
from sqlmodel import col

from gateway.errors import Overloaded
from gateway.store.cleanup import delete_in_slices
from gateway.store.clock import StatementClock
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import LeaseRow
from providers.failures import TimedOut

MAX_LEASE_SECONDS = 30.0  # after that, the lease of a crashed holder is free
_RETRY_SECONDS = 0.05
_RETENTION_MS = 24 * 60 * 60 * 1000  # an expired lease that is not taken is deleted after a day


class Leases:
    """Takes and releases leases. One per process."""

    def __init__(self, database: Database, *, clock: StatementClock | None = None) -> None:
        """*clock* is the database's; tests have their own."""
        self._database = database
        self._now = clock or database.clock.now

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
            await self.release(name, holder)

    async def take_turn(self, name: str, seconds: float) -> bool:
        """
        Take the lease of *name* and let it expire: True in one process per *seconds*.

        False while the clock is not trusted, because turns are due by the clock.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        trusted = self._database.clock.is_trusted
        return trusted and await self._take(name, secrets.token_hex(16), seconds)

    async def extend(self, name: str, holder: str, seconds: float) -> bool:
        """
        Take the lease of *name* for *holder*, or extend it; False: another one has it.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        return await self._take(name, holder, seconds)

    async def release(self, name: str, holder: str) -> None:
        """Give the lease of *holder* back; one that cannot be given back expires by itself."""
        held = (col(LeaseRow.name) == name, col(LeaseRow.holder) == holder)
        with suppress(StorageUnavailable):
            await self._database.execute(delete(LeaseRow).where(*held))

    async def sweep(self) -> None:
        """
        Delete leases that expired more than a day ago. None while the clock is not trusted.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        if not self._database.clock.is_trusted:
            return
        is_expired = col(LeaseRow.until) <= self._now() - _RETENTION_MS
        await delete_in_slices(self._database, LeaseRow, is_expired, by=col(LeaseRow.name))

    @retried
    async def _take(self, name: str, holder: str, seconds: float = MAX_LEASE_SECONDS) -> bool:
        """
        Insert the row of the lease, or take over an expired one; return whether it was free.

        A process whose clock was wrong may have stored an end in the far future. So a lease that
        lasts longer than twice its term counts as expired, too.
        """
        now, term, until = self._now(), round(seconds * 1000), col(LeaseRow.until)
        expired = or_(until <= now, until > now + 2 * term)
        is_free = expired if self._database.clock.is_trusted else false()
        insert = self._database.insert(LeaseRow).values(name=name, holder=holder, until=now + term)
        take = insert.on_conflict_do_update(
            index_elements=["name"],
            set_={"holder": insert.excluded.holder, "until": insert.excluded.until},
            where=or_(is_free, col(LeaseRow.holder) == holder),  # taken, and the response was lost
        )
        return bool(await self._database.execute(take.returning(col(LeaseRow.name))))
