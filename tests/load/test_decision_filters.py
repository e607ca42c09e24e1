"""
In a large log each filter of the decision log finds the rows of a page by an index, on both stores.

The rows that a filter asks for are the oldest of the log: without its index all others are read.
"""

import dataclasses
import os
from itertools import combinations

import pytest
from database_servers import postgres_server
from gateway_processes import tell
from recorded_statements import recorded_selects
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from gateway.audit.reading import DecisionFilter, ends_of_chains, newest
from gateway.store.database import Database

pytestmark = pytest.mark.slow

ROWS = int(os.environ.get("LOG_ROWS", "50000"))
RARE, LIMIT = 50, 20  # rows that each filter finds, and rows of a page
RARE_VALUES = {
    "token_id": 7,
    "outcome": "failed",
    "surface": "tasks",
    "operation": "taskItem",
    "layer": "rules",
    "code": "BLOCKED",
    "request_id": "rare",
    "actor": "ann",
}
TIMES = {"since": ROWS - 40, "until": 40}
FILTERS = {name: {name: value} for name, value in (RARE_VALUES | TIMES).items()}
PAIRS = list(combinations(FILTERS, 2))
SERIES = {
    "postgresql": f"generate_series(0, {ROWS - 1}) AS s(n)",
    "sqlite": f"""(WITH RECURSIVE c(n) AS
        (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < {ROWS - 1}) SELECT n FROM c)""",
}
FILL = f"""
INSERT INTO decisions
    (id, at, request_id, token_id, operator_id, door, surface, operation, outcome, layer, code,
     status, policy_rev, hidden_fields, cost, duration, upstream_calls, actor, chain, number,
     signature)
SELECT n + 1, n, CASE WHEN n < {RARE} THEN 'rare' ELSE 'a' END,
       CASE WHEN n < {RARE} THEN 7 ELSE 1 END, 'o', 'rest',
       CASE WHEN n < {RARE} THEN 'tasks' ELSE 'email' END,
       CASE WHEN n < {RARE} THEN 'taskItem' ELSE 'emails' END,
       CASE WHEN n < {RARE} THEN 'failed' ELSE 'allowed' END,
       CASE WHEN n < {RARE} THEN 'rules' END, CASE WHEN n < {RARE} THEN 'BLOCKED' END,
       200, 1, 0, 1, 1, 1, CASE WHEN n < {RARE} THEN 'ann' END, 'chain' || (n % 4), n / 4 + 1, 's'
FROM"""


@pytest.fixture(scope="module")
def postgres_url():
    with postgres_server() as server:
        yield server.url


@pytest.fixture(scope="module")
def sqlite_url(tmp_path_factory):
    return f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('decisions') / 'gateway.db'}"


@pytest.fixture(params=["postgresql", "sqlite"])
async def database(request):
    """A store with `ROWS` decisions, of which the first `RARE` have the rare values."""
    kind = request.param
    database = Database.open(
        request.getfixturevalue("postgres_url" if kind == "postgresql" else "sqlite_url")
    )
    await database.migrate()
    engine = create_async_engine(database.url, isolation_level="AUTOCOMMIT")  # no time limit
    async with engine.connect() as connection:
        if not await connection.scalar(text("SELECT max(id) FROM decisions")):
            await connection.exec_driver_sql(f"{FILL} {SERIES[kind]}")
            if kind == "postgresql":
                await connection.exec_driver_sql("VACUUM ANALYZE decisions")
    await engine.dispose()
    yield database
    await database.close()


async def plan_texts(database, query):
    """Run *query*; return the plan of each of its statements as text."""
    explain = "EXPLAIN QUERY PLAN" if database.path else "EXPLAIN (ANALYZE, TIMING OFF)"
    statements = await recorded_selects(database, query)
    async with database.reader.connect() as connection:
        plans = [
            (await connection.exec_driver_sql(f"{explain} {statement}", parameters)).all()
            for statement, parameters in statements
        ]
    return ["\n".join(str(row[-1]) for row in rows) for rows in plans]


def assert_by_index(plan):
    """Check that *plan* reads rows of the log by an index, in the order of the page."""
    assert "Seq Scan" not in plan, plan
    assert "SCAN decisions" not in plan, plan
    assert "INDEX" in plan.upper(), plan


def test_every_filter_is_looked_at():
    assert {field.name for field in dataclasses.fields(DecisionFilter)} == {*FILTERS}


@pytest.mark.parametrize("name", FILTERS)
async def test_a_filter_finds_rare_rows_by_its_index(database, name):
    page = newest(database, DecisionFilter(**FILTERS[name]), limit=LIMIT)
    (plan,) = await plan_texts(database, page)
    tell(filter=name, plan=plan.splitlines()[1 if database.path is None else 0].strip())

    assert_by_index(plan)
    assert "Sort" not in plan, plan
    assert "TEMP B-TREE" not in plan, plan
    assert "Rows Removed by Filter" not in plan, plan
    index = "at_id" if name in TIMES else f"{name}_at_id"
    assert f"ix_decisions_{index}" in plan, plan


@pytest.mark.parametrize(("first", "second"), PAIRS)
async def test_two_filters_together_read_no_more_than_the_rarer_one(database, first, second):
    log_filter = DecisionFilter(**FILTERS[first], **FILTERS[second])
    (plan,) = await plan_texts(database, newest(database, log_filter, limit=LIMIT))

    assert_by_index(plan)


async def test_the_ends_of_the_chains_are_found_from_chain_to_chain(database):
    async def read_all():
        ends = [(link.chain, link.number) async for _, link, _ in ends_of_chains(database)]
        quarter = ROWS // 4
        expected = [(f"chain{n}", end) for n in (3, 2, 1, 0) for end in (1, quarter)]
        assert ends == expected

    plans = await plan_texts(database, read_all())

    assert len(plans) == 9
    first, *others = plans
    assert "Seq Scan" not in first, first
    assert "Index" in first or "USING COVERING INDEX" in first, first  # one entry, the last one
    for plan in others:
        assert_by_index(plan)
