"""The same store on PostgreSQL: migrations, tokens, revocation, the ledger, the management API."""

import asyncio

import httpx
import pytest
import pytest_asyncio
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from database_servers import postgres_server
from machines_postgres import empty_database
from sqlalchemy import inspect, text

from gateway.app import assemble
from gateway.audit.chain import DAY_MS, Fault
from gateway.audit.decision import Decision
from gateway.audit.log import DecisionLog
from gateway.audit.reading import DecisionFilter, in_chain_order, newest
from gateway.audit.retention import Retention
from gateway.audit.seals import faults
from gateway.auth.token_lookup import open_row_reader
from gateway.secrets.keyring import Keyring
from gateway.settings import Settings
from gateway.store import tables
from gateway.store.database import Database, StorageUnavailable
from gateway.store.idempotency.store import IdempotencyStore
from gateway.store.migrations.revisions import alembic_config, upgrade
from rest_compat.ledger import Attempt, Completed, InProgress, Intent
from rest_compat.responses import RestResponse

pytestmark = pytest.mark.slow

ADMIN = {"Authorization": "Bearer the-admin-token-of-the-tests"}
TOKEN = "/api/access/token"


@pytest.fixture
async def url():
    """The URL of an empty database, which goes away with the test."""
    async with empty_database() as made:
        yield made


@pytest_asyncio.fixture
async def empty(url):
    """Return a database without tables."""
    database = Database.open(url)
    yield database
    await database.close()


@pytest_asyncio.fixture
async def database(empty):
    await empty.migrate()
    return empty


def process(url, **settings):
    """Make the application of one process over the store at *url*."""
    return assemble(
        Settings(
            _env_file=None,
            database_url=url,
            admin_token=ADMIN["Authorization"].removeprefix("Bearer "),
            secret_keys="a secret key of the tests",
            **{"rate_limits": "off", **settings},
        )
    )


def over(gateway, **options):
    transport = httpx.ASGITransport(gateway, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://gateway.test", **options)


@pytest_asyncio.fixture
async def two(url):
    """Return two processes over one store."""
    async with process(url).running() as first, process(url).running() as second:
        yield first, second


async def made(gateway):
    """Make an operator, a resource and a token; return the token as it was answered."""
    async with over(gateway, headers=ADMIN) as admin:
        new = {"email": "ada@example.org", "displayName": "Ada"}
        operator = (await admin.post("/api/operators", json=new)).json()["id"]
        new = {"name": "main", "operatorIds": [operator]}
        resource = (await admin.post("/api/resources", json=new)).json()["id"]
        new = {"name": "reports", "operatorId": operator, "resourceIds": [resource]}
        answer = await admin.post("/api/access-tokens", json=new)
    assert answer.status_code == 201
    return answer.json()


def bearer(token):
    return {"Authorization": f"Bearer {token['token']}"}


# -- migrations ------------------------------------------------------------------------------------


async def test_migrations_make_exactly_the_tables(database):
    def differences(connection):
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return compare_metadata(context, tables.METADATA)

    async with database.reader.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_two_processes_may_migrate_an_empty_store_at_once(url):
    both = [Database.open(url) for _ in range(2)]
    await asyncio.gather(*(database.migrate() for database in both))

    async with both[0].reader.connect() as connection:
        names = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
    assert set(names) == {*tables.METADATA.tables, "alembic_version"}
    for database in both:
        await database.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_rows_survive_every_migration_up_and_down(kind, url, tmp_path):
    """From the newest schema down to the first one, and up again: what both have is kept."""
    store = url if kind == "postgresql" else f"sqlite+aiosqlite:///{tmp_path / 'gateway.db'}"
    database = Database.open(store)
    await database.migrate()
    async with database.writing() as session:
        session.add(tables.Resource(name="kept", created_at=7))
    async with database.writer.begin() as connection:
        await connection.run_sync(lambda sync: command.downgrade(alembic_config(sync), "0019"))
    async with database.writer.begin() as connection:
        await connection.run_sync(upgrade)

    async with database.reading() as session:
        row = await session.get(tables.Resource, 1)
        assert (row.name, row.created_at) == ("kept", 7)
    async with database.writer.begin() as connection:
        await connection.run_sync(lambda sync: command.downgrade(alembic_config(sync), "base"))
        names = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
    assert names == ["alembic_version"]
    await database.close()


# -- tokens and the management API -----------------------------------------------------------------


async def test_a_token_made_in_one_process_works_in_the_other(two):
    first, second = two
    token = await made(first)
    async with over(second, headers=bearer(token)) as caller:
        answer = await caller.get(TOKEN)

    assert answer.status_code == 200
    assert (answer.json()["id"], answer.json()["name"]) == (token["id"], "reports")


async def test_a_token_has_its_connections(two):
    first, second = two
    token = await made(first)
    new = {
        "resourceId": token["resourceIds"][0],
        "operatorId": token["operatorId"],
        "kind": "email",
        "provider": "PROVIDER_B",
        "accountEmail": "ada@example.org",
        "grantedScopes": ["Mail.Read"],
        "credentials": {"accessToken": "x"},
    }
    async with over(first, headers=ADMIN) as admin:
        assert (await admin.post("/api/connections", json=new)).status_code == 201
    async with over(second, headers=bearer(token)) as caller:
        response = await caller.get(TOKEN)

    assert response.status_code == 200
    [connection] = response.json()["connections"]
    assert (connection["kind"], connection["accountEmail"]) == ("email", "ada@example.org")


async def test_a_revocation_is_late_in_none_of_50_rounds(two):
    late = 0
    for turn in range(50):
        revoking, serving = two if turn % 2 else two[::-1]
        token = await made(revoking)
        async with (
            over(serving, headers=bearer(token)) as caller,
            over(revoking, headers=ADMIN) as admin,
        ):
            assert (await caller.get(TOKEN)).status_code == 200
            await admin.delete(f"/api/access-tokens/{token['id']}")
            answers = await asyncio.gather(*(caller.get(TOKEN) for _ in range(4)))
        late += sum(answer.status_code != 401 for answer in answers)

    assert late == 0


async def test_a_settings_change_takes_effect_in_the_other_process_at_once(two):
    first, second = two
    token = await made(first)
    path = f"/api/access-tokens/{token['id']}"
    async with over(first, headers=ADMIN) as admin, over(second, headers=bearer(token)) as caller:
        for enabled in (True, False, True):
            changed = {"settings": {"emailAccessEnabled": enabled}}
            assert (await admin.patch(path, json=changed)).status_code == 200
            body = (await caller.get(TOKEN)).json()
            assert body["settings"]["emailAccessEnabled"] is enabled


async def test_the_management_api_pages_changes_and_removes(two):
    first, second = two
    tokens = [await made(first) for _ in range(3)]
    async with over(second, headers=ADMIN) as admin:
        page = (await admin.get("/api/access-tokens", params={"limit": 2})).json()
        rest = {"limit": 2, "pageToken": page["nextPageToken"]}
        last = (await admin.get("/api/access-tokens", params=rest)).json()
        rule = {"ruleType": "file_id", "action": "allow", "pattern": "collab:drive:d:item:i"}
        rules = f"/api/access-tokens/{tokens[0]['id']}/collab-rules"
        added = await admin.post(rules, json=rule)
        gone = await admin.delete(f"/api/operators/{tokens[0]['operatorId']}")
        left = (await admin.get("/api/access-tokens", params={"status": "active"})).json()

    listed = [token["id"] for token in page["tokens"] + last["tokens"]]
    assert sorted(listed) == sorted(token["id"] for token in tokens)
    assert (page["hasMore"], last["hasMore"]) == (True, False)
    assert added.status_code == 201, added.text
    assert gone.status_code == 204
    assert sorted(token["id"] for token in left["tokens"]) == sorted(
        token["id"] for token in tokens[1:]
    )


# -- changes at once ------------------------------------------------------------------------------

ROUNDS = 10


def connection_of(token):
    """Return the body of a connection of the token's operator."""
    return {
        "resourceId": token["resourceIds"][0],
        "operatorId": token["operatorId"],
        "kind": "email",
        "provider": "PROVIDER_A",
        "accountEmail": "ada@example.org",
    }


async def at_once(*calls):
    """Return the statuses of calls that are made at once."""
    return [answer.status_code for answer in await asyncio.gather(*calls)]


async def test_concurrent_changes_of_a_resource_are_serialized(two):
    token = await made(two[0])
    url, change = (
        f"/api/resources/{token['resourceIds'][0]}",
        {"operatorIds": [token["operatorId"]]},
    )
    async with over(two[0], headers=ADMIN) as first, over(two[1], headers=ADMIN) as second:
        for _ in range(ROUNDS):
            assert await at_once(*[way.patch(url, json=change) for way in (first, second) * 2]) == (
                [200] * 4
            )

        assert (await first.get(url)).json()["operatorIds"] == change["operatorIds"]


async def somebody_waits(database):
    """Return once a transaction of the database waits for another."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    async with asyncio.timeout(10), database.reader.connect() as connection:
        while not await connection.scalar(text(f"{waiting} AND datname = current_database()")):
            await connection.rollback()


async def test_a_waiting_token_change_keeps_concurrent_changes(two):
    token = await made(two[0])
    url, resources = f"/api/access-tokens/{token['id']}", token["resourceIds"]
    late = {"resourceIds": resources, "settings": {"emailAccessEnabled": True}}
    async with over(two[0], headers=ADMIN) as first:
        async with two[1].services.database.writing() as session:
            await session.get(tables.Resource, resources[0], with_for_update=True)
            waiting = asyncio.create_task(first.patch(url, json=late))
            await somebody_waits(two[1].services.database)
            await first.patch(url, json={"settings": {"calendarAccessEnabled": True}})

        assert (await waiting).status_code == 200
        settings = (await first.get(url)).json()["settings"]
        assert (settings["emailAccessEnabled"], settings["calendarAccessEnabled"]) == (True, True)


async def test_a_waiting_resource_change_returns_concurrent_changes(two):
    token = await made(two[0])
    url = f"/api/resources/{token['resourceIds'][0]}"
    late = {"operatorIds": [token["operatorId"]]}
    async with over(two[0], headers=ADMIN) as first:
        async with two[1].services.database.writing() as session:
            await session.get(tables.Operator, token["operatorId"], with_for_update=True)
            waiting = asyncio.create_task(first.patch(url, json=late))
            await somebody_waits(two[1].services.database)
            await first.patch(url, json={"name": "other"})

        assert (await waiting).json()["name"] == "other"
        assert (await first.get(url)).json() == (await waiting).json()


async def test_concurrent_deletions_succeed_once(two):
    async with over(two[0], headers=ADMIN) as first, over(two[1], headers=ADMIN) as second:
        for _ in range(ROUNDS):
            token = await made(two[0])
            for url in (
                f"/api/resources/{token['resourceIds'][0]}",
                f"/api/operators/{token['operatorId']}",
            ):
                assert sorted(await at_once(first.delete(url), second.delete(url))) == [204, 404]


async def test_no_reference_to_a_concurrently_deleted_operator_remains(two):
    async with over(two[0], headers=ADMIN) as first, over(two[1], headers=ADMIN) as second:
        for _ in range(ROUNDS):
            token = await made(two[0])
            operator, resource = token["operatorId"], token["resourceIds"][0]
            new = connection_of(token)
            removed, connected, in_chain_order = await at_once(
                first.delete(f"/api/operators/{operator}"),
                second.post("/api/connections", json=new),
                second.patch(f"/api/resources/{resource}", json={"operatorIds": [operator]}),
            )

            assert removed == 204
            assert connected in {201, 400}
            assert in_chain_order in {200, 400}
            left = await first.get("/api/connections", params={"operatorId": operator})
            assert left.json()["connections"] == []
            assert (await first.get(f"/api/resources/{resource}")).json()["operatorIds"] == []


async def test_no_reference_to_a_concurrently_deleted_resource_remains(two):
    async with over(two[0], headers=ADMIN) as first, over(two[1], headers=ADMIN) as second:
        for _ in range(ROUNDS):
            token = await made(two[0])
            resource, new = token["resourceIds"][0], connection_of(token)
            connection = (await first.post("/api/connections", json=new)).json()["id"]
            mine = f"/api/access-tokens/{token['id']}"
            removed, changed, relinked = await at_once(
                first.delete(f"/api/resources/{resource}"),
                second.patch(f"/api/connections/{connection}", json={"status": "disabled"}),
                second.patch(mine, json={"resourceIds": [resource]}),
            )

            assert removed == 204
            assert changed in {200, 404}
            assert relinked in {200, 400}
            assert (await first.get(mine)).json()["resourceIds"] == []


async def test_the_victim_of_a_deadlock_may_retry(database):
    async with database.writing() as session:
        session.add_all([tables.Resource(name=name, created_at=1) for name in "ab"])
    both = asyncio.Barrier(2)

    async def lock(first, second):
        async with database.writing() as session:
            await session.get(tables.Resource, first, with_for_update=True)
            await both.wait()
            await session.get(tables.Resource, second, with_for_update=True)

    ends = await asyncio.gather(lock(1, 2), lock(2, 1), return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == ["NoneType", "TransactionConflict"]


# -- the ledger ------------------------------------------------------------------------------------


def intent(key="k"):
    path = "/api/access/email/messages/send"
    return Intent(token_id=1, method="POST", path=path, key=key, fingerprint=b"f" * 32)


@pytest_asyncio.fixture
async def with_token(database):
    """Return a store that has a token with id 1."""
    async with database.writing() as session:
        session.add(
            tables.Operator(id="ada", email="a@example.org", display_name="A", created_at=1)
        )
        await session.flush()
        session.add(
            tables.AccessToken(
                name="t", key_id="k", digest=b"d" * 32, operator_id="ada", settings={}, created_at=1
            )
        )
    return database


async def test_only_one_of_concurrent_calls_in_two_processes_begins(url, with_token):
    database = with_token
    other = Database.open(url)
    keyring = Keyring(["a secret of sufficient length"])
    ledgers = [IdempotencyStore(store, keyring) for store in (database, other) for _ in range(6)]
    for turn in range(10):
        begun = await asyncio.gather(*(ledger.begin(intent(f"key {turn}")) for ledger in ledgers))
        assert (
            sorted(type(outcome).__name__ for outcome in begun) == ["Attempt"] + ["InProgress"] * 11
        )
    await other.close()


async def test_a_response_stored_by_one_process_is_replayed_by_the_other(url, with_token):
    database = with_token
    other = Database.open(url)
    keyring = Keyring(["a secret of sufficient length"])
    first, second = IdempotencyStore(database, keyring), IdempotencyStore(other, keyring)
    begun = await first.begin(intent())
    assert isinstance(begun, Attempt)
    assert isinstance(await second.begin(intent()), InProgress)
    sent = RestResponse(status=200, body=b'{"success":true}')
    await first.complete(begun, sent)

    again = await second.begin(intent())
    assert isinstance(again, Completed)
    assert again.response == sent
    await other.close()


# -- the decision log ------------------------------------------------------------------------------


def decided(name, at=20_000 * DAY_MS):
    members = dict.fromkeys(Decision._fields) | {
        "at": at, "request_id": name, "token_id": 1, "operator_id": "op", "door": "rest",
        "outcome": "allowed", "status": 200, "policy_rev": 1, "hidden_fields": 0, "cost": 1,
        "duration": 1500, "upstream_calls": 0, "rule_id": 2**40, "dry_run": False,
    }  # fmt: skip
    return Decision(**members)


async def test_two_processes_write_one_decision_log(url, database):
    other = Database.open(url)
    keyring = Keyring(["a secret of sufficient length"])
    logs = [DecisionLog(store, keyring, days=1) for store in (database, other)]
    for number in range(300):
        logs[number % 2].write(decided(f"{number}", at=20_000 * DAY_MS + number), change=False)
    logs[0].write(decided("old", at=19_000 * DAY_MS), change=True)
    await asyncio.gather(*(log.flush() for log in logs))
    await logs[0]._store([(*decided("again"), "chain", 1, "signature")])
    await logs[1]._store([(*decided("again"), "chain", 1, "signature")])  # a try without an answer
    retention = Retention(database, days=1, clock=lambda: 20_000 * DAY_MS)
    assert await retention.drop() == 1

    rows = await newest(other, DecisionFilter(since=20_000 * DAY_MS + 298), limit=5)
    assert [decision.request_id for _, decision in rows] == ["299", "298"]
    assert rows[0][1] == decided("299", at=20_000 * DAY_MS + 299)
    assert len([row async for row in in_chain_order(database)]) == 301
    assert [
        (fault.chain, fault.fault) async for fault in faults(keyring, in_chain_order(database))
    ] == [("chain", Fault.CHANGED)]
    await other.close()


# -- the server goes away --------------------------------------------------------------------------


@pytest_asyncio.fixture
async def mortal():
    """Return a cluster of this test alone, a process over it, and a token."""
    with postgres_server() as cluster:
        async with process(cluster.url).running() as gateway:
            token = await made(gateway)
            async with over(gateway, headers=bearer(token)) as caller:
                yield cluster, gateway, caller


async def overloaded(caller):
    """Assert the answer of a process whose database is away."""
    answer = await caller.get(TOKEN)
    assert (answer.status_code, answer.json()["error"]) == (503, "OVERLOADED")
    assert "Retry-After" not in answer.headers


async def test_requests_after_a_server_restart_succeed(mortal):
    cluster, _, caller = mortal
    cluster.stop()
    cluster.start()

    assert [(await caller.get(TOKEN)).status_code for _ in range(30)] == [200] * 30


async def test_requests_are_503_without_the_server(mortal):
    cluster, gateway, caller = mortal
    cluster.stop()
    for _ in range(3):
        await overloaded(caller)
    async with over(gateway, headers=ADMIN) as admin:
        answer = await admin.get("/api/access-tokens")
        assert (answer.status_code, answer.json()["error"]) == (503, "OVERLOADED")
    cluster.start()

    assert (await caller.get(TOKEN)).status_code == 200


async def test_a_frozen_server_times_out_and_recovers(mortal):
    cluster, gateway, caller = mortal
    cluster.freeze()
    try:
        await overloaded(caller)
        with pytest.raises(StorageUnavailable):
            await open_row_reader(gateway.services.database).rows("SELECT 1", {})
    finally:
        cluster.thaw()

    assert [(await caller.get(TOKEN)).status_code for _ in range(10)] == [200] * 10


async def test_decisions_wait_for_the_server_and_are_stored_once(mortal):
    cluster, gateway, caller = mortal
    decisions = gateway.services.decisions
    await caller.get(TOKEN)
    cluster.stop()
    for _ in range(2):
        with pytest.raises(StorageUnavailable):
            await decisions.flush()
    cluster.start()
    await caller.get(TOKEN)
    await decisions.flush()

    # The token was made over the API, which is logged, too.
    calls = DecisionFilter(operation="accessToken")
    rows = await newest(gateway.services.database, calls, limit=10)
    assert [(decision.operation, decision.outcome) for _, decision in rows] == [
        ("accessToken", "allowed")
    ] * 2


async def test_a_backlog_of_expired_keys_is_deleted_beside_a_row_that_is_held(database):
    """More rows than one slice; the one that another transaction holds is left for the next run."""
    old = "CAST(extract(epoch FROM now()) * 1000 AS bigint) - 90000000"
    async with database.writing() as session:
        connection = await session.connection()
        await connection.execute(
            text(
                "INSERT INTO access_tokens (id, name, key_id, digest, operator_id, settings, "
                "policy_rev, created_at) VALUES (1, 't', 'k', '', 'o', '{}', 1, 0)"
            )
        )
        await connection.execute(
            text(
                "INSERT INTO deliveries (token_id, method, path, key, fingerprint, state, seed, "
                "attempt, maybe_sent, lease_until, started_at) SELECT 1, 'POST', '/', n, '', "
                f"'done', '', 1, false, 0, {old} + CASE n WHEN 2500 THEN 90000000 ELSE n END "
                "FROM generate_series(1, 2500) n"
            )
        )
    ledger = IdempotencyStore(database, Keyring(["a secret key of the tests"]))

    async with database.writing() as session:
        held = text("SELECT id FROM deliveries WHERE key = '7' FOR UPDATE")
        await (await session.connection()).execute(held)
        assert await ledger.sweep() == 2498
    assert await ledger.sweep() == 1
