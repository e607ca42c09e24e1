"""Queries: lists, items, rules, cursors, and the values of columns of every type."""

import json

import pytest

NAMES = """query($b:[ID!],$n:Int!,$q:ItemsQuery){boards(ids:$b){items_page(limit:$n,
  query_params:$q){cursor items{id name}}}}"""
NEXT = "query($c:String!,$n:Int!){next_items_page(cursor:$c,limit:$n){cursor items{id name}}}"
CELLS = """query($i:[ID!]){items(ids:$i){column_values{id text value type __typename
  ...on StatusValue{label index is_done updated_at}
  ...on DateValue{date time} ...on TimelineValue{from to}
  ...on PeopleValue{persons_and_teams{id kind}} ...on NumbersValue{number symbol direction}
  ...on DropdownValue{values{id label}} ...on TagsValue{tag_ids tags{name}}
  ...on LinkValue{url url_text} ...on CheckboxValue{checked} ...on PhoneValue{country_short_name}
  ...on BoardRelationValue{display_value linked_item_ids linked_items{name}}
  ...on MirrorValue{display_value} ...on FormulaValue{display_value}
  ...on SubtasksValue{subitems_ids}}}}"""


@pytest.fixture
async def big(boards):
    data = await boards.data("{boards(limit:50){id name}}")
    return next(board["id"] for board in data["boards"] if board["name"] == "Boat orders")


async def names_of_items(boards, big, **query):
    data = await boards.data(NAMES, b=[big], n=500, q=query)
    return [item["name"] for item in data["boards"][0]["items_page"]["items"]]


async def item_id(boards, big, name):
    data = await boards.data(NAMES, b=[big], n=500, q=None)
    items = data["boards"][0]["items_page"]["items"]
    return next(item["id"] for item in items if item["name"] == name)


async def test_boards_are_listed_in_pages_newest_first(boards):
    first = await boards.data("{boards(limit:2){name}}")
    second = await boards.data("{boards(limit:2,page:2){name}}")
    beyond = await boards.data("{boards(limit:2,page:9){name}}")
    names = [board["name"] for board in first["boards"] + second["boards"]]

    assert len(set(names)) == 4
    assert beyond["boards"] == []


async def test_boards_by_id_are_returned_in_any_state(boards):
    (data,) = (await boards.data("{boards(state:archived){id name}}"))["boards"]
    again = await boards.data("query($i:[ID!]){boards(ids:$i){name}}", i=[data["id"]])

    assert again["boards"] == [{"name": "Winter storage (closed)"}]
    assert (await boards.data("{boards(ids:[1]){name}}"))["boards"] == []


async def test_cursor_pages_contain_every_item_once(boards, big):
    every = await names_of_items(boards, big)
    page = (await boards.data(NAMES, b=[big], n=30, q=None))["boards"][0]["items_page"]
    names = [item["name"] for item in page["items"]]
    while page["cursor"]:
        page = (await boards.data(NEXT, c=page["cursor"], n=30))["next_items_page"]
        names += [item["name"] for item in page["items"]]

    assert len(names) == 75
    assert names == every


async def test_cursor_survives_a_deleted_item_and_expires_an_hour_after_the_first_page(boards, big):
    page = (await boards.data(NAMES, b=[big], n=10, q=None))["boards"][0]["items_page"]
    last = page["items"][-1]["id"]
    await boards.data("mutation($i:ID){delete_item(item_id:$i){id}}", i=last)
    second = (await boards.data(NEXT, c=page["cursor"], n=10))["next_items_page"]
    seen = {item["id"] for item in page["items"]}
    assert not seen & {item["id"] for item in second["items"]}

    boards.clock[0] += 3_601
    for cursor in (page["cursor"], second["cursor"]):
        assert (await boards.error(NEXT, c=cursor, n=10))[0] == "CursorExpiredError"
    assert (await boards.error(NEXT, c="nonsense", n=10))[0] == "CursorException"


async def test_cursor_and_rules_exclude_each_other(boards, big):
    document = """query($b:[ID!]){boards(ids:$b){items_page(cursor:"x",query_params:{}){cursor}
      same:items_page(cursor:"x",query_params:{rules:[]}){cursor}}}"""

    assert (await boards.error(document, b=[big]))[0] in {
        *("InvalidArgumentException", "CursorException")
    }


async def test_items_by_id_default_to_a_page_of_25(boards, big):
    data = await boards.data(NAMES, b=[big], n=60, q=None)
    ids = [item["id"] for item in data["boards"][0]["items_page"]["items"]]
    few = await boards.data("query($i:[ID!]){items(ids:$i){id}}", i=ids)
    many = await boards.data("query($i:[ID!]){items(ids:$i,limit:60){id}}", i=ids)

    assert (len(few["items"]), len(many["items"])) == (25, 60)


async def test_deleted_items_are_returned_by_id_unless_excluded(boards, big):
    gone = await item_id(boards, big, "Ydun: survey the rig")
    await boards.data("mutation($i:ID){delete_item(item_id:$i){id}}", i=gone)
    shown = await boards.data("query($i:[ID!]){items(ids:$i){state}}", i=[gone])
    hidden = await boards.data(
        "query($i:[ID!]){items(ids:$i,exclude_nonactive:true){state}}", i=[gone]
    )

    assert shown["items"] == [{"state": "deleted"}]
    assert hidden["items"] == []
    assert "Ydun: survey the rig" not in await names_of_items(boards, big)


RULES = {
    "a status by its index": ([{"column_id": "status", "compare_value": [1]}], 12),
    "an empty status": ([{"column_id": "status", "compare_value": [], "operator": "is_empty"}], 16),
    "a word in the name": (
        [{"column_id": "name", "compare_value": ["RUDDER"], "operator": "contains_text"}],
        8,
    ),
    "a person by id": ([{"column_id": "person", "compare_value": ["assigned_to_me"]}], 10),
    "a person by name": (
        [{"column_id": "person", "compare_value": ["astrid"], "operator": "contains_text"}],
        14,
    ),
    "a group": ([{"column_id": "group", "compare_value": ["afloat"]}], 16),
    "more than a number": (
        [{"column_id": "numbers", "compare_value": [45], "operator": "greater_than"}],
        8,
    ),
    "a day": ([{"column_id": "date4", "compare_value": ["EXACT", "2026-11-20"]}], 2),
    "days between": (
        [
            {
                "column_id": "date4",
                "compare_value": ["2026-11-01", "2026-11-20"],
                "operator": "between",
            }
        ],
        10,
    ),
    "a label of a dropdown": ([{"column_id": "dropdown", "compare_value": [6]}], 21),
    "all of two": (
        [
            {"column_id": "status", "compare_value": [1]},
            {"column_id": "group", "compare_value": ["slip"]},
        ],
        3,
    ),
    "nothing ticked": ([{"column_id": "check", "compare_value": [], "operator": "is_empty"}], 59),
}


@pytest.mark.parametrize("row", RULES)
async def test_rules_filter_items(boards, big, row):
    rules, count = RULES[row]

    assert len(await names_of_items(boards, big, rules=rules)) == count


async def test_rules_are_combined_by_and_or_and_groups(boards, big):
    done = {"column_id": "status", "compare_value": [1]}
    stuck = {"column_id": "status", "compare_value": [2]}
    both = await names_of_items(boards, big, rules=[done, stuck], operator="or")
    nested = await names_of_items(
        boards, big, groups=[{"rules": [done, stuck], "operator": "or"}], rules=[done]
    )

    assert set(both) > set(nested) == set(await names_of_items(boards, big, rules=[done]))


async def test_items_are_sorted_by_a_column_with_empty_values_last(boards, big):
    names = await names_of_items(
        boards, big, order_by=[{"column_id": "date4", "direction": "desc"}]
    )
    by_name = await names_of_items(boards, big, order_by=[{"column_id": "name"}])

    assert names[0] == "نورس: cut a new mainsail"
    assert len([name for name in names[-9:] if name.endswith("cast keel bolts")]) == 8
    assert "Nothing filled in at all" in names[-9:]
    assert by_name[0] == "0"  # numbers come before words
    assert by_name[1:] == sorted(by_name[1:], key=str.casefold)


async def test_rule_on_an_unknown_column_fails(boards, big):
    rules = {"rules": [{"column_id": "nope", "compare_value": [1]}]}

    assert (await boards.error(NAMES, b=[big], n=5, q=rules))[0] == "InvalidColumnIdException"


async def test_column_values_have_text_json_and_typed_fields(boards, big):
    name = "Kittiwake: cast keel bolts"  # the 24th job
    data = await boards.data(CELLS, i=[await item_id(boards, big, name)])
    cells = {column_value["id"]: column_value for column_value in data["items"][0]["column_values"]}

    assert cells["status"]["text"] == cells["status"]["label"] == "Sea trial"
    assert (cells["status"]["index"], cells["status"]["is_done"]) == (4, False)
    assert json.loads(cells["status"]["value"])["index"] == 4
    assert (cells["date4"]["text"], cells["date4"]["value"]) == ("", None)
    assert cells["timerange"]["text"] == "2026-11-18 - 2026-11-28"
    assert cells["timerange"]["from"] == "2026-11-18T00:00:00+00:00"
    assert cells["person"]["text"] == "Tomasz Wójcik, Jonas Ekström"
    assert (cells["numbers"]["number"], cells["numbers"]["symbol"]) == (30.0, "h")
    assert cells["numbers"]["value"] == '"30"'
    assert (cells["formula"]["text"], cells["formula"]["display_value"]) == ("15367.5", "15367.5")
    assert cells["dropdown"]["text"] == "Larch"
    assert (cells["tags"]["text"], cells["tags"]["tag_ids"]) == ("", [])
    assert cells["link"]["text"] == (
        "Sheet 24 - https://drawings.harbourlight.example/24?sheet=1&rev=b"
    )
    assert (cells["check"]["text"], cells["check"]["checked"]) == ("v", True)
    assert cells["email"]["text"] == "The owner"
    assert cells["phone"]["country_short_name"] == "SE"
    assert cells["rating"]["text"] == "5"
    assert cells["text"]["value"] == '"HL-2022-024"'
    assert cells["subitems"]["subitems_ids"] == []
    assert cells["creation_log"]["text"] == "2026-08-20 07:34:00 UTC"
    assert "old_text" not in cells  # archived


async def test_relations_and_mirrors_have_no_text_but_a_display_value(boards, big):
    data = await boards.data(CELLS, i=[await item_id(boards, big, "Sælen: service the engine")])
    cells = {column_value["id"]: column_value for column_value in data["items"][0]["column_values"]}

    assert (cells["connect_boards"]["text"], cells["connect_boards"]["value"]) == (None, None)
    assert cells["connect_boards"]["display_value"] == "Setouchi ferry pier 桟橋"
    assert cells["mirror"] == {
        "id": "mirror",
        "text": None,
        "value": None,
        "type": "mirror",
        "__typename": "MirrorValue",
        "display_value": "On site",
    }


async def test_comments_come_newest_first_with_their_replies_oldest_first(boards, big):
    document = """query($i:[ID!]){items(ids:$i){updates(limit:25){text_body body created_at
      creator{name email} replies{text_body kind}}}}"""
    many = await boards.data(document, i=[await item_id(boards, big, "Sælen: re-caulk the deck")])
    nine = await item_id(boards, big, "Sælen: replace the garboard strake")
    two = await boards.data(document, i=[nine])
    updates = many["items"][0]["updates"]

    assert len(updates) == 25
    assert updates[0]["text_body"] == "Day 1: one seam done."
    first = two["items"][0]["updates"][-1]
    assert first["text_body"] == "Started. The old plank was softer than it looked & wet."
    assert [reply["text_body"] for reply in first["replies"]] == [
        *("Then we take the next one too.", "Tack! 👍")
    ]


async def test_users_teams_and_account_are_returned(boards):
    data = await boards.data(
        """{me{name email is_admin teams{name} account{name id}} account{name plan{tier}}
        users(limit:100){name kind} teams{name users{name}} version{value kind}}"""
    )

    assert (data["me"]["name"], data["me"]["is_admin"]) == ("Nora Lindqvist", True)
    assert len(data["users"]) == 14
    assert {team["name"]: len(team["users"]) for team in data["teams"]} == {
        "Rigging loft": 2,
        "Träverkstan": 3,
    }
    assert data["version"] == {"value": "2026-10", "kind": "current"}
