"""Masks of the tasks surface, pushed down to the provider; filters, scopes, gates."""

import pytest
from failed_results import failed_result

BOARDS = "/api/access/tasks/boards"
ITEMS = "/api/access/tasks/items"
ALL = {"allowedTaskOperations": ["all"]}
WORDS = (
    "name",
    "status",
    "assignees",
    "due_date",
    "priority",
    "labels",
    "description",
    "comments",
    "column_values",
    "sub_items",
    "created_time",
    "modified_time",
    "web_link",
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


def but(*hidden):
    return [word for word in WORDS if word not in hidden]


# Mask word -> the member it hides, the columns whose text and value go with it.
HIDDEN = {
    "name": ("name", {"sub", "double"}),
    "status": ("status", {"state", "double"}),
    "assignees": ("assignees", {"owner", "helper", "double"}),
    "due_date": ("dueDate", {"due", "double"}),
    "priority": ("priority", {"prio", "double"}),
    "labels": ("labels", {"kind", "tag", "double"}),
    "description": ("description", {"about", "double"}),
    "comments": ("comments", set()),
    "column_values": ("columnValues", None),
    "sub_items": ("subItems", {"sub", "double"}),
    "created_time": ("createdAt", {"made", "double"}),
    "modified_time": ("updatedAt", {"touched", "double"}),
    "web_link": ("webUrl", set()),
}


@pytest.mark.slow
@pytest.mark.caller(**ALL)
@pytest.mark.parametrize("word", WORDS)
async def test_a_mask_hides_its_member_and_the_columns_it_is_made_of(tasks, client, world, word):
    member, columns = HIDDEN[word]
    path = f"{ITEMS}/{tasks['door']}"
    whole = (await client.get(path)).json()["item"]
    token = await world.token({**ALL, "visibleTaskFields": but(word)})
    tasks.forget()

    async with world.client(token) as masked:
        seen = (await masked.get(path)).json()
    item = seen["item"]

    assert seen["accessInfo"] == f"Hidden task fields: {word}."
    assert whole[member] is not None
    assert item[member] is None
    if columns is not None:
        emptied = {
            masked["columnId"]
            for masked, full in zip(item["columnValues"], whole["columnValues"], strict=True)
            if masked["text"] is None and masked["value"] is None and full["text"] is not None
        }
        assert emptied == columns
    others = set(whole) - {member, "columnValues", "subItems", "comments"}
    assert {name: item[name] for name in others} == {name: whole[name] for name in others}


@pytest.mark.caller(**ALL, visibleTaskFields=but("assignees"))
async def test_hidden_columns_are_not_requested_upstream(tasks, client):
    for path in (
        f"{ITEMS}/{tasks['door']}",
        f"{BOARDS}/{tasks['kitchen']}/items",
        f"{BOARDS}/{tasks['kitchen']}/items?limit=1",
    ):
        tasks.forget()
        body = (await client.get(path)).json()
        assert body

    names = [
        name
        for call in tasks.sandbox.upstreams["tasks"].calls
        for name in ("owner", "helper", "who", "people", "double")
        if name in call["document"]
    ]
    assert names == []


@pytest.mark.caller(**ALL, visibleTaskFields=["name"])
async def test_a_token_with_few_visible_fields_requests_little(tasks, client):
    response = await client.get(f"{ITEMS}/{tasks['door']}")

    assert response.json()["item"] == {
        "id": tasks["door"],
        "boardId": tasks["kitchen"],
        "groupId": "todo",
        "groupName": "To do",
        "name": "Paint the door",
        **dict.fromkeys(
            (
                "status",
                "assignees",
                "dueDate",
                "priority",
                "labels",
                "description",
                "createdAt",
                "updatedAt",
                "webUrl",
                "comments",
                "subItems",
                "columnValues",
            )
        ),
    }
    assert tasks.documents() == [
        "query($i:[ID!],$n:Int){items(ids:$i,limit:$n)"
        "{id state name group{id title} board{id} parent_item{id board{id}}}}"
    ]


@pytest.mark.caller(**ALL, visibleTaskFields=but("modified_time"))
async def test_values_do_not_tell_when_they_were_set(tasks, client):
    body = (await client.get(f"{ITEMS}/{tasks['door']}")).text

    assert "changed_at" not in body


@pytest.mark.caller(**ALL, visibleTaskFields=but("description", "web_link"))
async def test_boards_hide_description_and_link(tasks, client):
    board = (await client.get(f"{BOARDS}/{tasks['kitchen']}")).json()["board"]

    assert (board["description"], board["webUrl"]) == (None, None)
    assert board["name"] == "Kitchen"
    assert all("description" not in document for document in tasks.documents())
    assert all("url" not in document for document in tasks.documents())


@pytest.mark.caller(**ALL, visibleTaskFields=but("name", "status", "assignees"))
@pytest.mark.parametrize(
    ("query", "word"), [("q=door", "name"), ("status=Done", "status"), ("assignee=a", "assignees")]
)
async def test_filters_on_hidden_fields_are_refused(tasks, client, query, word):
    response = await client.get(f"{BOARDS}/{tasks['kitchen']}/items?{query}")

    name = query.partition("=")[0]
    assert response.status_code == 403
    assert response.json() == {
        "error": "FIELD_NOT_VISIBLE",
        "message": f"The filter '{name}' would reveal a field that this token may not see: "
        f"'{word}'.",
        "requestId": response.headers["x-request-id"],
    }
    assert tasks.documents() == []


@pytest.mark.caller(**ALL, visibleTaskFields=but("status"), maskMode="basic")
async def test_the_basic_mode_filters_by_hidden_fields_and_still_hides_them(tasks, client):
    body = (await client.get(f"{BOARDS}/{tasks['kitchen']}/items?status=done")).json()

    assert [item["id"] for item in body["items"]] == [tasks["table"], tasks["floor"]]
    assert [item["status"] for item in body["items"]] == [None, None]


@pytest.mark.caller(**ALL, visibleTaskFields=but("assignees", "status"))
async def test_a_written_item_is_returned_masked(fresh, client):
    created = await client.post(
        f"{BOARDS}/{fresh['kitchen']}/items",
        json={"name": "Lamp", "fields": {"state": '{"label":"Done"}', "note": "x"}},
    )
    changed = await client.patch(
        f"{ITEMS}/{fresh['door']}", json={"fields": {"state": '{"label":"Done"}'}}
    )

    for response in (created, changed):
        item = response.json()["item"]
        values = {
            column_value["columnId"]: column_value["text"] for column_value in item["columnValues"]
        }
        assert (item["status"], item["assignees"]) == (None, None)
        assert (values["state"], values["owner"]) == (None, None)


# -- scopes --------------------------------------------------------------------------------------

DENIED = "This board is outside this token's scope."


async def scoped(world, *boards, **more):
    return world.client(await world.token({**ALL, "taskBoards": list(boards), **more}))


async def test_only_boards_in_scope_are_listed(tasks, client, world):
    scope = [{"boardId": tasks["kitchen"]}, {"boardId": "777"}, {"boardId": "no id"}]
    async with await scoped(world, *scope) as narrow:
        body = (await narrow.get(BOARDS)).json()

    assert [board["id"] for board in body["boards"]] == [tasks["kitchen"]]
    assert body["accessInfo"] == "Only selected boards are visible."


async def test_an_empty_scope_has_no_boards(tasks, client, world):
    async with await scoped(world) as narrow:
        listed = await narrow.get(BOARDS)
        read = await narrow.get(f"{BOARDS}/{tasks['kitchen']}")

    assert listed.json()["boards"] == []
    assert read.status_code == 403
    assert tasks.documents() == []


async def test_a_board_outside_the_scope_is_denied_unasked(tasks, client, world):
    async with await scoped(world, {"boardId": tasks["garden"]}) as narrow:
        for path in (f"{BOARDS}/{tasks['kitchen']}", f"{BOARDS}/{tasks['kitchen']}/items"):
            response = await narrow.get(path)
            assert response.status_code == 403
            assert response.json() == {
                "error": "ACCESS_DENIED",
                "message": DENIED,
                "requestId": response.headers["x-request-id"],
            }
        created = await narrow.post(f"{BOARDS}/{tasks['kitchen']}/items", json={"name": "x"})

    assert (created.status_code, created.json()["errorCode"]) == (403, "ACCESS_DENIED")
    assert tasks.documents() == []


async def test_an_item_outside_the_scope_is_denied_before_it_is_read_or_changed(
    fresh, client, world
):
    async with await scoped(world, {"boardId": fresh["garden"]}) as narrow:
        for item in (fresh["door"], fresh["hinge"]):
            answers = (
                await narrow.get(f"{ITEMS}/{item}"),
                await narrow.patch(f"{ITEMS}/{item}", json={"fields": {"note": "x"}}),
                await narrow.delete(f"{ITEMS}/{item}"),
                await narrow.post(f"{ITEMS}/{item}/comments", json={"body": "x"}),
            )
            for response in answers:
                assert (response.status_code, response.json()["error"]) == (403, "ACCESS_DENIED")
                assert response.json()["message"] == DENIED
        inside = await narrow.get(f"{ITEMS}/{fresh['hedge']}")

    assert inside.status_code == 200
    denied = [document for document in fresh.documents() if "subitems" in document]
    assert len(denied) == 1  # the one inside
    assert all("mutation" not in document for document in fresh.documents())


async def test_a_sub_item_is_in_the_scope_of_the_board_above(tasks, client, world):
    async with await scoped(world, {"boardId": tasks["kitchen"]}) as narrow:
        response = await narrow.get(f"{ITEMS}/{tasks['hinge']}")

    assert response.status_code == 200
    assert response.json()["item"]["boardId"] == tasks["kitchen"]


async def test_a_scope_can_name_the_provider(tasks, client, world):
    async with await scoped(world, {"boardId": tasks["kitchen"], "provider": "boards"}) as narrow:
        assert (await narrow.get(f"{BOARDS}/{tasks['kitchen']}")).status_code == 200
    other = {"boardId": tasks["kitchen"], "provider": "PROJECTS"}
    async with await scoped(world, other) as narrow:
        assert (await narrow.get(f"{BOARDS}/{tasks['kitchen']}")).status_code == 403


async def test_a_board_may_be_in_scope_without_creating(fresh, client, world):
    scope = {"boardId": fresh["kitchen"], "allowCreate": False}
    async with await scoped(world, scope) as narrow:
        created = await narrow.post(f"{BOARDS}/{fresh['kitchen']}/items", json={"name": "x"})
        changed = await narrow.patch(f"{ITEMS}/{fresh['door']}", json={"fields": {"note": "x"}})

    message = "This token may not create items on this board."
    assert created.status_code == 403
    assert created.json() == {
        "error": "ACCESS_DENIED",
        "message": message,
        "requestId": created.headers["x-request-id"],
        **failed_result("TaskItemResult", message, "ACCESS_DENIED"),
    }
    assert changed.status_code == 200


# -- gates ---------------------------------------------------------------------------------------

CALLS = [
    pytest.param(("GET", BOARDS, None, "view_boards"), id="list boards"),
    pytest.param(("GET", f"{BOARDS}/1", None, "view_boards"), id="read a board"),
    pytest.param(("GET", f"{BOARDS}/1/items", None, "view_items"), id="list items"),
    pytest.param(("GET", f"{ITEMS}/1", None, "view_items"), id="read an item"),
    pytest.param(("POST", f"{BOARDS}/1/items", {"name": ""}, "create_items"), id="create"),
    pytest.param(("PATCH", f"{ITEMS}/1", {}, "update_items"), id="update"),
    pytest.param(("DELETE", f"{ITEMS}/1", None, "delete_items"), id="delete"),
    pytest.param(("POST", f"{ITEMS}/1/comments", {}, "add_comments"), id="comment"),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("held", ["nothing", "all but this"])
async def test_each_call_needs_its_operation(tasks, client, world, call, held):
    method, path, body, operation = call
    every = {case.values[0][3] for case in CALLS} | {"view_comments", "manage_groups"}
    operations = [] if held == "nothing" else sorted(every - {operation})
    token = await world.token({"allowedTaskOperations": operations})

    async with world.client(token) as narrow:
        response = await narrow.request(method, f"{path}?limit=0&provider=x", json=body)

    message = f"This token does not allow {operation}."
    name = {"DELETE": "TaskOperationResult", "PATCH": "TaskItemResult"}.get(method)
    name = name or ("TaskCommentResult" if "comments" in path else "TaskItemResult")
    result = failed_result(name, message, "ACCESS_DENIED")
    assert response.status_code == 403
    assert response.json() == {
        "error": "OPERATION_NOT_ALLOWED",
        "message": message,
        "requestId": response.headers["x-request-id"],
        "requiredOperation": operation,
        "requiredOperations": [operation],
        **({} if method == "GET" else result),
    }
    assert response.headers["x-required-operation"] == operation
    assert tasks.documents() == []


@pytest.mark.caller(allowedTaskOperations=["all"], resources=2)
async def test_without_a_task_connection_there_is_no_provider(tasks, client):
    for method, path in (("GET", BOARDS), ("GET", f"{BOARDS[:-7]}/providers")):
        response = await client.request(method, path)
        assert response.status_code == 422
        assert response.json() == {
            "error": "NO_TASK_PROVIDER",
            "message": "The token's operator has no tasks connection on any of the token's "
            "resources.",
            "requestId": response.headers["x-request-id"],
        }
    deleted = await client.delete(f"{ITEMS}/1")
    assert (deleted.status_code, deleted.json()["errorCode"]) == (422, None)
