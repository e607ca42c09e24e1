"""Columns that repeat a masked field: null, not fetched, and unusable in filters and orders."""

import json

import pytest

from graph.collab.visibility.column_masks import COLUMNS_BY_WORD
from policy.vocabulary import CollabField
from providers.content.field_selection import hidden_keys, select_fields
from providers.records.collab import Column
from sandbox.collab.records import SiteList

pytestmark = pytest.mark.asyncio(loop_scope="session")


def all_but(*words):
    return [str(word) for word in CollabField if word not in words]


async def values(content, path, token, **query):
    response = await content.get(path, token, **query)
    assert response.status_code == 200, response.text
    body = response.json()
    return [item["fields"] for item in body["items"]] if "items" in body else [body["fields"]]


# Column of the list "Berths", or of a library, and the word that hides it.
SEEN = (
    ("Title", "name"),
    ("Created", "created_time"),
    ("Modified", "modified_time"),
    ("AuthorLookupId", "owners"),
    ("EditorLookupId", "owners"),
    ("ContentType", "content_type"),
)


@pytest.mark.parametrize(("column", "word"), SEEN)
async def test_a_masked_column_is_null_and_not_fetched(readonly, column, word):
    token = await readonly.token_with_fields(*all_but(word, "name"))
    unmasked = await values(
        readonly, readonly.path("berths", 2), await readonly.token_with_fields(*all_but("name"))
    )
    readonly.forget_calls()

    for path in (readonly.path("berths", 2), readonly.path("berths", 0)):
        for fields in await values(readonly, path, token):
            assert fields[column] is None
            assert fields["Length"] > 0
            assert {*fields, "Until"} == {*unmasked[0]}  # one item has no value in it
    expands = json.dumps([call["query"].get("$expand") for call in readonly.calls()])
    assert column not in expands
    assert "Length" in expands


@pytest.mark.parametrize(("column", "word"), SEEN)
async def test_a_selected_masked_column_is_null(readonly, column, word):
    token = await readonly.token_with_fields(*all_but(word))
    readonly.forget_calls()

    rows = await values(
        readonly, readonly.path("berths", 0), token, selectFields=f"{column},Length"
    )

    assert [set(values) for values in rows] == [{column, "Length"}] * 4
    assert {values[column] for values in rows} == {None}
    expands = [str(call["query"].get("$expand", "")) for call in readonly.calls()]
    assert not any(f"$select={column}" in expand or f",{column}" in expand for expand in expands)


LOOKS = (
    pytest.param("filter=Created gt '2026-01-01'", "created_time", id="created"),
    pytest.param("filter=Length gt 1 and fields/Modified gt '2026-01-01'", "modified_time"),
    pytest.param("filter=not (AuthorLookupId eq 6)", "owners", id="author"),
    pytest.param("orderBy=EditorLookupId", "owners", id="by editor"),
    pytest.param("orderBy=Length,Created desc", "created_time", id="by creation"),
    pytest.param("filter=startswith(ContentType,'It')", "content_type", id="content type"),
    pytest.param("filter=startswith(LinkFilename,'a')", "name", id="file name"),
    pytest.param("filter=FileRef eq '/a'", "parent_folder", id="address"),
)


@pytest.mark.parametrize(("query", "word"), LOOKS)
async def test_a_masked_column_cannot_be_filtered_or_ordered_by(readonly, query, word):
    token = await readonly.token_with_fields(*all_but(word))
    readonly.forget_calls()

    response = await readonly.get(f"{readonly.path('berths', 0)}?{query}", token)

    assert (response.status_code, response.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert readonly.calls() == []


async def test_quoted_text_in_a_filter_is_not_a_column(readonly):
    token = await readonly.token_with_fields(*all_but("created_time"))

    response = await readonly.get(f"{readonly.path('berths', 0)}?filter=State ne 'Created'", token)

    assert response.status_code == 200, response.text


async def test_the_list_of_a_library_hides_masked_names_types_and_sizes(readonly):
    shelf = readonly.world.sandbox.state.content
    drive = readonly.resources["documents"].drive_id
    (of,) = [site_list for site_list in shelf.every(SiteList) if site_list.drive_id == drive]
    path = f"/sites/{readonly.id('yard')}/lists/{readonly.id('yard')}:list:{of.id.lower()}/items"
    faces = {
        "name": ("FileLeafRef", "LinkFilename", "LinkFilenameNoMenu", "LinkTitle"),
        "mime_type": ("DocIcon",),
        "size": ("FileSizeDisplay",),
    }
    for word, columns in faces.items():
        token = await readonly.token_with_fields(*all_but(word))
        rows = await values(readonly, path, token)
        assert len(rows) == 7
        for fields in rows:
            assert {fields.get(column) for column in columns} == {None}, word
            assert fields["Created"] is not None


async def test_masked_owners_are_removed_from_permissions(readonly):
    path = f"/files/{readonly.id('notes')}/permissions"
    unmasked = (await readonly.get(path)).json()["permissions"]
    masked = (
        await readonly.get(path, await readonly.token_with_fields(*all_but("owners")))
    ).json()["permissions"]

    assert [entry["id"] for entry in masked] == [entry["id"] for entry in unmasked]
    assert {entry["role"] for entry in unmasked} > {"owner"}
    for before, after in zip(unmasked, masked, strict=True):
        if before["role"] == "owner":
            assert (after["emailAddress"], after["displayName"]) == (None, None)
        else:
            assert after == before


async def test_every_mask_word_names_columns():
    assert all(names for names in COLUMNS_BY_WORD.values())
    assert CollabField.FIELD_VALUES not in COLUMNS_BY_WORD


async def test_too_many_columns_to_select_are_all_read_and_nulled():
    columns = tuple(Column(name=f"Column{n:04}" + "x" * 40) for n in range(400))
    created = Column(name="Created", column_type="dateTime")

    selection = select_fields((*columns, created), frozenset({"Created"}), None)

    assert (selection.requested, selection.nulled) == (None, ("Created",))


async def test_a_formula_mentions_whole_column_names_only():
    columns = (
        Column(name="Title"),
        Column(name="A", column_type="calculated", formula="=Subtitle&[Title2]"),
        Column(name="B", column_type="calculated", formula='=UPPER([title])&"x"'),
    )

    assert hidden_keys(columns, frozenset({"Title"})) == {"Title", "B"}


# Values of the sandbox's items that repeat nothing that a word of their own governs.
OWN_COLUMNS = {
    *(
        "id",
        "Attachments",
        "Edit",
        "FSObjType",
        "ItemChildCount",
        "FolderChildCount",
        "_UIVersionString",
    ),
    *("Length", "Paid", "Until", "State", "Code", "Phone"),
    *("_ComplianceFlags", "_ComplianceTag", "_ComplianceTagUserId", "_ComplianceTagWrittenTime"),
}


async def test_every_column_of_upstream_repeats_a_word_or_is_a_value_of_its_own(readonly):
    store = readonly.world.sandbox.state.content
    lists = [site_list for site_list in store.every(SiteList) if not site_list.is_system]
    keys = set()
    for site_list in lists:
        site = f"collab:site:{site_list.site_id.lower()}"
        path = f"/sites/{site}/lists/{site}:list:{site_list.id.lower()}/items"
        body = (await readonly.get(path)).json()
        keys |= {key for row in body.get("items", ()) for key in row["fields"]}

    repeating = {name for names in COLUMNS_BY_WORD.values() for name in names}
    assert keys & repeating >= {"Title", "Created", "Modified", "AuthorLookupId", "ContentType"}
    assert keys - repeating - OWN_COLUMNS == set()
