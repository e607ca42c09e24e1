"""
Pages of the console read as much with many tokens, people, accounts and decisions as with few.

`SCALE_TOKENS=100000 SCALE_ROWS=1000000 SCALE_OWNERS=10000 pytest -m slow -s` is the long run.
"""

import os
import sqlite3
import time

import httpx
import pytest
from filled_store import _operator, fill, fill_rows, new_database
from recorded_statements import recorded_selects
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
ADMIN = "an-admin-token-of-the-tests"
PATHS = [
    *dict.fromkeys(job.path for job in JOBS),
    *("/tokens?q=t19", "/tokens?q=7", f"/tokens?before={TOKENS // 2}", "/tokens/end?q=1"),
    *("/people?q=42", f"/people/{_operator(7)}", f"/people/{_operator(7)}/tokens/end"),
    *("/calls?door=agent", "/calls?kind=write&verdict=refused", "/calls?token=17&verdict=failed"),
    *("/tokens/17", "/tokens/17/change", f"/tokens/new/{_operator(7)}"),
    *(f"/accounts?after={OWNERS // 2}", "/accounts/17", f"/accounts/new/{_operator(7)}"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("console")


async def test_every_page_reads_little_of_large_tables(folder):
    url = await new_database(None, folder, "console")
    await fill(url, tokens=TOKENS, owners=OWNERS, settings={})
    await fill_rows(url, "decisions", ROWS)
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
            figures = {}
            for path in PATHS:
                began = time.perf_counter()
                page = await client.get(f"/console{path}")
                seconds = time.perf_counter() - began
                assert page.status_code == 200, path
                statements = await recorded_selects(
                    gateway.services.database, client.get(f"/console{path}")
                )
                figures[path] = (round(seconds, 3), steps_of(folder / "console.db", statements))
    for path, (seconds, steps) in figures.items():
        print(f"{path:60} {seconds:6.3f} s {steps:8} steps")  # noqa: T201 - the figures
    assert {path: steps for path, (_, steps) in figures.items() if steps > MOST_STEPS} == {}
    assert {path: took for path, (took, _) in figures.items() if took > time_bound(SECONDS)} == {}


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
