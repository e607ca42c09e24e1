"""Transactions that PostgreSQL rolled back because of another one are run again, and in bounds."""

import ast
import asyncio

import httpx
import pytest
import pytest_asyncio
from paths import REPOSITORY
from postgres_faults import faulty_postgres, gateway_settings
from sqlalchemy import text

from gateway.app import assemble
from gateway.secrets.keyring import Keyring
from gateway.store.conflicts import MAX_ATTEMPTS, retried
from gateway.store.database import Database, StorageUnavailable, TransactionConflict
from gateway.store.idempotency.store import IdempotencyStore
from gateway.store.leases import Leases
from rest_compat.ledger import Attempt, Intent

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ADMIN = {"Authorization": "Bearer the-admin-token-of-the-tests"}
STATES = ("40001", "40P01")

# The first writes of a table fail with the state; a sequence is not rolled back with them.
FAIL_FIRST = """
CREATE SEQUENCE attempts;
CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
  IF nextval('attempts') <= TG_ARGV[1]::int THEN
    RAISE EXCEPTION 'in conflict with another one' USING ERRCODE = TG_ARGV[0];
  END IF;
  RETURN NULL;
END $$"""
TABLES = ("operators", "leases", "deliveries")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    async with faulty_postgres() as server:
        await server.run(["ALTER ROLE app SET deadlock_timeout = '100ms'"])
        await server.run([FAIL_FIRST], database="store")
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def database(server):
    database = Database.open(server.url)
    yield database
    await database.close()


async def fail_first(server, state, count):
    """Let the first *count* writes of `TABLES` fail with *state*."""
    for table in TABLES:
        await server.run(
            [
                f"DROP TRIGGER IF EXISTS conflict ON {table}",
                f"CREATE TRIGGER conflict BEFORE INSERT ON {table} FOR EACH STATEMENT "
                f"EXECUTE FUNCTION conflict('{state}', '{count}')",
            ],
            database="store",
        )
    await server.run(["ALTER SEQUENCE attempts RESTART"], database="store")


async def test_both_transactions_of_a_deadlock_are_committed(server, database):
    await server.run(
        ["CREATE TABLE pairs (id int, value int)", "GRANT ALL ON pairs TO app"], database="store"
    )
    async with database.writing() as session:
        await (await session.connection()).execute(text("INSERT INTO pairs VALUES (1, 0), (2, 0)"))
    both_have_one = asyncio.Barrier(2)
    attempts = []

    async def change(session, row):
        update = text("UPDATE pairs SET value = value + 1 WHERE id = :id")
        await (await session.connection()).execute(update, {"id": row})

    @retried
    async def change_both(first, second):
        attempts.append(first)
        async with database.writing() as session:
            await change(session, first)
            if attempts.count(first) == 1:
                await both_have_one.wait()
            await change(session, second)

    await asyncio.gather(change_both(1, 2), change_both(2, 1))

    assert len(attempts) >= 3  # one of them was the victim; its next attempt may meet the other too
    async with database.reading() as session:
        rows = await (await session.connection()).execute(text("SELECT value FROM pairs"))
        assert list(rows.scalars()) == [2, 2]


@pytest.mark.parametrize("state", STATES)
async def test_the_last_conflict_is_raised(server, database, state):
    await fail_first(server, state, MAX_ATTEMPTS)
    leases = Leases(database)
    with pytest.raises(TransactionConflict):
        await leases.take_turn(state, 60)
    assert isinstance(TransactionConflict(), StorageUnavailable)  # told as 503

    assert await leases.take_turn(state, 60)


@pytest.mark.parametrize("state", STATES)
async def test_an_idempotent_call_begins_after_conflicts(server, database, state):
    await server.run(
        [
            "INSERT INTO operators (id, email, display_name, created_at) "
            "VALUES ('o', 'o@example.org', 'O', 0) ON CONFLICT DO NOTHING",
            "INSERT INTO access_tokens (id, name, key_id, digest, operator_id, settings, "
            "created_at, policy_rev) VALUES (1, 't', 'k', 'd', 'o', '{}', 0, 1) "
            "ON CONFLICT DO NOTHING",
        ],
        database="store",
    )
    await fail_first(server, state, MAX_ATTEMPTS - 1)
    store = IdempotencyStore(database, Keyring(["a secret key of the tests"]))
    intent = Intent(token_id=1, method="POST", path="/send", key=state, fingerprint=b"f" * 32)

    attempt = await store.begin(intent)

    assert isinstance(attempt, Attempt)
    assert (attempt.number, attempt.maybe_sent) == (1, False)


@pytest.mark.parametrize("state", STATES)
async def test_a_management_call_succeeds_after_conflicts(server, state):
    settings = gateway_settings(server.url)
    new = {"email": f"{state}@example.org", "displayName": "Ada"}
    await fail_first(server, state, 0)
    async with assemble(settings).running() as gateway:
        transport = httpx.ASGITransport(gateway)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://gateway.test", headers=ADMIN
        ) as client:
            await server.run(["DROP TRIGGER conflict ON leases"], database="store")
            await server.run(["DROP TRIGGER conflict ON operators"], database="store")
            await server.run(
                [
                    "ALTER SEQUENCE attempts RESTART",
                    "CREATE TRIGGER conflict BEFORE INSERT ON operators FOR EACH STATEMENT "
                    f"EXECUTE FUNCTION conflict('{state}', '2')",
                ],
                database="store",
            )
            answer = await client.post("/api/operators", json=new)
            listed = (await client.get("/api/operators")).json()["operators"]

    assert answer.status_code == 201
    assert [operator["email"] for operator in listed].count(new["email"]) == 1


async def test_the_level_of_isolation_is_not_that_of_the_server(server):
    """A stricter default would have concurrent changes of one row conflict."""
    level = "ALTER DATABASE store {} default_transaction_isolation"
    await server.run([level.format("SET") + " = serializable"])
    database, levels = Database.open(server.url), []
    try:
        for begin in (database.reading, database.writing):
            async with begin() as session:
                levels.append(await session.scalar(text("SHOW transaction_isolation")))
    finally:
        await database.close()
        await server.run([level.format("RESET")])

    assert levels == ["read committed"] * 2


# Written by a command of one person, released by expiry, or on SQLite, which has no conflicts.
NOT_RETRIED = {
    "src/gateway/cli/account_setup.py:_working",
    "src/gateway/cli/account_setup.py:add",
    "src/gateway/cli/account_setup.py:create_working",
    "src/gateway/cli/account_setup.py:share",
    "src/gateway/cli/server_setup.py:add",
    "src/gateway/cli/server_setup.py:change_password",
    "src/gateway/demo/launcher.py:fill",
    "src/gateway/demo/own_servers.py:connect",
    "src/gateway/operations/maintenance.py:restore",
    "src/gateway/store/cleanup.py:return_pages",
    "src/gateway/store/database.py:accepts_writes",
    "src/gateway/store/leases.py:release",
}


async def test_every_function_with_a_transaction_is_retried():
    """Those of the management API are, because its router wraps every endpoint."""
    bare = set()
    for path in (REPOSITORY / "src/gateway").rglob("*.py"):
        if path.parent.name == "management":
            continue
        functions = [
            node
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.AsyncFunctionDef)
        ]
        for function in functions:
            inner = [
                other
                for other in ast.walk(function)
                if other in functions[:] and other is not function
            ]
            own = set(ast.walk(function)) - {node for other in inner for node in ast.walk(other)}
            called = {ast.unparse(node) for node in own if isinstance(node, ast.Attribute)}
            writes = any(name.endswith((".writing", "database.execute")) for name in called)
            names = {ast.unparse(decorator) for decorator in function.decorator_list}
            if writes and "retried" not in names:
                bare.add(f"{path.relative_to(REPOSITORY)}:{function.name}")

    assert bare == NOT_RETRIED
