"""A start neither waits for a process that stands still nor for long without saying why."""

import asyncio
import os
import subprocess
import sys

import asyncpg
import pytest
import pytest_asyncio
from database_servers import postgres_server
from sqlalchemy import text

from gateway.errors import CommandError
from gateway.store import database as databases
from gateway.store import postgres as postgres_store
from gateway.store import sqlite
from gateway.store.database import Database, StorageUnavailable

pytestmark = pytest.mark.slow

UPGRADE = [sys.executable, "-m", "gateway", "db", "upgrade"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def postgres():
    with postgres_server() as server:
        yield server


async def connect(postgres):
    return await asyncpg.connect(
        host="127.0.0.1", port=postgres.port, user="postgres", database="postgres", ssl=False
    )


@pytest.mark.asyncio(loop_scope="module")
async def test_a_start_waits_for_the_migration_of_another_process_and_says_so(
    postgres, monkeypatch, caplog
):
    monkeypatch.setattr(databases, "MIGRATION_SECONDS", 1.0)
    database, other = Database.open(postgres.url), await connect(postgres)
    transaction = other.transaction()
    await transaction.start()
    await other.execute("SELECT pg_advisory_xact_lock($1)", databases._MIGRATION_LOCK)
    try:
        with pytest.raises(CommandError, match="Another process has been upgrading the database"):
            await database.migrate()
        assert "another process upgrades the database: waiting for its end" in caplog.text

        monkeypatch.setattr(databases, "MIGRATION_SECONDS", 60.0)
        caplog.clear()
        starting = asyncio.create_task(database.migrate())
        while "waiting" not in caplog.text:  # noqa: ASYNC110 - it is said by a log line
            await asyncio.sleep(0.01)
        assert not starting.done()
        await transaction.rollback()
        await starting

        await other.execute("BEGIN")
        await other.execute("SELECT pg_advisory_xact_lock($1)", databases._MIGRATION_LOCK)
        await database.migrate()  # nothing is left to do, so that it waits for nobody
    finally:
        await other.close()
        await database.close()


@pytest.mark.asyncio(loop_scope="module")
async def test_locks_of_a_process_that_stands_still_in_a_transaction_are_released(
    postgres, monkeypatch
):
    monkeypatch.setattr(postgres_store, "_IDLE_MS", 500)
    still, other = Database.open(postgres.url), Database.open(postgres.url)
    await still.migrate()
    update = text("UPDATE deployment SET id = id")
    try:
        with pytest.raises(StorageUnavailable):
            await stand_still(still, update, until=write(other, update))
    finally:
        await still.close()
        await other.close()


async def write(database, statement):
    async with database.writing() as session:
        await (await session.connection()).execute(statement)


async def stand_still(database, statement, *, until):
    """Keep a write transaction open until another one was committed."""
    async with database.writing() as session:
        await (await session.connection()).execute(statement)
        await until


def test_a_start_with_sqlite_waits_for_no_writer(tmp_path):
    """Another process stands still in a write transaction; the schema is current."""
    environment = {**os.environ, "AGW_DATA_DIR": str(tmp_path)}
    subprocess.run(UPGRADE, env=environment, check=True, capture_output=True)
    writer = sqlite.connect(tmp_path / "gateway.db", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        subprocess.run(UPGRADE, env=environment, check=True, capture_output=True)
    finally:
        writer.close()
