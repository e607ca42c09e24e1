"""
Databases of earlier versions: upgraded to the schema that a new one has, or refused.

`old_databases` has dumps, with two rows in each table, of databases that the chain of migrations
made before it was shortened: of 0019, which is the schema of version 0.2, and of 0022.
"""

from contextlib import AsyncExitStack, closing

import asyncpg
import pytest
from machines_postgres import empty_database
from paths import REPOSITORY
from sqlalchemy import text

from gateway.errors import CommandError
from gateway.store import schema_version, sqlite
from gateway.store.database import Database

DUMPS = REPOSITORY / "tests/gateway/store/old_databases"
KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]
# What a schema is made of; each query returns rows of texts and numbers.
QUERIES = {
    "sqlite": (
        "SELECT m.name, c.* FROM sqlite_master m, pragma_table_xinfo(m.name) c"
        " WHERE m.type = 'table' ORDER BY m.name, c.cid",
        'SELECT m.name, f."from", f."table", f."to", f.on_update, f.on_delete'
        " FROM sqlite_master m, pragma_foreign_key_list(m.name) f"
        " WHERE m.type = 'table' ORDER BY 1, 2",
        'SELECT m.name, i.name, i."unique", i.origin, i.partial, c.name, c.desc'
        " FROM sqlite_master m, pragma_index_list(m.name) i, pragma_index_xinfo(i.name) c"
        " WHERE m.type = 'table' ORDER BY m.name, i.name, c.seqno",
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql NOT NULL ORDER BY name",
        "SELECT name, sql LIKE '%AUTOINCREMENT%' FROM sqlite_master WHERE type = 'table'"
        " ORDER BY name",
    ),
    "postgresql": (
        "SELECT table_name, ordinal_position, column_name, data_type, character_maximum_length,"
        " is_nullable, column_default FROM information_schema.columns"
        " WHERE table_schema = 'public' ORDER BY 1, 2",
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
        "SELECT relname, reloptions::text FROM pg_class"
        " WHERE relnamespace = 'public'::regnamespace ORDER BY 1",
    ),
}


@pytest.fixture
async def databases(kind, tmp_path):
    """Two databases without tables."""
    async with AsyncExitStack() as stack:
        urls = [f"sqlite+aiosqlite:///{tmp_path / name}.db" for name in ("old", "new")]
        if kind == "postgresql":
            urls = [await stack.enter_async_context(empty_database()) for _ in urls]
        opened = [Database.open(url) for url in urls]
        for database in opened:
            stack.push_async_callback(database.close)
        yield opened


async def load(database, kind, number):
    """Fill a database with a dump."""
    dump = (DUMPS / f"{kind}-{number}.sql").read_text("utf-8")
    if kind == "sqlite":
        with closing(sqlite.connect(database.path)) as connection:
            connection.executescript(dump)
        return
    connection = await asyncpg.connect(database.url.replace("+asyncpg", ""))
    await connection.execute(dump)
    await connection.close()


async def query(database, statement):
    async with database.reader.connect() as connection:
        return [tuple(row) for row in await connection.execute(text(statement))]


async def schema_of(database, kind):
    return [await query(database, statement) for statement in QUERIES[kind]]


async def rows_of(database, names_of):
    return {
        table: await query(database, f"SELECT {names} FROM {table}") for table, names in names_of
    }


async def columns_of(database, kind):
    """Return table -> its columns, quoted and joined, in the order of their names."""
    columns = {}
    for table, *members in (await schema_of(database, kind))[0]:
        if not table.startswith(("alembic_", "sqlite_")):
            columns.setdefault(table, []).append(f'"{members[1]}"')
    return [(table, ", ".join(sorted(names))) for table, names in sorted(columns.items())]


@pytest.mark.parametrize("number", ["0019", "0022"])
@pytest.mark.parametrize("kind", KINDS)
async def test_an_old_database_ends_with_the_schema_of_a_new_one(databases, kind, number):
    old, new = databases
    await load(old, kind, number)
    columns = await columns_of(old, kind)
    before = await rows_of(old, columns)
    await old.migrate()
    await new.migrate()

    assert await schema_of(old, kind) == await schema_of(new, kind)
    assert await rows_of(old, columns) == before
    assert sum(map(len, before.values())) == 2 * 20 + 1  # one row in `deployment`
    assert await query(old, "SELECT version_num FROM alembic_version") == [
        (schema_version.newest(),)
    ]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_database_of_before_version_0_2_is_refused_and_left_alone(databases, kind):
    old, _ = databases
    await load(old, kind, "0019")
    async with old.writer.begin() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '0008'"))
    before = await schema_of(old, kind)

    with pytest.raises(CommandError) as refusal:
        await old.migrate()

    assert str(refusal.value) == (
        "The database is of version 0008, which is older than that of access-gateway 0.2 (0019): "
        "upgrade it with access-gateway 0.2 first."
    )
    assert await schema_of(old, kind) == before
    assert await query(old, "SELECT version_num FROM alembic_version") == [("0008",)]
