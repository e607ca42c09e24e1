"""What is calculated from hidden columns, or looked up in them, and what writing echoes."""

import content_world
import pytest

from policy.vocabulary import CollabField


def all_but(*words):
    return [str(one) for one in CollabField if one not in words]


async def values(content, path, token, **query):
    answer = await content.get(path, token, **query)
    assert answer.status_code == 200, answer.text
    return [one["fields"] for one in answer.json()["items"]]


@pytest.fixture
async def derived(content):
    """A list whose columns are calculated from others, and look them up."""
    make, things = content.make, content.things
    column = content_world.column
    things["tolls"] = make.list_in(
        things["yard"],
        "Tolls",
        (
            column("Made", "calculated", facet={"formula": "=YEAR([Created])"}, is_read_only=True),
            column("Later", "calculated", facet={"formula": "=Made+1"}, is_read_only=True),
            column("Twice", "calculated", facet={"formula": "=Fee*2"}, is_read_only=True),
            column("Fee", "number"),
            column(
                "Berth",
                "lookup",
                facet={"listId": things["berths"].id, "columnName": "Title"},
            ),
        ),
        [{"Title": "T", "Made": 2026, "Later": 2027, "Twice": 6, "Fee": 3, "BerthLookupId": "2"}],
    )
    make.keep()
    return content


async def test_what_is_calculated_from_a_hidden_column_is_hidden(derived):
    token = await derived.seeing(*all_but("created_time"))

    (found,) = await values(derived, derived.path("tolls", 0), token)

    assert {name: found[name] for name in ("Made", "Later", "Twice", "Fee", "Created")} == {
        "Made": None,
        "Later": None,
        "Twice": 6,
        "Fee": 3,
        "Created": None,
    }
    for query in ("filter=Later gt 1", "orderBy=Made"):
        answer = await derived.get(f"{derived.path('tolls', 0)}?{query}", token)
        assert (answer.status_code, answer.json()["error"]) == (403, "FIELD_NOT_VISIBLE"), query
    fine = await derived.get(f"{derived.path('tolls', 0)}?orderBy=Twice", token)
    assert fine.status_code == 200, fine.text


async def test_the_name_of_another_item_that_is_looked_up_is_hidden(derived):
    query = {"selectFields": "Berth,BerthLookupId,Fee"}
    whole = await values(derived, derived.path("tolls", 0), await derived.token(), **query)
    token = await derived.seeing(*all_but("name"))

    masked = await values(derived, derived.path("tolls", 0), token, **query)

    assert whole == [{"Berth": "Berth 2", "BerthLookupId": "2", "Fee": 3}]
    assert masked == [{"Berth": None, "BerthLookupId": "2", "Fee": 3}]


async def test_writing_echoes_nothing_hidden(content):
    token = await content.seeing(*all_but("name", "owners", "created_time"))
    body = {"fields": {"Title": "New", "Length": 3}}

    made = await content.call("POST", content.path("berths", 0), token, json=body)
    number = int(made.json()["id"].rpartition(":")[2])
    changed = await content.call("PATCH", content.path("berths", number), token, json=body)

    for answer, status in ((made, 201), (changed, 200)):
        found = answer.json()["fields"]
        assert answer.status_code == status
        assert found["Length"] == 3
        for column in ("Title", "LinkTitle", "Created", "AuthorLookupId", "EditorLookupId"):
            assert found[column] is None
