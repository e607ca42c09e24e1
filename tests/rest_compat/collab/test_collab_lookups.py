"""Texts that look-ups repeat of other lists are shown where all of those lists may be seen."""

import json

import msgspec
import pytest
from content_world import column

from providers.connectors.collab.lists.lists import column as read_column

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
    """A list that looks into the one of berths: at one, at several, and at another text of one."""
    make, things = content.make, content.things
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
    make.keep()
    content.forget_calls()
    return content


def rule(content, kind, name, action, *, item=None):
    return (kind, content.row(name, item) if item else content.id(name), action)


def hiding(content):
    """Return rules under which not every berth is in reach: (rules, allowed by default)."""
    of_tolls = rule(content, "list_id", "tolls", "allow")
    one = rule(content, "list_item_id", "berths", "allow", item=2)
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
        "what is allowed in part": ([of_tolls, one], False),
    }


def showing(content):
    """Return rules under which every berth is in reach."""
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


async def shown(content, token):
    """Return the values of the third toll: listed, by its id and by GraphQL."""
    path, chosen = content.path("tolls", 0), {"selectFields": SELECTED}
    listed = (await content.get(path, token, **chosen)).json()["items"][2]["fields"]
    whole = (await content.get(content.path("tolls", 3), token)).json()["fields"]
    document = """query ($site: String!, $list: String!, $of: String) {
      collabListItems(siteId: $site, listId: $list, selectFields: $of) { items { fields } } }"""
    ids = {"site": content.id("yard"), "list": content.id("tolls")}
    asked = await content.ask(document, token, **ids, of=SELECTED)
    return listed, whole, asked["data"]["collabListItems"]["items"][2]["fields"]


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
async def test_a_text_of_a_list_that_is_not_all_in_reach_is_not_told(tolls, case):
    rules, allow_all = hiding(tolls)[case]
    token = await tolls.token(*rules, collabAllowAllDefault=allow_all)
    tolls.forget_calls()

    listed, whole, asked = await shown(tolls, token)

    assert listed == asked == CLOSED
    assert (whole["Fee"], whole["BerthLookupId"]) == (3, "2")
    assert (whole["Others"], whole["Berth_x003a_State"]) == (None, None)
    assert "Berth 2" not in json.dumps(whole)
    wanted = [one["query"]["$expand"][0] for one in tolls.calls() if "$expand" in one["query"]]
    named = {
        name
        for one in wanted
        if one.startswith("fields(")
        for name in one.removeprefix("fields($select=").removesuffix(")").split(",")
    }
    assert {"Fee", "BerthLookupId"} <= named
    assert not named & {"Berth", "Others", "Berth_x003a_State"}
    assert "fields" not in wanted  # nothing was asked for as a whole


@pytest.mark.parametrize(
    "case", ["nothing", "another list", "rules about files", "the site", "both lists"]
)
async def test_a_text_of_a_list_that_is_all_in_reach_is_told(tolls, case):
    rules, allow_all = showing(tolls)[case]
    token = await tolls.token(*rules, collabAllowAllDefault=allow_all)

    listed, whole, asked = await shown(tolls, token)

    assert listed == asked == OPEN
    assert whole["Others"] == OPEN["Others"]
    assert whole["Berth_x003a_State"] == "Free"


async def test_a_list_of_another_site_stays_closed(content):
    """What cannot be found cannot be decided on."""
    make, things = content.make, content.things
    crew = {"listId": things["crew"].id, "columnName": "Title"}
    things["watches"] = make.list_in(
        things["yard"],
        "Watches",
        (column("Who", "lookup", facet=crew), column("Whom", "lookup", facet={})),
        [{"Title": "W", "WhoLookupId": "1"}],
    )
    make.keep()
    path, query = content.path("watches", 0), {"selectFields": "Who,WhoLookupId,Whom"}
    ruled = await content.selecting(
        *(rule(content, "site_id", one, "allow") for one in ("yard", "company"))
    )

    closed = (await content.get(path, ruled, **query)).json()["items"][0]["fields"]
    open_ = (await content.get(path, await content.token(), **query)).json()["items"][0]["fields"]

    assert closed == {"Who": None, "WhoLookupId": "1", "Whom": None}
    assert open_ == {"Who": "Ann keel", "WhoLookupId": "1"}


async def test_writing_echoes_no_text_of_a_list_out_of_reach(tolls):
    token = await tolls.token(rule(tolls, "list_id", "berths", "block"))
    body = {"fields": {"Title": "New", "Fee": 9, "BerthLookupId": "2"}}

    made = await tolls.call("POST", tolls.path("tolls", 0), token, json=body)
    changed = await tolls.call("PATCH", tolls.path("tolls", 3), token, json={"fields": {"Fee": 8}})

    for answer, status, fee in ((made, 201, 9), (changed, 200, 8)):
        assert answer.status_code == status, answer.text
        found = answer.json()["fields"]
        assert (found["Fee"], found["BerthLookupId"], found["Others"]) == (fee, "2", None)
        assert found["Berth_x003a_State"] is None
        assert "Berth 2" not in answer.text


async def test_a_column_that_looks_at_several_items_is_written_by_their_numbers(tolls):
    path = tolls.path("tolls", 1)

    changed = await tolls.call("PATCH", path, json={"fields": {"OthersLookupId": [4]}})
    wrong = await tolls.call("PATCH", path, json={"fields": {"OthersLookupId": "4"}})

    assert changed.status_code == 200, changed.text
    assert changed.json()["fields"]["Others"] == [{"LookupId": 4, "LookupValue": "Berth 4"}]
    assert (wrong.status_code, wrong.json()["error"]) == (400, "INVALID_FIELDS")


async def test_a_summary_of_a_list_item_is_for_those_who_see_everything(tolls):
    query = {"q": "toll", "entityTypes": "listItem"}
    whole = (await tolls.get("/search", **query)).json()["hits"]
    ruled = await tolls.token(rule(tolls, "list_id", "berths", "block"))
    masked = (await tolls.get("/search", ruled, **query)).json()["hits"]

    assert "Berth 2" in whole[-1]["summary"]  # as upstream quotes it
    assert masked == [one | {"summary": None} for one in whole]
    assert len(masked) == 3


async def test_what_an_item_costs_under_rules(tolls):
    """The item, whether it may be seen; the columns and the lists they look into; the item."""
    token = await tolls.token(
        rule(tolls, "list_id", "crew", "block"), visibleCollabFields=["field_values"]
    )
    costs = []
    for _ in range(2):
        tolls.forget_calls()
        answer = await tolls.get(tolls.path("tolls", 3), token)
        assert answer.status_code == 200, answer.text
        costs.append([one["path"].rpartition("/")[2] for one in tolls.calls() if not one["batch"]])
    of = tolls.things["tolls"].id.lower()

    assert costs == [["3", of, "$batch", "3"], ["3", "$batch", "3"]]


async def test_what_lies_in_a_folder_is_not_counted_for_who_may_not_see_all_of_it(content):
    lists = (await content.get(f"/sites/{content.id('yard')}/lists")).json()["lists"]
    library = next(one["id"] for one in lists if one["displayName"] == "Documents")
    number = content.things["boats"].number
    path = f"/sites/{content.id('yard')}/lists/{library}/items/{library}:item:{number}"
    token = await content.token(("file_id", content.id("sketch"), "block"))

    whole = (await content.get(path)).json()["fields"]
    ruled = (await content.get(path, token)).json()["fields"]

    counts = ("ItemChildCount", "FolderChildCount")
    assert [whole[name] for name in counts] == ["1", "1"]
    assert [ruled[name] for name in counts] == [None, None]


# What a token may not see is there or not, or says something else: it gets the same bytes.
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


@WAYS
@pytest.mark.parametrize(
    "case", ["a row that is looked at", "what is not allowed", "what is allowed in part"]
)
async def test_worlds_that_differ_in_what_is_looked_up_look_the_same(tolls, case, way):
    rules, allow_all = hiding(tolls)[case]
    number = 3 if case == "what is allowed in part" else 2
    token = await tolls.token(*rules, collabAllowAllDefault=allow_all)
    shelf = tolls.world.sandbox.ground.shelf
    hidden = shelf.row(tolls.things["berths"].id, number)
    before = await answers(tolls, token)

    if way == "gone":
        shelf.drop(hidden)
    else:
        fields = {**hidden.fields, "Title": "Aaa", "State": "Let"}
        shelf.put(msgspec.structs.replace(hidden, fields=fields))

    assert await answers(tolls, token) == before
    assert {status for status, _ in before[: len(PATHS)]} == {200, 400}
    whole = (await tolls.get(tolls.path("tolls", 0), selectFields=SELECTED)).json()["items"][2]
    assert whole["fields"] != OPEN  # who sees everything sees the difference


async def answers(content, token):
    """Return the answers about tolls, without what differs anyway."""
    paths = [content.path("tolls", 0) + query for query in PATHS]
    paths += [content.path("tolls", n) for n in (1, 2, 3)]
    paths += ["/search?q=toll", f"/search?q=fee OR toll&siteId={content.id('yard')}"]
    found = []
    for path in paths:
        answer = await content.call("GET", path, token, headers={"x-request-id": "same"})
        body = answer.json()
        if body.get("nextPageToken"):
            body["nextPageToken"] = len(body["nextPageToken"])
        found.append((answer.status_code, body))
    return found


@pytest.mark.parametrize(
    ("told", "source"),
    [
        ("{0A1B2C3D-0000-4000-8000-00000000000F}", "0a1b2c3d-0000-4000-8000-00000000000f"),
        ("0a1b2c3d-0000-4000-8000-00000000000f", "0a1b2c3d-0000-4000-8000-00000000000f"),
        ("Docs", None),
        ("", None),
        (7, None),
    ],
)
async def test_the_list_that_a_column_looks_into(told, source):
    read = read_column({"name": "Berth", "lookup": {"columnName": "Title", "listId": told}})

    assert (read.column_type, read.looks_up, read.source) == ("lookup", "Title", source)
