"""Waits for changes of connections: leases, ends, failures; the waits themselves are invented."""

import asyncio

import pytest

from gateway.feeds import wakes
from gateway.feeds.streams import Allowance
from gateway.feeds.wakes import Waiters, WakeStore
from gateway.store.clock import DatabaseClock
from providers.failures import Unreachable

CONNECTION = 1


class Account:
    """An account that changes when a test says so."""

    def __init__(self):
        self.waits, self.changes, self.failure = 0, asyncio.Queue(), None

    async def wait(self, _connection, _seconds):
        self.waits += 1
        if self.failure is not None:
            raise self.failure
        return await self.changes.get()


class Process:
    """A process with streams."""

    def __init__(self, database, account):
        self.followed, self.woken = frozenset(), []
        self.store = WakeStore(database)
        self.waiters = Waiters(self.store, self, account.wait)

    def wake(self, connection):
        self.woken.append(connection)

    async def turn(self):
        await self.waiters.turn()
        for _ in range(20):
            await asyncio.sleep(0.005)

    @property
    def waits(self):
        return len(self.waiters._waits)


@pytest.fixture
def account(monkeypatch):
    monkeypatch.setattr(wakes, "SPACING_SECONDS", 0)
    return Account()


@pytest.fixture
def processes(world, account):
    database = world.gateway.services.database
    return [Process(database, account) for _ in range(2)]


async def test_one_process_waits_and_all_streams_are_woken(processes, account):
    first, second = processes
    await first.turn()
    assert (first.waits, account.waits) == (0, 0)  # nobody follows

    for process in processes:
        process.followed = frozenset({CONNECTION})
        await process.turn()
    assert ([each.waits for each in processes], account.waits) == ([1, 0], 1)

    account.changes.put_nowait(True)
    for process in (*processes, *processes):
        await process.turn()
    assert ([each.woken for each in processes], account.waits) == ([[CONNECTION]] * 2, 2)

    first.followed = frozenset()
    for process in processes:
        await process.turn()
    assert [each.waits for each in processes] == [0, 1]
    second.followed = frozenset()
    await second.turn()
    assert second.waits == 0


async def test_the_lease_of_a_process_that_died_is_taken(processes, monkeypatch):
    first, second = (process.store for process in processes)
    assert await first.take(CONNECTION)
    assert await first.take(CONNECTION)
    assert not await second.take(CONNECTION)
    later = first._now() + wakes.LEASE_MS
    monkeypatch.setattr(second, "_now", lambda: later)
    assert await second.take(CONNECTION)
    monkeypatch.setattr(first, "_now", lambda: later)
    assert not await first.take(CONNECTION)


async def test_a_process_sees_a_lease_where_the_database_has_its_own_clock(processes, monkeypatch):
    first, second = (process.store for process in processes)
    assert await first.take(CONNECTION)
    for store in (first, second):
        monkeypatch.setattr(store, "_now", DatabaseClock(of_server=True).now)
    row = (await second.read([CONNECTION]))[CONNECTION]
    assert (first.is_free(row), second.is_free(row), second.is_free(None)) == (True, False, True)


async def test_an_account_that_fails_is_polled_for_a_while(processes, account, monkeypatch):
    process = processes[0]
    process.followed, account.failure = frozenset({CONNECTION}), Unreachable()
    clock = [100.0]
    monkeypatch.setattr(wakes, "monotonic", lambda: clock[0])
    for seconds, waits in ((0, 1), (59, 1), (1, 2), (119, 2), (1, 3)):
        clock[0] += seconds
        await process.turn()
        assert (account.waits, process.waits) == (waits, 0)


def test_woken_polls_are_at_most_as_many_as_those_at_the_interval(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("gateway.feeds.streams.monotonic", lambda: clock[0])
    allowance = Allowance(60)
    assert [allowance.take() for _ in range(6)] == [True] * 5 + [False]
    clock[0] = 59
    assert not allowance.take()
    clock[0] = 60.5
    assert [allowance.take() for _ in range(2)] == [True, False]
