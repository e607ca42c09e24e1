"""
Pages of the console read as much with many tokens, people, accounts and decisions as with few.

On PostgreSQL no page reads a whole table of them; on SQLite the steps of its machine are counted.
`SCALE_TOKENS=100000 SCALE_ROWS=1000000 SCALE_OWNERS=10000 pytest -m slow -s` is the long run.
"""

import os
import re
import sqlite3
import time

import httpx
import pytest
from database_servers import postgres_server
from filled_store import _operator, fill, fill_rows, new_database
from recorded_statements import recorded_selects
from sqlalchemy.ext.asyncio import create_async_engine
from time_bounds import time_bound

from gateway.app import assemble
from gateway.console.registry import JOBS
from gateway.settings import Settings

pytestmark = pytest.mark.slow

TOKENS = int(os.environ.get("SCALE_TOKENS", "20000"))
ROWS = int(os.environ.get("SCALE_ROWS", "30000"))
OWNERS = int(os.environ.get("SCALE_OWNERS", "5000"))
SECONDS = 0.3
MOST_STEPS = 25_000  # of SQLite's machine: 50 rows of a page take less, each table above takes more
LARGE = {"access_tokens", "connections", "decisions", "operators", "operator_resources"}
LARGE |= {"resources", "token_resources"}
COST = 100.0  # of PostgreSQL: about so many pages of a table; each table above has more
ADMIN = "an-admin-token-of-the-tests"
PATHS = [
    *dict.fromkeys(job.path for job in JOBS),
    *("/tokens?q=t19", "/tokens?q=7", "/tokens/end?q=1"),
    *("/people?q=42", f"/people/{_operator(7)}", f"/people/{_operator(7)}/tokens/end"),
    *("/calls?door=agent", "/calls?kind=write&verdict=refused", "/calls?token=17&verdict=failed"),
    *("/tokens/17", "/tokens/17/change", f"/tokens/new/{_operator(7)}"),
    *("/accounts/17", f"/accounts/new/{_operator(7)}"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("console")


@pytest.fixture(scope="module")
def postgres():
    with postgres_server() as server:
        yield server


async def test_every_page_reads_little_of_large_tables(folder):
    url = await filled(None, folder)
    figures = {}
    async for path, seconds, statements, _ in visited(url, folder):
        figures[path] = (round(seconds, 3), steps_of(folder / "console.db", statements))
    for path, (seconds, steps) in figures.items():
        print(f"{path:60} {seconds:6.3f} s {steps:8} steps")  # noqa: T201 - the figures
    assert {path: steps for path, (_, steps) in figures.items() if steps > MOST_STEPS} == {}
    assert {path: took for path, (took, _) in figures.items() if took > time_bound(SECONDS)} == {}


async def test_no_page_reads_a_whole_table_of_postgres(folder, postgres):
    """By EXPLAIN, for every statement of every page, with tables that are analysed."""
    url = await filled(postgres, folder)
    await vacuum(url)
    scans, explained = {}, 0
    async for path, _, statements, database in visited(url, folder):
        async with database.reader.connect() as connection:
            for statement, parameters in statements:
                rows = await connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)
                plan = "\n".join(row[0] for row in rows)
                explained += 1
                # Where many rows match a name, PostgreSQL reads rows until it has a page of them.
                page_of_rows = re.match(r"Limit  \(cost=0.00\.\.([\d.]+) .*\n  ->  Seq Scan", plan)
                if page_of_rows and float(page_of_rows[1]) < COST:
                    continue
                if set(re.findall(r"Seq Scan on (\w+)", plan)) & LARGE:
                    scans[path] = plan
    assert explained > len(PATHS)
    assert scans == {}


async def filled(server, folder):
    """Return the URL of a database with all those rows."""
    url = await new_database(server, folder, "console")
    await fill(url, tokens=TOKENS, owners=OWNERS, settings={})
    await fill_rows(url, "decisions", ROWS)
    return url


async def vacuum(url):
    """Let PostgreSQL know how large its tables are."""
    engine = create_async_engine(url, isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        await connection.exec_driver_sql("VACUUM ANALYZE")
    await engine.dispose()


async def visited(url, folder):
    """Yield each page: its path, seconds, the statements that it sends, and the database."""
    settings = Settings(
        _env_file=None,
        data_dir=folder,
        database_url=url,
        admin_token=ADMIN,
        secret_keys="a secret key of the tests",
        rate_limits="off",
    )
    async with assemble(settings).running() as gateway:
        transport = httpx.ASGITransport(gateway)
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway.test") as client:
            await client.post("/console/sign-in", data={"token": ADMIN})
            await client.get("/console/")  # imports
            for path in PATHS:
                began = time.perf_counter()
                page = await client.get(f"/console{path}")
                seconds = time.perf_counter() - began
                assert page.status_code == 200, path
                database = gateway.services.database
                statements = await recorded_selects(database, client.get(f"/console{path}"))
                yield path, seconds, statements, database


def steps_of(file, statements):
    """Run *statements* again; return the steps of SQLite's machine, in hundreds, in all."""
    steps = 0

    def count():
        nonlocal steps
        steps += 100

    connection = sqlite3.connect(file)
    connection.set_progress_handler(count, 100)
    for statement, parameters in statements:
        connection.execute(statement, parameters).fetchall()
    connection.close()
    return steps
