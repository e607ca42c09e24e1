"""Recovery of rule intents: created resources get their rule later, others get none."""

import asyncio

import msgspec
import pytest
from content_world import ANN, SIGN_IN_NAMES, WRITE
from sqlmodel import select
from world import ADMIN, MAIN

from gateway.rule_intents.recovery import LOOK_PAUSES_MS, RuleIntentRecovery
from gateway.store.tables import RuleIntent
from gateway.store.timestamps import now_ms
from providers.failures import OutcomeUnknown

DAY = 24 * 3600 * 1000
LEASE = 35_000


class RecoveryHarness(RuleIntentRecovery):
    """Runs the recovery by a clock that tests advance."""

    def __init__(self, gateway):
        services = gateway.services
        self.ahead = 0
        super().__init__(
            services.database,
            services.keyring,
            services.accounts,
            services.authenticator.connections_of,
            clock=self.now,
        )

    def now(self):
        return now_ms() + self.ahead

    async def after(self, *pauses):
        """Run once after each of these milliseconds; return how many intents ended."""
        ended = 0
        for pause in pauses:
            self.ahead += pause
            ended += await self.recover()
        return ended


@pytest.fixture
def recovery(content):
    return RecoveryHarness(content.world.gateway)


async def stored_intents(content):
    async with content.world.gateway.services.database.reading() as session:
        return (await session.exec(select(RuleIntent))).all()


async def automatic_rules(content, token):
    """Return the rules that the gateway stored for the token."""
    rules = await content.rules(token)
    return [(rule["ruleType"], rule["pattern"]) for rule in rules if rule["source"] == "auto"]


@pytest.fixture
async def token(content):
    return await content.block_all_token(
        ("folder", content.id("boats"), "allow"),
        ("file_id", content.id("boats"), "allow"),
        ("list_id", content.id("berths"), "allow"),
    )


@pytest.fixture
def crash_before_rule(content, monkeypatch):
    """Simulate a crash after the creation and before the rule is stored."""
    intent_log = content.world.gateway.services.rule_intents

    async def abandon_instead(intent, pattern):
        intent_log.abandon(intent)
        raise ConnectionAbortedError

    monkeypatch.setattr(intent_log, "allow", abandon_instead)
    return abandon_instead


@pytest.fixture
def lost_calls(monkeypatch):
    """Lose the calls before they reach upstream; the outcome is unknown."""

    async def lose_call(*_, **__):
        raise OutcomeUnknown

    for method in ("upload", "create_folder", "create_list_item"):
        monkeypatch.setattr(f"providers.content.merged_content.MergedContent.{method}", lose_call)


def upload_file(content, token, data=b"twelve bytes", **more):
    params = {"fileName": "mine.txt", "folderId": content.id("boats"), **more}
    return content.call("POST", "/files/upload", token, params=params, content=data)


def create_folder(content, token):
    body = {"name": "mine", "parentFolderId": content.id("boats")}
    return content.call("POST", "/folders", token, json=body)


FIELDS = {"Title": "Mine", "Length": 7, "Paid": True, "Until": "2026-03-01", "State": "Let"}


def create_row(content, token):
    body = {"fields": FIELDS}
    return content.call("POST", content.path("berths", 0), token, json=body)


WAYS = [
    pytest.param(upload_file, "file_id", id="a file"),
    pytest.param(create_folder, "file_id", id="a folder"),
    pytest.param(create_row, "list_item_id", id="a list item"),
]


@pytest.mark.usefixtures("crash_before_rule")
@pytest.mark.parametrize(("making", "kind"), WAYS)
async def test_a_created_resource_is_found_and_its_rule_stored(
    content, token, recovery, making, kind
):
    response = await making(content, token)
    body = response.json()
    assert (response.status_code, await automatic_rules(content, token)) == (500, [])

    assert await recovery.after(0) == 0  # the creating process may still run
    assert await automatic_rules(content, token) == []
    assert await recovery.after(LEASE) == 1

    made = body.get("fileId") or body.get("itemId")
    ids = made.removeprefix("collab:drive:").replace(":item:", ":")
    if kind == "list_item_id":
        ids = ":".join(made.split(":list:")[1].split(":item:"))
    assert await automatic_rules(content, token) == [(kind, ids)]
    assert await stored_intents(content) == []
    assert await recovery.recover() == 0


@pytest.mark.parametrize(
    ("making", "call"),
    [
        pytest.param(upload_file, {"method": "PUT", "match": "/content"}, id="a file"),
        pytest.param(create_folder, {"method": "POST", "match": "/children"}, id="a folder"),
        pytest.param(create_row, {"method": "POST", "match": "/items"}, id="a list item"),
    ],
)
async def test_a_resource_with_an_unreadable_response_gets_its_rule(
    content, token, recovery, making, call
):
    shelf, boats = content.world.sandbox.state.content, content.resources["boats"]
    berths = content.resources["berths"].id
    before = {file.id for file in shelf.children(boats)} | {
        item.number for item in shelf.rows(berths)
    }
    await content.fail(kind="spoiltAnswer", count=1, **call)

    response = await making(content, token)
    if making is create_row:  # nothing tells it from others of the same values at once
        assert response.status_code == 504
        assert await automatic_rules(content, token) == []
        assert await recovery.after(LEASE) == 1
    else:
        assert response.status_code == 200
        assert await recovery.after(LEASE) == 0

    files = [("file_id", f"{file.drive_id}:{file.id}", file.id) for file in shelf.children(boats)]
    rows = [("list_item_id", f"{berths}:{item.number}", item.number) for item in shelf.rows(berths)]
    made = [(kind, pattern) for kind, pattern, key in (*files, *rows) if key not in before]
    assert await automatic_rules(content, token) == made
    assert (len(made), await stored_intents(content)) == (1, [])


@pytest.mark.usefixtures("lost_calls")
@pytest.mark.parametrize("making", [upload_file, create_folder, create_row])
async def test_a_lost_creation_gets_no_rule_and_its_intent_ends(content, token, recovery, making):
    assert (await making(content, token)).status_code == 504
    assert len(await stored_intents(content)) == 1

    assert await recovery.after(LEASE) == 0  # upstream may show it late
    assert await recovery.after(LOOK_PAUSES_MS[0]) == 1
    assert (await automatic_rules(content, token), await stored_intents(content)) == ([], [])


@pytest.mark.usefixtures("crash_before_rule")
@pytest.mark.parametrize("change", ["size", "maker", "time"])
async def test_a_resource_by_someone_else_gets_no_rule(content, token, recovery, change):
    """The name is the same, everything else differs."""
    await upload_file(content, token)
    shelf = content.world.sandbox.state.content
    boats = content.resources["boats"]
    made = shelf.child(boats, "mine.txt")
    other = {
        "size": {"size": made.size + 1},
        "maker": {"author": "bob@x.example"},
        "time": {"created": "2026-01-01T00:00:00Z"},
    }[change]
    shelf.put(msgspec.structs.replace(made, **other))

    assert await recovery.after(LEASE, LOOK_PAUSES_MS[0]) == 1
    assert await automatic_rules(content, token) == []


@pytest.mark.usefixtures("crash_before_rule")
@pytest.mark.parametrize(
    ("scopes", "stored"),
    [
        pytest.param(["User.Read"], 1, id="that is readable"),
        pytest.param([], 0, id="that the scopes do not show"),
    ],
)
async def test_the_account_of_a_sign_in_name_is_the_maker(content, token, recovery, scopes, stored):
    state = content.world.sandbox.state
    granted = [*WRITE, *scopes]
    change = {
        "accountEmail": SIGN_IN_NAMES[ANN],
        "grantedScopes": granted,
        "credentials": {"accessToken": state.tokens.issue("collab", ANN, granted)},
    }
    async with content.client(ADMIN) as admin:
        connections = (await admin.get("/api/connections")).json()["connections"]
        (connection,) = [
            connection["id"]
            for connection in connections
            if (connection["accountEmail"], connection["resourceId"]) == (ANN, MAIN)
        ]
        changed = await admin.patch(f"/api/connections/{connection}", json=change)
        assert changed.status_code == 200, changed.text
    await upload_file(content, token)
    made = state.content.child(content.resources["boats"], "mine.txt")

    assert await recovery.after(LEASE, LOOK_PAUSES_MS[0]) == 1
    rules = [("file_id", f"{made.drive_id}:{made.id}")]
    assert await automatic_rules(content, token) == rules[:stored]


@pytest.mark.usefixtures("crash_before_rule")
async def test_a_row_with_other_values_gets_no_rule(content, token, recovery):
    await create_row(content, token)
    number = max(
        int(row.number)
        for row in content.world.sandbox.state.content.rows(content.resources["berths"].id)
    )
    path = content.path("berths", number)
    changed = await content.call("PATCH", path, json={"fields": {"Length": 8}})
    assert changed.status_code == 200, changed.text

    assert await recovery.after(LEASE, LOOK_PAUSES_MS[0]) == 1
    assert (await automatic_rules(content, token), await stored_intents(content)) == ([], [])


@pytest.mark.usefixtures("crash_before_rule")
async def test_equal_rows_are_distinguished_by_an_existing_rule(
    content, token, recovery, monkeypatch
):
    first = (await create_row(content, token)).json()["itemId"]
    monkeypatch.undo()
    second = (await create_row(content, token)).json()["id"]

    assert await recovery.after(LEASE) == 1
    numbers = {pattern.rpartition(":")[2] for _, pattern in await automatic_rules(content, token)}
    assert numbers == {response.rpartition(":")[2] for response in (first, second)}


@pytest.mark.usefixtures("crash_before_rule")
async def test_ambiguous_equal_rows_get_no_rule(content, token, recovery, caplog):
    await create_row(content, token)
    await content.call("POST", content.path("berths", 0), json={"fields": FIELDS})

    assert await recovery.after(LEASE) == 1
    assert (await automatic_rules(content, token), await stored_intents(content)) == ([], [])
    assert "an allow rule is given up: more than one thing fits" in caplog.text


@pytest.mark.usefixtures("crash_before_rule")
async def test_a_file_that_upstream_renamed_is_found(content, token, recovery):
    await content.call(
        "POST",
        "/files/upload",
        params={"fileName": "mine.txt", "folderId": content.id("boats")},
        content=b"another's",
    )
    response = await upload_file(content, token, conflictBehavior="rename")
    drive, _, item = response.json()["fileId"].removeprefix("collab:drive:").partition(":item:")

    assert await recovery.after(LEASE) == 1
    assert await automatic_rules(content, token) == [("file_id", f"{drive}:{item}")]


@pytest.mark.slow
@pytest.mark.usefixtures("crash_before_rule")
async def test_an_unavailable_upstream_is_retried_for_a_day(content, token, recovery, caplog):
    await upload_file(content, token)
    await content.fail(kind="503", count=1000)
    assert await recovery.after(LEASE, *LOOK_PAUSES_MS[:-2]) == 0
    assert len(await stored_intents(content)) == 1
    content.forget_calls()
    assert await recovery.after(0) == 0
    assert content.calls() == []  # not before it is due

    assert await recovery.after(LOOK_PAUSES_MS[-2]) == 1
    assert DAY / 2 < recovery.ahead < DAY
    assert (await automatic_rules(content, token), await stored_intents(content)) == ([], [])
    assert "an allow rule is given up: upstream does not tell what was made" in caplog.text


@pytest.mark.usefixtures("crash_before_rule")
async def test_an_intent_is_kept_while_its_connection_is_unusable(content, token, recovery):
    await upload_file(content, token)
    admin = content.world.admin
    own = {"operatorId": content.world.operator_id, "resourceId": MAIN, "kind": "collab"}
    listed = (await admin.get("/api/connections", params=own)).json()["connections"]
    (connection,) = (row["id"] for row in listed)
    await admin.patch(f"/api/connections/{connection}", json={"status": "disabled"})
    assert await recovery.after(LEASE, LOOK_PAUSES_MS[0]) == 0

    await admin.patch(f"/api/connections/{connection}", json={"status": "active"})
    assert await recovery.after(LOOK_PAUSES_MS[1]) == 1
    assert len(await automatic_rules(content, token)) == 1


@pytest.mark.usefixtures("lost_calls")
async def test_all_intents_that_are_due_are_looked_at_in_one_run(
    content, token, recovery, monkeypatch
):
    """In batches of two: three remain after the first look, and go at the second."""
    monkeypatch.setattr("gateway.rule_intents.recovery._BATCH", 2)
    for number in range(3):
        await upload_file(content, token, fileName=f"mine-{number}.txt")
    assert len(await stored_intents(content)) == 3

    assert await recovery.after(LEASE, LOOK_PAUSES_MS[0]) == 3
    assert await stored_intents(content) == []


@pytest.mark.usefixtures("crash_before_rule")
async def test_only_one_process_recovers_an_intent(content, token, recovery):
    await upload_file(content, token)
    recovery.ahead = LEASE
    content.forget_calls()

    ended = await asyncio.gather(*(recovery.recover() for _ in range(5)))

    assert sum(ended) == 1
    assert sum("mine.txt" in call["path"] for call in content.calls()) == 1
    assert len(await automatic_rules(content, token)) == 1


async def test_a_rule_is_stored_although_recovery_has_deleted_its_intent(
    content, token, recovery, monkeypatch
):
    """Recovery searches in vain while the creating process, cut off from the database, uploads."""
    intent_log = content.world.gateway.services.rule_intents
    allow = intent_log.allow

    async def allow_after_recovery(intent, pattern):
        async with content.world.gateway.services.database.writing() as session:
            await session.delete(await session.get(RuleIntent, intent))
        await allow(intent, pattern)

    monkeypatch.setattr(intent_log, "allow", allow_after_recovery)
    response = await upload_file(content, token)

    assert response.status_code == 200
    assert await stored_intents(content) == []
    file_id = response.json()["fileId"]
    assert len(await automatic_rules(content, token)) == 1
    assert (await content.call("GET", f"/files/{file_id}", token)).status_code == 200


async def test_a_running_creation_keeps_its_intent(content, token, recovery, monkeypatch):
    """A slow upload is not recovered while its process renews the lease."""
    intent_log = content.world.gateway.services.rule_intents
    monkeypatch.setattr(intent_log, "_now", recovery.now)
    meanwhile = []

    async def slow():
        yield b"x" * 70_000  # more than one batch
        for _ in range(3):
            recovery.ahead += LEASE - 1
            await intent_log.renew()
            meanwhile.append(await recovery.recover())
            meanwhile.append(len(await stored_intents(content)))
        yield b"the end"

    response = await upload_file(content, token, slow())

    assert response.status_code == 200, response.text
    assert meanwhile == [0, 1] * 3
    assert len(await automatic_rules(content, token)) == 1
    assert await stored_intents(content) == []


async def test_an_intent_without_a_fingerprint_ends(content, token, recovery, caplog):
    """Intents without a fingerprint, or sealed with a key that no longer exists."""
    async with content.world.gateway.services.database.writing() as session:
        session.add(
            RuleIntent(
                token_id=1,
                rule_type="file_id",
                place="d:f",
                created_at=0,
                trace="",
                lease_until=0,
                look_at=0,
            )
        )

    assert await recovery.recover() == 1
    assert await stored_intents(content) == []
    assert "an allow rule is given up: its trace cannot be read" in caplog.text


@pytest.mark.usefixtures("crash_before_rule")
async def test_fingerprints_are_encrypted_in_the_database(content, token):
    await upload_file(content, token)
    await create_row(content, token)
    for intent in await stored_intents(content):
        written = intent.model_dump_json()
        assert "mine.txt" not in written
        assert "Title" not in written
