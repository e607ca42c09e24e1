"""Mutations: input of each type of column, atomicity and errors."""

import asyncio
import json

import pytest

from sandbox.boards.item_mutations import set_board_lock
from sandbox.boards.store import BoardStore

CREATE = """mutation($b:ID!,$n:String!,$v:JSON,$g:String,$m:Boolean){create_item(board_id:$b,
  item_name:$n,column_values:$v,group_id:$g,create_labels_if_missing:$m){id name group{id}
  column_values{id text value}}}"""
CHANGE = """mutation($b:ID!,$i:ID,$v:JSON!,$m:Boolean){change_multiple_column_values(board_id:$b,
  item_id:$i,column_values:$v,create_labels_if_missing:$m){id name column_values{id text value}}}"""
SIMPLE = """mutation($b:ID!,$i:ID,$c:String!,$v:String){change_simple_column_value(board_id:$b,
  item_id:$i,column_id:$c,value:$v){id column_values{id text}}}"""


@pytest.fixture
def store(boards):
    return BoardStore(boards.sandbox.state.database)


@pytest.fixture
def big(store):
    return next(board for board in store.boards.all() if board.name == "Boat orders")


@pytest.fixture
def job(store, big):
    return store.board_items(big)[0]


async def change_values(boards, big, job, **values):
    data = await boards.data(CHANGE, b=big.id, i=job.id, v=json.dumps(values))
    cells = data["change_multiple_column_values"]["column_values"]
    return {cell["id"]: cell["text"] for cell in cells}


# (column, input, text)
ACCEPTED = {
    "a text": ("text", "plain", "plain"),
    "a text in an object": ("text", {"text": "kept"}, "kept"),
    "a long text": ("long_text", {"text": "two\nlines"}, "two\nlines"),
    "a number as a text": ("numbers", "12.50", "12.50"),
    "a number": ("numbers", 7, "7"),
    "a status by label": ("status", {"label": "Stuck"}, "Stuck"),
    "a status by index": ("status", {"index": 3}, "Waiting for timber"),
    "a status in short": ("status", "Done", "Done"),
    "a day": ("date4", {"date": "2026-01-31"}, "2026-01-31"),
    "a moment": ("date4", {"date": "2026-01-31", "time": "13:05:00"}, "2026-01-31 13:05"),
    "a day in short": ("date4", "2026-02-01", "2026-02-01"),
    "a timeline": (
        "timerange",
        {"from": "2026-01-01", "to": "2026-01-05"},
        "2026-01-01 - 2026-01-05",
    ),
    "a tick": ("check", {"checked": "true"}, "v"),
    "a tick taken off": ("check", {"checked": "false"}, ""),
    "an address": ("email", {"email": "a@b.example", "text": "Ann"}, "Ann"),
    "a telephone": ("phone", {"phone": "+46701234567", "countryShortName": "SE"}, "+46701234567"),
    "a link": ("link", {"url": "https://x.example", "text": "X"}, "X - https://x.example"),
    "stars": ("rating", {"rating": 4}, "4"),
    "dropdown labels": ("dropdown", {"labels": ["Oak", "Larch"]}, "Larch, Oak"),
    "dropdown ids": ("dropdown", {"ids": [3]}, "Pine tar"),
    "null": ("text", None, ""),
    "an empty object": ("date4", {}, ""),
}


@pytest.mark.parametrize("row", ACCEPTED)
async def test_column_accepts_all_forms_of_its_values(boards, big, job, row):
    column, value, text = ACCEPTED[row]

    assert (await change_values(boards, big, job, **{column: value}))[column] == text


async def test_people_tags_and_relations_are_written_by_id(boards, store, big, job):
    user, tag = store.users.all()[3], store.tags.all()[0]
    house = next(item for item in store.items.all() if item.name == "Maison Besson")
    texts = await change_values(
        boards,
        big,
        job,
        person={"personsAndTeams": [{"id": int(user.id), "kind": "person"}]},
        tags={"tag_ids": [int(tag.id)]},
        connect_boards={"item_ids": [int(house.id)]},
    )

    assert (texts["person"], texts["tags"]) == (user.name, tag.name)
    assert store.items.find(job.id).values["connect_boards"]["linkedPulseIds"] == [
        {"linkedPulseId": int(house.id)}
    ]


# (column, input, part of the message)
REJECTED = {
    "an unknown label": (
        "status",
        {"label": "Nope"},
        "This status label doesn't exist, possible statuses are: {0: Working on it, 1: Done,",
    ),
    "an unknown index": ("status", {"index": 77}, "This status label doesn't exist"),
    "an unknown option": ("dropdown", {"labels": ["Teak"]}, "This dropdown label doesn't exist"),
    "a word for a number": ("numbers", "many", "invalid value"),
    "a day that is none": ("date4", {"date": "2026-02-30"}, "date is not YYYY-MM-DD"),
    "an hour that is none": ("date4", {"date": "2026-02-01", "time": "25:00"}, "invalid value"),
    "a timeline backwards": (
        "timerange",
        {"from": "2026-02-02", "to": "2026-02-01"},
        "the end of a timeline",
    ),
    "a stranger": (
        "person",
        {"personsAndTeams": [{"id": 1, "kind": "person"}]},
        "is not on this account",
    ),
    "no address": ("email", {"email": "nobody", "text": ""}, "email is not in the right format"),
    "no link": ("link", {"url": "ftp://x", "text": ""}, "link must start with http"),
    "six stars": ("rating", {"rating": 6}, "invalid value"),
    "an unknown tag": ("tags", {"tag_ids": [1]}, "tag is not on this account"),
    "an item of another board": ("connect_boards", {"item_ids": [1]}, "not on a connected board"),
    "a computed column": ("formula", "1", "column type formula cannot be changed"),
    "a mirror": ("mirror", "1", "column type mirror cannot be changed"),
    "a log": ("last_updated", "x", "column type last_updated cannot be changed"),
}


@pytest.mark.parametrize("row", REJECTED)
async def test_one_invalid_value_fails_the_whole_mutation(boards, store, big, job, row):
    column, value, part = REJECTED[row]
    values = json.dumps({"text": "must not stay", column: value})
    body = await boards.ask(CHANGE, b=big.id, i=job.id, v=values)
    (error,) = body["errors"]

    assert body["data"] == {"change_multiple_column_values": None}
    assert error["extensions"]["code"] == "ColumnValueException"
    assert error["extensions"]["status_code"] == 200
    assert error["extensions"]["error_data"] == {"column_type": big.column(column).type}
    assert part in error["message"]
    assert error["path"] == ["change_multiple_column_values"]
    assert store.items.find(job.id) == job


async def test_missing_labels_are_created_on_request(boards, store, big, job):
    values = json.dumps({"status": {"label": "Launched"}, "dropdown": {"labels": ["Teak"]}})
    await boards.data(CHANGE, b=big.id, i=job.id, v=values, m=True)
    board = store.boards.find(big.id)

    assert board.column("status").settings["labels"]["6"] == "Launched"  # 5 is the empty one
    assert board.column("dropdown").settings["labels"][-1] == {"id": 7, "name": "Teak"}


async def test_item_is_created_in_its_group_with_its_values(boards, big):
    values = json.dumps({"status": "Done", "numbers": "3"})
    made = (await boards.data(CREATE, b=big.id, n="Fresh", v=values, g="afloat"))["create_item"]
    first = (await boards.data(CREATE, b=big.id, n="No group"))["create_item"]
    texts = {column_value["id"]: column_value["text"] for column_value in made["column_values"]}

    assert (made["name"], made["group"]["id"], texts["status"]) == ("Fresh", "afloat", "Done")
    assert first["group"]["id"] == "slip"


async def test_name_is_written_as_a_pseudo_column(boards, store, big, job):
    data = await boards.data(CHANGE, b=big.id, i=job.id, v='{"name":"New","text":"x"}')

    assert data["change_multiple_column_values"]["name"] == "New"
    assert store.items.find(job.id).name == "New"


async def test_simple_value_is_parsed_from_its_short_form(boards, big, job):
    data = await boards.data(SIMPLE, b=big.id, i=job.id, c="email", v="a@b.example Ann")
    texts = {
        column_value["id"]: column_value["text"]
        for column_value in data["change_simple_column_value"]["column_values"]
    }

    assert texts["email"] == "Ann"


async def test_aliased_mutations_succeed_and_fail_independently(boards, store, big, job):
    document = """mutation($b:ID!,$i:ID){
      a:change_column_value(board_id:$b,item_id:$i,column_id:"text",value:"\\"A\\""){id}
      b:change_column_value(board_id:$b,item_id:$i,column_id:"nope",value:"\\"B\\""){id}
      c:change_column_value(board_id:$b,item_id:$i,column_id:"numbers",value:"\\"x\\""){id}}"""
    body = await boards.ask(document, b=big.id, i=job.id)

    assert body["data"] == {"a": {"id": job.id}, "b": None, "c": None}
    assert [(error["path"], error["extensions"]["code"]) for error in body["errors"]] == [
        (["b"], "InvalidColumnIdException"),
        (["c"], "ColumnValueException"),
    ]
    assert store.items.find(job.id).values["text"] == "A"


async def test_json_arguments_must_be_strings_that_contain_json(boards, big, job):
    as_object = await boards.error(CHANGE, b=big.id, i=job.id, v={"text": "x"})
    broken = await boards.error(CHANGE, b=big.id, i=job.id, v="{")

    assert "JSON arguments are JSON texts." in as_object[1]
    assert broken[0] == "JsonParseException"


INVALID_ITEMS = {
    "an unknown board": ({"b": "1", "n": "x"}, "InvalidBoardIdException"),
    "an unknown group": ({"n": "x", "g": "nope"}, "ResourceNotFoundException"),
    "a name of 256 characters": ({"n": "x" * 256}, "ItemNameTooLongException"),
    "a blank name": ({"n": "  "}, "ColumnValueException"),
    "an unknown column": ({"n": "x", "v": '{"nope":"x"}'}, "InvalidColumnIdException"),
}


@pytest.mark.parametrize("row", INVALID_ITEMS)
async def test_failed_creation_of_an_item_stores_nothing(boards, store, big, row):
    variables, code = INVALID_ITEMS[row]
    before = store.items.all()

    assert (await boards.error(CREATE, **{"b": big.id, **variables}))[0] == code
    assert store.items.all() == before


async def test_name_may_have_255_characters(boards, big):
    made = await boards.data(CREATE, b=big.id, n="x" * 255)

    assert len(made["create_item"]["name"]) == 255


async def test_deleting_an_item_deletes_its_subitems_and_forbids_changes(boards, store, big):
    over = next(board_item for board_item in store.board_items(big) if store.subitems(board_item))
    below = store.subitems(over)
    delete = "mutation($i:ID){delete_item(item_id:$i){id state}}"
    gone = await boards.data(delete, i=over.id)

    assert gone == {"delete_item": {"id": over.id, "state": "deleted"}}
    assert {store.items.find(item.id).state for item in below} == {"deleted"}
    assert (await boards.error(delete, i=over.id))[0] == "InvalidItemIdException"
    refused = await boards.error(CHANGE, b=big.id, i=over.id, v='{"text":"x"}')
    assert refused[0] == "InvalidItemIdException"


async def test_comment_and_reply_are_added(boards, job):
    create = """mutation($i:ID,$p:ID,$b:String!){create_update(item_id:$i,parent_id:$p,body:$b)
      {id body item_id}}"""
    made = (await boards.data(create, i=job.id, b="<p>Hej &amp; hå</p>"))["create_update"]
    await boards.data(create, p=made["id"], b="Reply")
    data = await boards.data(
        "query($i:[ID!]){items(ids:$i){updates{id text_body replies{body creator{name}}}}}",
        i=[job.id],
    )
    newest = data["items"][0]["updates"][0]

    assert (newest["id"], newest["text_body"]) == (made["id"], "Hej & hå")
    assert newest["replies"] == [{"body": "Reply", "creator": {"name": "Nora Lindqvist"}}]
    assert (await boards.error(create, i=job.id, b="  "))[0] == "InvalidArgumentException"


async def test_subitem_is_created_on_the_subitems_board(boards, store, big, job):
    create = """mutation($i:ID!){create_subitem(parent_item_id:$i,item_name:"Below"){id
      board{type} parent_item{id}}}"""
    made = (await boards.data(create, i=job.id))["create_subitem"]
    bare = next(board for board in store.boards.all() if board.name == "Waterfront houses")
    other = (await boards.data(create, i=store.board_items(bare)[0].id))["create_subitem"]

    assert made["board"] == other["board"] == {"type": "sub_items_board"}
    assert made["parent_item"] == {"id": job.id}
    assert made["id"] in {sub_item.id for sub_item in store.subitems(job)}


async def test_locked_board_rejects_a_second_write_and_other_boards_do_not(boards, store, big):
    set_board_lock(store.database, 0.05)
    other = next(board for board in store.boards.all() if board.name == "Waterfront houses")
    bodies = await asyncio.gather(
        *(boards.ask(CREATE, b=board_id, n="x") for board_id in (big.id, big.id, other.id))
    )
    codes = sorted(body["errors"][0]["extensions"]["code"] for body in bodies if "errors" in body)

    assert codes == ["Resource is currently locked"]
    assert "errors" not in await boards.ask(CREATE, b=big.id, n="after")
