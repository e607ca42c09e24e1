"""Columns that tell again what a word of the mask hides: not shown, not fetched, not looked at."""

import json

import pytest

from graph.collab.visibility.column_masks import COLUMNS_BY_WORD
from policy.vocabulary import CollabField
from providers.content.field_selection import hidden_keys, select_fields
from providers.records.collab import Column
from sandbox.collab.records import SiteList

pytestmark = pytest.mark.asyncio(loop_scope="session")


def all_but(*words):
    return [str(one) for one in CollabField if one not in words]


async def values(content, path, token, **query):
    answer = await content.get(path, token, **query)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    return [one["fields"] for one in body["items"]] if "items" in body else [body["fields"]]


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
async def test_a_column_goes_with_its_word_and_is_not_asked_for(still, column, word):
    token = await still.seeing(*all_but(word, "name"))
    whole = await values(still, still.path("berths", 2), await still.seeing(*all_but("name")))
    still.forget_calls()

    for path in (still.path("berths", 2), still.path("berths", 0)):
        for found in await values(still, path, token):
            assert found[column] is None
            assert found["Length"] > 0
            assert {*found, "Until"} == {*whole[0]}  # one item has no value there
    asked = json.dumps([one["query"].get("$expand") for one in still.calls()])
    assert column not in asked
    assert "Length" in asked


@pytest.mark.parametrize(("column", "word"), SEEN)
async def test_a_column_that_was_selected_is_null(still, column, word):
    token = await still.seeing(*all_but(word))
    still.forget_calls()

    found = await values(still, still.path("berths", 0), token, selectFields=f"{column},Length")

    assert [set(one) for one in found] == [{column, "Length"}] * 4
    assert {one[column] for one in found} == {None}
    asked = [str(one["query"].get("$expand", "")) for one in still.calls()]
    assert not any(f"$select={column}" in one or f",{column}" in one for one in asked)


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
async def test_nothing_is_filtered_or_ordered_by_it(still, query, word):
    token = await still.seeing(*all_but(word))
    still.forget_calls()

    answer = await still.get(f"{still.path('berths', 0)}?{query}", token)

    assert (answer.status_code, answer.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert still.calls() == []


async def test_quoted_words_are_no_columns(still):
    token = await still.seeing(*all_but("created_time"))

    answer = await still.get(f"{still.path('berths', 0)}?filter=State ne 'Created'", token)

    assert answer.status_code == 200, answer.text


async def test_the_list_of_a_library_tells_no_hidden_name_type_or_size(still):
    shelf = still.world.sandbox.ground.shelf
    drive = still.things["documents"].drive_id
    (of,) = [one for one in shelf.every(SiteList) if one.drive_id == drive]
    path = f"/sites/{still.id('yard')}/lists/{still.id('yard')}:list:{of.id.lower()}/items"
    faces = {
        "name": ("FileLeafRef", "LinkFilename", "LinkFilenameNoMenu", "LinkTitle"),
        "mime_type": ("DocIcon",),
        "size": ("FileSizeDisplay",),
    }
    for word, columns in faces.items():
        token = await still.seeing(*all_but(word))
        found = await values(still, path, token)
        assert len(found) == 7
        for fields in found:
            assert {fields.get(one) for one in columns} == {None}, word
            assert fields["Created"] is not None


async def test_the_owner_of_a_permission_goes_with_the_owners(still):
    path = f"/files/{still.id('notes')}/permissions"
    whole = (await still.get(path)).json()["permissions"]
    masked = (await still.get(path, await still.seeing(*all_but("owners")))).json()["permissions"]

    assert [one["id"] for one in masked] == [one["id"] for one in whole]
    assert {one["role"] for one in whole} > {"owner"}
    for before, after in zip(whole, masked, strict=True):
        if before["role"] == "owner":
            assert (after["emailAddress"], after["displayName"]) == (None, None)
        else:
            assert after == before


async def test_every_face_is_a_name_of_one_column():
    assert all(names for names in COLUMNS_BY_WORD.values())
    assert CollabField.FIELD_VALUES not in COLUMNS_BY_WORD


async def test_a_list_with_too_many_columns_to_name_is_read_whole_and_nulled():
    columns = tuple(Column(name=f"Column{n:04}" + "x" * 40) for n in range(400))
    created = Column(name="Created", column_type="dateTime")

    found = select_fields((*columns, created), frozenset({"Created"}), None)

    assert (found.requested, found.nulled) == (None, ("Created",))


async def test_a_word_inside_another_is_no_mention():
    columns = (
        Column(name="Title"),
        Column(name="A", column_type="calculated", formula="=Subtitle&[Title2]"),
        Column(name="B", column_type="calculated", formula='=UPPER([title])&"x"'),
    )

    assert hidden_keys(columns, frozenset({"Title"})) == {"Title", "B"}
