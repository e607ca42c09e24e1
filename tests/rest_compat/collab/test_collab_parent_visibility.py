"""An answer is silent about the folder, list and site around a thing when they may not be seen."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def above(still, token, name="sketch"):
    """Return what a file's answer, a search and GraphQL tell of its folder."""
    got = (await still.get(f"/files/{still.id(name)}", token)).json()["file"]
    found = (await still.get(f"/files?q={name}", token)).json()["files"][0]
    document = """query ($of: String!) { collabFile(fileId: $of) { file {
      parentFolderId: parentFolderId parentFolderName: parentFolderName } } }"""
    asked = (await still.ask(document, token, of=still.id(name)))["data"]["collabFile"]["file"]
    seen = {(one["parentFolderId"], one["parentFolderName"]) for one in (got, found, asked)}
    assert len(seen) == 1
    return seen.pop()


@pytest.mark.parametrize(
    ("rules", "allow_all", "told"),
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
async def test_a_folder_that_may_not_be_seen_is_not_told_of(still, rules, allow_all, told):
    def pattern(kind, name):
        if kind == "drive_id":
            return still.things[name].drive_id
        if kind == "list_item_id":
            return str(still.things["boats"].number)
        return still.id(name) if name in still.things else name

    given = [(kind, pattern(kind, name), action) for kind, name, action in rules]
    token = await still.token(*given, collabAllowAllDefault=allow_all)

    assert await above(still, token) == ((still.id("boats"), "Boats") if told else (None, None))


async def test_the_top_of_a_library_stands_for_the_library(still):
    token = await still.selecting(("file_id", still.id("notes"), "allow"))

    assert await above(still, token, "notes") == (still.id("documents"), "Documents")


async def test_the_folder_that_is_listed_costs_no_call_of_its_own(still):
    blocked = await still.token(("file_id", still.id("plan"), "block"))
    still.forget_calls()

    listed = await still.get("/files", blocked, folderId=still.id("boats"))

    assert {one["parentFolderName"] for one in listed.json()["files"]} == {"Boats"}
    read = [one["path"] for one in still.calls() if one["method"] == "GET"]
    assert [one.rpartition("/")[2] for one in read] == [still.things["boats"].id, "children"]


async def test_the_names_of_a_list_and_a_site_are_told_where_these_may_be_seen(still):
    row, of = still.row("berths", 1), still.id("berths")
    names = []
    for kind, pattern in (("list_item_id", row), ("list_id", of), ("site_id", still.id("yard"))):
        token = await still.selecting((kind, pattern, "allow"))
        got = (await still.get(still.path("berths", 1), token)).json()
        listed = (await still.get(still.path("berths", 0), token)).json()["items"][0]
        assert (got["siteName"], got["listName"]) == (listed["siteName"], listed["listName"])
        names.append((got["siteName"], got["listName"]))

    assert names == [(None, None), (None, "Berths"), ("Yard", "Berths")]
    only_list = await still.selecting(("list_id", of, "allow"))
    assert (await still.get(still.path("berths"), only_list)).json()["siteName"] is None


async def test_the_size_of_a_folder_counts_what_is_hidden_in_it_so_it_is_not_told(still):
    """Nor does the order tell it: to such a token a folder weighs nothing."""
    whole, cut = await still.token(), await still.token(("file_id", still.id("plan"), "block"))
    path = f"/files?folderId={still.id('documents')}&orderBy=size"

    seen = (await still.get(f"/files/{still.id('boats')}", whole)).json()["file"]
    hidden = (await still.get(f"/files/{still.id('boats')}", cut)).json()["file"]
    assert (seen["size"] > 0, hidden["size"]) == (True, None)
    first, second = [(await still.get(path, token)).json()["files"] for token in (whole, cut)]
    assert [one["name"] for one in first] == ["Boats", "notes.txt", "Houses"]
    assert second[0]["name"] == "notes.txt"
    assert [one["size"] for one in second if one["isFolder"]] == [None, None]


async def test_search_shows_lists_beside_a_rule_about_a_library(still):
    """A hit does not tell which lists are libraries: those are read, in one call."""
    drive = still.things["documents"].drive_id
    hidden = await still.token(("drive_id", drive, "block"))
    shown = await still.selecting(("drive_id", drive, "allow"))
    path = "/search?q=Berths OR Documents OR Drawings&entityTypes=list"

    titles = {one["title"] for one in (await still.get(path, hidden)).json()["hits"]}
    assert titles == {"Berths", "Drawings"}
    titles = {one["title"] for one in (await still.get(path, shown)).json()["hits"]}
    assert titles == {"Documents"}
