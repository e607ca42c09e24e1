"""Boards and items through the documented paths: parameters, whole bodies, paging, errors."""

import pytest

BOARDS = "/api/access/tasks/boards"
ITEMS = "/api/access/tasks/items"
READS = {"allowedTaskOperations": ["read_only"]}
ALL = {"allowedTaskOperations": ["all"]}

pytestmark = pytest.mark.asyncio(loop_scope="module")


def value(column, title, kind, text=None, native=None):
    return {"columnId": column, "columnTitle": title, "type": kind, "text": text, "value": native}


def sub_item(tasks, **changes):
    return {
        "id": tasks["hinge"],
        "boardId": tasks["kitchen"],
        "groupId": "topics",
        "groupName": "Group Title",
        "name": "Oil the hinge",
        "status": "Stuck",
        "assignees": [],
        "dueDate": None,
        "priority": None,
        "labels": [],
        "description": None,
        "createdAt": "2026-11-01T08:00:00Z",
        "updatedAt": "2026-11-02T09:30:00Z",
        "webUrl": f"https://harbourlight.boards.example/boards/{tasks['below']}"
        f"/pulses/{tasks['hinge']}",
        "comments": None,
        "subItems": None,
        "columnValues": [
            value("step", "Status", "status", "Stuck", f'{{"index":2,{AT}}}'),
            value("who", "Owner", "people", "", None),
        ],
        **changes,
    }


AT = '"changed_at":"2026-11-02T09:00:00.000Z"'


def people(user):
    return f'{{"personsAndTeams":[{{"id":{user},"kind":"person"}}],{AT}}}'


def door(tasks, **changes):
    """The door as it is read with everything."""
    return {
        "id": tasks["door"],
        "boardId": tasks["kitchen"],
        "groupId": "todo",
        "groupName": "To do",
        "name": "Paint the door",
        "status": "Working",
        "assignees": ["Ana Müller", "Bo Li"],
        "dueDate": "2026-12-01T13:00:00Z",
        "priority": "High",
        "labels": ["Wood", "urgent"],
        "description": "Paint it green.",
        "createdAt": "2026-11-01T08:00:00Z",
        "updatedAt": "2026-11-02T09:30:00Z",
        "webUrl": f"https://harbourlight.boards.example/boards/{tasks['kitchen']}"
        f"/pulses/{tasks['door']}",
        "comments": [
            {
                "id": tasks["second"],
                "body": "Moss & fern.\nTwo tins.",
                "authorName": "Bo Li",
                "createdAt": "2026-11-04T11:00:00Z",
            },
            {
                "id": tasks["first"],
                "body": "Which green?",
                "authorName": "Ana Müller",
                "createdAt": "2026-11-03T10:00:00Z",
            },
        ],
        "subItems": [sub_item(tasks)],
        "columnValues": [
            value("state", "Status", "status", "Working", f'{{"index":0,{AT}}}'),
            value("prio", "Priority", "status", "High", f'{{"index":0,{AT}}}'),
            value("owner", "Owner", "people", "Ana Müller", people(tasks["ana"])),
            value("helper", "Helper", "people", "Bo Li", people(tasks["bo"])),
            value(
                "due",
                "Due",
                "date",
                "2026-12-01 13:00",
                f'{{"date":"2026-12-01","time":"13:00:00","icon":"",{AT}}}',
            ),
            value(
                "span",
                "Span",
                "timeline",
                "2026-11-20 - 2026-11-30",
                f'{{"from":"2026-11-20","to":"2026-11-30",{AT}}}',
            ),
            value("note", "Note", "text", "two coats", '"two coats"'),
            value("story", "Story", "long_text", "It was blue.", f'{{"text":"It was blue.",{AT}}}'),
            value(
                "about",
                "Description",
                "long_text",
                "Paint it green.",
                f'{{"text":"Paint it green.",{AT}}}',
            ),
            value("kind", "Kind", "dropdown", "Wood", f'{{"ids":[1],{AT}}}'),
            value("tag", "Tags", "tags", "urgent", f'{{"tag_ids":[{tasks["urgent"]}]}}'),
            value("hours", "Hours", "number", "2", '"2"'),
            value("double", "Double", "formula", "4"),
            value("made", "Made", "other", "2026-11-01 08:00:00 UTC"),
            value("touched", "Touched", "other", "2026-11-02 09:30:00 UTC"),
            value("sub", "Subitems", "relation", "Oil the hinge"),
        ],
        **changes,
    }


def listed(tasks, name, title, **more):
    return {
        "id": tasks[name],
        "name": title,
        "description": None,
        "state": "active",
        "workspaceId": None,
        "workspaceName": None,
        "folderId": None,
        "folderName": None,
        "webUrl": f"https://harbourlight.boards.example/boards/{tasks[name]}",
        "groups": None,
        "columns": None,
        "tags": None,
        **more,
    }


@pytest.mark.caller(**READS)
async def test_boards_are_listed_without_their_parts(tasks, client):
    response = await client.get(BOARDS)

    assert response.status_code == 200
    assert response.json() == {
        "provider": "BOARDS",
        "boards": [
            listed(tasks, "garden", "Garden"),
            listed(tasks, "kitchen", "Kitchen", description="All about the kitchen"),
        ],
        "nextPageToken": None,
        "hasMore": False,
        "accessInfo": "Read-only task access.",
    }
    assert len(tasks.documents()) == 1
    assert "columns" not in tasks.documents()[0]


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param("q=KIT", ["Kitchen"], id="part of the name, any case"),
        pytest.param("q=cellar", [], id="a name that no board has"),
        pytest.param("q=", ["Garden", "Kitchen"], id="an empty filter is none"),
        pytest.param("q=%20", ["Garden", "Kitchen"], id="a blank filter is none"),
        pytest.param("includeArchived=true", ["Attic", "Garden", "Kitchen"], id="archived too"),
        pytest.param("includeArchived=0", ["Garden", "Kitchen"], id="archived not"),
        pytest.param("limit=1", ["Garden"], id="a limit"),
        pytest.param("limit=500", ["Garden", "Kitchen"], id="a limit above the maximum"),
        pytest.param("provider=boards", ["Garden", "Kitchen"], id="the provider in lower case"),
    ],
)
async def test_boards_are_filtered(tasks, client, query, names):
    response = await client.get(f"{BOARDS}?{query}")

    assert response.status_code == 200
    assert [board["name"] for board in response.json()["boards"]] == names
    assert response.headers.get("x-applied-limit") == ("200" if "500" in query else None)


@pytest.mark.caller(**ALL)
async def test_boards_come_page_by_page(tasks, client):
    first = (await client.get(f"{BOARDS}?limit=1&includeArchived=true")).json()
    second = (
        await client.get(
            f"{BOARDS}?limit=1&includeArchived=true&pageToken={first['nextPageToken']}"
        )
    ).json()
    third = (
        await client.get(
            f"{BOARDS}?limit=9&includeArchived=true&pageToken={second['nextPageToken']}"
        )
    ).json()

    assert [page["boards"][0]["name"] for page in (first, second, third)] == [
        "Attic",
        "Garden",
        "Kitchen",
    ]
    assert [page["hasMore"] for page in (first, second, third)] == [True, True, False]
    assert third["nextPageToken"] is None


@pytest.mark.caller(**ALL)
async def test_a_page_token_serves_the_same_filters_alone(tasks, client):
    token = (await client.get(f"{BOARDS}?limit=1")).json()["nextPageToken"]

    for path in (
        f"{BOARDS}?q=k&pageToken={token}",
        f"{BOARDS}?includeArchived=true&pageToken={token}",
        f"{BOARDS}/{tasks['kitchen']}/items?pageToken={token}",
        f"{BOARDS}?pageToken={token[:-2]}AA",
    ):
        response = await client.get(path)
        assert response.status_code == 400, path
        assert response.json()["error"] == "INVALID_PAGE_TOKEN"


@pytest.mark.caller(**ALL)
async def test_a_board_has_its_groups_columns_and_tags(tasks, client):
    response = await client.get(f"{BOARDS}/{tasks['kitchen']}")

    color = tasks.boards.tags.find(tasks["urgent"]).color

    def column(name, title, kind, *, writable=True, options=None):
        return {"id": name, "title": title, "type": kind, "writable": writable, "options": options}

    assert response.status_code == 200
    assert response.json() == {
        "provider": "BOARDS",
        "board": listed(
            tasks,
            "kitchen",
            "Kitchen",
            description="All about the kitchen",
            groups=[
                {"id": "todo", "title": "To do", "color": "#579bfc"},
                {"id": "done", "title": "Finished", "color": "#579bfc"},
            ],
            columns=[
                column("state", "Status", "status", options=["Working", "Done", "Stuck"]),
                column("prio", "Priority", "status", options=["High", "Low"]),
                column("owner", "Owner", "people"),
                column("helper", "Helper", "people"),
                column("due", "Due", "date"),
                column("span", "Span", "timeline"),
                column("note", "Note", "text"),
                column("story", "Story", "long_text"),
                column("about", "Description", "long_text"),
                column("kind", "Kind", "dropdown", options=["Wood", "Metal"]),
                column("tag", "Tags", "tags"),
                column("hours", "Hours", "number"),
                column("double", "Double", "formula", writable=False),
                column("made", "Made", "other", writable=False),
                column("touched", "Touched", "other", writable=False),
                column("sub", "Subitems", "relation", writable=False),
            ],
            tags=[{"id": tasks["urgent"], "name": "urgent", "color": color}],
        ),
    }


@pytest.mark.caller(**ALL)
async def test_an_archived_board_can_be_read(tasks, client):
    response = await client.get(f"{BOARDS}/{tasks['attic']}")

    assert response.json()["board"]["state"] == "archived"


@pytest.mark.caller(**ALL)
async def test_an_item_has_all_its_fields(tasks, client):
    response = await client.get(f"{ITEMS}/{tasks['door']}")

    assert response.status_code == 200
    assert response.json() == {"provider": "BOARDS", "item": door(tasks)}
    assert len(tasks.documents()) == 1


@pytest.mark.caller(**ALL)
async def test_a_sub_item_belongs_to_the_board_above(tasks, client):
    response = await client.get(f"{ITEMS}/{tasks['hinge']}")

    assert response.json()["item"] == sub_item(tasks, comments=[], subItems=[])


@pytest.mark.caller(allowedTaskOperations=["view_items"])
async def test_comments_are_not_requested_without_their_operation(tasks, client):
    response = await client.get(f"{ITEMS}/{tasks['door']}")

    assert response.json()["item"] == door(tasks, comments=None)
    assert all("updates" not in document for document in tasks.documents())


@pytest.mark.caller(**ALL)
async def test_items_are_listed_without_comments(tasks, client):
    response = await client.get(f"{BOARDS}/{tasks['kitchen']}/items")

    body = response.json()
    assert response.status_code == 200
    assert body["items"][0] == door(tasks, comments=None)
    assert [item["name"] for item in body["items"]] == [
        "Paint the door",
        "Sand the table",
        "Wax the floor",
    ]
    assert {name: body[name] for name in body if name != "items"} == {
        "provider": "BOARDS",
        "nextPageToken": None,
        "hasMore": False,
        "totalCount": 3,
    }
    assert all("updates" not in document for document in tasks.documents())


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param("groupId=done", ["floor"], id="a group"),
        pytest.param("groupId=cellar", [], id="a group that is not there"),
        pytest.param("q=THE+T", ["table"], id="part of the name, any case"),
        pytest.param("query=door", ["door"], id="the other name of q"),
        pytest.param("status=done", ["table", "floor"], id="a status, any case"),
        pytest.param("status=don", [], id="no part of a status"),
        pytest.param("status=High", [], id="a priority is no status"),
        pytest.param("assignee=ana", ["door"], id="part of a name, any case"),
        pytest.param("assignee=bo%20li", ["door", "table"], id="any people column"),
        pytest.param("assignee=bo&status=Done", ["table"], id="filters are ANDed"),
        pytest.param("status=Done&groupId=todo&q=sand", ["table"], id="many filters"),
    ],
)
async def test_items_are_filtered(tasks, client, query, names):
    response = await client.get(f"{BOARDS}/{tasks['kitchen']}/items?{query}")

    body = response.json()
    assert response.status_code == 200
    assert [item["id"] for item in body["items"]] == [tasks[name] for name in names]
    assert body["totalCount"] is None


@pytest.mark.caller(**ALL)
async def test_items_come_page_by_page(tasks, client):
    path = f"{BOARDS}/{tasks['kitchen']}/items"
    first = (await client.get(f"{path}?limit=1")).json()
    second = (await client.get(f"{path}?limit=1&cursor={first['nextPageToken']}")).json()
    third = (await client.get(f"{path}?limit=1&pageToken={second['nextPageToken']}")).json()

    pages = [first, second, third]
    assert [page["items"][0]["id"] for page in pages] == [
        tasks["door"],
        tasks["table"],
        tasks["floor"],
    ]
    assert [page["hasMore"] for page in pages] == [True, True, False]
    assert [page["totalCount"] for page in pages] == [3, 3, 3]


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize("change", ["nothing", "an item before", "the last one seen"])
async def test_paging_continues_after_an_expired_cursor(fresh, client, world, change):
    path = f"{BOARDS}/{fresh['kitchen']}/items"
    token = (await client.get(f"{path}?limit=2")).json()["nextPageToken"]
    if change != "nothing":
        gone = fresh["door" if change == "an item before" else "table"]
        await client.delete(f"{ITEMS}/{gone}")
    await world.fail(
        "tasks", kind="internal", reason="CursorExpiredError", match="next_items_page", count=1
    )

    body = (await client.get(f"{path}?limit=2&pageToken={token}")).json()

    assert [item["id"] for item in body["items"]] == [fresh["floor"]]
    assert body["hasMore"] is False


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize(
    ("path", "code", "field"),
    [
        pytest.param(f"{BOARDS}?limit=0", "INVALID_PARAMETER", None, id="limit below 1"),
        pytest.param(f"{BOARDS}?limit=x", "INVALID_PARAMETER", None, id="limit is no number"),
        pytest.param(f"{BOARDS}?includeArchived=x", "INVALID_PARAMETER", None, id="no boolean"),
        pytest.param(f"{BOARDS}?q={'x' * 501}", "INVALID_PARAMETER", None, id="q too long"),
        pytest.param(f"{BOARDS}?provider=nobody", "INVALID_PROVIDER", None, id="no provider"),
        pytest.param(f"{BOARDS}?pageToken=x", "INVALID_PAGE_TOKEN", None, id="no page token"),
        pytest.param(f"{BOARDS}/1/items?limit=0", "INVALID_PARAMETER", None, id="items, limit"),
        pytest.param(
            f"{BOARDS}/{'1' * 256}", "VALIDATION_ERROR", "boardId", id="board id too long"
        ),
        pytest.param(
            f"{BOARDS}/{'1' * 256}/items", "VALIDATION_ERROR", "boardId", id="items, id too long"
        ),
        pytest.param(f"{ITEMS}/{'1' * 256}", "VALIDATION_ERROR", "itemId", id="item id too long"),
        pytest.param(f"{BOARDS}/", "VALIDATION_ERROR", "boardId", id="empty board id"),
    ],
)
async def test_bad_parameters_reach_no_provider(tasks, client, path, code, field):
    response = await client.get(path)

    body = response.json()
    assert response.status_code == 400
    assert body["error"] == code
    if field:
        assert body["details"] == [{"field": field, "message": "It has 1 to 255 characters."}]
    assert tasks.documents() == []


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize("board", ["unknown", "vault", "below", "not-an-id", "1%2F2"])
async def test_an_unknown_board_is_not_found(tasks, client, board):
    known = {"unknown": "999", "vault": tasks["vault"], "below": tasks["below"]}.get(board, board)

    for path in (f"{BOARDS}/{known}", f"{BOARDS}/{known}/items"):
        response = await client.get(path)
        assert response.status_code == 404, path
        assert response.json() == {
            "error": "NOT_FOUND",
            "message": "No board with this id.",
            "requestId": response.headers["x-request-id"],
        }
    if board in ("not-an-id", "1%2F2"):
        assert tasks.documents() == []


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize("item", ["999", "x", "deleted"])
async def test_an_unknown_item_is_not_found(fresh, client, item):
    if item == "deleted":
        item = fresh["floor"]
        await client.delete(f"{ITEMS}/{item}")

    response = await client.get(f"{ITEMS}/{item}")

    assert response.status_code == 404
    assert response.json() == {
        "error": "NOT_FOUND",
        "message": "No item with this id.",
        "requestId": response.headers["x-request-id"],
    }
