"""
Many expired rows of each kind go beside requests, by short statements; their room is used again.

`DELETED_ROWS=1000000 pytest -m slow -s tests/load/test_deletion_volume.py` is the long run.
"""

import asyncio
import os
import time
from contextlib import asynccontextmanager

import expired_rows
import httpx
import pytest
from database_servers import postgres_server
from expired_rows import KINDS, execute, sizes_of
from gateway_processes import tell
from sqlalchemy import event, func
from sqlmodel import select
from time_bounds import time_bound

from gateway.app import assemble
from gateway.settings import Settings

pytestmark = pytest.mark.slow

ROWS = int(os.environ.get("DELETED_ROWS", "10000"))
REQUESTS = 50  # a second
MOST_STATEMENT_SECONDS = 1.0
MOST_SECONDS = 600 * max(ROWS, 100_000) / 1_000_000  # ten minutes for a million
# PostgreSQL leaves so many dead rows before it vacuums, of which the room is not free.
DEAD_ROWS = 1000 / ROWS  # docs/adr/0036
# Of a table, or an SQLite file, that is filled for the third time, over the second.
GROWTH = 1.1 + DEAD_ROWS
# Of its indexes over the first fill: PostgreSQL uses pages that a vacuum has emptied only after the
# next vacuum, so that the pages of one fill are empty beside those of the next.
INDEX_GROWTH = 2.2 + DEAD_ROWS
ADMIN = {"authorization": "Bearer an-admin-token-of-tests"}


@pytest.fixture(scope="module")
def postgres_url():
    with postgres_server() as server:
        yield server.url


@pytest.fixture(params=["postgresql", "sqlite"])
async def gateway(request, tmp_path):
    """A process over an empty store."""
    url = f"sqlite+aiosqlite:///{tmp_path / 'gateway.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_url")
        await execute(url, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
        # So that the test need not wait for a minute.
        await execute(url, "ALTER SYSTEM SET autovacuum_naptime = '1s'", "SELECT pg_reload_conf()")
    settings = Settings(
        _env_file=None,
        data_dir=tmp_path,
        database_url=url,
        admin_token=ADMIN["authorization"].removeprefix("Bearer "),
        secret_keys="a secret key of the tests",
        rate_limits="off",
    )
    async with assemble(settings).running() as running:
        yield running


@asynccontextmanager
async def requests_beside(gateway):
    """Make `REQUESTS` a second, each of a token; yield their seconds."""
    transport = httpx.ASGITransport(gateway)
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway.test") as client:
        body = {"name": "t", "operatorId": "o", "resourceIds": [1]}
        made = await client.post("/api/access-tokens", json=body, headers=ADMIN)
        assert made.status_code == 201, made.text
        headers = {"authorization": f"Bearer {made.json()['token']}"}
        seconds, pending = [], set()

        async def ask():
            began = time.monotonic()
            response = await client.get("/api/access/token", headers=headers)
            seconds.append(time.monotonic() - began)
            assert response.status_code == 200

        async def ask_all():
            while True:
                pending.add(asyncio.create_task(ask()))
                await asyncio.sleep(1 / REQUESTS)

        task = asyncio.create_task(ask_all())
        yield seconds
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.gather(*pending)


def statement_seconds(database):
    """Return the list of the seconds of each statement that writes from now on."""
    began, seconds = {}, []

    @event.listens_for(database.writer.sync_engine, "before_cursor_execute")
    def begin(connection, *_):
        began[id(connection)] = time.monotonic()

    @event.listens_for(database.writer.sync_engine, "after_cursor_execute")
    def end(connection, *_):
        seconds.append(time.monotonic() - began.pop(id(connection)))

    return seconds


async def vacuums_of(database, table):
    """Return how often PostgreSQL vacuumed *table* itself; 0 on SQLite."""
    if database.path is not None:
        return 0
    name = table.__tablename__
    rows = await execute(
        database.url, f"SELECT autovacuum_count FROM pg_stat_user_tables WHERE relname = '{name}'"
    )
    return rows[0][0]


async def wait_for_autovacuum(database, table, before):
    """
    Wait until *table* was vacuumed more than *before* times, and has no dead rows.

    PostgreSQL takes rows that are deleted while it vacuums for vacuumed, until further ones are
    deleted: those of few rows may be most of them.
    """
    if database.path is not None:
        return
    async with asyncio.timeout(120 + ROWS / 5000):
        while True:
            await asyncio.sleep(0.5)
            if await vacuums_of(database, table) > before:
                break
    await execute(database.url, f"VACUUM {table.__tablename__}")


@pytest.mark.parametrize("name", KINDS)
async def test_expired_rows_go_beside_requests(gateway, name):
    kind, database = KINDS[name], gateway.services.database
    await expired_rows.fill_owners(database)
    await expired_rows.fill(database, kind, ROWS)
    sizes = [await sizes_of(database, kind.table)]
    statements = statement_seconds(database)

    vacuums = await vacuums_of(database, kind.table)
    async with requests_beside(gateway) as seconds:
        began = time.monotonic()
        await kind.sweep(database)
        took = time.monotonic() - began

    async with database.reading() as session:
        left = (await session.exec(select(func.count()).select_from(kind.table))).one()
    sizes.append(await sizes_of(database, kind.table))
    for refill in range(2):
        if refill:
            vacuums = await vacuums_of(database, kind.table)
            await kind.sweep(database)
        # Rows come in the order of their times: beside newer ones they would split pages in halves.
        await execute(database.url, f"DELETE FROM {kind.table.__tablename__}")
        await wait_for_autovacuum(database, kind.table, vacuums)
        await expired_rows.fill(database, kind, ROWS)
        sizes.append(await sizes_of(database, kind.table))
    p99 = sorted(seconds)[int(len(seconds) * 0.99)] if seconds else 0.0
    tell(
        kind=name,
        store="sqlite" if database.path else "postgresql",
        rows=ROWS,
        seconds=round(took, 1),
        longest_statement=round(max(statements), 3),
        requests=len(seconds),
        p99=round(p99, 3),
        # Full, swept, full, full: of the table and of its indexes.
        megabytes=[[round(size / 1e6, 1) for size in pair] for pair in sizes],
        load=os.getloadavg()[0],
    )

    assert left <= bool(kind.newest) + len(seconds) + 100  # rows of the requests themselves
    assert took <= time_bound(MOST_SECONDS)
    assert max(statements) <= time_bound(MOST_STATEMENT_SECONDS)
    (_, first_indexes), _, (second, _), (third, indexes) = sizes
    assert third <= second * GROWTH
    assert indexes <= first_indexes * INDEX_GROWTH
