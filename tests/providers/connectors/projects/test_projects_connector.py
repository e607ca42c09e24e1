"""The project connector: paging, comments among stories, sub-tasks, ids, lost answers."""

import json

import pytest

from providers import failures
from providers.connectors.projects.failures import classify
from providers.connectors.projects.tasks import ProjectTasks
from providers.http.client import Origins, Upstream
from providers.ports.tasks import (
    BoardQuery,
    ItemQuery,
    ItemVisibility,
    NewItem,
    TaskPosition,
    TaskTarget,
)

BASE = "http://projects.example"
NAME = frozenset({"name"})


class Routes:
    """An upstream that answers by path; it keeps what it was asked."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    async def __call__(self, scope, receive, send):
        await receive()
        query = scope["query_string"].decode()
        path = scope["path"].removeprefix("/api/1.0/")
        self.asked.append(f"{scope['method']} {path}")
        answer = self.answers[path.rpartition("/")[2] if "/" in path else path]
        content = answer(query) if callable(answer) else answer
        status, body = content if isinstance(content, tuple) else (200, content)
        if status == 0:
            raise ConnectionError("cut")
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})


def opened(**answers):
    routes = Routes(**answers)
    upstream = Upstream(Origins(apps={BASE: routes}), BASE, connection=1, classify=classify)
    return ProjectTasks(upstream), routes


def paged(records, size):
    """Answer a listing of *records* by offsets."""

    def answer(query):
        given = dict(part.split("=", 1) for part in query.split("&"))
        start = int(given.get("offset", "0"))
        limit = min(size, int(given["limit"]))
        end = start + limit
        following = {"offset": str(end)} if end < len(records) else None
        return {"data": records[start:end], "next_page": following}

    return answer


def tasks_of(count):
    return [{"gid": str(n), "name": f"T{n}"} for n in range(1, count + 1)]


async def test_comments_are_the_newest_of_a_tasks_stories():
    stories = [
        {"gid": str(n), "type": "comment" if n % 2 else "system", "text": f"S{n}",
         "created_at": "2026-11-05T12:00:00.000Z", "created_by": None}
        for n in range(150)
    ]  # fmt: skip
    tasks, routes = opened(**{"7": {"data": {"gid": "7"}}}, stories=paged(stories, 100))

    item = await tasks.item("7", visibility=ItemVisibility(wanted=frozenset({"comments"})))

    assert [comment.id for comment in item.comments] == [str(n) for n in range(149, 99, -2)]
    assert item.comments[0].author_name is None
    assert routes.asked.count("GET tasks/7/stories") == 2


async def test_sub_tasks_are_asked_for_only_where_there_are_some():
    found = [{"gid": "1", "num_subtasks": 0}, {"gid": "2", "num_subtasks": 1}]
    tasks, routes = opened(
        tasks={"data": found}, subtasks={"data": [{"gid": "3", "name": "below"}]}
    )
    visibility = ItemVisibility(wanted=frozenset({"sub_items", "name"}))

    page = await tasks.items("9", ItemQuery(), after=None, visibility=visibility)

    assert [item.sub_items and item.sub_items[0].name for item in page.items] == [(), "below"]
    assert routes.asked == ["GET projects/9/tasks", "GET tasks/2/subtasks"]


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
async def test_every_task_comes_once_whatever_the_limit(limit):
    tasks, _ = opened(tasks=paged(tasks_of(25), 10))
    found, position = [], None
    while True:
        page = await tasks.items(
            "9", ItemQuery(limit=limit), after=position, visibility=ItemVisibility(wanted=NAME)
        )
        found += [item.id for item in page.items]
        position = page.position
        if position is None:
            break

    assert found == [str(n) for n in range(1, 26)]


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_a_filter_loses_and_doubles_nothing(limit):
    tasks, _ = opened(tasks=paged(tasks_of(40), 10))
    query = ItemQuery(text="t1", limit=limit)
    found, position = [], None
    while True:
        page = await tasks.items("9", query, after=position, visibility=ItemVisibility(wanted=NAME))
        found += [item.id for item in page.items]
        position = page.position
        if position is None:
            break

    assert found == ["1", *(str(n) for n in range(10, 20))]


async def test_workspaces_follow_each_other():
    def projects(query):
        name = "A" if "workspace=1&" in query else "B"
        return paged([{"gid": f"{name}{n}", "name": name} for n in range(3)], 2)(query)

    tasks, _ = opened(workspaces={"data": [{"gid": "1"}, {"gid": "2"}]}, projects=projects)
    found, position = [], None
    for _ in range(6):
        page = await tasks.boards(BoardQuery(limit=2), after=position, wanted=NAME)
        found += [board.id for board in page.boards]
        position = page.position
        if position is None:
            break

    assert found == ["A0", "A1", "A2", "B0", "B1", "B2"]


async def test_a_workspace_that_is_gone_ends_the_list():
    tasks, _ = opened(workspaces={"data": [{"gid": "1"}]})

    with pytest.raises(failures.Missing):
        await tasks.boards(
            BoardQuery(), after=TaskPosition(3, "x", "2|5", 0, 0), wanted=frozenset()
        )


@pytest.mark.parametrize("found", ["", "x", "1/2", "..", "me", "１", "1" * 33])
async def test_ids_of_another_form_reach_nobody(found):
    tasks, routes = opened()
    visibility = ItemVisibility(wanted=NAME)

    for call in (
        tasks.item(found, visibility=visibility),
        tasks.target(found),
        tasks.board(found, wanted=frozenset()),
        tasks.items(found, ItemQuery(), after=None, visibility=visibility),
        tasks.create(NewItem(board_id=found, name="x", fields={})),
    ):
        with pytest.raises(failures.Missing):
            await call

    assert routes.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param((0, None), id="lost"),
        pytest.param((201, None), id="nothing"),
        pytest.param((201, []), id="another shape"),
        pytest.param((201, {"data": {"gid": 7}}), id="an id of another type"),
        pytest.param((201, {"data": {}}), id="no id"),
    ],
)
async def test_a_new_task_that_may_be_there_is_told(answer):
    tasks, routes = opened(tasks=answer, stories=answer)

    with pytest.raises(failures.OutcomeUnknown):
        await tasks.create(NewItem(board_id="9", name="x", fields={}))
    with pytest.raises(failures.OutcomeUnknown):
        await tasks.comment(TaskTarget(item_id="7", boards=("9",), home="9"), "x")

    assert routes.asked == ["POST tasks", "POST tasks/7/stories"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "Refused"),
        (402, "Refused"),
        (403, "Refused"),
        (404, "Missing"),
        (429, "Throttled"),
        (451, "Refused"),
        (500, "Broken"),
    ],
)
async def test_statuses_say_what_went_wrong(status, kind):
    body = {"errors": [{"message": "no", "help": "…"}]}
    tasks, _ = opened(**{"7": (status, body)})

    with pytest.raises(failures.ProviderFailure) as raised:
        await tasks.target("7")

    assert type(raised.value).__name__ == kind
    if status == 451:
        assert raised.value.status == 403


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        pytest.param({"due_on": "2027-01-31"}, {"due_on": "2027-01-31"}, id="a day"),
        pytest.param({"due_on": '"2027-01-31"'}, {"due_on": "2027-01-31"}, id="a day as JSON"),
        pytest.param(
            {"due_on": "2027-01-31T10:00:00Z"}, {"due_at": "2027-01-31T10:00:00Z"}, id="a moment"
        ),
        pytest.param({"due_on": '{"date":"2027-01-31"}'}, {"due_on": "2027-01-31"}, id="an object"),
        pytest.param({"due_on": "null"}, {"due_on": None}, id="no day"),
        pytest.param({"assignee": "me"}, {"assignee": "me"}, id="somebody"),
        pytest.param(
            {"assignee": "1208431000005065"}, {"assignee": "1208431000005065"}, id="an id"
        ),
        pytest.param({"assignee": ""}, {"assignee": None}, id="nobody"),
        pytest.param({"completed": "true"}, {"completed": True}, id="done"),
        pytest.param({"notes": "null"}, {"notes": ""}, id="no notes"),
        pytest.param({"notes": "12"}, {"notes": "12"}, id="a number in the notes"),
        pytest.param({"name": '"Roof"'}, {"name": "Roof"}, id="a name as JSON"),
        pytest.param({"name": "null"}, {"name": "null"}, id="a name that looks like JSON"),
        pytest.param({"name": "x", "notes": "y"}, {"name": "x", "notes": "y"}, id="several"),
    ],
)
async def test_a_fields_text_becomes_the_providers_value(given, sent):
    bodies = []

    async def upstream(scope, receive, send):
        bodies.append(json.loads((await receive())["body"]))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"data":{"gid":"7"}}'})

    tasks = ProjectTasks(Upstream(Origins(apps={BASE: upstream}), BASE, connection=1))
    refused = await tasks.update(TaskTarget(item_id="7", boards=("9",), home="9"), given)

    assert (refused, bodies) == ((), [{"data": sent}])
