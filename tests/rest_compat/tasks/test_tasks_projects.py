"""The second provider through the same documented paths: projects are boards, tasks are items."""

import pytest
from failed_results import failed_result

from providers.connectors.projects import paged_reader

BOARDS = "/api/access/tasks/boards"
ITEMS = "/api/access/tasks/items"
PROJECTS = {"allowedTaskOperations": ["all"], "resources": 3}

pytestmark = pytest.mark.asyncio(loop_scope="module")


def value(column, title, kind, text=None, native=None):
    return {"columnId": column, "columnTitle": title, "type": kind, "text": text, "value": native}


def own_values(**known):
    """The values of the fields that every task has."""
    values = {
        "assignee": (None, None),
        "due_on": (None, None),
        "notes": ("", '""'),
        "completed": ("false", "false"),
        "tags": (None, None),
        **known,
    }
    titles = (
        ("assignee", "Assignee", "people"),
        ("due_on", "Due date", "date"),
        ("notes", "Description", "long_text"),
        ("completed", "Completed", "checkbox"),
        ("tags", "Tags", "tags"),
    )
    return [value(name, title, kind, *values[name]) for name, title, kind in titles]


def link(tasks, kind, name):
    return f"https://app.projects.example/1/{tasks['space']}/{kind}/{tasks[name]}"


def roof(tasks, **changes):
    ids = tasks.ids
    gutter = {
        "id": ids["gutter"],
        "boardId": ids["pavilion"],
        "groupId": None,
        "groupName": None,
        "name": "Fix the gutter",
        "status": None,
        "assignees": [],
        "dueDate": None,
        "priority": None,
        "labels": [],
        "description": None,
        "createdAt": "2026-11-01T08:00:00Z",
        "updatedAt": "2026-11-02T09:30:00Z",
        "webUrl": link(tasks, "task", "gutter"),
        "comments": None,
        "subItems": None,
        "columnValues": own_values(),
    }
    return {
        "id": ids["roof"],
        "boardId": ids["pavilion"],
        "groupId": ids["sketches"],
        "groupName": "Sketches",
        "name": "Draw the roof",
        "status": "Brief",
        "assignees": ["Ana Müller", "Mo"],
        "dueDate": "2026-12-24T00:00:00Z",
        "priority": "High",
        "labels": ["wet", "Roof"],
        "description": "Flat, or not.",
        "createdAt": "2026-11-01T08:00:00Z",
        "updatedAt": "2026-11-02T09:30:00Z",
        "webUrl": link(tasks, "task", "roof"),
        "comments": [
            {
                "id": ids["remark"],
                "body": "Steep?",
                "authorName": "Ana Müller",
                "createdAt": "2026-11-05T12:00:00Z",
            }
        ],
        "subItems": [gutter],
        "columnValues": [
            *own_values(
                assignee=("Ana Müller", f'"{ids["p-ana"]}"'),
                due_on=("2026-12-24", '"2026-12-24"'),
                notes=("Flat, or not.", '"Flat, or not."'),
                tags=("wet", f'["{ids["p-tag"]}"]'),
            ),
            value(ids["f-priority"], "Priority", "status", "High", f'"{ids["f-priority-High"]}"'),
            value(ids["f-stage"], "Stage", "status", "Brief", f'"{ids["f-stage-Brief"]}"'),
            value(ids["f-parts"], "Parts", "dropdown", "Roof", f'["{ids["f-parts-Roof"]}"]'),
            value(ids["f-sheet"], "Sheet", "text", "A-1", '"A-1"'),
            value(ids["f-hours"], "Hours", "number", "2.5", "2.5"),
            value(ids["f-crew"], "Crew", "people", "Mo", f'["{ids["p-me"]}"]'),
            value(
                ids["f-start"],
                "Start",
                "date",
                "2026-11-30",
                '{"date":"2026-11-30","date_time":null}',
            ),
            value(ids["f-locked"], "Locked", "text"),
        ],
        **changes,
    }


@pytest.mark.caller(**PROJECTS)
async def test_projects_are_boards(tasks, client):
    listed = await client.get(BOARDS)
    every = await client.get(f"{BOARDS}?includeArchived=true")
    named = await client.get(f"{BOARDS}?q=PAV")
    first = (await client.get(f"{BOARDS}?includeArchived=true&limit=1")).json()
    second = (
        await client.get(
            f"{BOARDS}?includeArchived=true&limit=1&pageToken={first['nextPageToken']}"
        )
    ).json()

    assert listed.json() == {
        "provider": "PROJECTS",
        "boards": [
            {
                "id": tasks["pavilion"],
                "name": "Pavilion",
                "description": "At the water.",
                "state": "active",
                "workspaceId": tasks["space"],
                "workspaceName": "Studio",
                "folderId": None,
                "folderName": None,
                "webUrl": link(tasks, "project", "pavilion"),
                "groups": None,
                "columns": None,
                "tags": None,
            }
        ],
        "nextPageToken": None,
        "hasMore": False,
    }
    assert [board["name"] for board in named.json()["boards"]] == ["Pavilion"]
    assert [(board["name"], board["state"]) for board in every.json()["boards"]] == [
        ("Pavilion", "active"),
        ("Attic rooms", "archived"),
    ]
    assert [page["boards"][0]["name"] for page in (first, second)] == ["Pavilion", "Attic rooms"]
    assert [page["hasMore"] for page in (first, second)] == [True, False]


@pytest.mark.caller(**PROJECTS)
async def test_a_project_has_its_sections_and_fields(tasks, client):
    board = (await client.get(f"{BOARDS}/{tasks['pavilion']}")).json()["board"]

    def column(name, title, kind, *, writable=True, options=None):
        return {
            "id": tasks.ids.get(f"f-{name}", name),
            "title": title,
            "type": kind,
            "writable": writable,
            "options": options,
        }

    assert board["groups"] == [
        {"id": tasks["untitled"], "title": "Untitled section", "color": None},
        {"id": tasks["sketches"], "title": "Sketches", "color": None},
    ]
    assert board["tags"] == []
    assert board["columns"] == [
        column("assignee", "Assignee", "people"),
        column("due_on", "Due date", "date"),
        column("notes", "Description", "long_text"),
        column("completed", "Completed", "checkbox"),
        column("tags", "Tags", "tags", writable=False),
        column("priority", "Priority", "status", options=["High", "Low"]),
        column("stage", "Stage", "status", options=["Brief", "Build"]),
        column("parts", "Parts", "dropdown", options=["Roof", "Wall"]),
        column("sheet", "Sheet", "text"),
        column("hours", "Hours", "number"),
        column("crew", "Crew", "people"),
        column("start", "Start", "date"),
        column("locked", "Locked", "text"),
    ]


@pytest.mark.caller(**PROJECTS)
async def test_a_task_is_an_item(tasks, client):
    response = await client.get(f"{ITEMS}/{tasks['roof']}")

    assert response.json() == {"provider": "PROJECTS", "item": roof(tasks)}


@pytest.mark.caller(**PROJECTS)
async def test_a_sub_task_is_reached_by_the_project_above(tasks, client):
    item = (await client.get(f"{ITEMS}/{tasks['gutter']}")).json()["item"]

    assert (item["boardId"], item["subItems"], item["comments"]) == (tasks["pavilion"], [], [])


@pytest.mark.caller(**PROJECTS)
@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param("", ["roof", "wall0", "wall1", "wall2"], id="all"),
        pytest.param("q=WALL", ["wall0", "wall1", "wall2"], id="part of the name"),
        pytest.param("status=brief", ["roof"], id="a status, any case"),
        pytest.param("status=high", [], id="a priority is no status"),
        pytest.param("assignee=ana", ["roof"], id="the assignee"),
        pytest.param("assignee=MO", ["roof", "wall0", "wall1", "wall2"], id="any people field"),
        pytest.param("groupId=sketches", ["roof", "wall0", "wall1", "wall2"], id="a section"),
        pytest.param("groupId=untitled", [], id="an empty section"),
        pytest.param("groupId=5", [], id="a section that is not there"),
        pytest.param("assignee=mo&q=1&status=", ["wall1"], id="filters are ANDed"),
    ],
)
async def test_tasks_are_filtered(tasks, client, query, names):
    for name in ("sketches", "untitled"):
        query = query.replace(f"={name}", f"={tasks[name]}")
    body = (await client.get(f"{BOARDS}/{tasks['pavilion']}/items?{query}")).json()

    assert [item["id"] for item in body["items"]] == [tasks[name] for name in names]
    assert (body["totalCount"], body["hasMore"]) == (None, False)
    if not query:
        assert body["items"][0] == roof(tasks, comments=None)


@pytest.mark.caller(**PROJECTS)
@pytest.mark.parametrize("query", ["", "q=wall", "assignee=mo"])
async def test_tasks_come_page_by_page(tasks, client, query):
    path = f"{BOARDS}/{tasks['pavilion']}/items"
    whole = [item["id"] for item in (await client.get(f"{path}?{query}")).json()["items"]]
    listed, token = [], ""
    for _ in range(len(whole) + 1):
        page = (await client.get(f"{path}?{query}&limit=1&pageToken={token}")).json()
        listed += [item["id"] for item in page["items"]]
        token = page["nextPageToken"]
        if token is None:
            break

    assert listed == whole


@pytest.mark.caller(**PROJECTS)
@pytest.mark.parametrize("change", ["nothing", "a task before", "the last one seen"])
async def test_paging_continues_after_an_expired_offset(fresh, client, world, change):
    path = f"{BOARDS}/{fresh['pavilion']}/items"
    token = (await client.get(f"{path}?limit=2")).json()["nextPageToken"]
    if change != "nothing":
        await client.delete(f"{ITEMS}/{fresh['roof' if change == 'a task before' else 'wall0']}")
    await world.fail("projects", kind="400", match="offset=", count=1)

    body = (await client.get(f"{path}?limit=9&pageToken={token}")).json()

    ids = [item["id"] for item in body["items"]]
    assert ids == [fresh["wall1"], fresh["wall2"]]


@pytest.mark.caller(**PROJECTS)
async def test_a_token_too_old_for_a_long_list_is_refused(fresh, client, world, monkeypatch):
    path = f"{BOARDS}/{fresh['pavilion']}/items"
    token = (await client.get(f"{path}?limit=2")).json()["nextPageToken"]
    monkeypatch.setattr(paged_reader, "MAX_RESTORE_CALLS", 1)
    await world.fail("projects", kind="400", match="offset=", count=1)
    world.sandbox.upstreams["projects"].calls.clear()

    response = await client.get(f"{path}?limit=9&pageToken={token}")

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_PAGE_TOKEN")
    assert "begin again" in response.json()["message"]
    assert len(world.sandbox.upstreams["projects"].calls) == 2  # its columns, and the offset


@pytest.mark.caller(**PROJECTS, visibleTaskFields=["name", "column_values", "status"])
async def test_hidden_fields_are_not_requested_upstream(tasks, client):
    item = (await client.get(f"{ITEMS}/{tasks['roof']}")).json()["item"]

    texts = {
        column_value["columnTitle"]: column_value["text"] for column_value in item["columnValues"]
    }
    assert (item["assignees"], item["dueDate"], item["status"]) == (None, None, "Brief")
    assert texts == {
        "Assignee": None,
        "Due date": None,
        "Description": None,
        "Completed": "false",
        "Tags": None,
        "Priority": None,
        "Stage": "Brief",
        "Parts": None,
        "Sheet": "A-1",
        "Hours": "2.5",
        "Crew": None,
        "Start": "2026-11-30",
        "Locked": None,
    }
    requested = set(tasks.fields())
    assert not {
        field for field in requested if field.startswith(("assignee", "due", "notes", "tags"))
    }
    assert not requested & {
        "custom_fields.people_value.name",
        "custom_fields.multi_enum_values.name",
    }
    assert not requested & {"text", "modified_at", "permalink_url", "custom_fields.display_value"}
    assert not [call for call in tasks.calls() if "stories" in call or "subtasks" in call]


@pytest.mark.caller(**PROJECTS)
async def test_a_task_is_created_with_its_fields(fresh, client):
    ids = fresh.ids
    fields = {
        "assignee": ids["p-ana"],
        "due_on": "2027-01-31",
        "notes": "new",
        ids["f-stage"]: "build",
        ids["f-parts"]: '["Roof","Wall"]',
        ids["f-hours"]: 3,
        ids["f-crew"]: f'["{ids["p-me"]}"]',
        ids["f-start"]: "2027-01-01",
        "tags": "x",
    }
    response = await client.post(
        f"{BOARDS}/{ids['pavilion']}/items",
        json={"name": "Lamp", "groupId": ids["untitled"], "fields": fields},
    )

    body = response.json()
    item = body["item"]
    assert response.status_code == 201
    assert (body["success"], body["rejectedFields"]) == (True, ["tags"])
    assert (item["name"], item["groupId"], item["status"]) == ("Lamp", ids["untitled"], "Build")
    assert (item["assignees"], item["labels"]) == (["Ana Müller", "Mo"], ["Roof", "Wall"])
    assert (item["dueDate"], item["description"]) == ("2027-01-31T00:00:00Z", "new")
    assert fresh.projects.tasks.find(item["id"]).values[ids["f-hours"]] == 3.0


@pytest.mark.caller(**PROJECTS)
async def test_values_read_from_a_task_can_be_written_back(fresh, client):
    read = (await client.get(f"{ITEMS}/{fresh['roof']}")).json()["item"]
    fields = {
        column_value["columnId"]: column_value["value"]
        for column_value in read["columnValues"]
        if column_value["value"] is not None and column_value["columnId"] != "tags"
    }

    response = await client.patch(f"{ITEMS}/{fresh['wall0']}", json={"fields": fields})

    body = response.json()
    assert body["rejectedFields"] is None
    for name in ("status", "priority", "assignees", "dueDate", "description"):
        assert body["item"][name] == read[name], name


@pytest.mark.caller(**PROJECTS)
async def test_refused_fields_are_rejected_one_by_one(fresh, client):
    ids = fresh.ids
    fields = {
        "name": "Roofs",
        ids["f-stage"]: "Nope",
        ids["f-hours"]: "many",
        ids["f-locked"]: "mine",
        ids["f-sheet"]: "A-2",
        "zz": "1",
    }
    response = await client.patch(f"{ITEMS}/{ids['roof']}", json={"fields": fields})

    body = response.json()
    assert (body["success"], body["item"]["name"]) == (True, "Roofs")
    assert body["rejectedFields"] == [ids["f-stage"], ids["f-hours"], ids["f-locked"], "zz"]
    assert fresh.projects.tasks.find(ids["roof"]).values[ids["f-sheet"]] == "A-2"


@pytest.mark.caller(**PROJECTS)
async def test_a_task_is_created_without_the_fields_that_are_refused(fresh, client):
    fields = {fresh["f-stage"]: "Nope", fresh["f-sheet"]: "A-3"}
    response = await client.post(
        f"{BOARDS}/{fresh['pavilion']}/items", json={"name": "Lamp", "fields": fields}
    )

    assert response.status_code == 201
    assert response.json()["rejectedFields"] == [fresh["f-stage"]]
    made = [task for task in fresh.projects.tasks.all() if task.name == "Lamp"]
    assert [task.values.get(fresh["f-sheet"]) for task in made if task.id in response.text] == [
        "A-3"
    ]


@pytest.mark.caller(**PROJECTS)
async def test_a_task_is_commented_on_and_deleted(fresh, client):
    comment = await client.post(f"{ITEMS}/{fresh['roof']}/comments", json={"body": "a < b\nc"})
    (newest, _) = (await client.get(f"{ITEMS}/{fresh['roof']}")).json()["item"]["comments"]
    deleted = await client.delete(f"{ITEMS}/{fresh['roof']}")
    gone = await client.get(f"{ITEMS}/{fresh['roof']}")

    assert comment.status_code == 201
    assert comment.json()["commentId"] == newest["id"]
    assert newest["body"] == "a < b\nc"
    assert deleted.json() == {
        "provider": "PROJECTS",
        "success": True,
        "errorCode": None,
        "errorMessage": None,
    }
    assert (gone.status_code, gone.json()["error"]) == (404, "NOT_FOUND")


@pytest.mark.caller(**PROJECTS)
async def test_unknown_and_inaccessible_projects_are_not_found(tasks, client):
    for board, status, error in (
        ("999", 404, "NOT_FOUND"),
        ("x", 404, "NOT_FOUND"),
        (tasks["partners"], 403, "ACCESS_DENIED"),
    ):
        read = await client.get(f"{BOARDS}/{board}")
        listed = await client.get(f"{BOARDS}/{board}/items")
        created = await client.post(f"{BOARDS}/{board}/items", json={"name": "x"})
        assert (read.status_code, read.json()["error"]) == (status, error), board
        assert (listed.status_code, listed.json()["error"]) == (status, error), board
        assert (created.status_code, created.json()["errorCode"]) == (403, "ACCESS_DENIED"), board
    for item in ("999", "x"):
        assert (await client.get(f"{ITEMS}/{item}")).status_code == 404


async def test_a_scope_confines_the_second_provider_too(tasks, client, world):
    scope = [{"boardId": tasks["rooms"]}, {"boardId": "999"}, {"boardId": tasks["partners"]}]
    token = await world.token(
        {"allowedTaskOperations": ["all"], "taskBoards": scope}, resources=(3,)
    )
    async with world.client(token) as narrow:
        listed = await narrow.get(f"{BOARDS}?includeArchived=true")
        denied = await narrow.get(f"{ITEMS}/{tasks['roof']}")
        below = await narrow.get(f"{ITEMS}/{tasks['gutter']}")

    assert [board["name"] for board in listed.json()["boards"]] == ["Attic rooms"]
    for response in (denied, below):
        assert (response.status_code, response.json()["error"]) == (403, "ACCESS_DENIED")
    opt_fields = [
        call["query"]["opt_fields"]
        for call in tasks.sandbox.upstreams["projects"].calls
        if "/tasks/" in call["path"]
    ]
    assert opt_fields == [["gid,memberships.project.gid,parent.gid"]] * 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        pytest.param({"kind": "429", "retryAfter": 9}, 429, None, id="429"),
        pytest.param({"kind": "500"}, 502, None, id="500"),
        pytest.param({"kind": "403"}, 502, None, id="403"),
        pytest.param({"kind": "503", "retryAfter": 9}, 502, None, id="503 with a time"),
        pytest.param({"kind": "malformed"}, 502, None, id="malformed"),
    ],
)
async def test_failures_of_the_second_provider(fresh, world, fault, status, code):
    import task_world

    resource = await task_world.resource(world, "own")
    await task_world.connect(world, fresh, "PROJECTS", resource=resource)
    token = await world.token({"allowedTaskOperations": ["all"]}, resources=(resource,))
    await world.fail("projects", **fault)
    async with world.client(token) as client:
        response = await client.delete(f"{ITEMS}/{fresh['roof']}")

    assert response.status_code == status
    assert (response.json()["success"], response.json()["errorCode"]) == (False, code)
    assert response.headers.get("retry-after") == ("9" if status == 429 else None)


@pytest.mark.caller(**PROJECTS)
@pytest.mark.parametrize("kind", ["lostAnswer", "spoiltAnswer"])
@pytest.mark.parametrize("what", ["items", "comments"])
async def test_a_lost_or_unreadable_answer_is_not_tried_again(fresh, client, world, what, kind):
    await world.fail("projects", kind=kind, method="POST", count=1)
    path, body = f"{BOARDS}/{fresh['pavilion']}/items", {"name": "Lamp"}
    if what == "comments":
        path, body = f"{ITEMS}/{fresh['roof']}/comments", {"body": "Once."}
    headers = {"Idempotency-Key": f"{kind}-{what}-{fresh['pavilion']}"}
    lamps = [task for task in fresh.projects.tasks.all() if task.name == "Lamp"]
    before = len(lamps) + len(fresh.projects.stories.of(fresh["roof"]))

    first, again = [await client.post(path, json=body, headers=headers) for _ in range(2)]

    sentence = "It is not known whether the provider made the change."
    assert first.status_code == 504
    assert first.json() == {
        "error": "OUTCOME_UNKNOWN",
        "message": sentence,
        "requestId": first.headers["x-request-id"],
        **failed_result(
            "TaskCommentResult" if what == "comments" else "TaskItemResult", sentence, None
        ),
    }
    assert (again.status_code, again.content) == (504, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert sum(call.startswith("POST") for call in fresh.calls()) == 1
    lamps = [task for task in fresh.projects.tasks.all() if task.name == "Lamp"]
    assert len(lamps) + len(fresh.projects.stories.of(fresh["roof"])) == before + 1
