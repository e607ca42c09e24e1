"""Processes that serve one database and share too little say so, once."""

import asyncio
import logging

import pytest
from sqlalchemy import update

from gateway.store import serving
from gateway.store.serving import ServingLease, lacking
from gateway.store.tables import LeaseRow

SEVERAL = "2 processes serve one database "
WITHOUT_REDIS = f"{SEVERAL}without Redis: each counts every rate limit for itself"
ONE_FILE = f"{SEVERAL}that is an SQLite file: their writes wait for each other"


@pytest.mark.parametrize(
    ("embedded", "redis", "expected"),
    [
        (False, True, None),
        (False, False, (WITHOUT_REDIS, "Set AGW_REDIS_URL, or serve with one process.")),
        (True, True, (ONE_FILE, "Set AGW_DATABASE_URL (PostgreSQL), or serve with one process.")),
        (
            True,
            False,
            (
                WITHOUT_REDIS,
                "Set AGW_DATABASE_URL (PostgreSQL) and AGW_REDIS_URL, or serve with one process.",
            ),
        ),
    ],
)
def test_what_two_processes_lack(embedded, redis, expected):
    assert lacking(2, embedded=embedded, redis=redis) == expected
    assert lacking(1, embedded=embedded, redis=redis) is None


@pytest.fixture
def warnings(caplog, monkeypatch):
    """Renew leases without pauses; return the warnings so far."""
    monkeypatch.setattr(serving, "RENEWAL_SECONDS", 0.001)
    return lambda: [
        record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING
    ]


class Ticks:
    """A clock of a lease that counts how often it was renewed."""

    def __init__(self):
        self.count = 0

    def __call__(self):
        self.count += 1
        return self.count * 10_000

    async def until(self, count):
        for _ in range(2000):
            if self.count >= count:
                return
            await asyncio.sleep(0.005)
        raise AssertionError(f"{self.count} renewals")


async def store_other(database, until):
    """Store the lease of another process, or change its end."""
    async with database.writing() as session:
        changed = await session.exec(
            update(LeaseRow).where(LeaseRow.name == "serving:other:1").values(until=until)
        )
        if not changed.rowcount:
            session.add(LeaseRow(name="serving:other:1", holder="other", until=until))


async def test_another_process_that_renews_its_lease_is_told_once(database, warnings):
    clock = Ticks()
    await store_other(database, 10_000)  # when our first lease ends: of a process that was killed
    async with ServingLease(database, clock=clock, redis=False, told=False).running():
        await clock.until(10)
        assert warnings() == []
        await store_other(database, 10_000_000)
        await clock.until(clock.count + 10)

    assert warnings() == [
        f"{WITHOUT_REDIS}. "
        "Set AGW_DATABASE_URL (PostgreSQL) and AGW_REDIS_URL, or serve with one process."
    ]


async def test_what_was_told_at_the_start_is_not_repeated(database, warnings):
    clock = Ticks()
    async with ServingLease(database, clock=clock, redis=False, told=True).running():
        await store_other(database, 10_000_000)
        await clock.until(10)

    assert warnings() == []
