"""Waits and registrations of two processes on PostgreSQL, whose statements read its clock."""

import asyncio

import expired_rows
import pytest
from database_servers import postgres_server
from sqlmodel import select

from gateway.feeds import wakes
from gateway.feeds.push.arrivals import Arrivals
from gateway.feeds.push.registrations import RegistrationStore
from gateway.feeds.wakes import Waiters, WakeStore
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow
from providers.ports.pushes import Registration

pytestmark = pytest.mark.slow


class Process:
    """A process with streams, whose waits end when a test says so."""

    def __init__(self, database, connection):
        self.followed, self.woken = frozenset({connection}), []
        self.changes, self.waits = asyncio.Queue(), 0
        self.store = WakeStore(database)
        self.waiters = Waiters(self.store, self, self.wait)

    async def wait(self, _connection, seconds):
        self.waits += 1
        try:
            async with asyncio.timeout(seconds):
                return await self.changes.get()
        except TimeoutError:
            return False

    def wake(self, connection):
        self.woken.append(connection)

    async def turn(self):
        await self.waiters.turn()
        await asyncio.sleep(0.05)


@pytest.fixture
async def processes(monkeypatch):
    monkeypatch.setattr(wakes, "SPACING_SECONDS", 0.1)
    monkeypatch.setattr(wakes, "WAIT_SECONDS", 0.2)
    monkeypatch.setattr(wakes, "LEASE_MS", 1_500)
    with postgres_server() as server:
        databases = [Database.open(server.url) for _ in range(2)]
        await databases[0].migrate()
        await expired_rows.fill_owners(databases[0])
        async with databases[0].reading() as session:
            connection = (await session.exec(select(ConnectionRow.id))).first()
        made = [Process(database, connection) for database in databases]
        yield made
        for process in made:
            for task in list(process.waiters._waits.values()):
                task.cancel()
        await asyncio.sleep(0.1)
        for database in databases:
            await database.close()


async def test_one_waits_and_the_other_takes_over_when_it_is_killed(processes):
    first, second = processes
    (connection,) = first.followed
    for _ in range(3):
        for process in processes:
            await process.turn()
    assert (first.waits > 0, second.waits) == (True, 0)

    first.changes.put_nowait(True)
    for _ in range(5):
        for process in processes:
            await process.turn()
    assert [process.woken for process in processes] == [[connection]] * 2

    async def not_given_back(_connection):
        """Be killed."""

    first.store.release = not_given_back
    first.waiters._waits[connection].cancel()
    async with asyncio.timeout(10):
        while not second.waits:
            await second.turn()
    assert not await first.store.take(connection)


async def test_what_is_told_to_one_process_wakes_both_and_what_nobody_follows_is_found(
    processes, monkeypatch
):
    first, second = processes
    (connection,) = first.followed
    stores = [RegistrationStore(process.store._database) for process in processes]
    assert await first.store.take(connection)
    await stores[0].begin(connection, "t" * 64, "m" * 64)
    made = Registration(name="registration", mark="mark", ends_ms=2**43)
    await stores[0].store(connection, made, 2**43)
    assert await stores[1].abandoned(0) == []
    for process in processes:
        await process.turn()
    arrivals = Arrivals(second.store)
    async with arrivals.running():
        arrivals.add([connection])
        async with asyncio.timeout(10):
            while not (first.woken and second.woken):
                for process in processes:
                    await process.turn()

    for process in processes:
        process.followed = frozenset()
        await process.turn()
    await first.store.release(connection)
    (row,) = await stores[1].abandoned(0)
    assert (row.connection_id, row.name) == (connection, "registration")
    assert await stores[1].abandoned(60_000) == []
