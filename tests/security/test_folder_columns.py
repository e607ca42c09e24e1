"""Columns that hold a path do not name folders, lists and sites that rules hide."""

import json

import pytest
from content_world import column

PATHS = {
    "FileDirRef": "/sites/yard/Shared Documents/Plans/Zebra",
    "ParentLeafName": "Zebra",
    "ParentUniqueId": "{0F0F0F0F-0000-4000-8000-000000000000}",
    "FileRef": "/sites/yard/Shared Documents/Plans/Zebra/keel.txt",
    "EncodedAbsUrl": "https://content.x.example/sites/yard/Plans/Zebra/keel.txt",
    "ServerUrl": "/sites/yard/Plans/Zebra/keel.txt",
    "Upper": "PLANS/ZEBRA",
}
SELECTED = {"selectFields": ",".join((*PATHS, "Fee"))}
NULLED = {**dict.fromkeys(PATHS), "Fee": 3}


@pytest.fixture
def library(content):
    """A library whose file lies in the folder "Zebra" and shows its path in columns."""
    make, things = content.make, content.resources
    things["plans"] = make.library(
        things["yard"],
        "Plans",
        columns=(
            *(column(name, "text", is_read_only=True) for name in PATHS if name != "Upper"),
            column("Upper", "calculated", facet={"formula": "=UPPER(FileDirRef)"}),
            column("Fee", "number"),
        ),
    )
    things["zebra"] = make.folder(things["plans"], "Zebra")
    fields = {**PATHS, "Fee": 3}
    things["keel"] = make.file(things["zebra"], "keel.txt", ("text", "oak"), fields=fields)
    make.save()
    content.forget_calls()
    return content


def items(content):
    """Return the path of the items of the library's list."""
    site, drive = content.id("yard"), content.resources["plans"].drive_id
    list_id = content.make._lists[drive].lower()
    return f"/sites/{site}/lists/{site}:list:{list_id}/items"


def rules_hiding_the_folder(content):
    folder, file = ("folder", content.id("zebra")), ("file_id", content.id("keel"))
    return {
        "only the file is allowed": ([(*file, "allow")], False),
        "a type of folders is blocked": ([("content_type_id", "0x0120", "block")], True),
        "another file is blocked": ([("file_id", content.id("notes"), "block")], True),
        "only the folder is allowed": ([(*folder, "allow")], False),
        "the list is allowed, the site is not": (
            [("list_id", items(content).split("/")[4], "allow")],
            False,
        ),
    }


@pytest.mark.parametrize(
    "case",
    [
        "only the file is allowed",
        "a type of folders is blocked",
        "another file is blocked",
        "only the folder is allowed",
        "the list is allowed, the site is not",
    ],
)
async def test_paths_are_null_where_a_folder_may_be_hidden(library, case):
    rules, allow_all = rules_hiding_the_folder(library)[case]
    token = await library.token(*rules, collabAllowAllDefault=allow_all)
    library.forget_calls()

    response = await library.get(items(library), token, **SELECTED)

    rows = [row for row in response.json()["items"] if row["name"] == "keel.txt"]
    assert [row["fields"] for row in rows] == [NULLED], response.text
    expanded = json.dumps([call["query"].get("$expand") for call in library.calls()])
    assert "Fee" in expanded
    assert not any(name in expanded for name in PATHS)


async def test_paths_are_shown_where_no_rule_can_hide_a_folder(library):
    site = library.id("yard")
    tokens = [
        await library.token(),
        await library.block_all_token(("site_id", site, "allow")),
        await library.token(("list_id", library.id("crew"), "block")),
    ]

    for token in tokens:
        response = await library.get(items(library), token, **SELECTED)
        shown = [row["fields"] for row in response.json()["items"] if row["name"] == "keel.txt"]
        assert shown == [{**PATHS, "Fee": 3}]


@pytest.mark.parametrize(
    "query",
    [
        "filter=startswith(FileDirRef,'/sites/yard/Shared Documents/Plans/Z')",
        "filter=fields/ParentLeafName eq 'Zebra' or Fee eq 3",
        "filter=startswith(Upper,'PLANS/Z')",
        "orderBy=FileRef",
        "orderBy=Fee,EncodedAbsUrl desc",
    ],
)
async def test_paths_cannot_be_bisected_by_filter_or_order(library, query):
    token = await library.block_all_token(("file_id", library.id("keel"), "allow"))
    path = f"{items(library)}?{query}"
    assert (await library.get(path)).status_code == 200
    library.forget_calls()

    response = await library.get(path, token)

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_FILTER")
    assert not [call for call in library.calls() if call["path"].endswith("/items")]
