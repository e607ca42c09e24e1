"""Columns calculated from masked columns or looked up in them, in reads and writes."""

import content_world
import pytest

from policy.vocabulary import CollabField


def all_but(*words):
    return [str(word) for word in CollabField if word not in words]


async def values(content, path, token, **query):
    response = await content.get(path, token, **query)
    assert response.status_code == 200, response.text
    return [item["fields"] for item in response.json()["items"]]


@pytest.fixture
async def derived(content):
    """A list whose columns are calculated from, or look up, other columns."""
    make, things = content.make, content.resources
    column = content_world.column
    things["tolls"] = make.list_in(
        things["yard"],
        "Tolls",
        (
            column("Made", "calculated", facet={"formula": "=YEAR([Created])"}, is_read_only=True),
            column("Later", "calculated", facet={"formula": "=Made+1"}, is_read_only=True),
            column("Twice", "calculated", facet={"formula": "=Fee*2"}, is_read_only=True),
            column("Fee", "number"),
            column("Berth", "lookup", facet={"listId": things["berths"].id, "columnName": "Title"}),
        ),
        [{"Title": "T", "Made": 2026, "Later": 2027, "Twice": 6, "Fee": 3, "BerthLookupId": "2"}],
    )
    make.save()
    return content


async def test_columns_calculated_from_a_masked_column_are_hidden(derived):
    token = await derived.token_with_fields(*all_but("created_time"))

    (fields,) = await values(derived, derived.path("tolls", 0), token)

    assert {name: fields[name] for name in ("Made", "Later", "Twice", "Fee", "Created")} == {
        "Made": None,
        "Later": None,
        "Twice": 6,
        "Fee": 3,
        "Created": None,
    }
    for query in ("filter=Later gt 1", "orderBy=Made"):
        response = await derived.get(f"{derived.path('tolls', 0)}?{query}", token)
        assert (response.status_code, response.json()["error"]) == (403, "FIELD_NOT_VISIBLE"), query
    fine = await derived.get(f"{derived.path('tolls', 0)}?orderBy=Twice", token)
    assert fine.status_code == 200, fine.text


async def test_a_looked_up_name_is_hidden_with_names(derived):
    query = {"selectFields": "Berth,BerthLookupId,Fee"}
    unmasked = await values(derived, derived.path("tolls", 0), await derived.token(), **query)
    token = await derived.token_with_fields(*all_but("name"))

    masked = await values(derived, derived.path("tolls", 0), token, **query)

    assert unmasked == [{"Berth": "Berth 2", "BerthLookupId": "2", "Fee": 3}]
    assert masked == [{"Berth": None, "BerthLookupId": "2", "Fee": 3}]


async def test_a_write_does_not_return_masked_columns(content):
    token = await content.token_with_fields(*all_but("name", "owners", "created_time"))
    body = {"fields": {"Title": "New", "Length": 3}}

    created = await content.call("POST", content.path("berths", 0), token, json=body)
    number = int(created.json()["id"].rpartition(":")[2])
    changed = await content.call("PATCH", content.path("berths", number), token, json=body)

    for response, status in ((created, 201), (changed, 200)):
        fields = response.json()["fields"]
        assert response.status_code == status
        assert fields["Length"] == 3
        for column in ("Title", "LinkTitle", "Created", "AuthorLookupId", "EditorLookupId"):
            assert fields[column] is None
