"""Explanations of collaboration content: the deciding rule, and the rule changes that help."""

import pytest
from content_world import ADMIN

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def explain(content, token, method, path, **more):
    """Explain a call with a token."""
    async with content.client(token) as mine:
        token_id = (await mine.get("/api/access/token")).json()["id"]
    content.forget_calls()
    question = {"method": method, "path": content.prefix + path, **more}
    async with content.client(ADMIN) as admin:
        response = await admin.post(f"/api/access-tokens/{token_id}/explain", json=question)
    assert response.status_code == 200, response.text
    return response.json()


def layer(explanation):
    return next(layer["layer"] for layer in explanation["layers"] if layer["outcome"] == "refused")


def drive_and_item(content, name):
    thing = content.resources[name]
    return f"{thing.drive_id}:{thing.id}"


def allow_rule(kind, pattern):
    return [{"ruleType": kind, "pattern": pattern, "action": "allow"}]


async def test_the_blocking_rule_is_named_and_its_removal_proposed(readonly):
    notes, drive = readonly.resources["notes"].id, readonly.resources["documents"].drive_id
    token = await readonly.token(
        ("file_id", "other", "block"),
        ("file_id", notes, "block"),
        ("mime_type", "image/*", "block"),
    )
    rules_before = await readonly.rules(token)
    explanation = await explain(readonly, token, "GET", f"/files/{readonly.id('notes')}")

    assert (explanation["status"], explanation["error"], layer(explanation)) == (
        404,
        "BLOCKED",
        "scope",
    )
    assert explanation["rule"] == {
        "id": rules_before[1]["id"],
        "ruleType": "file_id",
        "pattern": notes,
        "action": "block",
    }
    assert explanation["change"] == {
        "settings": {},
        "addRules": [],
        "removeRules": [rules_before[1]["id"]],
        "text": f"Remove rule {rules_before[1]['id']}: block file_id {notes}.",
    }
    assert drive not in str(explanation)


async def test_all_blocking_rules_are_removed_and_an_allow_rule_added(readonly):
    thing = readonly.resources["sketch"]
    token = await readonly.block_all_token(
        ("file_id", thing.id, "block"), ("drive_id", thing.drive_id, "block")
    )
    rules_before = await readonly.rules(token)
    explanation = await explain(readonly, token, "GET", f"/files/{readonly.id('sketch')}")

    assert sorted(explanation["change"]["removeRules"]) == [rule["id"] for rule in rules_before]
    assert explanation["change"]["addRules"] == allow_rule(
        "file_id", drive_and_item(readonly, "sketch")
    )
    assert explanation["change"]["settings"] == {}


async def test_the_allowing_rule_is_named(readonly):
    token = await readonly.block_all_token(("file_id", drive_and_item(readonly, "notes"), "allow"))
    (rule,) = await readonly.rules(token)
    explanation = await explain(readonly, token, "GET", f"/files/{readonly.id('notes')}")

    assert (explanation["outcome"], explanation["status"]) == ("allowed", 200)
    assert explanation["rule"]["id"] == rule["id"]


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
async def test_block_all_mode_proposes_the_narrowest_allow_rule(readonly, case):
    method, path, body, (kind, name) = case
    token = await readonly.block_all_token()
    more = {"body": body(readonly)} if body else {}
    explanation = await explain(readonly, token, method, path(readonly), **more)

    assert (explanation["status"], explanation["error"], explanation["rule"]) == (
        404,
        "BLOCKED",
        None,
    )
    assert explanation["change"]["addRules"] == allow_rule(kind, drive_and_item(readonly, name))
    assert (explanation["change"]["settings"], explanation["change"]["removeRules"]) == ({}, [])


async def test_sites_lists_and_items_get_rules_of_their_own_type(readonly):
    token = await readonly.block_all_token()
    berths = readonly.resources["berths"]
    site, of = berths.site_id.lower(), berths.id.lower()
    for path, kind, pattern in (
        (f"/sites/{readonly.id('yard')}", "site_id", site),
        (readonly.path("berths"), "list_id", of),
        (readonly.path("berths", 0), "list_id", of),
        (readonly.path("berths", 2), "list_item_id", f"{of}:2"),
    ):
        explanation = await explain(readonly, token, "GET", path)
        assert explanation["change"]["addRules"] == allow_rule(kind, pattern), path


async def test_moving_a_folder_requires_rules_for_its_contents(readonly):
    token = await readonly.block_all_token()
    explanation = await explain(
        readonly,
        token,
        "PATCH",
        f"/files/{readonly.id('inner')}/move",
        body={"destinationFolderId": readonly.id("houses")},
    )

    assert explanation["change"]["addRules"] == [
        *allow_rule("file_id", drive_and_item(readonly, "inner")),
        *allow_rule("file_id", drive_and_item(readonly, "houses")),
        *allow_rule("folder", drive_and_item(readonly, "inner")),
    ]


async def test_a_missing_resource_cannot_be_fixed_by_rules(readonly):
    token = await readonly.block_all_token(("mime_type", "text/*", "allow"))
    drive = readonly.resources["documents"].drive_id
    explanation = await explain(readonly, token, "GET", f"/files/collab:drive:{drive}:item:absent")

    assert (explanation["error"], explanation["change"]) == ("BLOCKED", None)
    assert explanation["unchangeable"] == "The token's connections see no resource with this id."
    assert explanation["partialChange"]["addRules"] == allow_rule("file_id", f"{drive}:absent")


async def test_explaining_a_write_changes_nothing(readonly):
    thing = readonly.resources["boats"]
    token = await readonly.block_all_token(
        ("file_id", drive_and_item(readonly, "boats"), "allow"),
        ("folder", drive_and_item(readonly, "boats"), "allow"),
        ("list_id", readonly.resources["berths"].id, "allow"),
    )
    folder, names = readonly.id("boats"), readonly.names("documents")
    rules = await readonly.rules(token)
    for method, path, body, status in (
        ("POST", f"/files/upload?fileName=new.txt&folderId={folder}", None, 200),
        (
            "POST",
            f"/files/upload?fileName=sketch.pdf&folderId={folder}&conflictBehavior=replace",
            None,
            200,
        ),
        ("POST", "/folders", {"name": "new", "parentFolderId": folder}, 200),
        ("PATCH", f"/files/{readonly.id('sketch')}/rename", {"newName": "new.pdf"}, 200),
        (
            "PATCH",
            f"/files/{readonly.id('sketch')}/move",
            {"destinationFolderId": readonly.id("inner")},
            200,
        ),
        ("DELETE", f"/files/{readonly.id('sketch')}", None, 204),
        ("POST", readonly.path("berths", 0), {"fields": {"Title": "new"}}, 201),
        ("PATCH", readonly.path("berths", 2), {"fields": {"Title": "new"}}, 200),
        ("DELETE", readonly.path("berths", 2), None, 204),
    ):
        explanation = await explain(
            readonly, token, method, path, **({"body": body} if body else {})
        )
        assert (explanation["outcome"], explanation["status"]) == ("allowed", status), (
            path,
            explanation,
        )
        writes = [call for call in readonly.calls() if call["method"] not in ("GET", "HEAD")]
        assert [call["path"] for call in writes if call["path"] != "/v1.0/$batch"] == [], path

    assert readonly.names("documents") == names
    assert await readonly.rules(token) == rules
    assert thing.id in folder


async def test_a_closed_internal_address_is_explained_as_a_wrong_request(readonly):
    token = await readonly.token()
    async with readonly.client(token) as mine:
        token_id = (await mine.get("/api/access/token")).json()["id"]
    question = {"method": "GET", "path": "/internal/api/access/collab/sites"}
    async with readonly.client(ADMIN) as admin:
        response = await admin.post(f"/api/access-tokens/{token_id}/explain", json=question)

    explanation = response.json()  # the internal address is closed in this gateway
    assert (explanation["status"], explanation["unchangeable"]) == (
        404,
        "The request itself is wrong; no setting of the token is the reason.",
    )
