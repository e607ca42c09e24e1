"""
Two versions of the program at once over one migration: the older one goes on while one starts.

A migration must only expand: what an older program reads stays, and what it does not write has a
default. So the processes of a deployment are replaced one after another.
"""

import itertools

import pytest
from sqlalchemy import create_engine, inspect

from gateway.store import schema_version
from gateway.store.migrations.revisions import upgrade

VERSIONS = tuple(reversed(schema_version.known()))
# Migrations that an older program does not survive, each with its reason. From now on there are
# none: a change that contracts takes two versions, the first of which no longer uses the old form.
CONTRACTING = {}


def columns(connection):
    """Return (table, column) -> (type, nullable, whether the database has a default)."""
    inspector = inspect(connection)
    return {
        (table, column["name"]): (
            str(column["type"]),
            column["nullable"],
            column["default"] is not None or column.get("autoincrement") is True,
        )
        for table in inspector.get_table_names()
        for column in inspector.get_columns(table)
    }


def uniques(connection):
    """Return what must be unique: (table, columns)."""
    inspector = inspect(connection)
    return {
        (table, tuple(item["column_names"]))
        for table in inspector.get_table_names()
        for item in (*inspector.get_unique_constraints(table), *inspector.get_indexes(table))
        if item.get("unique", True)
    }


@pytest.fixture
def connection():
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("older", "newer"), [pytest.param(*pair, id=pair[1]) for pair in itertools.pairwise(VERSIONS)]
)
def test_a_migration_takes_nothing_from_the_version_before(connection, older, newer):
    upgrade(connection, older)
    before, before_uniques = columns(connection), uniques(connection)
    upgrade(connection, newer)
    after, after_uniques = columns(connection), uniques(connection)
    tables = {table for table, _ in before}

    problems = {f"{'.'.join(key)} is gone" for key in before.keys() - after.keys()}
    for key in before.keys() & after.keys():
        if before[key][0] != after[key][0]:
            problems.add(f"{'.'.join(key)} has another type")
        if before[key][1] and not after[key][1]:
            problems.add(f"{'.'.join(key)} must not be null any more")
    for key in after.keys() - before.keys():
        _, nullable, has_default = after[key]
        if key[0] in tables and not nullable and not has_default:
            problems.add(f"{'.'.join(key)} is new, not null and without a default")
    problems |= {
        f"{table} is unique by {names}"
        for table, names in after_uniques - before_uniques
        if table in tables and all((table, name) in before for name in names)
    }

    assert problems == CONTRACTING.get(newer, set())
