"""What block-all tokens make they can read back, and nothing comes into reach by moving it."""

import pytest
from sqlmodel import select

from gateway.store.database import StorageUnavailable
from gateway.store.tables import RuleIntent


async def intents(content):
    async with content.world.gateway.services.database.reading() as session:
        return (await session.exec(select(RuleIntent))).all()


async def upload(content, token, folder="boats", name="mine.txt", data=b"x"):
    params = {"fileName": name, "folderId": content.id(folder)}
    return await content.call("POST", "/files/upload", token, params=params, content=data)


def within(content, name, kind="folder", action="allow"):
    return (kind, content.id(name), action)


async def test_what_a_token_makes_gets_a_rule_of_its_own(content):
    token = await content.selecting(within(content, "boats", "file_id"))

    made = await upload(content, token)

    assert made.status_code == 200, made.text
    file_id = made.json()["fileId"]
    assert (await content.get(f"/files/{file_id}", token)).status_code == 200
    drive, _, item = file_id.removeprefix("collab:drive:").partition(":item:")
    last = (await content.rules(token))[-1]
    assert {name: last[name] for name in ("ruleType", "pattern", "action", "source")} == {
        "ruleType": "file_id",
        "pattern": f"{drive}:{item}",
        "action": "allow",
        "source": "auto",
    }
    assert last["description"] == "created by this token"
    assert await intents(content) == []


async def test_a_folder_and_a_list_item_get_theirs(content):
    list_rule = ("list_id", content.id("berths"), "allow")
    token = await content.selecting(within(content, "boats"), list_rule)
    written = {"name": "New", "parentFolderId": content.id("inner")}

    folder = await content.call("POST", "/folders", token, json=written)
    row = await content.call(
        "POST", content.path("berths", 0), token, json={"fields": {"Title": "New"}}
    )

    assert (folder.status_code, row.status_code) == (200, 201), (folder.text, row.text)
    auto = [one["ruleType"] for one in await content.rules(token) if one["source"] == "auto"]
    assert auto == ["file_id", "list_item_id"]
    assert row.json()["name"] == "New"


async def test_in_allow_all_mode_no_rule_is_made(content):
    token = await content.token()

    assert (await upload(content, token)).status_code == 200
    assert await content.rules(token) == []


async def test_nothing_is_made_where_neither_parent_nor_place_is_allowed(content):
    for rules in (
        [within(content, "sketch", "file_id")],
        [("mime_type", "text/*", "allow")],
        [within(content, "boats"), within(content, "boats", "file_id", "block")],
    ):
        token = await content.selecting(*rules)
        content.forget_calls()
        answer = await upload(content, token)
        assert (answer.status_code, answer.json()["errorCode"]) == (404, "BLOCKED")
        assert not any(one["method"] in ("PUT", "PATCH") for one in content.calls())
    assert "mine.txt" not in content.names("documents")


async def test_a_blocked_type_is_not_uploaded(content):
    token = await content.token(("mime_type", "image/*", "block"))

    answer = await upload(content, token, name="new.png")

    assert (answer.status_code, answer.json()["error"]) == (404, "BLOCKED")
    assert "new.png" not in content.names("documents")


async def test_what_is_blocked_is_not_replaced(content):
    token = await content.token(within(content, "sketch", "file_id", "block"))
    params = {
        "fileName": "SKETCH.pdf",
        "folderId": content.id("boats"),
        "conflictBehavior": "replace",
    }

    answer = await content.call("POST", "/files/upload", token, params=params, content=b"x")

    assert (answer.status_code, answer.json()["error"]) == (404, "BLOCKED")


async def test_moving_needs_both_ends(content):
    out = await content.token(within(content, "houses", "folder", "block"))
    path = f"/files/{content.id('notes')}/move"

    answer = await content.call(
        "PATCH", path, out, json={"destinationFolderId": content.id("houses")}
    )

    assert (answer.status_code, answer.json()["error"]) == (404, "BLOCKED")


async def test_a_folder_does_not_bring_its_content_into_reach(content):
    """Alone the folder is allowed; moved into an allowed one, all that lies in it would be."""
    token = await content.selecting(
        within(content, "boats", "file_id"),
        within(content, "houses"),
        within(content, "houses", "file_id"),
    )
    path = f"/files/{content.id('boats')}/move"

    answer = await content.call(
        "PATCH", path, token, json={"destinationFolderId": content.id("houses")}
    )

    assert (answer.status_code, answer.json()["error"]) == (404, "BLOCKED")
    assert (await content.get(f"/files/{content.id('plan')}", token)).status_code == 404


async def test_when_the_rule_cannot_be_stored_the_id_is_told_and_the_rule_follows(
    content, monkeypatch
):
    token = await content.selecting(within(content, "boats"))
    book = content.world.gateway.services.rule_intents
    store, fails = book._store, [True]

    async def failing(intent, pattern):
        if fails:
            raise StorageUnavailable
        await store(intent, pattern)

    monkeypatch.setattr(book, "_store", failing)
    answer = await upload(content, token)

    body = answer.json()
    assert (answer.status_code, body["error"], body["success"]) == (500, None, False)
    assert body["fileId"].startswith("collab:drive:")
    assert len(await intents(content)) == 1
    fails.clear()
    await book.retry()
    assert [one["source"] for one in await content.rules(token)] == ["manual", "auto"]
    assert await intents(content) == []


@pytest.mark.parametrize("status", ["409", "500"])
async def test_what_was_not_made_leaves_no_intent(content, status):
    token = await content.selecting(within(content, "boats"))
    if status == "409":
        answer = await upload(content, token, name="sketch.pdf")
        assert answer.status_code == 409
        assert await intents(content) == []
    assert [one["source"] for one in await content.rules(token)] == ["manual"]
