"""Responses redact the folder, list and site around a resource when these are hidden."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def shown_parent(readonly, token, name="sketch"):
    """Return the folder that a file response, a search and GraphQL show for a file."""
    read_file = (await readonly.get(f"/files/{readonly.id(name)}", token)).json()["file"]
    search_file = (await readonly.get(f"/files?q={name}", token)).json()["files"][0]
    document = """query ($of: String!) { collabFile(fileId: $of) { file {
      parentFolderId: parentFolderId parentFolderName: parentFolderName } } }"""
    graphql_file = (await readonly.graphql(document, token, of=readonly.id(name)))["data"][
        "collabFile"
    ]["file"]
    parents = {
        (file["parentFolderId"], file["parentFolderName"])
        for file in (read_file, search_file, graphql_file)
    }
    assert len(parents) == 1
    return parents.pop()


@pytest.mark.parametrize(
    ("rules", "allow_all", "expected_parent"),
    [
        pytest.param([], True, True, id="everything is allowed"),
        pytest.param([("file_id", "boats", "block")], True, False, id="the folder is blocked"),
        pytest.param([("file_id", "notes", "block")], True, True, id="something else is blocked"),
        pytest.param([("folder", "boats", "allow")], False, False, id="what is in it is allowed"),
        pytest.param([("drive_id", "documents", "allow")], False, True, id="its library is"),
        pytest.param([("content_type_id", "0x0120", "block")], True, False, id="folders are not"),
        pytest.param([("list_item_id", "1", "block")], True, False, id="its list item is not"),
    ],
)
async def test_a_hidden_parent_folder_is_redacted(readonly, rules, allow_all, expected_parent):
    def pattern(kind, name):
        if kind == "drive_id":
            return readonly.resources[name].drive_id
        if kind == "list_item_id":
            return str(readonly.resources["boats"].number)
        return readonly.id(name) if name in readonly.resources else name

    api_rules = [(kind, pattern(kind, name), action) for kind, name, action in rules]
    token = await readonly.token(*api_rules, collabAllowAllDefault=allow_all)

    assert await shown_parent(readonly, token) == (
        (readonly.id("boats"), "Boats") if expected_parent else (None, None)
    )


async def test_the_root_of_a_library_is_always_named(readonly):
    token = await readonly.block_all_token(("file_id", readonly.id("notes"), "allow"))

    assert await shown_parent(readonly, token, "notes") == (readonly.id("documents"), "Documents")


async def test_the_listed_folder_is_not_read_twice(readonly):
    blocked = await readonly.token(("file_id", readonly.id("plan"), "block"))
    readonly.forget_calls()

    listing = await readonly.get("/files", blocked, folderId=readonly.id("boats"))

    assert {file["parentFolderName"] for file in listing.json()["files"]} == {"Boats"}
    read = [call["path"] for call in readonly.calls() if call["method"] == "GET"]
    assert [path.rpartition("/")[2] for path in read] == [
        readonly.resources["boats"].id,
        "children",
    ]


async def test_list_and_site_names_are_shown_only_when_visible(readonly):
    row, of = readonly.row("berths", 1), readonly.id("berths")
    names = []
    for kind, pattern in (("list_item_id", row), ("list_id", of), ("site_id", readonly.id("yard"))):
        token = await readonly.block_all_token((kind, pattern, "allow"))
        read_file = (await readonly.get(readonly.path("berths", 1), token)).json()
        listing = (await readonly.get(readonly.path("berths", 0), token)).json()["items"][0]
        assert (read_file["siteName"], read_file["listName"]) == (
            listing["siteName"],
            listing["listName"],
        )
        names.append((read_file["siteName"], read_file["listName"]))

    assert names == [(None, None), (None, "Berths"), ("Yard", "Berths")]
    only_list = await readonly.block_all_token(("list_id", of, "allow"))
    assert (await readonly.get(readonly.path("berths"), only_list)).json()["siteName"] is None


async def test_folder_sizes_are_hidden_from_restricted_tokens(readonly):
    """Nor does the order reveal it: for such a token a folder has no size."""
    unrestricted_token, restricted_token = (
        await readonly.token(),
        await readonly.token(("file_id", readonly.id("plan"), "block")),
    )
    path = f"/files?folderId={readonly.id('documents')}&orderBy=size"

    visible = (await readonly.get(f"/files/{readonly.id('boats')}", unrestricted_token)).json()[
        "file"
    ]
    hidden = (await readonly.get(f"/files/{readonly.id('boats')}", restricted_token)).json()["file"]
    assert (visible["size"] > 0, hidden["size"]) == (True, None)
    first, second = [
        (await readonly.get(path, token)).json()["files"]
        for token in (unrestricted_token, restricted_token)
    ]
    assert [entry["name"] for entry in first] == ["Boats", "notes.txt", "Houses"]
    assert second[0]["name"] == "notes.txt"
    assert [entry["size"] for entry in second if entry["isFolder"]] == [None, None]


async def test_search_reads_lists_under_a_library_rule(readonly):
    """A hit does not say whether a list is a library, so the lists are read in one call."""
    drive = readonly.resources["documents"].drive_id
    hidden = await readonly.token(("drive_id", drive, "block"))
    shown = await readonly.block_all_token(("drive_id", drive, "allow"))
    path = "/search?q=Berths OR Documents OR Drawings&entityTypes=list"

    titles = {hit["title"] for hit in (await readonly.get(path, hidden)).json()["hits"]}
    assert titles == {"Berths", "Drawings"}
    titles = {hit["title"] for hit in (await readonly.get(path, shown)).json()["hits"]}
    assert titles == {"Documents"}
