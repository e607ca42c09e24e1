"""Explanations of collaboration content: the rule that decided, and the rules that would help."""

import pytest
from content_world import ADMIN

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def explained(content, token, method, path, **more):
    """Ask about a call with a token."""
    async with content.client(token) as mine:
        token_id = (await mine.get("/api/access/token")).json()["id"]
    content.forget_calls()
    asked = {"method": method, "path": content.prefix + path, **more}
    async with content.client(ADMIN) as admin:
        answer = await admin.post(f"/api/access-tokens/{token_id}/explain", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def layer(found):
    return next(one["layer"] for one in found["layers"] if one["outcome"] == "refused")


def pair(content, name):
    thing = content.things[name]
    return f"{thing.drive_id}:{thing.id}"


def allowing(kind, pattern):
    return [{"ruleType": kind, "pattern": pattern, "action": "allow"}]


async def test_the_rule_that_blocks_is_named_and_goes(still):
    notes, drive = still.things["notes"].id, still.things["documents"].drive_id
    token = await still.token(
        ("file_id", "other", "block"),
        ("file_id", notes, "block"),
        ("mime_type", "image/*", "block"),
    )
    known = await still.rules(token)
    found = await explained(still, token, "GET", f"/files/{still.id('notes')}")

    assert (found["status"], found["error"], layer(found)) == (404, "BLOCKED", "scope")
    assert found["rule"] == {
        "id": known[1]["id"],
        "ruleType": "file_id",
        "pattern": notes,
        "action": "block",
    }
    assert found["change"] == {
        "settings": {},
        "addRules": [],
        "removeRules": [known[1]["id"]],
        "text": f"Remove rule {known[1]['id']}: block file_id {notes}.",
    }
    assert drive not in str(found)


async def test_every_block_must_go_and_an_allow_come_besides(still):
    thing = still.things["sketch"]
    token = await still.selecting(
        ("file_id", thing.id, "block"), ("drive_id", thing.drive_id, "block")
    )
    known = await still.rules(token)
    found = await explained(still, token, "GET", f"/files/{still.id('sketch')}")

    assert sorted(found["change"]["removeRules"]) == [one["id"] for one in known]
    assert found["change"]["addRules"] == allowing("file_id", pair(still, "sketch"))
    assert found["change"]["settings"] == {}


async def test_the_rule_that_allows_is_named(still):
    token = await still.selecting(("file_id", pair(still, "notes"), "allow"))
    (rule,) = await still.rules(token)
    found = await explained(still, token, "GET", f"/files/{still.id('notes')}")

    assert (found["outcome"], found["status"]) == ("allowed", 200)
    assert found["rule"]["id"] == rule["id"]


CASES = {
    "a file": ("GET", lambda c: f"/files/{c.id('plan')}", None, ("file_id", "plan")),
    "what lies in a folder": (
        "GET",
        lambda c: f"/files?folderId={c.id('boats')}",
        None,
        ("folder", "boats"),
    ),
    "a link": ("GET", lambda c: f"/files/{c.id('plan')}/download", None, ("file_id", "plan")),
    "a new folder": (
        "POST",
        lambda _: "/folders",
        lambda c: {"name": "new", "parentFolderId": c.id("boats")},
        ("file_id", "boats"),
    ),
    "a new name": (
        "PATCH",
        lambda c: f"/files/{c.id('notes')}/rename",
        lambda _: {"newName": "other.txt"},
        ("file_id", "notes"),
    ),
    "sharing": (
        "POST",
        lambda c: f"/files/{c.id('notes')}/share",
        lambda _: {"type": "user", "role": "reader", "emailAddress": "x@x.example"},
        ("file_id", "notes"),
    ),
    "deleting": ("DELETE", lambda c: f"/files/{c.id('notes')}", None, ("file_id", "notes")),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_without_default_access_the_narrowest_rule_is_added(still, case):
    method, path, body, (kind, name) = case
    token = await still.selecting()
    more = {"body": body(still)} if body else {}
    found = await explained(still, token, method, path(still), **more)

    assert (found["status"], found["error"], found["rule"]) == (404, "BLOCKED", None)
    assert found["change"]["addRules"] == allowing(kind, pair(still, name))
    assert (found["change"]["settings"], found["change"]["removeRules"]) == ({}, [])


async def test_sites_lists_and_their_items_are_named_by_their_own_rules(still):
    token = await still.selecting()
    berths = still.things["berths"]
    site, of = berths.site_id.lower(), berths.id.lower()
    for path, kind, pattern in (
        (f"/sites/{still.id('yard')}", "site_id", site),
        (still.path("berths"), "list_id", of),
        (still.path("berths", 0), "list_id", of),
        (still.path("berths", 2), "list_item_id", f"{of}:2"),
    ):
        found = await explained(still, token, "GET", path)
        assert found["change"]["addRules"] == allowing(kind, pattern), path


async def test_moving_a_folder_needs_all_that_lies_in_it(still):
    token = await still.selecting()
    found = await explained(
        still,
        token,
        "PATCH",
        f"/files/{still.id('inner')}/move",
        body={"destinationFolderId": still.id("houses")},
    )

    assert found["change"]["addRules"] == [
        *allowing("file_id", pair(still, "inner")),
        *allowing("file_id", pair(still, "houses")),
        *allowing("folder", pair(still, "inner")),
    ]


async def test_what_is_not_there_is_no_matter_of_rules(still):
    token = await still.selecting(("mime_type", "text/*", "allow"))
    drive = still.things["documents"].drive_id
    found = await explained(still, token, "GET", f"/files/collab:drive:{drive}:item:absent")

    assert (found["error"], found["change"]) == ("BLOCKED", None)
    assert found["unchangeable"] == "The token's connections see nothing under this id."
    assert found["partialChange"]["addRules"] == allowing("file_id", f"{drive}:absent")


async def test_nothing_is_made_and_no_rule_is_stored(still):
    thing = still.things["boats"]
    token = await still.selecting(
        ("file_id", pair(still, "boats"), "allow"),
        ("folder", pair(still, "boats"), "allow"),
        ("list_id", still.things["berths"].id, "allow"),
    )
    folder, names = still.id("boats"), still.names("documents")
    rules = await still.rules(token)
    for method, path, body, status in (
        ("POST", f"/files/upload?fileName=new.txt&folderId={folder}", None, 200),
        (
            "POST",
            f"/files/upload?fileName=sketch.pdf&folderId={folder}&conflictBehavior=replace",
            None,
            200,
        ),
        ("POST", "/folders", {"name": "new", "parentFolderId": folder}, 200),
        ("PATCH", f"/files/{still.id('sketch')}/rename", {"newName": "new.pdf"}, 200),
        (
            "PATCH",
            f"/files/{still.id('sketch')}/move",
            {"destinationFolderId": still.id("inner")},
            200,
        ),
        ("DELETE", f"/files/{still.id('sketch')}", None, 204),
        ("POST", still.path("berths", 0), {"fields": {"Title": "new"}}, 201),
        ("PATCH", still.path("berths", 2), {"fields": {"Title": "new"}}, 200),
        ("DELETE", still.path("berths", 2), None, 204),
    ):
        found = await explained(still, token, method, path, **({"body": body} if body else {}))
        assert (found["outcome"], found["status"]) == ("allowed", status), (path, found)
        writes = [one for one in still.calls() if one["method"] not in ("GET", "HEAD")]
        assert [one["path"] for one in writes if one["path"] != "/v1.0/$batch"] == [], path

    assert still.names("documents") == names
    assert await still.rules(token) == rules
    assert thing.id in folder


async def test_the_internal_address_is_explained_where_it_is_open(still):
    token = await still.token()
    async with still.client(token) as mine:
        token_id = (await mine.get("/api/access/token")).json()["id"]
    asked = {"method": "GET", "path": "/internal/api/access/collab/sites"}
    async with still.client(ADMIN) as admin:
        found = await admin.post(f"/api/access-tokens/{token_id}/explain", json=asked)

    told = found.json()  # it is not open here
    assert (told["status"], told["unchangeable"]) == (
        404,
        "The request itself is wrong; no setting of the token is the reason.",
    )
