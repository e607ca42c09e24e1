"""The projects of the demo world, read through the API."""

from collections import Counter
from datetime import UTC, datetime

from sandbox.projects.store import ProjectStore
from sandbox.storage.database import Database
from sandbox.world.tasks.projects import seed


async def test_largest_project_has_filled_and_empty_fields_of_every_type(projects):
    tasks = await projects.get(
        f"/projects/{projects.pavilion}/tasks",
        opt_fields="name,completed,due_on,due_at,assignee,tags,num_subtasks,"
        "custom_fields.(type|display_value)",
    )
    filled = Counter(
        (custom_field["type"], custom_field["display_value"] is not None)
        for task in tasks
        for custom_field in task["custom_fields"]
    )

    assert len(tasks) == 68
    for kind in ("text", "number", "enum", "multi_enum", "date", "people"):
        assert filled[kind, True], kind
        assert filled[kind, False], kind
    for name in ("completed", "due_on", "due_at", "assignee", "tags", "num_subtasks"):
        assert {bool(task[name]) for task in tasks} == {True, False}, name


def test_every_project_has_at_least_five_tasks():
    store = ProjectStore(Database(":memory:"))
    facts = seed(store.database)
    counts = {name: len(store.project_tasks(gid)) for name, gid in facts.projects.items()}

    assert counts == {
        "Corniche pavilion": 68,
        "Setouchi ferry pier 桟橋": 5,
        "Kinvara clubhouse": 6,
        "Partners only": 6,
        "Ideas & leftovers 💡": 6,
    }


def test_same_day_gives_same_records_and_a_second_seed_changes_nothing():
    day = datetime(2026, 11, 20, 17, 30, tzinfo=UTC)
    stores = [ProjectStore(Database(":memory:")) for _ in range(2)]
    first = [seed(store.database, day) for store in stores]
    again = seed(stores[0].database, datetime(2027, 1, 1, tzinfo=UTC))

    assert first[0] == first[1]
    assert [record.created for record in (*first, again)] == [True, True, False]
    assert again.day == day.date()
    assert stores[0].tasks.all() == stores[1].tasks.all()
    assert stores[0].stories.all() == stores[1].stories.all()
