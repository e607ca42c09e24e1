"""
PostgreSQL refuses for a while, in the ways that servers do: what can be stored later is not lost.

A restart, a full server, a failover to a standby, a refused login, a cancelled statement: see
docs/spec/reliability.md#database-failures.
"""

import asyncio

import httpx
import pytest
import pytest_asyncio
from decision_rows import decision_row
from postgres_faults import KILL, STATEMENTS, gateway_settings
from sqlalchemy import text
from sqlmodel import select

from gateway.app import assemble
from gateway.audit.log import DecisionLog
from gateway.auth.token_lookup import open_row_reader
from gateway.connections import rows as connection_rows
from gateway.connections.credentials import CredentialRepository
from gateway.secrets.keyring import Keyring
from gateway.store.background import last_runs
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import ConnectionRow, Operator, Resource
from providers.oauth.token_endpoint import Tokens

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
KEYS = Keyring(["a secret key of the tests"])
ADMIN = {"Authorization": "Bearer the-admin-token-of-the-tests"}


@pytest_asyncio.fixture(loop_scope="module")
async def database(server):
    database = Database.open(server.url)
    yield database
    await database.close()


def decision(name):
    return decision_row(name, at=1_700_000_000_000)


async def stored_decisions(database, prefix):
    async with database.reading() as session:
        query = text("SELECT request_id FROM decisions WHERE request_id LIKE :prefix ORDER BY id")
        rows = await (await session.connection()).execute(query, {"prefix": f"{prefix}%"})
        return [name for (name,) in rows]


@pytest.mark.parametrize("state", STATEMENTS)
async def test_no_row_of_the_decision_log_is_lost(server, database, state):
    decisions = DecisionLog(database, KEYS, days=30)
    decisions.write(decision(f"{state}-before"), change=True)
    await decisions.flush()

    async with server.fault(state):
        decisions.write(decision(f"{state}-during"), change=True)
        # A closed connection is replaced by the next statement; a fast one needs no millisecond.
        if state not in {"57P01", "57014"}:
            with pytest.raises(StorageUnavailable):
                await decisions.flush()
    await decisions.flush()

    assert decisions.dropped == 0
    expected = [f"{state}-before", f"{state}-during"]
    assert await stored_decisions(database, state) == expected


class Endpoint:
    """A provider that rotates: each refresh token is accepted once."""

    def __init__(self):
        self.accepted = "refresh-0"
        self.count = 0

    async def refresh(self, refresh_token):
        assert refresh_token == self.accepted, "a revoked refresh token was offered"
        self.count += 1
        self.accepted = f"refresh-{self.count}"
        return Tokens(access_token=f"access-{self.count}", refresh_token=self.accepted)


@pytest.mark.parametrize("state", STATEMENTS)
async def test_no_rotated_refresh_token_is_lost(server, database, state):
    async with database.writing() as session:
        for row in await session.exec(select(Operator)):
            await session.delete(row)
        await session.flush()
        session.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
        resource = Resource(name="r", created_at=0)
        session.add(resource)
        await session.flush()
        row = ConnectionRow(
            resource_id=resource.id,
            operator_id="o",
            kind="email",
            provider="PROVIDER_B",
            account_email="o@example.org",
            granted_scopes=[],
            status="active",
            selected_site_ids=[],
            created_at=0,
            updated_at=0,
            can_write=False,
        )
        session.add(row)
        await session.flush()
        first = {"accessToken": "access-0", "refreshToken": "refresh-0"}
        connection_rows.replace(row, first, KEYS)
        session.add(row)
    endpoint = Endpoint()
    repository = CredentialRepository(
        open_row_reader(database), database, KEYS, endpoints=lambda *_: endpoint
    )
    credentials = repository.for_connection(row.id)
    failed = asyncio.Event()

    async with repository.running():
        assert await credentials.token() == "access-0"
        refresh = endpoint.refresh

        async def refresh_while_the_database_fails(refresh_token):
            tokens = await refresh(refresh_token)
            await server.run(STATEMENTS[state][0])
            failed.set()
            return tokens

        endpoint.refresh = refresh_while_the_database_fails
        assert await credentials.token(rejected="access-0") == "access-1"
        await asyncio.sleep(0.6)  # two attempts to store, at least
        await server.run(STATEMENTS[state][1])
        endpoint.refresh = refresh
        async with asyncio.timeout(10):
            while repository._unsaved:  # noqa: ASYNC110 - it is stored by another task
                await asyncio.sleep(0.05)

    assert failed.is_set()
    # Another process, which knows only what is stored, goes on with the newest tokens.
    other = CredentialRepository(
        open_row_reader(database), database, KEYS, endpoints=lambda *_: endpoint
    )
    assert await other.for_connection(row.id).token(rejected="access-1") == "access-2"
    assert endpoint.count == 2


@pytest.mark.parametrize("state", [state for state in STATEMENTS if state != "57P01"])
async def test_calls_are_503_and_recover_and_every_background_task_lives(server, state):
    settings = gateway_settings(server.url)
    new = {"email": "ada@example.org", "displayName": "Ada"}
    last_runs.clear()
    async with assemble(settings).running() as gateway:
        transport = httpx.ASGITransport(gateway, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://gateway.test", headers=ADMIN
        ) as client:
            assert (await client.post("/api/operators", json=new)).status_code == 201
            async with server.fault(state):
                refused = await client.post("/api/operators", json=new)
                ready = (await client.get("/readyz")).json()
            answer = await client.post("/api/operators", json=new)
            tasks = {task.get_coro().__qualname__ for task in asyncio.all_tasks()}

    if state not in {"55P03", "57014"}:  # a lock on other tables; the statement may be fast enough
        assert (refused.status_code, refused.json()["error"]) == (503, "OVERLOADED")
        assert "lost" in ready["checks"].values()
    assert answer.status_code == 201
    assert "PeriodicTask.run" in tasks


async def test_calls_are_200_or_503_while_connections_are_ended_ten_times_a_second(server):
    settings = gateway_settings(server.url)
    admin = await server.admin()
    async with assemble(settings).running() as gateway:
        transport = httpx.ASGITransport(gateway, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://gateway.test", headers=ADMIN
        ) as client:
            statuses = []

            async def ask():
                while len(statuses) < 200:
                    statuses.append((await client.get("/api/operators")).status_code)

            asking = [asyncio.create_task(ask()) for _ in range(4)]
            for _ in range(30):
                await admin.execute(KILL)
                await asyncio.sleep(0.1)
            during = list(statuses)
            async with asyncio.timeout(60):
                await asyncio.gather(*asking)
            answer = await client.get("/api/operators")
    await admin.close()

    assert set(during) <= {200, 503}
    assert set(statuses) <= {200, 503}
    assert 200 in statuses
    assert answer.status_code == 200
