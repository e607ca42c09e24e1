"""Rules from the caller's side: every path shows the same resources."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")

FILES = ("boats", "inner", "houses", "plan", "sketch", "notes", "house", "hull", "letter")


def rule(readonly, kind, name, action="allow"):
    """Return a rule about a resource of the world; "top of" names the root of a library."""
    if isinstance(name, str) and name.startswith("top of "):
        drive = readonly.resources[name.removeprefix("top of ")].drive_id
        return (kind, f"collab:drive:{drive}:item:root", action)
    thing = readonly.resources.get(name)
    patterns = {
        "file_id": lambda: readonly.id(name),
        "folder": lambda: readonly.id(name),
        "drive_id": lambda: thing.drive_id,
        "site_id": lambda: readonly.id(name),
        "list_id": lambda: readonly.id(name),
        "list_item_id": lambda: readonly.row(*name),
        "sensitivity_label_id": lambda: readonly.labels[name].id,
    }
    return (kind, patterns.get(kind, lambda: name)(), action)


# Rules (type, name) -> the files that they match.
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
    ("rules", "matched"), [pytest.param(*match, id=" ".join(match[0][0])) for match in MATCHES]
)


async def seen_by_get(readonly, token):
    visible = set()
    for name in FILES:
        response = await readonly.get(f"/files/{readonly.id(name)}", token)
        assert response.status_code in (200, 404)
        if response.status_code == 404:
            assert response.json()["error"] == "BLOCKED"
        else:
            visible.add(name)
    return visible


async def seen_by_listing(readonly, token):
    ids = {readonly.id(name): name for name in FILES}
    roots = [f"/files?folderId={readonly.id(name)}" for name in ("boats", "inner", "houses")]
    visible = set()
    for path in ["/files", *roots]:
        response = await readonly.get(path, token)
        if response.status_code == 200:
            assert response.json()["hasMore"] is False
            visible |= {ids[file["id"]] for file in response.json()["files"]}
        else:
            assert response.json()["error"] == "BLOCKED"
    return visible


async def seen_by_search(readonly, token):
    ids = {readonly.id(name): name for name in FILES}
    files = await readonly.get("/files?q=keel", token)
    hits = await readonly.get("/search?q=keel&entityTypes=driveItem", token)
    assert hits.json()["total"] == 4  # hidden ones included
    first = {ids[file["id"]] for file in files.json()["files"]}
    assert {ids[hit["id"]] for hit in hits.json()["hits"]} == first
    return first


@ABOUT
async def test_allow_rules_show_their_matches_on_every_path(readonly, rules, matched):
    token = await readonly.block_all_token(*[rule(readonly, *parts) for parts in rules])

    assert await seen_by_get(readonly, token) == matched
    assert await seen_by_listing(readonly, token) == matched
    assert await seen_by_search(readonly, token) == matched & {"plan", "sketch", "notes", "letter"}


@ABOUT
async def test_block_rules_hide_their_matches_on_every_path(readonly, rules, matched):
    token = await readonly.token(*[rule(readonly, *parts, "block") for parts in rules])
    left = set(FILES) - matched

    assert await seen_by_get(readonly, token) == left
    assert await seen_by_search(readonly, token) == left & {"plan", "sketch", "notes", "letter"}
    assert await seen_by_listing(readonly, token) <= left


@ABOUT
async def test_a_block_wins_over_an_allow(readonly, rules, matched):
    all_rules = [rule(readonly, *parts, action) for parts in rules for action in ("allow", "block")]

    assert await seen_by_get(readonly, await readonly.block_all_token(*all_rules)) == set()


async def test_every_call_on_a_blocked_resource_is_404_blocked(readonly):
    token = await readonly.token(rule(readonly, "drive_id", "documents", "block"))
    readonly.forget_calls()
    path = f"/files/{readonly.id('notes')}"
    folder = readonly.id("boats")
    for method, call, body in (
        ("GET", path, None),
        ("GET", f"{path}/download", None),
        ("GET", f"{path}/permissions", None),
        ("GET", f"{path}/sensitivity-label", None),
        ("PATCH", f"{path}/rename", {"newName": "x"}),
        ("PATCH", f"{path}/move", {"destinationFolderId": folder}),
        ("POST", f"{path}/share", {"type": "anyone", "role": "reader"}),
        ("DELETE", path, None),
        ("GET", f"/files?folderId={folder}", None),
    ):
        arguments = {} if body is None else {"json": body}
        response = await readonly.call(method, call, token, **arguments)
        assert (response.status_code, response.json()["error"]) == (404, "BLOCKED"), call
    assert readonly.calls() == []


async def test_an_unmatched_container_is_listable_but_not_readable(readonly):
    token = await readonly.block_all_token(rule(readonly, "list_item_id", ("berths", 2)))

    items = await readonly.get(readonly.path("berths", 0), token)
    assert [item["id"] for item in items.json()["items"]] == [readonly.row("berths", 2)]
    assert (await readonly.get(readonly.path("berths", 2), token)).status_code == 200
    for path in (
        f"/sites/{readonly.id('yard')}",
        readonly.path("berths"),
        readonly.path("berths", 1),
    ):
        response = await readonly.get(path, token)
        assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")
    assert (await readonly.get("/sites", token)).json()["sites"] == []
    assert (await readonly.get(f"/sites/{readonly.id('yard')}/lists", token)).json()["lists"] == []
    assert (await readonly.get(readonly.path("crew", 0), token)).json()["error"] == "BLOCKED"


async def test_a_site_rule_allows_the_site_its_lists_and_items(readonly):
    token = await readonly.block_all_token(rule(readonly, "site_id", "company"))

    assert [site["id"] for site in (await readonly.get("/sites", token)).json()["sites"]] == [
        readonly.id("company")
    ]
    assert (await readonly.get(readonly.path("crew"), token)).status_code == 200
    assert len((await readonly.get(readonly.path("crew", 0), token)).json()["items"]) == 1
    assert (await readonly.get(readonly.path("berths"), token)).json()["error"] == "BLOCKED"


async def test_content_type_rules_match_list_items(readonly):
    kind = ("content_type_id", "0x0100")

    opened = await readonly.block_all_token((*kind, "allow"))
    closed = await readonly.token((*kind, "block"))

    assert len((await readonly.get(readonly.path("berths", 0), opened)).json()["items"]) == 4
    assert (await readonly.get(readonly.path("berths", 0), closed)).json()["items"] == []


async def test_a_library_and_its_list_are_one_resource(readonly):
    """A block on either representation applies to both."""
    documents = next(
        list_entry["id"]
        for list_entry in (await readonly.get(f"/sites/{readonly.id('yard')}/lists")).json()[
            "lists"
        ]
        if list_entry["displayName"] == "Documents"
    )
    number = readonly.resources["notes"].number
    rows = f"/sites/{readonly.id('yard')}/lists/{documents}/items"
    row = f"{documents}:item:{number}"

    by_row = await readonly.token(("list_item_id", row, "block"))
    by_file = await readonly.token(rule(readonly, "file_id", "notes", "block"))
    by_list = await readonly.token(("list_id", documents, "block"))

    for token in (by_row, by_file, by_list):
        assert (await readonly.get(f"/files/{readonly.id('notes')}", token)).json()[
            "error"
        ] == "BLOCKED"
        assert (await readonly.get(f"{rows}/{row}", token)).json()["error"] == "BLOCKED"
    assert (await readonly.get(rows, by_list)).json()["error"] == "BLOCKED"
    for token in (by_row, by_file):
        listed = (await readonly.get(rows, token)).json()["items"]
        assert listed
        assert row not in [item["id"] for item in listed]


@pytest.mark.parametrize(
    ("rules", "error"),
    [
        pytest.param([("mime_type", "text/*")], "BLOCKED", id="only facts could allow it"),
        pytest.param([("drive_id", "documents")], None, id="its library is allowed"),
        pytest.param([("drive_id", "drawings")], "BLOCKED", id="nothing could allow it"),
    ],
)
async def test_a_missing_resource_looks_blocked_unless_its_id_is_allowed(readonly, rules, error):
    missing = f"/files/collab:drive:{readonly.resources['documents'].drive_id}:item:01NOTHING"
    token = await readonly.block_all_token(*[rule(readonly, *parts) for parts in rules])

    response = await readonly.get(missing, token)

    assert (response.status_code, response.json()["error"]) == (404, error)


async def test_a_missing_resource_is_not_found_in_allow_all_mode(readonly):
    missing = f"/files/collab:drive:{readonly.resources['documents'].drive_id}:item:01NOTHING"
    token = await readonly.token(rule(readonly, "folder", "boats", "block"))

    response = await readonly.get(missing, token)

    assert (response.status_code, response.json()["error"]) == (404, None)


async def test_access_info_mentions_rules_without_patterns(readonly):
    selected = await readonly.block_all_token(rule(readonly, "file_id", "notes"))
    blocked = await readonly.token(rule(readonly, "file_id", "notes", "block"))

    access_infos = [
        (await readonly.get("/sites", token)).json()["accessInfo"] for token in (selected, blocked)
    ]

    assert access_infos == [
        "Only content matching this token's allow rules is visible.",
        "Some content is blocked by this token's rules.",
    ]


async def test_graphql_applies_the_same_rules(readonly):
    token = await readonly.block_all_token(rule(readonly, "folder", "boats"))
    document = """query ($seen: String!, $blocked: String!) {
      seen: collabFile(fileId: $seen) { file { id } }
      blocked: collabFile(fileId: $blocked) { file { id } } }"""

    body = await readonly.graphql(
        document, token, seen=readonly.id("plan"), blocked=readonly.id("notes")
    )

    assert body["data"] == {"seen": {"file": {"id": readonly.id("plan")}}, "blocked": None}
    assert body["errors"][0]["extensions"]["code"] == "BLOCKED"
