"""Rules as callers meet them: by every path the same things are seen, and nothing else."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")

FILES = ("boats", "inner", "houses", "plan", "sketch", "notes", "house", "hull", "letter")


def rule(still, kind, name, action="allow"):
    """Write a rule about something of the world; "top of" a library: its root."""
    if isinstance(name, str) and name.startswith("top of "):
        drive = still.things[name.removeprefix("top of ")].drive_id
        return (kind, f"collab:drive:{drive}:item:root", action)
    thing = still.things.get(name)
    patterns = {
        "file_id": lambda: still.id(name),
        "folder": lambda: still.id(name),
        "drive_id": lambda: thing.drive_id,
        "site_id": lambda: still.id(name),
        "list_id": lambda: still.id(name),
        "list_item_id": lambda: still.row(*name),
        "sensitivity_label_id": lambda: still.labels[name].id,
    }
    return (kind, patterns.get(kind, lambda: name)(), action)


# rules (type, name) -> the files that they are about.
MATCHES = (
    ([("file_id", "notes")], {"notes"}),
    ([("folder", "boats")], {"inner", "plan", "sketch"}),
    ([("folder", "documents")], set(FILES) - {"hull", "letter"}),
    ([("folder", "top of documents")], set(FILES) - {"hull", "letter"}),
    ([("drive_id", "drawings")], {"hull"}),
    ([("site_id", "mine")], {"letter"}),
    ([("site_id", "yard")], set(FILES) - {"letter"}),
    ([("mime_type", "text/*")], {"notes", "house", "letter"}),
    ([("mime_type", "application/pdf")], {"sketch"}),
    ([("sensitivity_label_id", "secret")], {"plan"}),
    ([("file_id", "boats"), ("folder", "houses")], {"boats", "house"}),
)
ABOUT = pytest.mark.parametrize(
    ("rules", "matched"), MATCHES, ids=[" ".join(one[0][0]) for one in MATCHES]
)


async def seen_by_get(still, token):
    found = set()
    for name in FILES:
        answer = await still.get(f"/files/{still.id(name)}", token)
        assert answer.status_code in (200, 404)
        if answer.status_code == 404:
            assert answer.json()["error"] == "BLOCKED"
        else:
            found.add(name)
    return found


async def seen_by_listing(still, token):
    ids = {still.id(name): name for name in FILES}
    roots = [f"/files?folderId={still.id(name)}" for name in ("boats", "inner", "houses")]
    found = set()
    for path in ["/files", *roots]:
        answer = await still.get(path, token)
        if answer.status_code == 200:
            assert answer.json()["hasMore"] is False
            found |= {ids[one["id"]] for one in answer.json()["files"]}
        else:
            assert answer.json()["error"] == "BLOCKED"
    return found


async def seen_by_search(still, token):
    ids = {still.id(name): name for name in FILES}
    files = await still.get("/files?q=keel", token)
    hits = await still.get("/search?q=keel&entityTypes=driveItem", token)
    assert hits.json()["total"] == 4  # also what is not seen
    first = {ids[one["id"]] for one in files.json()["files"]}
    assert {ids[one["id"]] for one in hits.json()["hits"]} == first
    return first


@ABOUT
async def test_allow_rules_open_what_they_match_by_every_path(still, rules, matched):
    token = await still.selecting(*[rule(still, *one) for one in rules])

    assert await seen_by_get(still, token) == matched
    assert await seen_by_listing(still, token) == matched
    assert await seen_by_search(still, token) == matched & {"plan", "sketch", "notes", "letter"}


@ABOUT
async def test_block_rules_close_what_they_match_by_every_path(still, rules, matched):
    token = await still.token(*[rule(still, *one, "block") for one in rules])
    left = set(FILES) - matched

    assert await seen_by_get(still, token) == left
    assert await seen_by_search(still, token) == left & {"plan", "sketch", "notes", "letter"}
    assert await seen_by_listing(still, token) <= left


@ABOUT
async def test_a_block_wins_over_an_allow(still, rules, matched):
    both = [rule(still, *one, action) for one in rules for action in ("allow", "block")]

    assert await seen_by_get(still, await still.selecting(*both)) == set()


async def test_every_call_on_something_blocked_is_404_blocked(still):
    token = await still.token(rule(still, "drive_id", "documents", "block"))
    still.forget_calls()
    path = f"/files/{still.id('notes')}"
    json = {"newName": "x", "destinationFolderId": still.id("boats"), "type": "anyone"}
    for method, call in (
        ("GET", path),
        ("GET", f"{path}/download"),
        ("GET", f"{path}/permissions"),
        ("GET", f"{path}/sensitivity-label"),
        ("PATCH", f"{path}/rename"),
        ("PATCH", f"{path}/move"),
        ("POST", f"{path}/share"),
        ("DELETE", path),
        ("GET", f"/files?folderId={still.id('boats')}"),
    ):
        more = {"json": {**json, "role": "reader"}} if method in ("PATCH", "POST") else {}
        answer = await still.call(method, call, token, **more)
        assert (answer.status_code, answer.json()["error"]) == (404, "BLOCKED"), call
    assert still.calls() == []


async def test_a_container_without_a_match_of_its_own_is_only_walked_through(still):
    token = await still.selecting(rule(still, "list_item_id", ("berths", 2)))

    items = await still.get(still.path("berths", 0), token)
    assert [one["id"] for one in items.json()["items"]] == [still.row("berths", 2)]
    assert (await still.get(still.path("berths", 2), token)).status_code == 200
    for path in (f"/sites/{still.id('yard')}", still.path("berths"), still.path("berths", 1)):
        answer = await still.get(path, token)
        assert (answer.status_code, answer.json()["error"]) == (404, "BLOCKED")
    assert (await still.get("/sites", token)).json()["sites"] == []
    assert (await still.get(f"/sites/{still.id('yard')}/lists", token)).json()["lists"] == []
    assert (await still.get(still.path("crew", 0), token)).json()["error"] == "BLOCKED"


async def test_a_site_rule_opens_the_site_its_lists_and_items(still):
    token = await still.selecting(rule(still, "site_id", "company"))

    assert [one["id"] for one in (await still.get("/sites", token)).json()["sites"]] == [
        still.id("company")
    ]
    assert (await still.get(still.path("crew"), token)).status_code == 200
    assert len((await still.get(still.path("crew", 0), token)).json()["items"]) == 1
    assert (await still.get(still.path("berths"), token)).json()["error"] == "BLOCKED"


async def test_a_content_type_is_a_fact_of_list_items(still):
    kind = ("content_type_id", "0x0100")

    opened = await still.selecting((*kind, "allow"))
    closed = await still.token((*kind, "block"))

    assert len((await still.get(still.path("berths", 0), opened)).json()["items"]) == 4
    assert (await still.get(still.path("berths", 0), closed)).json()["items"] == []


async def test_a_library_and_its_list_are_one_resource(still):
    """A block on the one face holds on the other."""
    documents = next(
        one["id"]
        for one in (await still.get(f"/sites/{still.id('yard')}/lists")).json()["lists"]
        if one["displayName"] == "Documents"
    )
    number = still.things["notes"].number
    rows = f"/sites/{still.id('yard')}/lists/{documents}/items"
    row = f"{documents}:item:{number}"

    by_row = await still.token(("list_item_id", row, "block"))
    by_file = await still.token(rule(still, "file_id", "notes", "block"))
    by_list = await still.token(("list_id", documents, "block"))

    for token in (by_row, by_file, by_list):
        assert (await still.get(f"/files/{still.id('notes')}", token)).json()["error"] == "BLOCKED"
        assert (await still.get(f"{rows}/{row}", token)).json()["error"] == "BLOCKED"
    assert (await still.get(rows, by_list)).json()["error"] == "BLOCKED"
    for token in (by_row, by_file):
        listed = (await still.get(rows, token)).json()["items"]
        assert listed
        assert row not in [one["id"] for one in listed]


@pytest.mark.parametrize(
    ("rules", "error"),
    [
        pytest.param([("mime_type", "text/*")], "BLOCKED", id="only facts could allow it"),
        pytest.param([("drive_id", "documents")], None, id="its library is allowed"),
        pytest.param([("drive_id", "drawings")], "BLOCKED", id="nothing could allow it"),
    ],
)
async def test_what_is_missing_looks_blocked_unless_its_id_is_allowed(still, rules, error):
    missing = f"/files/collab:drive:{still.things['documents'].drive_id}:item:01NOTHING"
    token = await still.selecting(*[rule(still, *one) for one in rules])

    answer = await still.get(missing, token)

    assert (answer.status_code, answer.json()["error"]) == (404, error)


async def test_what_is_missing_is_missing_where_everything_is_allowed(still):
    missing = f"/files/collab:drive:{still.things['documents'].drive_id}:item:01NOTHING"
    token = await still.token(rule(still, "folder", "boats", "block"))

    answer = await still.get(missing, token)

    assert (answer.status_code, answer.json()["error"]) == (404, None)


async def test_access_info_tells_of_rules_without_naming_them(still):
    selected = await still.selecting(rule(still, "file_id", "notes"))
    blocked = await still.token(rule(still, "file_id", "notes", "block"))

    told = [(await still.get("/sites", one)).json()["accessInfo"] for one in (selected, blocked)]

    assert told == [
        "Only content matching this token's allow rules is visible.",
        "Some content is blocked by this token's rules.",
    ]


async def test_graphql_sees_the_same(still):
    token = await still.selecting(rule(still, "folder", "boats"))
    document = """query ($seen: String!, $blocked: String!) {
      seen: collabFile(fileId: $seen) { file { id } }
      blocked: collabFile(fileId: $blocked) { file { id } } }"""

    body = await still.ask(document, token, seen=still.id("plan"), blocked=still.id("notes"))

    assert body["data"] == {"seen": {"file": {"id": still.id("plan")}}, "blocked": None}
    assert body["errors"][0]["extensions"]["code"] == "BLOCKED"
