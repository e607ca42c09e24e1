"""The boards of the demo world, read through the API."""

from collections import Counter
from datetime import UTC, datetime

import pytest

from sandbox.boards.store import BoardStore
from sandbox.storage.database import Database
from sandbox.world.tasks.boards import seed

# Types of columns that are filled on some items and empty on others.
PARTLY_FILLED_TYPES = (
    *("people", "status", "date", "timeline", "long_text", "formula", "tags", "link"),
    *("checkbox", "email", "phone", "rating", "board_relation", "mirror", "subtasks"),
)
LIST = "{boards(limit:50,state:all){name state type board_kind items_count workspace{name}}}"
ITEMS = """query($b:[ID!]){boards(ids:$b){items_page(limit:500){cursor items{
  id name state group{title} subitems{name column_values{id text}}
  column_values{id type text value ...on FormulaValue{display_value}
    ...on MirrorValue{display_value} ...on BoardRelationValue{display_value}}
  updates(limit:100){body replies{body}}}}}}"""


async def test_world_has_boards_of_every_kind_and_hides_private_ones(boards):
    data = (await boards.data(LIST))["boards"]

    assert {(item["name"], item["state"], item["type"], item["items_count"]) for item in data} == {
        ("Boat orders", "active", "board", 75),
        ("Waterfront houses", "active", "board", 8),
        ("Competition entries 設計競技", "active", "board", 5),
        ("Paint & varnish <stock>", "active", "board", 5),
        ("Winter storage (closed)", "archived", "board", 6),
        ("Subitems of Boat orders", "active", "sub_items_board", 32),
        ("Yard handbook", "active", "document", 0),
    }


@pytest.mark.slow
async def test_two_active_boards_have_all_columns_that_the_tasks_surface_reads(boards):
    facts = seed(boards.sandbox.state.database)
    for name in ("Boat orders", "Competition entries 設計競技"):
        data = (await boards.data(ITEMS, b=[facts.boards[name]]))["boards"][0]
        items = data["items_page"]["items"]
        filled = {cell["type"] for item in items for cell in item["column_values"] if cell["text"]}

        assert filled >= {"text", "status", "date", "people"}
        assert len(items) >= 5
        assert len({item["group"]["title"] for item in items}) >= 2
        assert any(item["updates"] for item in items)


@pytest.mark.slow
async def test_largest_board_has_filled_and_empty_columns_of_every_type(boards):
    facts = seed(boards.sandbox.state.database)
    data = await boards.data(ITEMS, b=[facts.boards["Boat orders"]])
    items = data["boards"][0]["items_page"]["items"]
    filled = Counter(
        (column_value["type"], bool(column_value["text"] or column_value.get("display_value")))
        for item in items
        for column_value in item["column_values"]
    )

    assert len(items) == 75
    assert [
        kind for kind in PARTLY_FILLED_TYPES if not (filled[kind, True] and filled[kind, False])
    ] == []
    assert {item["group"]["title"] for item in items} == {
        *("On the slip", "In the shed", "Afloat again", "Väntelista / 待ち")
    }
    assert max(len(item["updates"]) for item in items) == 30
    assert sum(len(update["replies"]) for item in items for update in item["updates"]) == 22
    assert sorted({len(item["subitems"]) for item in items}) == [0, 4]


def test_same_day_gives_same_records_and_a_second_seed_changes_nothing():
    day = datetime(2026, 11, 20, 17, 30, tzinfo=UTC)
    databases = Database(":memory:"), Database(":memory:")
    first = [seed(database, day) for database in databases]
    again = seed(databases[0], datetime(2027, 1, 1, tzinfo=UTC))

    assert first[0] == first[1]
    assert [facts.created for facts in (*first, again)] == [True, True, False]
    assert again.day == day.date()
    store, other = (BoardStore(database) for database in databases)
    assert store.items.all() == other.items.all()
    assert store.boards.all() == other.boards.all()
