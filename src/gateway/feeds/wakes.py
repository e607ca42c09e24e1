"""
Wake-ups of polls by the providers (docs/spec/changes.md#sooner-than-the-next-poll).

One process waits for the changes of a connection, by a lease; it notes the moment of a change in
the database, where subscriptions become due and the processes with streams see it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from secrets import token_hex
from time import monotonic

from sqlalchemy import ColumnElement, or_, tuple_, update
from sqlmodel import col, select

from gateway.feeds.streams import Streams
from gateway.store.background import PeriodicTask, cancel, running_tasks
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.further_tables import ConnectionWake, FeedSubscription, WebhookTarget
from gateway.store.tables import AccessToken, ConnectionRow, TokenResource
from gateway.store.timestamps import now_ms
from gateway.webhooks import targets
from providers.catalogue.tables import WAITED_FOR
from providers.failures import ProviderFailure

PAUSE_SECONDS = 1.0  # between two looks at what is followed, and at what others noted
REFRESH_SECONDS = 30.0  # the same for what subscriptions follow
WAIT_SECONDS = 30.0  # of one wait; the lease is extended between two
LEASE_MS = 90_000
SPACING_SECONDS = 10.0  # between two wake-ups of a connection
RETRY_SECONDS = 60.0  # after a first failure; then twice as long each, up to
MAX_RETRY_SECONDS = 900.0
MAX_WAITS = 500  # of one process; the others are polled

# Waits for a change of a connection for some seconds; see `Accounts.wait_for_change`.
Wait = Callable[[int, float], Awaitable[bool]]
_REACHES: ColumnElement[bool] = (col(ConnectionRow.operator_id) == col(AccessToken.operator_id)) & (
    col(ConnectionRow.resource_id) == col(TokenResource.resource_id)
)


class WakeStore:
    """Leases of waits, and moments of changes, of connections. One per process."""

    def __init__(
        self, database: Database, waitable: Collection[tuple[str, str]] = WAITED_FOR
    ) -> None:
        """*waitable*: kinds and providers of the accounts that can be waited for."""
        self._database, self._now = database, database.clock.now
        self._waitable = waitable
        self._holder = token_hex(16)

    async def followed(self) -> frozenset[int]:
        """Return the connections that subscriptions follow and that can be waited for."""
        ids = (
            select(col(ConnectionRow.id))
            .select_from(FeedSubscription)
            .join(WebhookTarget)
            .join(AccessToken, col(AccessToken.id) == col(FeedSubscription.token_id))
            .join(TokenResource, col(TokenResource.token_id) == col(AccessToken.id))
            .join(ConnectionRow, _REACHES)
            .where(
                col(WebhookTarget.state) == targets.ACTIVE,
                col(FeedSubscription.surfaces).contains(col(ConnectionRow.kind)),
                tuple_(col(ConnectionRow.kind), col(ConnectionRow.provider)).in_(self._waitable),
                col(ConnectionRow.shared_on).is_(None),
                col(ConnectionRow.status) == "active",
            )
        )
        async with self._database.reading() as session:
            return frozenset(filter(None, (await session.exec(ids)).all()))

    async def read(self, connections: Collection[int]) -> Mapping[int, ConnectionWake]:
        """Return what is noted of *connections*, by their ids."""
        rows = select(ConnectionWake).where(col(ConnectionWake.connection_id).in_(connections))
        async with self._database.reading() as session:
            return {row.connection_id: row for row in (await session.exec(rows)).all()}

    def is_free(self, row: ConnectionWake | None) -> bool:
        """Return whether no other process waits, as far as the clock of this machine tells."""
        return row is None or row.holder == self._holder or row.until <= now_ms()

    @retried
    async def take(self, connection: int) -> bool:
        """Take the lease of a connection, or extend it; False: another process has it."""
        now, row = self._now(), ConnectionWake
        values = {"holder": self._holder, "until": now + LEASE_MS}
        insert = self._database.insert(row).values(connection_id=connection, woken_at=0, **values)
        take = insert.on_conflict_do_update(
            index_elements=["connection_id"],
            set_=values,
            where=or_(col(row.until) <= now, col(row.holder) == self._holder),
        )
        return bool(await self._database.execute(take.returning(col(row.connection_id))))

    @retried
    async def release(self, connection: int) -> None:
        """Let another process wait."""
        mine = col(ConnectionWake.holder) == self._holder
        row = update(ConnectionWake).where(mine, col(ConnectionWake.connection_id) == connection)
        await self._database.execute(row.values(until=self._now()))

    @retried
    async def note(self, connection: int) -> None:
        """Note that a connection changed, and let the subscriptions that follow it be due."""
        row, now = FeedSubscription, self._now()
        reaching = (
            select(col(AccessToken.id))
            .join(TokenResource, col(TokenResource.token_id) == col(AccessToken.id))
            .join(ConnectionRow, _REACHES)
            .where(col(ConnectionRow.id) == connection)
        )
        kind = select(ConnectionRow.kind).where(col(ConnectionRow.id) == connection)
        later = (
            col(row.due_at) > now,
            col(row.failures) == 0,
            col(row.token_id).in_(reaching),
            col(row.surfaces).contains(kind.scalar_subquery()),
        )
        noted = update(ConnectionWake).where(col(ConnectionWake.connection_id) == connection)
        async with self._database.writing() as session:
            await session.exec(noted.values(woken_at=now))
            await session.exec(update(row).where(*later).values(due_at=now))


class Waiters:
    """The waits of one process; none while nobody follows what can be waited for."""

    def __init__(self, store: WakeStore, streams: Streams, wait: Wait) -> None:
        self._store, self._streams, self._wait = store, streams, wait
        self._waits: dict[int, asyncio.Task[None]] = {}
        self._subscribed: frozenset[int] = frozenset()
        self._refreshed_at = float("-inf")
        self._woken: dict[int, int] = {}  # when each connection was seen to be woken
        self._failed: dict[int, tuple[float, float]] = {}  # pause, and when to try again

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Wait for what is followed."""
        task = PeriodicTask(
            name="feed_waits",
            work=self.turn,
            pause_seconds=PAUSE_SECONDS,
            failure_message="changes could not be waited for",
        )
        try:
            async with running_tasks(task):
                yield
        finally:
            await cancel(self._waits.values())

    async def turn(self) -> None:
        """
        Begin and end waits, and wake the streams of this process.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        now = monotonic()
        if now - self._refreshed_at >= REFRESH_SECONDS:
            self._subscribed, self._refreshed_at = await self._store.followed(), now
        followed = self._streams.followed | self._subscribed
        for connection in self._waits.keys() - followed:
            self._waits[connection].cancel()
        self._woken = {each: at for each, at in self._woken.items() if each in followed}
        if not followed:
            return
        rows = await self._store.read(followed)
        for connection in followed:
            woken_at = rows[connection].woken_at if connection in rows else 0
            if woken_at > self._woken.setdefault(connection, woken_at):
                self._woken[connection] = woken_at
                self._streams.wake(connection)
        for connection in sorted(followed - self._waits.keys()):
            _, retry_at = self._failed.get(connection, (0.0, 0.0))
            may_begin = len(self._waits) < MAX_WAITS and now >= retry_at
            if may_begin and self._store.is_free(rows.get(connection)):
                self._begin(connection)

    def _begin(self, connection: int) -> None:
        task = asyncio.create_task(self._wait_for(connection))
        self._waits[connection] = task
        task.add_done_callback(lambda _task: self._waits.pop(connection, None))

    async def _wait_for(self, connection: int) -> None:
        """Wait until nobody follows a connection, or it fails: then it is polled for a while."""
        try:
            while await self._store.take(connection):
                if await self._wait(connection, WAIT_SECONDS):
                    await self._store.note(connection)
                    await asyncio.sleep(SPACING_SECONDS)
                self._failed.pop(connection, None)
        except (ProviderFailure, StorageUnavailable):
            pause, _ = self._failed.get(connection, (RETRY_SECONDS / 2, 0.0))
            pause = min(2 * pause, MAX_RETRY_SECONDS)
            self._failed[connection] = pause, monotonic() + pause
        finally:
            with suppress(StorageUnavailable):
                await self._store.release(connection)
