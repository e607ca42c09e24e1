"""Each change of an administrator is a row of the decision log: who changed what, and no value."""

import asyncio

import pytest
import pytest_asyncio
from sqlalchemy import text

from gateway.app import assemble
from gateway.audit import changes, reading, seals
from gateway.audit.changes import Actor, ChangeLog
from gateway.audit.decision import EntryPoint
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database

ADA = {"Authorization": "Bearer the-token-of-ada-in-the-tests"}
NEW_RULE = {"ruleType": "mime_type", "pattern": "text/secret", "action": "block"}
COLUMNS = ("operation", "resourceId", "tokenId", "operatorId", "actor", "door", "outcome", "status")

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]


@pytest.fixture(scope="module")
def settings(settings):
    return settings.model_copy(
        update={"admin_tokens": type(settings.admin_token)("ada:the-token-of-ada-in-the-tests")}
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(settings):
    async with assemble(settings).running() as running:
        yield running


async def rows(admin, **filters):
    """Return the changes, oldest first, and check their signatures."""
    answer = await admin.get("/api/decisions", params=filters)
    return answer.json()["decisions"][::-1]


async def faults(gateway):
    database, keyring = gateway.services.database, gateway.services.keyring
    return [fault async for fault in seals.faults(keyring, reading.in_chain_order(database))]


async def test_every_change_is_logged_with_who_made_it(gateway, admin):
    async def call(method, path, json=None, headers=ADA):
        answer = await admin.request(method, path, json=json, headers=headers)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    operator = await call(
        "POST", "/api/operators", {"email": "a@example.org", "displayName": "A"}, headers=None
    )
    await call("PATCH", f"/api/operators/{operator['id']}", {"displayName": "B"})
    resource = await call(
        "POST", "/api/resources", {"name": "main", "operatorIds": [operator["id"]]}
    )
    await call("PATCH", f"/api/resources/{resource['id']}", {"name": "other"})
    owned = {"operatorId": operator["id"], "resourceIds": [resource["id"]]}
    token = await call("POST", "/api/access-tokens", {"name": "t", **owned})
    path = f"/api/access-tokens/{token['id']}"
    await call("PATCH", path, {"settings": {"emailAccessEnabled": True}})
    await call("POST", f"{path}/rotate", {})
    rule = await call("POST", f"{path}/collab-rules", NEW_RULE)
    await call("PATCH", f"{path}/collab-rules/{rule['id']}", {"action": "allow"})
    await call("DELETE", f"{path}/collab-rules/{rule['id']}")
    await call("PUT", f"{path}/collab-rules", {"rules": [NEW_RULE]})
    connection = await call(
        "POST",
        "/api/connections",
        {
            "resourceId": resource["id"],
            "operatorId": operator["id"],
            "kind": "email",
            "provider": "PROVIDER_A",
            "accountEmail": "secret-address@example.org",
            "credentials": {"accessToken": "secret-credential"},
        },
    )
    await call("PATCH", f"/api/connections/{connection['id']}", {"status": "disabled"})
    await call("DELETE", f"/api/connections/{connection['id']}")
    await call("DELETE", path)
    await call("DELETE", f"/api/resources/{resource['id']}")
    await call("DELETE", f"/api/operators/{operator['id']}")

    logged = await rows(admin)
    of_token = [str(token["id"]), token["id"], operator["id"], "ada", "admin", "allowed", 200]
    of_rule = [str(rule["id"]), *of_token[1:]]
    assert [[row[name] for name in COLUMNS] for row in logged] == [
        ["createOperator", operator["id"], None, None, "admin", "admin", "allowed", 200],
        ["changeOperator", operator["id"], None, None, "ada", "admin", "allowed", 200],
        ["createResource", str(resource["id"]), None, None, "ada", "admin", "allowed", 200],
        ["changeResource", str(resource["id"]), None, None, "ada", "admin", "allowed", 200],
        ["createToken", *of_token],
        ["changeToken", *of_token],
        ["rotateToken", *of_token],
        ["createRule", *of_rule],
        ["changeRule", *of_rule],
        ["removeRule", *of_rule],
        ["replaceRules", *of_token],
        ["createConnection", str(connection["id"]), None, None, "ada", "admin", "allowed", 200],
        ["changeConnection", str(connection["id"]), None, None, "ada", "admin", "allowed", 200],
        ["removeConnection", str(connection["id"]), None, None, "ada", "admin", "allowed", 200],
        ["revokeToken", *of_token],
        ["removeResource", str(resource["id"]), None, None, "ada", "admin", "allowed", 200],
        ["removeOperator", operator["id"], None, None, "ada", "admin", "allowed", 200],
    ]
    assert "secret" not in str(logged)
    assert [row["operation"] for row in await rows(admin, actor="admin")] == ["createOperator"]
    assert await faults(gateway) == []


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("POST", "/api/operators", {"email": "no address"}, id="an invalid body"),
        pytest.param("PATCH", "/api/access-tokens/9", {"name": "x"}, id="no such token"),
        pytest.param("GET", "/api/operators", None, id="a read"),
    ],
)
async def test_what_changes_nothing_leaves_no_row(admin, method, path, body):
    await admin.request(method, path, json=body)

    assert await rows(admin) == []


async def test_a_row_that_cannot_be_stored_undoes_the_change(gateway, admin, monkeypatch):
    async def fail(*_):
        raise LookupError

    monkeypatch.setattr(changes, "_last_link", fail)
    new = {"email": "a@example.org", "displayName": "A"}
    assert (await admin.post("/api/operators", json=new)).status_code == 500
    monkeypatch.undo()

    assert (await admin.get("/api/operators")).json()["operators"] == []


async def test_removed_and_changed_rows_of_changes_are_found(gateway, admin):
    for number in range(4):
        await admin.post("/api/resources", json={"name": f"r{number}"})
    database = gateway.services.database
    async with database.writing() as session:
        await session.exec(text("UPDATE decisions SET actor = 'eve' WHERE number = 2"))
        await session.exec(text("DELETE FROM decisions WHERE number = 3"))

    assert [(fault.number, fault.fault) for fault in await faults(gateway)] == [
        (2, "changed"),
        (4, "missing"),
    ]


async def test_several_processes_continue_one_chain(store):
    keyring = Keyring(["a secret key of the tests"])
    changes.actor.set(Actor("ada", EntryPoint.MANAGEMENT, "r"))
    databases = [Database.open(store) for _ in range(2)]

    async def change(database):
        for _ in range(3):
            async with database.writing() as session:
                changes.note(session, "changeResource", 1)

    for database in databases:
        ChangeLog(database=database, keyring=keyring, days=1).install()
    await asyncio.gather(*map(change, databases))

    numbers = [link.number async for link, _ in reading.in_chain_order(databases[0])]
    assert numbers == [1, 2, 3, 4, 5, 6]
    assert [f async for f in seals.faults(keyring, reading.in_chain_order(databases[0]))] == []
    for database in databases:
        await database.close()


async def test_without_a_decision_log_changes_leave_no_row(store):
    database = Database.open(store)
    ChangeLog(database=database, keyring=Keyring(["k" * 16]), days=0).install()
    async with database.writing() as session:
        changes.note(session, "changeResource", 1)

    assert [link async for link, _ in reading.in_chain_order(database)] == []
    await database.close()
