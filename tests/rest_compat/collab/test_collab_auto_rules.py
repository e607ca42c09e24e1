"""Allow rules for resources that a block-all token creates; moves do not widen access."""

import pytest
from sqlmodel import select

from gateway.store.database import StorageUnavailable
from gateway.store.tables import RuleIntent


async def stored_intents(content):
    async with content.world.gateway.services.database.reading() as session:
        return (await session.exec(select(RuleIntent))).all()


async def upload(content, token, folder="boats", name="mine.txt", data=b"x"):
    params = {"fileName": name, "folderId": content.id(folder)}
    return await content.call("POST", "/files/upload", token, params=params, content=data)


def rule_about(content, name, kind="folder", action="allow"):
    return (kind, content.id(name), action)


async def test_an_upload_in_block_all_mode_stores_an_allow_rule(content):
    token = await content.block_all_token(rule_about(content, "boats", "file_id"))

    upload_response = await upload(content, token)

    assert upload_response.status_code == 200, upload_response.text
    file_id = upload_response.json()["fileId"]
    assert (await content.get(f"/files/{file_id}", token)).status_code == 200
    drive, _, item = file_id.removeprefix("collab:drive:").partition(":item:")
    newest_rule = (await content.rules(token))[-1]
    assert {name: newest_rule[name] for name in ("ruleType", "pattern", "action", "source")} == {
        "ruleType": "file_id",
        "pattern": f"{drive}:{item}",
        "action": "allow",
        "source": "auto",
    }
    assert newest_rule["description"] == "created by this token"
    assert await stored_intents(content) == []


async def test_created_folders_and_list_items_get_rules_too(content):
    list_rule = ("list_id", content.id("berths"), "allow")
    token = await content.block_all_token(rule_about(content, "boats"), list_rule)
    written = {"name": "New", "parentFolderId": content.id("inner")}

    folder = await content.call("POST", "/folders", token, json=written)
    row = await content.call(
        "POST", content.path("berths", 0), token, json={"fields": {"Title": "New"}}
    )

    assert (folder.status_code, row.status_code) == (200, 201), (folder.text, row.text)
    auto = [rule["ruleType"] for rule in await content.rules(token) if rule["source"] == "auto"]
    assert auto == ["file_id", "list_item_id"]
    assert row.json()["name"] == "New"


async def test_allow_all_mode_stores_no_rule(content):
    token = await content.token()

    assert (await upload(content, token)).status_code == 200
    assert await content.rules(token) == []


async def test_creation_is_blocked_unless_the_parent_or_a_place_rule_allows_it(content):
    for rules in (
        [rule_about(content, "sketch", "file_id")],
        [("mime_type", "text/*", "allow")],
        [rule_about(content, "boats"), rule_about(content, "boats", "file_id", "block")],
    ):
        token = await content.block_all_token(*rules)
        content.forget_calls()
        response = await upload(content, token)
        assert (response.status_code, response.json()["errorCode"]) == (404, "BLOCKED")
        assert not any(call["method"] in ("PUT", "PATCH") for call in content.calls())
    assert "mine.txt" not in content.names("documents")


async def test_a_blocked_mime_type_is_not_uploaded(content):
    token = await content.token(("mime_type", "image/*", "block"))

    response = await upload(content, token, name="new.png")

    assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")
    assert "new.png" not in content.names("documents")


async def test_a_blocked_file_is_not_overwritten(content):
    token = await content.token(rule_about(content, "sketch", "file_id", "block"))
    params = {
        "fileName": "SKETCH.pdf",
        "folderId": content.id("boats"),
        "conflictBehavior": "replace",
    }

    response = await content.call("POST", "/files/upload", token, params=params, content=b"x")

    assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")


async def test_a_move_requires_source_and_destination(content):
    out = await content.token(rule_about(content, "houses", "folder", "block"))
    path = f"/files/{content.id('notes')}/move"

    response = await content.call(
        "PATCH", path, out, json={"destinationFolderId": content.id("houses")}
    )

    assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")


async def test_moving_a_folder_does_not_make_its_contents_accessible(content):
    """Only the folder is allowed; in an allowed destination all of its contents would be."""
    token = await content.block_all_token(
        rule_about(content, "boats", "file_id"),
        rule_about(content, "houses"),
        rule_about(content, "houses", "file_id"),
    )
    path = f"/files/{content.id('boats')}/move"

    response = await content.call(
        "PATCH", path, token, json={"destinationFolderId": content.id("houses")}
    )

    assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")
    assert (await content.get(f"/files/{content.id('plan')}", token)).status_code == 404


async def test_a_rule_that_cannot_be_stored_is_retried_and_the_response_has_the_id(
    content, monkeypatch
):
    token = await content.block_all_token(rule_about(content, "boats"))
    intent_log = content.world.gateway.services.rule_intents
    store, failures = intent_log._store, [True]

    async def failing(intent, pattern):
        if failures:
            raise StorageUnavailable
        await store(intent, pattern)

    monkeypatch.setattr(intent_log, "_store", failing)
    response = await upload(content, token)

    body = response.json()
    assert (response.status_code, body["error"], body["success"]) == (500, None, False)
    assert body["fileId"].startswith("collab:drive:")
    assert len(await stored_intents(content)) == 1
    failures.clear()
    await intent_log.store_pending()
    assert [rule["source"] for rule in await content.rules(token)] == ["manual", "auto"]
    assert await stored_intents(content) == []


@pytest.mark.parametrize("status", ["409", "500"])
async def test_a_failed_creation_leaves_no_intent(content, status):
    token = await content.block_all_token(rule_about(content, "boats"))
    if status == "409":
        response = await upload(content, token, name="sketch.pdf")
        assert response.status_code == 409
        assert await stored_intents(content) == []
    assert [rule["source"] for rule in await content.rules(token)] == ["manual"]
