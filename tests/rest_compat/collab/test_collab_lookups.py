"""Look-up texts of another list are shown only if every item of that list is visible."""

import json

import msgspec
import pytest
from content_world import column

from providers.connectors.collab.lists.lists import to_column

MANY = {"allowMultipleValues": True}
SELECTED = "Fee,Berth,BerthLookupId,Others,Berth_x003a_State"
OPEN = {
    "Fee": 3,
    "Berth": "Berth 2",
    "BerthLookupId": "2",
    "Others": [
        {"LookupId": 2, "LookupValue": "Berth 2"},
        {"LookupId": 3, "LookupValue": "Berth 3"},
    ],
    "Berth_x003a_State": "Free",
}
CLOSED = OPEN | {"Berth": None, "Others": None, "Berth_x003a_State": None}


@pytest.fixture
async def tolls(content):
    """A list with look-ups into "Berths": of one item, of several, and of another column."""
    make, things = content.make, content.resources
    berths = {"listId": things["berths"].id, "columnName": "Title"}
    state = {**berths, "columnName": "State", "primaryLookupColumnId": "Berth"}
    things["tolls"] = make.list_in(
        things["yard"],
        "Tolls",
        (
            column("Fee", "number"),
            column("Berth", "lookup", facet=berths),
            column("Others", "lookup", facet={**berths, **MANY}),
            column("Berth_x003a_State", "lookup", facet=state, is_read_only=True),
        ),
        [
            {"Title": f"Toll {n}", "Fee": n, "BerthLookupId": str(at), "OthersLookupId": ["2", "3"]}
            for n, at in ((1, 4), (2, 1), (3, 2))
        ],
    )
    make.save()
    content.forget_calls()
    return content


def rule(content, kind, name, action, *, item=None):
    return (kind, content.row(name, item) if item else content.id(name), action)


def rules_hiding_a_berth(content):
    """Return rules under which some berth is hidden: (rules, allowed by default)."""
    of_tolls = rule(content, "list_id", "tolls", "allow")
    item_rule = rule(content, "list_item_id", "berths", "allow", item=2)
    return {
        "the list": ([rule(content, "list_id", "berths", "block")], True),
        "a row that is looked at": (
            [rule(content, "list_item_id", "berths", "block", item=2)],
            True,
        ),
        "another row": ([rule(content, "list_item_id", "berths", "block", item=1)], True),
        "a number": ([("list_item_id", "4", "block")], True),
        "a content type": ([("content_type_id", "0x0177", "block")], True),
        "what is not allowed": ([of_tolls], False),
        "what is allowed in part": ([of_tolls, item_rule], False),
    }


def rules_showing_all_berths(content):
    """Return rules under which every berth is visible."""
    lists = [rule(content, "list_id", name, "allow") for name in ("tolls", "berths")]
    return {
        "nothing": ([], True),
        "another list": ([rule(content, "list_id", "crew", "block")], True),
        "rules about files": (
            [("mime_type", "text/*", "block"), rule(content, "folder", "boats", "block")],
            True,
        ),
        "the site": ([rule(content, "site_id", "yard", "allow")], False),
        "both lists": (lists, False),
    }


async def read_third_toll(content, token):
    """Return the values of the third toll: listed, by its id and by GraphQL."""
    path, selection = content.path("tolls", 0), {"selectFields": SELECTED}
    listed_fields = (await content.get(path, token, **selection)).json()["items"][2]["fields"]
    read_fields = (await content.get(content.path("tolls", 3), token)).json()["fields"]
    document = """query ($site: String!, $list: String!, $of: String) {
      collabListItems(siteId: $site, listId: $list, selectFields: $of) { items { fields } } }"""
    ids = {"site": content.id("yard"), "list": content.id("tolls")}
    graphql_fields = await content.graphql(document, token, **ids, of=SELECTED)
    return (
        listed_fields,
        read_fields,
        graphql_fields["data"]["collabListItems"]["items"][2]["fields"],
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        "the list",
        "a row that is looked at",
        "another row",
        "a number",
        "a content type",
        "what is not allowed",
        "what is allowed in part",
    ],
)
async def test_a_look_up_into_a_partly_hidden_list_is_null(tolls, case):
    rules, allow_all = rules_hiding_a_berth(tolls)[case]
    token = await tolls.token(*rules, collabAllowAllDefault=allow_all)
    tolls.forget_calls()

    listed_fields, read_fields, graphql_fields = await read_third_toll(tolls, token)

    assert listed_fields == graphql_fields == CLOSED
    assert (read_fields["Fee"], read_fields["BerthLookupId"]) == (3, "2")
    assert (read_fields["Others"], read_fields["Berth_x003a_State"]) == (None, None)
    assert "Berth 2" not in json.dumps(read_fields)
    wanted = [call["query"]["$expand"][0] for call in tolls.calls() if "$expand" in call["query"]]
    named = {
        name
        for query in wanted
        if query.startswith("fields(")
        for name in query.removeprefix("fields($select=").removesuffix(")").split(",")
    }
    assert {"Fee", "BerthLookupId"} <= named
    assert not named & {"Berth", "Others", "Berth_x003a_State"}
    assert "fields" not in wanted  # no call fetched all columns


@pytest.mark.parametrize(
    "case", ["nothing", "another list", "rules about files", "the site", "both lists"]
)
async def test_a_look_up_into_a_fully_visible_list_is_shown(tolls, case):
    rules, allow_all = rules_showing_all_berths(tolls)[case]
    token = await tolls.token(*rules, collabAllowAllDefault=allow_all)

    listed_fields, read_fields, graphql_fields = await read_third_toll(tolls, token)

    assert listed_fields == graphql_fields == OPEN
    assert read_fields["Others"] == OPEN["Others"]
    assert read_fields["Berth_x003a_State"] == "Free"


async def test_a_look_up_into_another_site_is_null(content):
    """A list that is not found in the site cannot be decided on."""
    make, things = content.make, content.resources
    crew = {"listId": things["crew"].id, "columnName": "Title"}
    things["watches"] = make.list_in(
        things["yard"],
        "Watches",
        (column("Who", "lookup", facet=crew), column("Whom", "lookup", facet={})),
        [{"Title": "W", "WhoLookupId": "1"}],
    )
    make.save()
    path, query = content.path("watches", 0), {"selectFields": "Who,WhoLookupId,Whom"}
    ruled = await content.block_all_token(
        *(rule(content, "site_id", site, "allow") for site in ("yard", "company"))
    )

    closed = (await content.get(path, ruled, **query)).json()["items"][0]["fields"]
    open_ = (await content.get(path, await content.token(), **query)).json()["items"][0]["fields"]

    assert closed == {"Who": None, "WhoLookupId": "1", "Whom": None}
    assert open_ == {"Who": "Ann keel", "WhoLookupId": "1"}


async def test_a_write_does_not_return_texts_of_a_hidden_list(tolls):
    token = await tolls.token(rule(tolls, "list_id", "berths", "block"))
    body = {"fields": {"Title": "New", "Fee": 9, "BerthLookupId": "2"}}

    created = await tolls.call("POST", tolls.path("tolls", 0), token, json=body)
    changed = await tolls.call("PATCH", tolls.path("tolls", 3), token, json={"fields": {"Fee": 8}})

    for response, status, fee in ((created, 201, 9), (changed, 200, 8)):
        assert response.status_code == status, response.text
        fields = response.json()["fields"]
        assert (fields["Fee"], fields["BerthLookupId"], fields["Others"]) == (fee, "2", None)
        assert fields["Berth_x003a_State"] is None
        assert "Berth 2" not in response.text


async def test_a_multi_value_look_up_is_written_by_item_numbers(tolls):
    path = tolls.path("tolls", 1)

    changed = await tolls.call("PATCH", path, json={"fields": {"OthersLookupId": [4]}})
    wrong = await tolls.call("PATCH", path, json={"fields": {"OthersLookupId": "4"}})

    assert changed.status_code == 200, changed.text
    assert changed.json()["fields"]["Others"] == [{"LookupId": 4, "LookupValue": "Berth 4"}]
    assert (wrong.status_code, wrong.json()["error"]) == (400, "INVALID_FIELDS")


@pytest.mark.slow
async def test_the_summary_of_a_list_item_requires_unrestricted_access(tolls):
    query = {"q": "toll", "entityTypes": "listItem"}
    hits = (await tolls.get("/search", **query)).json()["hits"]
    ruled = await tolls.token(rule(tolls, "list_id", "berths", "block"))
    masked = (await tolls.get("/search", ruled, **query)).json()["hits"]

    assert "Berth 2" in hits[-1]["summary"]  # as upstream quotes it
    assert masked == [entry | {"summary": None} for entry in hits]
    assert len(masked) == 3


async def test_reading_an_item_under_rules_costs_a_known_number_of_calls(tolls):
    """The item for the decision; the columns and the lists they look up; the item again."""
    token = await tolls.token(
        rule(tolls, "list_id", "crew", "block"), visibleCollabFields=["field_values"]
    )
    costs = []
    for _ in range(2):
        tolls.forget_calls()
        response = await tolls.get(tolls.path("tolls", 3), token)
        assert response.status_code == 200, response.text
        costs.append(
            [call["path"].rpartition("/")[2] for call in tolls.calls() if not call["batch"]]
        )
    of = tolls.resources["tolls"].id.lower()

    assert costs == [["3", of, "$batch", "3"], ["3", "$batch", "3"]]


async def test_folder_counts_are_hidden_from_restricted_tokens(content):
    lists = (await content.get(f"/sites/{content.id('yard')}/lists")).json()["lists"]
    library = next(
        list_entry["id"] for list_entry in lists if list_entry["displayName"] == "Documents"
    )
    number = content.resources["boats"].number
    path = f"/sites/{content.id('yard')}/lists/{library}/items/{library}:item:{number}"
    token = await content.token(("file_id", content.id("sketch"), "block"))

    fields = (await content.get(path)).json()["fields"]
    ruled = (await content.get(path, token)).json()["fields"]

    counts = ("ItemChildCount", "FolderChildCount")
    assert [fields[name] for name in counts] == ["1", "1"]
    assert [ruled[name] for name in counts] == [None, None]


# A hidden resource is missing or different: the response has the same bytes.
WAYS = pytest.mark.parametrize("way", ["gone", "other"])
PATHS = (
    "",
    f"?selectFields={SELECTED}",
    "?filter=BerthLookupId eq 2",
    "?filter=Berth ne null&orderBy=Berth desc",
    "?orderBy=Berth_x003a_State,Fee",
    "?filter=startswith(Berth,'Berth')",
    "?limit=1",
)


@pytest.mark.slow
@WAYS
@pytest.mark.parametrize(
    "case", ["a row that is looked at", "what is not allowed", "what is allowed in part"]
)
async def test_hidden_look_up_sources_do_not_change_any_response(tolls, case, way):
    rules, allow_all = rules_hiding_a_berth(tolls)[case]
    number = 3 if case == "what is allowed in part" else 2
    token = await tolls.token(*rules, collabAllowAllDefault=allow_all)
    shelf = tolls.world.sandbox.state.content
    hidden = shelf.row(tolls.resources["berths"].id, number)
    before = await comparable_responses(tolls, token)

    if way == "gone":
        shelf.delete(hidden)
    else:
        fields = {**hidden.fields, "Title": "Aaa", "State": "Let"}
        shelf.put(msgspec.structs.replace(hidden, fields=fields))

    assert await comparable_responses(tolls, token) == before
    assert {status for status, _ in before[: len(PATHS)]} == {200, 400}
    item = (await tolls.get(tolls.path("tolls", 0), selectFields=SELECTED)).json()["items"][2]
    assert item["fields"] != OPEN  # an unrestricted token sees the difference


async def comparable_responses(content, token):
    """Return the responses about tolls, without the parts that always differ."""
    paths = [content.path("tolls", 0) + query for query in PATHS]
    paths += [content.path("tolls", n) for n in (1, 2, 3)]
    paths += ["/search?q=toll", f"/search?q=fee OR toll&siteId={content.id('yard')}"]
    responses = []
    for path in paths:
        response = await content.call("GET", path, token, headers={"x-request-id": "same"})
        body = response.json()
        if body.get("nextPageToken"):
            body["nextPageToken"] = len(body["nextPageToken"])
        responses.append((response.status_code, body))
    return responses


@pytest.mark.parametrize(
    ("list_id", "source"),
    [
        ("{0A1B2C3D-0000-4000-8000-00000000000F}", "0a1b2c3d-0000-4000-8000-00000000000f"),
        ("0a1b2c3d-0000-4000-8000-00000000000f", "0a1b2c3d-0000-4000-8000-00000000000f"),
        ("Docs", None),
        ("", None),
        (7, None),
    ],
)
async def test_the_source_list_of_a_look_up_is_read_from_its_column(list_id, source):
    read = to_column({"name": "Berth", "lookup": {"columnName": "Title", "listId": list_id}})

    assert (read.column_type, read.looks_up, read.source) == ("lookup", "Title", source)
