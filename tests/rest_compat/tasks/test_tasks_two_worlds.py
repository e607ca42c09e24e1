"""
Boards and projects that differ in what is hidden alone cannot be told apart.

Answers are compared to the byte, page by page to the end, and so are the calls upstream.
"""

import msgspec
import pytest
import world as worlds

from policy.vocabulary import TaskField
from sandbox.projects.records import CustomField

TASKS = "/api/access/tasks"
ALL = {"allowedTaskOperations": ["all"]}
ITEM = """id name status assignees dueDate priority labels description createdAt updatedAt
    groupName comments { body } columnValues { columnId text value }"""
DOCUMENT = f"""query ($board: String!, $item: String!) {{
    taskItems(boardId: $board) {{ items {{ {ITEM} }} totalCount hasMore }}
    taskItem(itemId: $item) {{ item {{ {ITEM} subItems {{ {ITEM} }} }} }}
}}"""
FILTERS = ("", "q=o", "q=amber", "status=done", "status=build", "assignee=bo", "assignee=mo")
LATER = "2026-11-19T08:00:00Z"

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def answers(tasks, client, board, item):
    """Return the bodies of all reads, listings walked to their ends, and the calls upstream."""
    tasks.forget()
    responses = [
        (await client.get(f"{TASKS}{path}")).json()
        for path in ("/boards", f"/boards/{board}", f"/items/{item}")
    ]
    for filtered in FILTERS:
        token = ""
        while token is not None:
            page = f"items?{filtered}&limit=1&pageToken={token}"
            body = (await client.get(f"{TASKS}/boards/{board}/{page}")).json()
            token = body.pop("nextPageToken", None)
            body.pop("requestId", None)
            responses.append((filtered, body))
    request = {"query": DOCUMENT, "variables": {"board": board, "item": item}}
    responses.append((await client.post("/graphql", json=request)).json())
    return responses, tasks.documents(), tasks.calls(), tasks.fields()


async def compared(tasks, world, word, place, change):
    """Hold what a token sees against what it sees after a change; it must be one to others."""
    resource, board, item = place
    token = await world.token(
        {**ALL, "visibleTaskFields": [field.value for field in TaskField if field != word]},
        resources=(resource,),
    )
    whole = await world.token(ALL, resources=(resource,))
    async with world.client(token) as masked, world.client(whole) as other:
        before = await answers(tasks, masked, tasks[board], tasks[item])
        seen = (await other.get(f"{TASKS}/items/{tasks[item]}")).json()

        change(tasks)

        assert before == await answers(tasks, masked, tasks[board], tasks[item])
        assert seen != (await other.get(f"{TASKS}/items/{tasks[item]}")).json()


def put(shelf, record, **more):
    """Keep a record with other values; None among *values* takes one away."""
    values = {**record.values, **more.pop("values", {})}
    remaining = {name: value for name, value in values.items() if value is not None}
    shelf.put(msgspec.structs.replace(record, values=remaining, **more))


def item_changed(**more):
    def change(tasks):
        put(tasks.boards.items, tasks.boards.items.find(tasks["door"]), **more)

    return change


ON_BOARDS = {
    "name": item_changed(name="Amber"),
    "status": item_changed(values={"state": {"index": 2}}),
    "assignees": item_changed(values={"owner": None, "helper": None}),
    "due_date": item_changed(values={"due": {"date": "2030-01-01"}}),
    "priority": item_changed(values={"prio": {"index": 1}}),
    "labels": item_changed(values={"kind": {"ids": [2]}, "tag": None}),
    "description": item_changed(values={"about": {"text": "Something else."}}),
    "created_time": item_changed(created_at=LATER),
    "modified_time": item_changed(updated_at=LATER),
    "column_values": item_changed(values={"note": "amber", "hours": "9"}),
    "comments": lambda tasks: tasks.boards.add_update(
        tasks["door"], "Amber?", creator_id=tasks["ana"], created_at=LATER
    ),
    "sub_items": lambda tasks: put(
        tasks.boards.items, tasks.boards.items.find(tasks["hinge"]), name="Amber"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("word", ON_BOARDS)
async def test_boards_that_differ_in_what_is_hidden_look_the_same(fresh, world, word):
    await compared(fresh, world, word, (worlds.MAIN, "kitchen", "door"), ON_BOARDS[word])


def task_changed(**more):
    """Change the roof; *fields* are custom fields by the names of the world."""
    fields = more.pop("fields", {})

    def change(tasks):
        known = {
            tasks[name]: tasks[value] if value in tasks.ids else value
            for name, value in fields.items()
        }
        put(tasks.projects.tasks, tasks.projects.tasks.find(tasks["roof"]), values=known, **more)

    return change


ON_PROJECTS = {
    "name": task_changed(name="Amber"),
    "status": task_changed(fields={"f-stage": "f-stage-Build"}),
    "assignees": task_changed(assignee=None, fields={"f-crew": None}),
    "due_date": task_changed(due_on="2030-01-01"),
    "priority": task_changed(fields={"f-priority": "f-priority-Low"}),
    "labels": task_changed(tags=(), fields={"f-parts": None}),
    "description": task_changed(notes="Something else."),
    "created_time": task_changed(created_at=LATER),
    "modified_time": task_changed(modified_at=LATER),
    "column_values": task_changed(fields={"f-sheet": "amber", "f-hours": 9.0}),
    "comments": lambda tasks: tasks.projects.add_story(
        tasks.projects.tasks.find(tasks["roof"]), "Amber?", creator=tasks["p-ana"], created_at=LATER
    ),
    "sub_items": lambda tasks: put(
        tasks.projects.tasks, tasks.projects.tasks.find(tasks["gutter"]), name="Amber"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("word", ON_PROJECTS)
async def test_projects_that_differ_in_what_is_hidden_look_the_same(fresh, world, word):
    await compared(fresh, world, word, (worlds.EMPTY, "pavilion", "roof"), ON_PROJECTS[word])


@pytest.mark.parametrize(("word", "shown"), [("due_date", None), ("comments", "6.25")])
async def test_a_computed_project_field_is_hidden_with_its_sources(fresh, world, word, shown):
    store, hours = fresh.projects, fresh["f-hours"]
    computed = CustomField(
        id=store.new_id(),
        owner=fresh["space"],
        position=9.0,
        name="Cost",
        kind="number",
        precision=2,
        formula=(hours, hours),
    )
    store.fields.put(computed)
    project = store.projects.find(fresh["pavilion"])
    store.projects.put(msgspec.structs.replace(project, fields=(*project.fields, computed.id)))
    token = await world.token(
        {**ALL, "visibleTaskFields": [field.value for field in TaskField if field != word]},
        resources=(worlds.EMPTY,),
    )

    async with world.client(token) as masked:
        item = (await masked.get(f"{TASKS}/items/{fresh['roof']}")).json()["item"]

    (cost,) = [
        column_value
        for column_value in item["columnValues"]
        if column_value["columnId"] == computed.id
    ]
    assert (cost["type"], cost["text"], cost["value"]) == ("formula", shown, shown)
