"""
Leases of the processes that serve the database: `db restore` refuses meanwhile, and processes that
share too little say so.

A lease works alike on SQLite, on PostgreSQL and behind a connection pooler, whose sessions outlive
the processes. A process that was killed counts as serving for at most `TERM_SECONDS`.
"""

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sqlalchemy import delete
from sqlmodel import col, select

from gateway.store.background import PeriodicTask, running_tasks
from gateway.store.clock import StatementClock
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import LeaseRow

TERM_SECONDS = 30.0
RENEWAL_SECONDS = 10.0
_RELEASE_SECONDS = 2.0  # that a stop waits for the deletion of the lease
_PREFIX = "serving:"
_MAX_HOST = 70  # characters; a lease's name has at most 100
_log = logging.getLogger("gateway")


def lacking(processes: int, *, embedded: bool, redis: bool) -> tuple[str, str] | None:
    """
    Return what so many *processes* over one database lack, and the remedy; None if nothing.

    *embedded*: the database is an SQLite file; *redis*: they share counters.
    """
    if processes < 2 or (redis and not embedded):
        return None
    names = [*(["AGW_DATABASE_URL (PostgreSQL)"] if embedded else [])]
    names += [] if redis else ["AGW_REDIS_URL"]
    remedy = f"Set {' and '.join(names)}, or serve with one process."
    fault = f"{processes} processes serve one database "
    if redis:
        return f"{fault}that is an SQLite file: their writes wait for each other", remedy
    return f"{fault}without Redis: each counts every rate limit for itself", remedy


class ServingLease:
    """The lease of this process. One per process."""

    def __init__(
        self,
        database: Database,
        *,
        clock: StatementClock | None = None,
        redis: bool = True,
        told: bool = True,
    ) -> None:
        """
        *clock* is the database's; tests have their own.

        Unless it was *told* before, others that share too little with this process are logged,
        once; with *redis* they share counters.
        """
        self._database = database
        self._now = clock or database.clock.now
        self._holder = secrets.token_hex(16)
        self._redis = redis
        self._told = told or self._lacking(2) is None
        self._first_until: int | None = None  # when our first lease ended

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Take the lease, renew it periodically, and delete it at the end."""
        await self._renew_if_possible()
        task = PeriodicTask(
            name="serving_lease",
            work=self._renew_if_possible,
            pause_seconds=RENEWAL_SECONDS,
            failure_message="the lease of this process could not be renewed",
        )
        try:
            async with running_tasks(task):
                yield
        finally:
            with suppress(StorageUnavailable, TimeoutError):
                async with asyncio.timeout(_RELEASE_SECONDS):
                    await self.release()

    @retried
    async def renew(self) -> None:
        """
        Store that this process serves for the next `TERM_SECONDS`.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        name = f"{_PREFIX}{socket.gethostname()[:_MAX_HOST]}:{os.getpid()}"
        until = self._now() + round(TERM_SECONDS * 1000)
        insert = self._database.insert(LeaseRow)
        insert = insert.values(name=name, holder=self._holder, until=until)
        renewal = insert.on_conflict_do_update(
            index_elements=["name"],
            set_={"holder": insert.excluded.holder, "until": insert.excluded.until},
        )
        await self._database.execute(renewal)

    @retried
    async def release(self) -> None:
        """
        Delete the lease.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        await self._database.execute(delete(LeaseRow).where(col(LeaseRow.holder) == self._holder))

    async def _renew_if_possible(self) -> None:
        # `/readyz` reports a database that takes no writes; the lease adds nothing to that.
        with suppress(StorageUnavailable):
            await self.renew()
            if not self._told:
                await self._tell_of_others()

    async def _tell_of_others(self) -> None:
        async with self._database.reading() as session:
            leases = select(LeaseRow.holder, LeaseRow.until).where(
                col(LeaseRow.name).startswith(_PREFIX)
            )
            until = dict((await session.exec(leases)).all())
        if self._first_until is None:
            self._first_until = until.get(self._holder)
            return
        # A lease that was not renewed since our start may be that of a process that was killed.
        renewed = [
            end
            for holder, end in until.items()
            if holder != self._holder and end > self._first_until
        ]
        if fault := self._lacking(1 + len(renewed)):
            self._told = True
            _log.warning("%s. %s", *fault)

    def _lacking(self, processes: int) -> tuple[str, str] | None:
        return lacking(processes, embedded=self._database.path is not None, redis=self._redis)


async def serving_processes(database: Database) -> list[str]:
    """Return the processes whose leases are valid as phrases: "host (process 7)", by name."""
    async with database.reading() as session:
        valid = (col(LeaseRow.name).startswith(_PREFIX), col(LeaseRow.until) > database.clock.now())
        names = await session.exec(select(LeaseRow.name).where(*valid).order_by(LeaseRow.name))
        parts = [name.removeprefix(_PREFIX).rpartition(":") for name in names]
    return [f"{host} (process {process})" for host, _, process in parts]


@retried
async def forget_serving_processes(database: Database) -> None:
    """
    Delete every such lease; processes that serve store theirs again.

    Raises:
        StorageUnavailable: The database did not answer.
    """
    await database.execute(delete(LeaseRow).where(col(LeaseRow.name).startswith(_PREFIX)))
