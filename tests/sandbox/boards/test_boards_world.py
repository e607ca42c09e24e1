"""The boards of the demo world, seen through the wire."""

from collections import Counter
from datetime import UTC, datetime

from sandbox.boards.store import BoardStore
from sandbox.storage.database import Database
from sandbox.world.tasks.boards import seed

# Types of columns that are filled on some items and empty on others.
SOMETIMES = (
    *("people", "status", "date", "timeline", "long_text", "formula", "tags", "link"),
    *("checkbox", "email", "phone", "rating", "board_relation", "mirror", "subtasks"),
)
LIST = "{boards(limit:50,state:all){name state type board_kind items_count workspace{name}}}"
ITEMS = """query($b:[ID!]){boards(ids:$b){items_page(limit:500){cursor items{
  id name state group{title} subitems{name column_values{id text}}
  column_values{id type text value ...on FormulaValue{display_value}
    ...on MirrorValue{display_value} ...on BoardRelationValue{display_value}}
  updates(limit:100){body replies{body}}}}}}"""


async def test_it_holds_boards_of_every_kind_but_those_hidden_from_the_account(boards):
    found = (await boards.data(LIST))["boards"]

    assert {(one["name"], one["state"], one["type"], one["items_count"]) for one in found} == {
        ("Boat orders", "active", "board", 75),
        ("Waterfront houses", "active", "board", 8),
        ("Competition entries 設計競技", "active", "board", 5),
        ("Paint & varnish <stock>", "active", "board", 5),
        ("Winter storage (closed)", "archived", "board", 6),
        ("Subitems of Boat orders", "active", "sub_items_board", 32),
        ("Yard handbook", "active", "document", 0),
    }


async def test_two_active_boards_have_all_that_the_tasks_surface_reads(boards):
    facts = seed(boards.sandbox.state.database)
    for name in ("Boat orders", "Competition entries 設計競技"):
        found = (await boards.data(ITEMS, b=[facts.boards[name]]))["boards"][0]
        items = found["items_page"]["items"]
        filled = {cell["type"] for item in items for cell in item["column_values"] if cell["text"]}

        assert filled >= {"text", "status", "date", "people"}
        assert len(items) >= 5
        assert len({item["group"]["title"] for item in items}) >= 2
        assert any(item["updates"] for item in items)


async def test_the_big_board_fills_every_type_of_column(boards):
    facts = seed(boards.sandbox.state.database)
    found = await boards.data(ITEMS, b=[facts.boards["Boat orders"]])
    items = found["boards"][0]["items_page"]["items"]
    filled = Counter(
        (column_value["type"], bool(column_value["text"] or column_value.get("display_value")))
        for item in items
        for column_value in item["column_values"]
    )

    assert len(items) == 75
    assert [kind for kind in SOMETIMES if not (filled[kind, True] and filled[kind, False])] == []
    assert {item["group"]["title"] for item in items} == {
        *("On the slip", "In the shed", "Afloat again", "Väntelista / 待ち")
    }
    assert max(len(item["updates"]) for item in items) == 30
    assert sum(len(update["replies"]) for item in items for update in item["updates"]) == 22
    assert sorted({len(item["subitems"]) for item in items}) == [0, 4]


def test_the_same_day_gives_the_same_records_and_a_second_seed_nothing_more():
    day = datetime(2026, 11, 20, 17, 30, tzinfo=UTC)
    stores = Database(":memory:"), Database(":memory:")
    first = [seed(store, day) for store in stores]
    again = seed(stores[0], datetime(2027, 1, 1, tzinfo=UTC))

    assert first[0] == first[1]
    assert [one.created for one in (*first, again)] == [True, True, False]
    assert again.day == day.date()
    one, other = (BoardStore(store) for store in stores)
    assert one.items.all() == other.items.all()
    assert one.boards.all() == other.boards.all()
