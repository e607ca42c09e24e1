"""A page of the decision log costs the same wherever it begins."""

import pytest
import pytest_asyncio
from database_servers import postgres_server
from sqlalchemy import event, insert

from gateway.audit.reading import DecisionFilter, in_chain_order, newest
from gateway.store.database import Database
from gateway.store.tables import DecisionRow

ROWS, LIMIT, TOKENS, CHAINS = 6_000, 20, 3, 4


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request, tmp_path):
    if request.param == "sqlite":
        yield f"sqlite+aiosqlite:///{tmp_path}/gateway.db"
        return
    with postgres_server() as server:
        yield server.url


@pytest_asyncio.fixture
async def database(url):
    """Return a database with `ROWS` decisions, several of each millisecond, over some chains."""
    database = Database.open(url)
    await database.migrate()
    unset = dict.fromkeys(DecisionRow.model_fields)
    rows = [
        unset | {
            "id": number, "at": 1_000 + number // 7, "request_id": f"r{number}",
            "token_id": number % TOKENS, "operator_id": "o", "door": "rest", "outcome": "allowed",
            "status": 200, "policy_rev": 1, "hidden_fields": 0, "cost": 1, "duration": 1,
            "upstream_calls": 0, "chain": f"chain{number % CHAINS}", "number": number // CHAINS + 1,
            "signature": "s",
        }
        for number in range(ROWS)
    ]  # fmt: skip
    async with database.writing() as session:
        await (await session.connection()).execute(insert(DecisionRow), rows)
    if database.path is None:
        async with database.writer.execution_options(
            isolation_level="AUTOCOMMIT"
        ).connect() as connection:
            await connection.exec_driver_sql("ANALYZE decisions")
    yield database
    await database.close()


async def plans(database, query):
    """Run *query*; return the plan of each of its statements: SQLite's text, PostgreSQL's JSON."""
    statements = []

    def keep(_connection, _cursor, statement, parameters, *_more):
        if statement.startswith("SELECT"):
            statements.append((statement, parameters))

    event.listen(database.reader.sync_engine, "before_cursor_execute", keep)
    await query
    event.remove(database.reader.sync_engine, "before_cursor_execute", keep)
    explain = "EXPLAIN QUERY PLAN" if database.path else "EXPLAIN (ANALYZE, FORMAT JSON)"
    async with database.reader.connect() as connection:
        if database.path is None:  # in a table this small, sorting seems as cheap as the index
            for way in ("sort", "bitmapscan", "seqscan"):
                await connection.exec_driver_sql(f"SET LOCAL enable_{way} = off")
        results = [
            (await connection.exec_driver_sql(f"{explain} {statement}", parameters)).all()
            for statement, parameters in statements
        ]
    return [[row[-1] for row in rows] if database.path else rows[0][0][0] for rows in results]


def assert_index(plan, name, *, at_most):
    """Check that *plan* reads its rows by an index, on SQLite by *name*, and does not sort."""
    if isinstance(plan, list):
        assert len(plan) == 1, plan
        assert f"SEARCH decisions USING INDEX {name} (" in plan[0], plan
        return
    node = plan["Plan"]
    assert node["Node Type"] == "Limit", plan
    (scan,) = node["Plans"]
    assert scan["Node Type"] == "Index Scan", plan
    assert scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0) <= at_most, plan


@pytest.mark.parametrize("position", [ROWS - 1, ROWS // 2, 40], ids=["first", "middle", "last"])
@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ({}, "ix_decisions_at_id"),
        ({"token_id": 1}, "ix_decisions_token_id_at_id"),
        ({"since": 1_000, "until": 9_000}, "ix_decisions_at_id"),
    ],
    ids=["all", "of a token", "of a time"],
)
async def test_a_page_reads_its_rows_alone(database, position, filters, index):
    before = (1_000 + position // 7, position)
    page = newest(database, DecisionFilter(**filters), limit=LIMIT, before=before)
    (plan,) = await plans(database, page)

    assert_index(plan, index, at_most=LIMIT * TOKENS)


async def test_verification_reads_each_row_once(database, monkeypatch):
    monkeypatch.setattr("gateway.audit.reading._CHUNK", 500)

    async def read_all():
        return [link async for link, _ in in_chain_order(database)]

    made = await plans(database, read_all())

    assert len(made) == ROWS // 500 + 1
    for plan in made[1:]:
        unique = "sqlite_autoindex_decisions_1" if database.path else "uq_decisions_link"
        assert_index(plan, unique, at_most=500)


async def test_pages_are_complete_and_in_order(database):
    read, before = [], None
    while page := await newest(database, DecisionFilter(), limit=700, before=before):
        read += [number for number, _ in page]
        before = (page[-1][1].at, page[-1][0])

    assert read == list(range(ROWS))[::-1]
