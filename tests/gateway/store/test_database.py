"""Migrations make the schema the tables describe; writers of two processes lose nothing."""

import asyncio
import stat

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from gateway.store import schema_version, sqlite, tables
from gateway.store.database import Database, StorageUnavailable, UnsafeSqlite, guard_processes
from gateway.store.migrations import revisions
from gateway.store.migrations.revisions import upgrade


async def test_migrations_make_exactly_the_tables(database):
    def differences(connection):
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return compare_metadata(context, tables.METADATA)

    async with database.reader.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_migrating_twice_changes_nothing_and_loses_nothing(database):
    async with database.writing() as session:
        session.add(tables.Resource(name="kept", created_at=1))
    await database.migrate()

    async with database.reading() as session:
        assert (await session.get(tables.Resource, 1)).name == "kept"


async def test_two_processes_may_migrate_an_empty_store_at_once(tmp_path):
    url = f"sqlite+aiosqlite:///{tmp_path / 'new.db'}"
    both = [Database.open(url) for _ in range(2)]
    await asyncio.gather(*(database.migrate() for database in both))

    async with both[0].reader.connect() as connection:
        names = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
    assert set(names) == {*tables.METADATA.tables, "alembic_version"}
    for database in both:
        await database.close()


async def test_the_schema_can_be_taken_down_again(tmp_path):
    from alembic import command

    database = Database.open(f"sqlite+aiosqlite:///{tmp_path / 'new.db'}")
    async with database.writer.begin() as connection:
        await connection.run_sync(upgrade)
        await connection.run_sync(
            lambda sync: command.downgrade(revisions.alembic_config(sync), "base")
        )
        names = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
    assert names == ["alembic_version"]
    await database.close()


async def test_concurrent_writers_lose_no_update(database, store):
    other = Database.open(store)
    async with database.writing() as session:
        session.add(tables.Resource(name="0", created_at=0))

    async def add(store, times):
        for _ in range(times):
            async with store.writing() as session:
                row = await session.get(tables.Resource, 1)
                row.created_at += 1
                session.add(row)

    await asyncio.gather(*(add(store, 10) for store in (database, other) for _ in range(2)))

    async with other.reading() as session:
        assert (await session.get(tables.Resource, 1)).created_at == 40
    await other.close()


async def test_an_exception_rolls_everything_back(database):
    async def fail():
        async with database.writing() as session:
            session.add(tables.Resource(name="never", created_at=0))
            await session.flush()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()

    async with database.reading() as session:
        assert await session.get(tables.Resource, 1) is None


async def test_readers_cannot_write(database):
    async def write():
        async with database.reading() as session:
            session.add(tables.Resource(name="x", created_at=0))
            await session.commit()

    with pytest.raises(StorageUnavailable):
        await write()


async def test_a_locked_store_is_unavailable_not_broken(database, store, monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT", 0.05)
    other = Database.open(store)

    async def write(store):
        async with store.writing() as session:
            await session.exec(text("SELECT 1"))

    async with database.writing() as session:
        await session.exec(text("SELECT 1"))
        with pytest.raises(StorageUnavailable):
            await write(other)
    await other.close()


async def test_the_store_survives_crashes_and_links_are_enforced(database, monkeypatch):
    monkeypatch.undo()
    async with database.writer.connect() as connection:
        pragmas = {
            name: (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "foreign_keys")
        }
    assert pragmas == {"journal_mode": "wal", "foreign_keys": 1}


def test_the_packaged_sqlite_is_one_that_does_not_corrupt():
    assert sqlite.safe_for_many_processes()


def test_an_old_sqlite_serves_one_process_only(store, monkeypatch):
    monkeypatch.setattr(sqlite, "version", lambda: (3, 40, 1))
    database = Database.open(store)

    guard_processes(database, 1)
    with pytest.raises(UnsafeSqlite, match=r"3\.40\.1 cannot serve several processes; 3\.51\.3"):
        guard_processes(database, 2)


async def test_only_the_owner_may_read_a_new_store(tmp_path):
    database = Database.open(f"sqlite+aiosqlite:///{tmp_path / 'new.db'}")
    await database.migrate()
    await database.close()

    assert stat.S_IMODE((tmp_path / "new.db").stat().st_mode) == 0o600


def test_the_known_versions_are_those_of_the_migrations():
    scripts = ScriptDirectory.from_config(revisions.alembic_config())

    assert list(schema_version.known()) == [each.revision for each in scripts.walk_revisions()]
