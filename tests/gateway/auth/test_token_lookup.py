"""Cached rows are read again after a commit of any process, and only then."""

import pytest
from sqlmodel import col, update

from gateway.auth.token_lookup import open_row_reader
from gateway.store.database import Database
from gateway.store.tables import Resource

_NAMES = "SELECT name FROM resources WHERE id = :id"


@pytest.fixture
async def lookup(database):
    async with database.writing() as session:
        session.add(Resource(name="one", created_at=0))
    made = open_row_reader(database)
    yield made
    made.close()


async def rename(database, name):
    async with database.writing() as session:
        await session.exec(update(Resource).where(col(Resource.id) == 1).values(name=name))


def traced(lookup):
    """Return the statements that SQLite runs from now on."""
    statements = []
    lookup._connection.set_trace_callback(statements.append)
    return statements


async def test_without_a_change_only_the_version_is_read(lookup):
    assert await lookup.rows(_NAMES, {"id": 1}) == [("one",)]
    statements = traced(lookup)

    assert await lookup.rows(_NAMES, {"id": 1}) == [("one",)]
    assert await lookup.rows(_NAMES, {"id": 2}) == []
    assert statements == [
        "PRAGMA data_version",
        "PRAGMA data_version",
        "SELECT name FROM resources WHERE id = 2",
    ]


async def test_a_change_is_seen_at_once_whoever_made_it(database, store, lookup):
    other = Database.open(store)
    for number, writer in enumerate([database, other] * 20):
        await rename(writer, f"name {number}")

        assert await lookup.rows(_NAMES, {"id": 1}) == [(f"name {number}",)]
    await other.close()


async def test_closing_clears_the_cache(database, lookup):
    assert await lookup.rows(_NAMES, {"id": 1}) == [("one",)]
    lookup.close()
    await rename(database, "two")

    assert await lookup.rows(_NAMES, {"id": 1}) == [("two",)]
