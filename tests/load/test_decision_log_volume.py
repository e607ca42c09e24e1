"""In a large decision log, a page and a step of verification read as much at any position."""

import os

import pytest
from database_servers import postgres_server
from gateway_processes import tell
from recorded_statements import recorded_selects
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from gateway.audit.reading import DecisionFilter, in_chain_order, newest
from gateway.store.database import Database

pytestmark = pytest.mark.slow

ROWS = int(os.environ.get("LOG_ROWS", "50000"))
LIMIT, TOKENS, CHAINS, CHUNK = 20, 50, 4, 1000
MORE_BLOCKS = 8  # of 8 KB that another position may read: it may begin within a block
INSERT_DECISIONS = f"""
INSERT INTO decisions
    (id, at, request_id, token_id, operator_id, door, outcome, status, policy_rev, hidden_fields,
     cost, duration, upstream_calls, chain, number, signature)
SELECT n, n / 7, 'r' || n, n % {TOKENS}, 'o', 'rest', 'allowed', 200, 1, 0,
       1, 1, 0, 'chain' || n % {CHAINS}, n / {CHAINS} + 1, 's'
FROM generate_series(0, {ROWS - 1}) n
"""


@pytest.fixture(scope="module")
def server():
    with postgres_server() as server:
        yield server


@pytest.fixture
async def database(server):
    """A database with `ROWS` decisions, several of each millisecond, over some chains."""
    database = Database.open(server.url)
    await database.migrate()
    engine = create_async_engine(server.url, isolation_level="AUTOCOMMIT")  # without a time limit
    async with engine.connect() as connection:
        if not await connection.scalar(text("SELECT count(*) FROM decisions")):
            await connection.exec_driver_sql(INSERT_DECISIONS)
            await connection.exec_driver_sql("VACUUM ANALYZE decisions")
    await engine.dispose()
    yield database
    await database.close()


async def plans(database, query):
    """Run *query*; return the plan of each of its statements, with what it read."""
    statements = await recorded_selects(database, query)
    explain = "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)"
    async with database.reader.connect() as connection:
        return [
            (await connection.exec_driver_sql(f"{explain} {statement}", parameters)).scalar()[0]
            for statement, parameters in statements
        ]


def blocks(plan, index, *, at_most):
    """Check that *plan* reads at most so many rows, by *index*; return the blocks that it read."""
    assert plan["Plan"]["Node Type"] == "Limit", plan
    (scan,) = plan["Plan"]["Plans"]
    assert (scan["Node Type"], scan.get("Index Name")) == ("Index Scan", index), repr(scan)
    assert scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0) <= at_most, plan
    return scan["Shared Hit Blocks"] + scan["Shared Read Blocks"]


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ({}, "ix_decisions_at_id"),
        ({"token_id": 1}, "ix_decisions_token_id_at_id"),
        ({"since": 0, "until": ROWS}, "ix_decisions_at_id"),
    ],
    ids=["all", "of a token", "of a time"],
)
async def test_a_page_reads_as_much_at_the_end_of_the_log_as_at_its_beginning(
    database, filters, index
):
    read = {}
    for position in (ROWS - 1, ROWS // 2, ROWS // 10):  # a few last rows may be sorted instead
        before = (position // 7, position)
        page = newest(database, DecisionFilter(**filters), limit=LIMIT, before=before)
        (plan,) = await plans(database, page)
        read[position] = blocks(plan, index, at_most=LIMIT)
    tell(rows=ROWS, filters=filters, blocks=read)

    assert max(read.values()) - min(read.values()) <= MORE_BLOCKS


async def test_verification_reads_as_much_in_each_of_its_steps(database):
    async def read_all():
        assert sum([1 async for _ in in_chain_order(database)]) == ROWS

    _, *steps = await plans(database, read_all())
    read = [blocks(plan, "uq_decisions_link", at_most=CHUNK) for plan in steps]
    tell(rows=ROWS, steps=len(steps), fewest_blocks=min(read[:-1]), most_blocks=max(read))

    assert len(steps) == ROWS // CHUNK
    assert max(read) <= 2 * min(read[:-1])  # the last step has fewer rows, or none
