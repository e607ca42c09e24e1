"""The Asana connector: paging, comments among stories, sub-tasks, ids, lost responses."""

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
    """An upstream that responds by path and records the requests."""

    def __init__(self, **answers):
        self.answers = answers
        self.requests = []

    async def __call__(self, scope, receive, send):
        await receive()
        query = scope["query_string"].decode()
        path = scope["path"].removeprefix("/api/1.0/")
        self.requests.append(f"{scope['method']} {path}")
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
    """Respond with *records* page by page."""

    def answer(query):
        params = dict(part.split("=", 1) for part in query.split("&"))
        start = int(params.get("offset", "0"))
        limit = min(size, int(params["limit"]))
        end = start + limit
        following = {"offset": str(end)} if end < len(records) else None
        return {"data": records[start:end], "next_page": following}

    return answer


def tasks_of(count):
    return [{"gid": str(n), "name": f"T{n}"} for n in range(1, count + 1)]


async def test_comments_are_the_newest_comment_stories():
    stories = [
        {"gid": str(n), "type": "comment" if n % 2 else "system", "text": f"S{n}",
         "created_at": "2026-11-05T12:00:00.000Z", "created_by": None}
        for n in range(150)
    ]  # fmt: skip
    tasks, routes = opened(**{"7": {"data": {"gid": "7"}}}, stories=paged(stories, 100))

    item = await tasks.item("7", visibility=ItemVisibility(projection=frozenset({"comments"})))

    assert [comment.id for comment in item.comments] == [str(n) for n in range(149, 99, -2)]
    assert item.comments[0].author_name is None
    assert routes.requests.count("GET tasks/7/stories") == 2


async def test_a_board_without_the_scope_of_sections_has_no_groups():
    tasks, _ = opened(
        **{"7": {"data": {"gid": "7", "name": "Plan"}}, "sections": (403, {"errors": []})}
    )

    board = await tasks.board("7", projection=frozenset({"name", "groups"}))

    assert (board.name, board.groups) == ("Plan", ())


async def test_sub_tasks_are_read_only_for_tasks_that_have_some():
    parents = [{"gid": "1", "num_subtasks": 0}, {"gid": "2", "num_subtasks": 1}]
    tasks, routes = opened(
        tasks={"data": parents}, subtasks={"data": [{"gid": "3", "name": "below"}]}
    )
    visibility = ItemVisibility(projection=frozenset({"sub_items", "name"}))

    page = await tasks.items("9", ItemQuery(), after=None, visibility=visibility)

    assert [item.sub_items and item.sub_items[0].name for item in page.items] == [(), "below"]
    assert routes.requests == ["GET projects/9/tasks", "GET tasks/2/subtasks"]


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
async def test_every_task_is_listed_once_with_any_limit(limit):
    tasks, _ = opened(tasks=paged(tasks_of(25), 10))
    listed, position = [], None
    while True:
        page = await tasks.items(
            "9", ItemQuery(limit=limit), after=position, visibility=ItemVisibility(projection=NAME)
        )
        listed += [item.id for item in page.items]
        position = page.position
        if position is None:
            break

    assert listed == [str(n) for n in range(1, 26)]


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_a_filtered_listing_has_every_match_once(limit):
    tasks, _ = opened(tasks=paged(tasks_of(40), 10))
    query = ItemQuery(text="t1", limit=limit)
    listed, position = [], None
    while True:
        page = await tasks.items(
            "9", query, after=position, visibility=ItemVisibility(projection=NAME)
        )
        listed += [item.id for item in page.items]
        position = page.position
        if position is None:
            break

    assert listed == ["1", *(str(n) for n in range(10, 20))]


async def test_workspaces_are_listed_one_after_the_other():
    def projects(query):
        name = "A" if "workspace=1&" in query else "B"
        return paged([{"gid": f"{name}{n}", "name": name} for n in range(3)], 2)(query)

    tasks, _ = opened(workspaces={"data": [{"gid": "1"}, {"gid": "2"}]}, projects=projects)
    listed, position = [], None
    for _ in range(6):
        page = await tasks.boards(BoardQuery(limit=2), after=position, projection=NAME)
        listed += [board.id for board in page.boards]
        position = page.position
        if position is None:
            break

    assert listed == ["A0", "A1", "A2", "B0", "B1", "B2"]


async def test_a_missing_workspace_ends_the_listing():
    tasks, _ = opened(workspaces={"data": [{"gid": "1"}]})

    with pytest.raises(failures.Missing):
        await tasks.boards(
            BoardQuery(), after=TaskPosition(3, "x", "2|5", 0, 0), projection=frozenset()
        )


@pytest.mark.parametrize("object_id", ["", "x", "1/2", "..", "me", "１", "1" * 33])
async def test_malformed_ids_cause_no_request(object_id):
    tasks, routes = opened()
    visibility = ItemVisibility(projection=NAME)

    for call in (
        tasks.item(object_id, visibility=visibility),
        tasks.target(object_id),
        tasks.board(object_id, projection=frozenset()),
        tasks.items(object_id, ItemQuery(), after=None, visibility=visibility),
        tasks.create(NewItem(board_id=object_id, name="x", fields={})),
    ):
        with pytest.raises(failures.Missing):
            await call

    assert routes.requests == []


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
async def test_a_lost_response_to_a_creation_is_an_unknown_outcome(answer):
    tasks, routes = opened(tasks=answer, stories=answer)

    with pytest.raises(failures.OutcomeUnknown):
        await tasks.create(NewItem(board_id="9", name="x", fields={}))
    with pytest.raises(failures.OutcomeUnknown):
        await tasks.comment(TaskTarget(item_id="7", boards=("9",), home="9"), "x")

    assert routes.requests == ["POST tasks", "POST tasks/7/stories"]


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
async def test_statuses_become_failures(status, kind):
    body = {"errors": [{"message": "no", "help": "…"}]}
    tasks, _ = opened(**{"7": (status, body)})

    with pytest.raises(failures.ProviderFailure) as raised:
        await tasks.target("7")

    assert type(raised.value).__name__ == kind
    if status == 451:
        assert raised.value.status == 403


@pytest.mark.parametrize(
    ("fields", "sent"),
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
async def test_a_fields_text_becomes_asanas_value(fields, sent):
    bodies = []

    async def upstream(scope, receive, send):
        bodies.append(json.loads((await receive())["body"]))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"data":{"gid":"7"}}'})

    tasks = ProjectTasks(Upstream(Origins(apps={BASE: upstream}), BASE, connection=1))
    refused = await tasks.update(TaskTarget(item_id="7", boards=("9",), home="9"), fields)

    assert (refused, bodies) == ((), [{"data": sent}])
