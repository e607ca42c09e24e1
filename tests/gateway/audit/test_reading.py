"""
A page of the decision log on SQLite costs the same wherever it begins.

On PostgreSQL: `tests/load/test_decision_log_volume.py`.
"""

import shutil

import pytest
import pytest_asyncio
from recorded_statements import recorded_selects
from sqlalchemy import insert

from gateway.audit.reading import DecisionFilter, in_chain_order, newest
from gateway.store.database import Database
from gateway.store.tables import DecisionRow

ROWS, LIMIT, TOKENS, CHAINS = 6_000, 20, 3, 4


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled(migrated_file, tmp_path_factory):
    """Store `ROWS` decisions, several of each millisecond, over some chains; return the file."""
    path = shutil.copy(migrated_file, tmp_path_factory.mktemp("decisions") / "gateway.db")
    database = Database.open(f"sqlite+aiosqlite:///{path}")
    unset = dict.fromkeys(DecisionRow.model_fields)
    rows = [
        unset | {
            "id": number, "at": 1_000 + number // 7, "request_id": f"r{number}",
            "token_id": number % TOKENS, "operator_id": "o", "door": "rest", "outcome": "allowed",
            "status": 200, "policy_rev": 1, "hidden_fields": 0, "cost": 1, "duration": 1,
            "upstream_calls": 0, "chain": f"chain{number % CHAINS}", "number": number // CHAINS + 1,
            "signature": "s", "dry_run": False,
        }
        for number in range(ROWS)
    ]  # fmt: skip
    async with database.writing() as session:
        await (await session.connection()).execute(insert(DecisionRow), rows)
    await database.close()
    return path


@pytest_asyncio.fixture
async def database(filled, tmp_path):
    """A copy of the store with the decisions."""
    path = shutil.copy(filled, tmp_path / "gateway.db")
    database = Database.open(f"sqlite+aiosqlite:///{path}")
    yield database
    await database.close()


async def plans(database, query):
    """Run *query*; return the plan of each of its statements."""
    statements = await recorded_selects(database, query)
    async with database.reader.connect() as connection:
        results = [
            (await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)).all()
            for statement, parameters in statements
        ]
    return [[row[-1] for row in rows] for rows in results]


def assert_index(plan, name):
    """Check that *plan* finds its rows by the index *name*, and does not sort."""
    assert len(plan) == 1, plan
    assert f"SEARCH decisions USING INDEX {name} (" in plan[0], plan


@pytest.mark.slow
@pytest.mark.parametrize("position", [ROWS - 1, ROWS // 2, 40], ids=["first", "middle", "last"])
@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ({}, "ix_decisions_at_id"),
        ({"token_id": 1}, "ix_decisions_token_id_at_id"),
        ({"since": 1_000, "until": 9_000}, "ix_decisions_at_id"),
        *(
            ({name: "x"}, f"ix_decisions_{name}_at_id")
            for name in (
                *("outcome", "surface", "operation", "layer", "code"),
                *("request_id", "actor"),
            )
        ),
    ],
    ids=lambda value: " ".join(value) or "all" if isinstance(value, dict) else value,
)
async def test_a_page_reads_its_rows_alone(database, position, filters, index):
    before = (1_000 + position // 7, position)
    page = newest(database, DecisionFilter(**filters), limit=LIMIT, before=before)
    (plan,) = await plans(database, page)

    assert_index(plan, index)


async def test_verification_reads_each_row_once(database, monkeypatch):
    monkeypatch.setattr("gateway.audit.reading._CHUNK", 500)

    async def read_all():
        return [link async for link, _ in in_chain_order(database)]

    made = await plans(database, read_all())

    assert len(made) == ROWS // 500 + 1
    for plan in made[1:]:
        assert_index(plan, "sqlite_autoindex_decisions_1")


async def test_pages_are_complete_and_in_order(database):
    read, before = [], None
    while page := await newest(database, DecisionFilter(), limit=700, before=before):
        read += [number for number, _ in page]
        before = (page[-1][1].at, page[-1][0])

    assert read == list(range(ROWS))[::-1]
