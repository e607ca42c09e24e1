"""A database's refusals: try again later, or a fault of the program or its data."""

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError

from gateway.store import background
from gateway.store.background import PeriodicTask, running_tasks
from gateway.store.database import StorageUnavailable
from gateway.store.failures import is_rejected, is_unavailable


class DriverError(Exception):
    def __init__(self, sqlstate):
        super().__init__()
        self.sqlstate = sqlstate


def wrapped(state):
    """The exception of SQLAlchemy's asyncpg dialect for errors that it has no class for."""
    return DBAPIError("SELECT 1", {}, DriverError(state))


@pytest.mark.parametrize("make", [wrapped, DriverError], ids=["statement", "connect"])
@pytest.mark.parametrize(
    "state",
    [
        "08006", "08P01", "25006", "25P02", "25P03", "28000", "28P01", "3D000", "40001", "40P01",
        "42501", "53000", "53100", "53200", "53300", "55000", "55P03", "57014", "57P01", "57P02",
        "57P03", "57P05", "58000", "58030", "72000", "F0000", "XX000", "XX001", "XX002",
    ],
)  # fmt: skip
def test_a_database_that_cannot_work_now_is_unavailable(state, make):
    assert is_unavailable(make(state))
    assert not is_rejected(make(state))


@pytest.mark.parametrize("state", ["22001", "22003", "22021", "23502", "23503", "23505", "23514"])
def test_data_that_the_database_refuses_is_not_unavailable(state):
    assert is_rejected(wrapped(state))
    assert not is_unavailable(wrapped(state))


@pytest.mark.parametrize("state", ["42P01", "42703", "42601", "0A000", "54000"])
def test_a_wrong_statement_is_a_fault_of_the_program(state):
    assert not is_unavailable(wrapped(state))
    assert not is_rejected(wrapped(state))


async def test_a_damaged_file_is_unavailable(database):
    async with database.reading() as session:
        await (await session.connection()).execute(text("SELECT 1"))
    with database.path.open("r+b") as file:
        file.write(b"no database" * 1000)
    for side_file in database.path.parent.glob("*-wal"):
        side_file.write_bytes(b"")

    with pytest.raises(StorageUnavailable):
        await write(database, "DELETE FROM leases")


async def write(database, statement, **values):
    async with database.writing() as session:
        await (await session.connection()).execute(text(statement), values)


async def test_a_full_disk_is_unavailable_until_there_is_room(database):
    insert = "INSERT INTO resources (name, created_at) VALUES (:name, 0)"
    await write(database, "PRAGMA max_page_count = 1")  # as many as there are

    with pytest.raises(StorageUnavailable):
        await write(database, insert, name="x" * 100_000)
    assert database.writes_fail
    assert not await database.accepts_writes()
    assert database.writes_fail
    await write(database, "PRAGMA max_page_count = 100000")
    database.writes_fail = True
    assert await database.accepts_writes()
    assert not database.writes_fail
    async with database.reading() as session:
        left = await (await session.connection()).execute(text("SELECT name FROM leases"))
        assert left.all() == []


async def test_a_broken_constraint_is_not_unavailable(database):
    with pytest.raises(IntegrityError) as refused:
        await write(database, "INSERT INTO token_resources (token_id, resource_id) VALUES (1, 1)")

    assert is_rejected(refused.value)
    assert not database.writes_fail


@pytest.mark.parametrize("failure", [StorageUnavailable(), ValueError("odd"), wrapped("42P01")])
async def test_a_background_task_survives_any_failure(failure, monkeypatch):
    monkeypatch.setattr(background, "last_runs", runs := {})
    ran, results = asyncio.Event(), [failure, failure, None]

    async def work():
        result = results.pop(0) if results else None
        if result is not None:
            raise result
        ran.set()

    task = PeriodicTask(name="test", work=work, pause_seconds=0, failure_message="it failed")
    async with running_tasks(task):
        await ran.wait()
        await asyncio.sleep(0)

    assert runs == {"test": True}
