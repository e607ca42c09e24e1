"""Registrations for notifications, in the database: one of a connection."""

import hashlib
from collections.abc import Sequence

from sqlalchemy import and_, delete, func, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.store.conflicts import retried
from gateway.store.database import Database
from gateway.store.further_tables import ConnectionWake, PushRegistration
from gateway.store.tables import ConnectionRow
from gateway.store.timestamps import now_ms
from providers.ports.pushes import Lack, Registration

MAKING_MS = 60_000  # that a provider may take to make one
FAILED_MS = 1_200_000  # longer than the longest pause before another try
OTHER_FAILURE = "other"  # the provider failed; the polls tell how


def digest(text: str) -> str:
    """Return what is stored of a mark."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_valid(row: PushRegistration | None, target: str, now: int) -> bool:
    """Return whether a row stands for a registration that notifies *target*."""
    return row is not None and bool(row.name) and row.target == target and row.ends_at > now


class RegistrationStore:
    """The registrations of all connections. One per process."""

    def __init__(self, database: Database) -> None:
        self._database, self.now = database, now_ms

    async def read(self, connection: int) -> PushRegistration | None:
        """Return the row of a connection."""
        async with self._database.reading() as session:
            return await session.get(PushRegistration, connection)

    async def provider_of(self, connection: int) -> str:
        """Return the provider of a connection; "" for one that was deleted."""
        query = select(ConnectionRow.provider).where(col(ConnectionRow.id) == connection)
        async with self._database.reading() as session:
            return (await session.exec(query)).first() or ""

    async def with_mark(self, marks: Sequence[str]) -> Sequence[int]:
        """Return the connections whose notifications have one of *marks*, as digests."""
        row = PushRegistration
        query = select(row.connection_id).where(col(row.mark).in_(marks), col(row.name) != "")
        async with self._database.reading() as session:
            return (await session.exec(query)).all()

    async def of_mark(self, mark: str, target: str) -> PushRegistration | None:
        """Return the row whose notifications have *mark*, and go to *target*; both are digests."""
        row = PushRegistration
        query = select(row).where(col(row.mark) == mark, col(row.target) == target)
        async with self._database.reading() as session:
            return (await session.exec(query.limit(1))).first()

    async def abandoned(self, after_ms: int) -> Sequence[PushRegistration]:
        """
        Return those whose connections nobody has followed for *after_ms* milliseconds.

        What failed stays longer, until it would have been tried again. None while the clock is
        not trusted.
        """
        if not self._database.clock.is_trusted:
            return ()
        before = self._database.clock.now() - after_ms
        row, until = PushRegistration, col(ConnectionWake.until)
        is_over = or_(and_(until <= before, col(row.name) != ""), until <= before - FAILED_MS)
        query = select(row).join(
            ConnectionWake, col(ConnectionWake.connection_id) == col(row.connection_id)
        )
        async with self._database.reading() as session:
            return (await session.exec(query.where(is_over).limit(100))).all()

    async def is_shared(self, row: PushRegistration) -> bool:
        """Return whether another connection has a registration with the same name and mark."""
        other = PushRegistration
        same = col(other.mark) == row.mark, col(other.name) == row.name
        query = select(other.connection_id).where(
            *same, col(other.connection_id) != row.connection_id
        )
        async with self._database.reading() as session:
            return (await session.exec(query.limit(1))).first() is not None

    @retried
    async def begin(self, connection: int, target: str, mark: str) -> None:
        """Store that a registration for *target* is about to be made, whose digest is *mark*."""
        row = PushRegistration
        values = {
            "name": "",
            "target": target,
            "mark": mark,
            "ends_at": self.now() + MAKING_MS,
            "renew_at": 0,
            "failure": "",
        }
        insert = self._database.insert(row).values(connection_id=connection, **values)
        store = insert.on_conflict_do_update(index_elements=["connection_id"], set_=values)
        await self._database.execute(store.returning(col(row.connection_id)))

    async def store(self, connection: int, made: Registration, renew_at: int) -> None:
        """Store a registration that was made."""
        await self._change(
            connection,
            name=made.name,
            mark=digest(made.mark),
            ends_at=made.ends_ms,
            renew_at=renew_at,
            failure="",
        )

    async def renewed(self, connection: int, ends_at: int, renew_at: int) -> None:
        """Store a new end."""
        await self._change(connection, ends_at=ends_at, renew_at=renew_at, failure="")

    async def failed(self, connection: int, lack: Lack | None, renew_at: int = 0) -> None:
        """Store why a registration was not made, or not renewed until *renew_at*."""
        failure = OTHER_FAILURE if lack is None else lack.name.lower()
        await self._change(connection, renew_at=renew_at, failure=failure)

    async def renew_soon(self, connection: int) -> None:
        """Have the process that holds a registration renew it."""
        await self._change(connection, renew_at=0)

    async def lost(self, connection: int) -> None:
        """Store that the provider has ended a registration; the holder makes another one."""
        await self._change(connection, ends_at=0)

    @retried
    async def _change(self, connection: int, **values: str | int) -> None:
        row = update(PushRegistration).where(col(PushRegistration.connection_id) == connection)
        await self._database.execute(row.values(**values))

    @retried
    async def delete(self, connection: int) -> None:
        """Forget a registration that has ended."""
        row = delete(PushRegistration).where(col(PushRegistration.connection_id) == connection)
        await self._database.execute(row)


async def count_by_failure(session: AsyncSession) -> dict[str, int]:
    """Count the registrations by what is missing; "" for those that work."""
    row = PushRegistration
    query = select(row.failure, func.count()).group_by(col(row.failure))
    return dict((await session.exec(query)).all())
