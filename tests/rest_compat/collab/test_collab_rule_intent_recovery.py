"""What was made when nobody heard of it gets its rule later; what was not made gets none."""

import asyncio

import msgspec
import pytest
from sqlmodel import select
from world import MAIN

from gateway.rule_intents.recovery import RETRY_PAUSES_MS, RuleIntentRecovery
from gateway.store.tables import RuleIntent
from gateway.store.timestamps import now_ms
from providers.failures import OutcomeUnknown

DAY = 24 * 3600 * 1000
LEASE = 35_000


class Bench(RuleIntentRecovery):
    """Mends, by a clock that can be put forward."""

    def __init__(self, gateway):
        services = gateway.services
        self.ahead = 0
        super().__init__(
            services.database, services.keyring, gateway.services.accounts, clock=self.now
        )

    def now(self):
        return now_ms() + self.ahead

    async def after(self, *pauses):
        """Look once after each of these milliseconds; say how many intents ended."""
        ended = 0
        for pause in pauses:
            self.ahead += pause
            ended += await self.recover()
        return ended


@pytest.fixture
def bench(content):
    return Bench(content.world.gateway)


async def intents(content):
    async with content.world.gateway.services.database.reading() as session:
        return (await session.exec(select(RuleIntent))).all()


async def own(content, token):
    """Return the rules that the token got for what it made."""
    found = await content.rules(token)
    return [(one["ruleType"], one["pattern"]) for one in found if one["source"] == "auto"]


@pytest.fixture
async def token(content):
    return await content.selecting(
        ("folder", content.id("boats"), "allow"),
        ("file_id", content.id("boats"), "allow"),
        ("list_id", content.id("berths"), "allow"),
    )


@pytest.fixture
def dies(content, monkeypatch):
    """The process stops between the making and the rule, as far as the rule is concerned."""
    book = content.world.gateway.services.rule_intents

    async def dying(intent, pattern):
        book.abandon(intent)
        raise ConnectionAbortedError

    monkeypatch.setattr(book, "allow", dying)
    return dying


@pytest.fixture
def lost(monkeypatch):
    """The calls are lost on their way: upstream never hears of them, and nobody knows."""

    async def losing(*_, **__):
        raise OutcomeUnknown

    for method in ("upload", "create_folder", "create_row"):
        monkeypatch.setattr(f"providers.content.merged_content.MergedContent.{method}", losing)


def uploading(content, token, data=b"twelve bytes", **more):
    params = {"fileName": "mine.txt", "folderId": content.id("boats"), **more}
    return content.call("POST", "/files/upload", token, params=params, content=data)


def folding(content, token):
    body = {"name": "mine", "parentFolderId": content.id("boats")}
    return content.call("POST", "/folders", token, json=body)


FIELDS = {"Title": "Mine", "Length": 7, "Paid": True, "Until": "2026-03-01", "State": "Let"}


def listing(content, token):
    body = {"fields": FIELDS}
    return content.call("POST", content.path("berths", 0), token, json=body)


WAYS = [
    pytest.param(uploading, "file_id", id="a file"),
    pytest.param(folding, "file_id", id="a folder"),
    pytest.param(listing, "list_item_id", id="a list item"),
]


@pytest.mark.usefixtures("dies")
@pytest.mark.parametrize(("making", "kind"), WAYS)
async def test_what_was_made_is_found_and_its_rule_stored(content, token, bench, making, kind):
    answer = await making(content, token)
    body = answer.json()
    assert (answer.status_code, await own(content, token)) == (500, [])

    assert await bench.after(0) == 0  # its maker may still be alive
    assert await own(content, token) == []
    assert await bench.after(LEASE) == 1

    made = body.get("fileId") or body.get("itemId")
    ids = made.removeprefix("collab:drive:").replace(":item:", ":")
    if kind == "list_item_id":
        ids = ":".join(made.split(":list:")[1].split(":item:"))
    assert await own(content, token) == [(kind, ids)]
    assert await intents(content) == []
    assert await bench.recover() == 0


@pytest.mark.parametrize(
    ("making", "call"),
    [
        pytest.param(uploading, {"method": "PUT", "match": "/content"}, id="a file"),
        pytest.param(folding, {"method": "POST", "match": "/children"}, id="a folder"),
        pytest.param(listing, {"method": "POST", "match": "/items"}, id="a list item"),
    ],
)
async def test_what_upstream_did_not_tell_readably_gets_its_rule(
    content, token, bench, making, call
):
    shelf, boats = content.world.sandbox.ground.shelf, content.things["boats"]
    berths = content.things["berths"].id
    before = {one.id for one in shelf.children(boats)} | {one.number for one in shelf.rows(berths)}
    await content.fail(kind="spoiltAnswer", count=1, **call)

    assert (await making(content, token)).status_code == 504
    assert await own(content, token) == []
    assert await bench.after(LEASE) == 1

    files = [("file_id", f"{one.drive_id}:{one.id}", one.id) for one in shelf.children(boats)]
    rows = [("list_item_id", f"{berths}:{one.number}", one.number) for one in shelf.rows(berths)]
    made = [(kind, pattern) for kind, pattern, key in (*files, *rows) if key not in before]
    assert await own(content, token) == made
    assert (len(made), await intents(content)) == (1, [])


@pytest.mark.usefixtures("lost")
@pytest.mark.parametrize("making", [uploading, folding, listing])
async def test_what_was_not_made_gets_no_rule_and_the_intent_ends(content, token, bench, making):
    assert (await making(content, token)).status_code == 504
    assert len(await intents(content)) == 1

    assert await bench.after(LEASE) == 0  # upstream may be late to show it
    assert await bench.after(RETRY_PAUSES_MS[0]) == 1
    assert (await own(content, token), await intents(content)) == ([], [])


@pytest.mark.usefixtures("dies")
@pytest.mark.parametrize("change", ["size", "maker", "time"])
async def test_what_another_made_is_not_taken_for_it(content, token, bench, change):
    """The name is the same, but not the rest."""
    await uploading(content, token)
    shelf = content.world.sandbox.ground.shelf
    boats = content.things["boats"]
    made = shelf.child(boats, "mine.txt")
    other = {
        "size": {"size": made.size + 1},
        "maker": {"author": "bob@x.example"},
        "time": {"created": "2026-01-01T00:00:00Z"},
    }[change]
    shelf.put(msgspec.structs.replace(made, **other))

    assert await bench.after(LEASE, RETRY_PAUSES_MS[0]) == 1
    assert await own(content, token) == []


@pytest.mark.usefixtures("dies")
async def test_a_row_with_other_values_is_not_taken_for_it(content, token, bench):
    await listing(content, token)
    number = max(
        int(row.number)
        for row in content.world.sandbox.ground.shelf.rows(content.things["berths"].id)
    )
    path = content.path("berths", number)
    changed = await content.call("PATCH", path, json={"fields": {"Length": 8}})
    assert changed.status_code == 200, changed.text

    assert await bench.after(LEASE, RETRY_PAUSES_MS[0]) == 1
    assert (await own(content, token), await intents(content)) == ([], [])


@pytest.mark.usefixtures("dies")
async def test_two_equal_rows_are_told_apart_by_the_rule_that_one_has(
    content, token, bench, monkeypatch
):
    first = (await listing(content, token)).json()["itemId"]
    monkeypatch.undo()
    second = (await listing(content, token)).json()["id"]

    assert await bench.after(LEASE) == 1
    numbers = {pattern.rpartition(":")[2] for _, pattern in await own(content, token)}
    assert numbers == {one.rpartition(":")[2] for one in (first, second)}


@pytest.mark.usefixtures("dies")
async def test_two_equal_rows_of_which_none_has_a_rule_get_none(content, token, bench, caplog):
    await listing(content, token)
    await content.call("POST", content.path("berths", 0), json={"fields": FIELDS})

    assert await bench.after(LEASE) == 1
    assert (await own(content, token), await intents(content)) == ([], [])
    assert "an allow rule is given up: more than one thing fits" in caplog.text


@pytest.mark.usefixtures("dies")
async def test_a_file_that_upstream_renamed_is_found(content, token, bench):
    await content.call(
        "POST",
        "/files/upload",
        params={"fileName": "mine.txt", "folderId": content.id("boats")},
        content=b"another's",
    )
    answer = await uploading(content, token, conflictBehavior="rename")
    drive, _, item = answer.json()["fileId"].removeprefix("collab:drive:").partition(":item:")

    assert await bench.after(LEASE) == 1
    assert await own(content, token) == [("file_id", f"{drive}:{item}")]


@pytest.mark.usefixtures("dies")
async def test_an_upstream_that_does_not_answer_is_asked_again_for_a_day(
    content, token, bench, caplog
):
    await uploading(content, token)
    await content.fail(kind="503", count=1000)
    assert await bench.after(LEASE, *RETRY_PAUSES_MS[:-2]) == 0
    assert len(await intents(content)) == 1
    content.forget_calls()
    assert await bench.after(0) == 0
    assert content.calls() == []  # not before its time

    assert await bench.after(RETRY_PAUSES_MS[-2]) == 1
    assert DAY / 2 < bench.ahead < DAY
    assert (await own(content, token), await intents(content)) == ([], [])
    assert "an allow rule is given up: upstream does not tell what was made" in caplog.text


@pytest.mark.usefixtures("dies")
async def test_it_is_not_given_up_while_a_connection_is_out_of_use(content, token, bench):
    await uploading(content, token)
    admin = content.world.admin
    listed = (await admin.get("/api/connections")).json()["connections"]
    main = [one["id"] for one in listed if (one["kind"], one["resourceId"]) == ("collab", MAIN)]
    assert len(main) == 1
    connection = main[0]
    await admin.patch(f"/api/connections/{connection}", json={"status": "disabled"})
    assert await bench.after(LEASE, RETRY_PAUSES_MS[0]) == 0

    await admin.patch(f"/api/connections/{connection}", json={"status": "active"})
    assert await bench.after(RETRY_PAUSES_MS[1]) == 1
    assert len(await own(content, token)) == 1


@pytest.mark.usefixtures("dies")
async def test_of_many_processes_one_looks(content, token, bench):
    await uploading(content, token)
    bench.ahead = LEASE
    content.forget_calls()

    ended = await asyncio.gather(*(bench.recover() for _ in range(5)))

    assert sum(ended) == 1
    assert sum("mine.txt" in one["path"] for one in content.calls()) == 1
    assert len(await own(content, token)) == 1


async def test_a_maker_that_lives_keeps_its_intent(content, token, bench, monkeypatch):
    """A slow upload is not looked for while its process renews the lease."""
    book = content.world.gateway.services.rule_intents
    monkeypatch.setattr(book, "_clock", bench.now)
    meanwhile = []

    async def slow():
        yield b"x" * 70_000  # more than is gathered before anything begins
        for _ in range(3):
            bench.ahead += LEASE - 1
            await book.renew()
            meanwhile.append(await bench.recover())
            meanwhile.append(len(await intents(content)))
        yield b"the end"

    answer = await uploading(content, token, slow())

    assert answer.status_code == 200, answer.text
    assert meanwhile == [0, 1] * 3
    assert len(await own(content, token)) == 1
    assert await intents(content) == []


async def test_an_intent_without_a_trace_ends(content, token, bench, caplog):
    """Those from before there were traces, or sealed by a key that is gone."""
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

    assert await bench.recover() == 1
    assert await intents(content) == []
    assert "an allow rule is given up: its trace cannot be read" in caplog.text


@pytest.mark.usefixtures("dies")
async def test_a_trace_is_not_readable_in_the_database(content, token):
    await uploading(content, token)
    await listing(content, token)
    for one in await intents(content):
        written = one.model_dump_json()
        assert "mine.txt" not in written
        assert "Title" not in written
