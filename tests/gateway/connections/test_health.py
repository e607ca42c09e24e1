"""`lastOkAt` follows the calls that are made anyway: now and then, and by one process."""

import asyncio
import shutil

import httpx
import pytest

from gateway.app import assemble
from gateway.connections.health import RESOLUTION_MS, LastSuccess
from gateway.demo.world import register_client
from gateway.settings import Settings
from gateway.store.tables import ConnectionRow, Operator, Resource
from providers.http.client import Upstream
from providers.http.events import CallEvent
from providers.http.origins import Origins
from providers.oauth.credentials import StaticToken
from sandbox.app import create

ACCOUNT = "me@provider-a.example"
BASE = "http://gateway.test"
ADMIN = "the-admin-token-of-the-tests"


@pytest.fixture
def last_success(database, time):
    return LastSuccess(database, clock=time)


@pytest.fixture
async def connection(database):
    """The id of an active connection that never answered."""
    return await connected(database)


async def connected(database, status="active"):
    row = ConnectionRow(
        resource_id=1,
        operator_id="o",
        kind="email",
        provider="PROVIDER_A",
        account_email=ACCOUNT,
        granted_scopes=[],
        can_write=False,
        status=status,
        selected_site_ids=[],
        created_at=0,
        updated_at=0,
    )
    async with database.writing() as session:
        session.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
        session.add(Resource(id=1, name="r", created_at=0))
        await session.flush()
        session.add(row)
        await session.flush()
        return row.id


async def stored(database, connection):
    async with database.reading() as session:
        return (await session.get(ConnectionRow, connection)).last_ok_at


def answered(connection, outcome="200"):
    return CallEvent("PROVIDER_A", "GET", outcome, 0.0, 0.0, connection)


async def test_the_time_of_the_call_is_written(database, last_success, connection, time):
    last_success.record(answered(connection))
    at = time.now
    time.now += 20_000

    assert await last_success.write() == 1
    assert await stored(database, connection) == at


async def test_it_is_written_again_when_it_is_old_and_not_before(
    database, last_success, connection, time
):
    last_success.record(answered(connection))
    first = time.now
    assert await last_success.write() == 1
    time.now = first + RESOLUTION_MS - 1
    last_success.record(answered(connection))
    assert await last_success.write() == 0
    assert await stored(database, connection) == first

    time.now = first + RESOLUTION_MS
    last_success.record(answered(connection))
    assert await last_success.write() == 1
    assert await stored(database, connection) == first + RESOLUTION_MS


async def test_a_fresh_time_of_another_process_is_not_overwritten(
    database, last_success, connection, time
):
    other = LastSuccess(database, clock=time)
    for health in (last_success, other):
        health.record(answered(connection))

    assert (await last_success.write(), await other.write()) == (1, 0)


async def test_without_calls_the_database_is_not_queried(database, last_success):
    await database.close()  # whoever asked it now would open it again
    connections_opened = database.reader.pool.checkedin() + database.reader.pool.checkedout()

    assert await last_success.write() == 0
    assert (
        database.reader.pool.checkedin() + database.reader.pool.checkedout() == connections_opened
    )


@pytest.mark.parametrize("outcome", ["401", "404", "429", "500", "broken", "late", "cancelled"])
async def test_failed_calls_are_not_recorded(database, last_success, connection, outcome):
    last_success.record(answered(connection, outcome))

    assert await last_success.write() == 0
    assert await stored(database, connection) is None


@pytest.mark.parametrize("status", ["disabled", "needs_reauth", "error"])
async def test_a_connection_that_is_not_active_is_left_alone(database, last_success, status):
    connection = await connected(database, status)
    last_success.record(answered(connection))

    assert await last_success.write() == 0
    assert await stored(database, connection) is None


async def test_only_calls_with_the_accounts_own_credentials_count(
    database, last_success, connection
):
    """A pre-authenticated address answers anybody, and tokens are renewed elsewhere."""

    def answer(request):
        return httpx.Response(200, content=b"x")

    origins = Origins(
        transport=httpx.MockTransport(answer), listener=last_success.record, allow_private=True
    )
    way = Upstream(
        origins,
        "https://upstream.example",
        connection=connection,
        credentials=StaticToken("t", "Bearer"),
        hosts=["files.example"],
    )
    async with way.open_stream("GET", "https://files.example/1") as streamed:
        assert [part async for part in streamed.chunks] == [b"x"]
    await Upstream(origins, "https://login.example", connection=f"token:{connection}").call("GET")
    assert await last_success.write() == 0

    await way.call("GET", "messages")
    assert await last_success.write() == 1


@pytest.fixture
def sandbox():
    made = create(None, public_base=f"{BASE}/sandbox")
    register_client(made, BASE)
    return made


@pytest.fixture
async def gateway(migrated_file, tmp_path, monkeypatch, sandbox):
    """A process of the test's own, which looks at its notes at once."""
    monkeypatch.setattr("gateway.connections.health._WRITE_SECONDS", 0.01)
    shutil.copy(migrated_file, tmp_path / "gateway.db")
    settings = Settings(
        _env_file=None,
        data_dir=tmp_path,
        admin_token=ADMIN,
        secret_keys="a secret key of the tests",
        sandbox=True,
        public_url=BASE,
    )
    async with assemble(settings, sandbox=sandbox).running() as running:
        yield running


async def test_a_serving_gateway_writes_last_ok_at(gateway, sandbox):
    scopes = ["https://www.googleapis.com/auth/gmail.readonly"]
    transport = httpx.ASGITransport(gateway)
    admin = {"Authorization": f"Bearer {ADMIN}"}
    async with httpx.AsyncClient(transport=transport, base_url=BASE, headers=admin) as client:

        async def made(path, **new):
            return (await client.post(f"/api/{path}", json=new)).json()

        person = (await made("operators", email="o@example.org", displayName="O"))["id"]
        place = (await made("resources", name="r", operatorIds=[person]))["id"]
        account = await made(
            "connections",
            resourceId=place,
            operatorId=person,
            kind="email",
            provider="PROVIDER_A",
            accountEmail=ACCOUNT,
            grantedScopes=scopes,
            credentials={"accessToken": sandbox.state.tokens.issue("providerA", ACCOUNT, scopes)},
        )
        token = await made(
            "access-tokens",
            name="t",
            operatorId=person,
            resourceIds=[place],
            settings={"emailAccessEnabled": True},
        )
        holder = {"Authorization": f"Bearer {token['token']}"}
        read = await client.get("/api/access/email/messages", headers=holder)
        assert (read.status_code, account["lastOkAt"]) == (200, None)

        async with asyncio.timeout(30):
            while (await client.get("/api/connections/1")).json()["lastOkAt"] is None:  # noqa: ASYNC110 - it is in a database
                await asyncio.sleep(0.01)
