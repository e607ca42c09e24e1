"""The feed of changes on tasks: rows, scopes, masks, accounts, failures."""

import random

import msgspec
import pytest
import pytest_asyncio
import task_world
from change_histories import check_history
from feed_client import Feed
from run_sizes import times

TASKS = "/api/access/tasks"
READER = {"allowedTaskOperations": ["view_items", "view_boards"]}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(world_template, tmp_path_factory):
    template, known = world_template
    async with task_world.opened(template, known, tmp_path_factory.mktemp("feed")) as world:
        yield world


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_tasks(world):
    tasks = task_world.fill(world.sandbox)
    tasks.both = await task_world.resource(world, "both")
    for provider in ("BOARDS", "PROJECTS"):
        await task_world.connect(world, tasks, provider, resource=tasks.both)
    return tasks


@pytest.fixture
def tasks(world, shared_tasks):
    """Boards and a project, which are restored after the test."""
    tasks, ids = shared_tasks, dict(shared_tasks.ids)
    items, projects = tasks.boards.items.all(), tasks.projects.tasks.all()
    yield tasks
    known = {item.id for item in items}
    for item in tasks.boards.items.all():
        if item.id not in known:
            tasks.boards.items.put(msgspec.structs.replace(item, state="deleted"))
    for record in items:
        tasks.boards.items.put(record)
    for record in projects:
        tasks.projects.tasks.put(record)
    tasks.ids = ids
    for name in ("tasks", "projects"):
        world.sandbox.upstreams[name].faults.clear()
    for connection in tasks.connections.values():
        world.gateway.services.accounts.forget(connection)


async def make_token(world, tasks, **settings):
    body = {
        "name": "feed",
        "operatorId": world.operator_id,
        "resourceIds": [tasks.both],
        "settings": {**READER, **settings},
    }
    made = await world.admin.post("/api/access-tokens", json=body)
    assert made.status_code == 201, made.text
    return made.json()


async def set_token(world, token, **settings):
    path = f"/api/access-tokens/{token['id']}"
    changed = await world.admin.patch(path, json={"settings": settings})
    assert changed.status_code == 200, changed.text


async def feed_of(world, tasks, **settings):
    token = await make_token(world, tasks, **settings)
    feed = Feed(lambda: world.client(token["token"]))
    feed.token = token
    return feed


def change(tasks, key, /, **more):
    """Change an item of a board, or a task of a project."""
    for shelf in (tasks.boards.items, tasks.projects.tasks):
        record = shelf.find(tasks[key])
        if record is not None:
            values = {**record.values, **more.pop("values", {})}
            shelf.put(msgspec.structs.replace(record, values=values, **more))


def add(tasks, name, board="kitchen"):
    stored = tasks.boards.boards.find(tasks[board])
    made = tasks.boards.add_item(
        stored, name, group=stored.groups[0].id, creator_id=tasks["me"], created_at=task_world.MADE
    )
    tasks.ids[name] = made.id
    return made.id


def remove(tasks, name):
    tasks.boards.items.put(
        msgspec.structs.replace(tasks.boards.items.find(tasks.ids.pop(name)), state="deleted")
    )


async def test_a_feed_begins_without_rows_and_says_what_it_follows(world, tasks):
    feed = await feed_of(world, tasks)

    assert await feed.pull() == []

    assert feed.answer["more"] is False
    assert [
        {name: value for name, value in entry.items() if name != "at"}
        for entry in feed.answer["upTo"]
    ] == [
        {
            "connectionId": connection,
            "surface": "tasks",
            "code": None,
            "unfollowed": [],
            "from": None,
            "to": None,
        }
        for connection in tasks.connections.values()
    ]


async def test_rows_name_what_came_what_changed_and_what_went(world, tasks):
    feed = await feed_of(world, tasks)
    await feed.pull()
    floor = tasks["floor"]

    saw = add(tasks, "saw")
    change(tasks, "door", name="Varnish the door")
    remove(tasks, "floor")
    change(tasks, "roof", name="Draw the gable", due_on="2027-01-02")

    assert await feed.pull() == [
        ("gone", floor, ()),
        ("changed", tasks["door"], ("name",)),
        ("created", saw, ()),
        ("changed", tasks["roof"], ("name", "dueDate", "columnValues")),
    ]
    assert [row["connectionId"] for row in feed.answer["changes"]] == [
        *[tasks.connections["BOARDS"]] * 3,
        tasks.connections["PROJECTS"],
    ]
    assert {row["surface"] for row in feed.answer["changes"]} == {"tasks"}
    assert await feed.pull() == []


async def test_an_idle_pull_reads_the_boards_and_a_page_of_each(world, tasks):
    feed = await feed_of(world, tasks)
    await feed.pull()
    tasks.forget()

    assert await feed.pull() == []

    assert len(tasks.documents()) == 3  # the boards, and the items of two
    project, roof = tasks["pavilion"], tasks["roof"]
    assert tasks.calls() == [
        "GET /api/1.0/workspaces",
        "GET /api/1.0/projects",
        f"GET /api/1.0/projects/{project}/custom_field_settings",
        f"GET /api/1.0/projects/{project}/tasks",
        f"GET /api/1.0/tasks/{roof}/subtasks",
    ]


async def test_changes_of_hidden_members_and_of_boards_outside_the_scope_are_not_told(world, tasks):
    feed = await feed_of(
        world,
        tasks,
        visibleTaskFields=["name", "status"],
        taskBoards=[{"boardId": tasks["kitchen"], "provider": "BOARDS"}],
    )
    await feed.pull()
    calls, lengths = [], set()
    for number in range(3):
        if number:
            change(
                tasks, "door", values={"note": f"coat {number}"}, updated_at="2027-01-01T00:00:00Z"
            )
            change(tasks, "hedge", name=f"Hedge {number}")
        tasks.forget()
        assert await feed.pull() == []
        calls.append((tasks.documents(), tasks.calls()))
        lengths.add((len(feed.cursor), len(str(feed.answer["changes"]))))

    assert calls[0] == calls[1] == calls[2] != ([], [])
    assert len(lengths) == 1

    change(tasks, "door", values={"state": {"index": 1}})
    assert await feed.pull() == [("changed", tasks["door"], ("status",))]


async def test_a_board_that_leaves_the_scope_looks_deleted_and_one_that_enters_appears(
    world, tasks
):
    def boards(*names):
        return [{"boardId": tasks[name], "provider": "BOARDS"} for name in names]

    feed = await feed_of(world, tasks, taskBoards=boards("garden"))
    await feed.pull()

    await set_token(world, feed.token, taskBoards=boards("kitchen"))

    kitchen = [tasks[name] for name in ("door", "table", "floor")]
    assert await feed.pull() == [
        ("gone", tasks["hedge"], ()),
        *[("appeared", item, ()) for item in kitchen],
    ]
    assert await feed.pull() == []


async def test_other_masks_of_one_account_resync_that_account_alone(world, tasks):
    feed = await feed_of(world, tasks)
    await feed.pull()
    boards = tasks.connections["BOARDS"]

    accounts = {str(boards): {"visibleTaskFields": ["name"]}}
    await set_token(world, feed.token, accounts=accounts)
    change(tasks, "roof", name="Gable")

    assert await feed.pull() == [("resync", None, ()), ("changed", tasks["roof"], ("name",))]
    assert feed.answer["changes"][0]["connectionId"] == boards
    change(tasks, "door", values={"state": {"index": 1}})
    assert await feed.pull() == []


async def test_an_account_that_fails_says_since_when_and_tells_its_rows_later(world, tasks):
    feed = await feed_of(world, tasks)
    await feed.pull()
    since = feed.answer["upTo"][0]["at"]
    change(tasks, "door", name="Varnish")
    change(tasks, "roof", name="Gable")
    await world.fail("tasks", kind="503", count=50)

    assert await feed.pull() == [("changed", tasks["roof"], ("name",))]
    first, second = feed.answer["upTo"]
    assert (first["code"], first["at"], second["code"]) == ("error", since, None)
    assert len(feed.answer["authWarnings"]) == 1

    world.sandbox.upstreams["tasks"].faults.clear()
    world.gateway.services.accounts.forget(tasks.connections["BOARDS"])
    assert await feed.pull() == [("changed", tasks["door"], ("name",))]


async def test_too_many_items_are_not_followed(world, tasks, monkeypatch):
    from graph.changes import tasks as followed

    feed = await feed_of(world, tasks)
    await feed.pull()
    monkeypatch.setattr(followed, "MAX_ITEMS", 3)

    assert await feed.pull() == []
    assert [entry["code"] for entry in feed.answer["upTo"]] == ["too_many", "too_many"]

    monkeypatch.setattr(followed, "MAX_ITEMS", 4)
    assert await feed.pull() == []
    assert [entry["code"] for entry in feed.answer["upTo"]] == [None, None]


@pytest.mark.parametrize("operation", ["view_items", "view_boards"])
async def test_tasks_need_the_operations_of_their_listing(world, tasks, operation):
    feed = await feed_of(world, tasks, allowedTaskOperations=[operation])
    tasks.forget()

    for params in ({}, {"surfaces": "tasks"}):
        response = await feed.raw(**params)
        is_refused_first = not params or operation == "view_boards"
        mail, tasks_ = (422, "EMAIL_NOT_ENABLED"), (403, "OPERATION_NOT_ALLOWED")
        refusal = mail if is_refused_first else tasks_
        assert (response.status_code, response.json()["error"]) == refusal
    assert (tasks.documents(), tasks.calls()) == ([], [])


async def test_graphql_selects_the_items_below_their_rows_in_one_call(world, tasks):
    feed = await feed_of(world, tasks)
    await feed.pull()
    change(tasks, "door", name="Varnish")
    change(tasks, "table", name="Saw")
    change(tasks, "roof", name="Gable")
    tasks.forget()
    document = (
        "query ($since: String) { changes(since: $since) { changes"
        " { kind objectId task { id name } listItem { id } } } }"
    )

    async with world.client(feed.token["token"]) as client:
        body = {"query": document, "variables": {"since": feed.cursor}}
        answer = (await client.post("/graphql", json=body)).json()

    assert answer["data"]["changes"]["changes"] == [
        {
            "kind": "changed",
            "objectId": tasks[name],
            "task": {"id": tasks[name], "name": title},
            "listItem": None,
        }
        for name, title in (("door", "Varnish"), ("table", "Saw"), ("roof", "Gable"))
    ]
    read = [text for text in tasks.documents() if "items (" in text or "items(" in text]
    assert len(read) == 1


FIELDS = (["all"], ["name", "status"], ["column_values"], ["due_date", "assignees"])


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, times(4)))]
)
async def test_rows_turn_the_listing_of_then_into_the_listing_of_now(world, tasks, seed):
    """Histories with edits of the token, old cursors and lost answers, against plain listings."""
    rng = random.Random(seed)
    feed = await feed_of(world, tasks)

    await check_history(
        feed,
        rng,
        lambda step: happen(world, tasks, feed, rng, step),
        lambda: listed(world, feed),
        steps=12,
    )


async def listed(world, feed):
    """Return the items of all boards, by their ids."""
    items = {}
    async with world.client(feed.token["token"]) as client:
        for provider in ("BOARDS", "PROJECTS"):
            boards = (await client.get(f"{TASKS}/boards?provider={provider}&limit=200")).json()
            for board in boards["boards"]:
                path = f"{TASKS}/boards/{board['id']}/items?provider={provider}&limit=200"
                items |= {item["id"]: item for item in (await client.get(path)).json()["items"]}
    return items


async def happen(world, tasks, feed, rng, step):
    """Change items a little, and sometimes what the token may see."""
    for _ in range(rng.randint(0, 3)):
        mine = ("door", "table", "floor", "hedge", "roof", "wall0", "wall1")
        what = rng.choice(("add", "change", "change", "remove"))
        if what == "add":
            add(tasks, f"new{step}-{rng.random()}", rng.choice(("kitchen", "garden")))
        elif what == "remove":
            added = [name for name in tasks.ids if name.startswith("new")]
            if added:
                remove(tasks, rng.choice(added))
        else:
            name = rng.choice(mine)
            if name in {"roof", "wall0", "wall1"}:
                more = rng.choice(({"name": f"Task {step}"}, {"notes": str(step)}))
            else:
                values = {"values": {"state": {"index": rng.choice((0, 1, 2))}}}
                more = rng.choice(({"name": f"Item {step}"}, values))
            change(tasks, name, **more)
    edit = rng.random()
    if edit < 0.15:
        await set_token(world, feed.token, visibleTaskFields=rng.choice(FIELDS), accounts=None)
    elif edit < 0.3:
        connection = rng.choice(list(tasks.connections.values()))
        accounts = {str(connection): rng.choice(({"taskBoards": []}, {"visibleTaskFields": []}))}
        await set_token(world, feed.token, accounts=rng.choice((accounts, None)))
    elif edit < 0.45:
        boards = [
            {"boardId": tasks[name]} for name in rng.sample(("kitchen", "garden", "pavilion"), 2)
        ]
        await set_token(world, feed.token, taskBoards=rng.choice((None, boards)))
