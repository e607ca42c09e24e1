"""Creating, updating, deleting and commenting: whole bodies, partial success, errors."""

import pytest
from agent_client import Agent, text_of
from failed_results import failed_result

BOARDS = "/api/access/tasks/boards"
ITEMS = "/api/access/tasks/items"
ALL = {"allowedTaskOperations": ["all"]}

pytestmark = pytest.mark.asyncio(loop_scope="module")


def refused(response, status, error, message, *, code=None, **more):
    """The whole body of an error of an item write."""
    names = {"DELETE": "TaskOperationResult"}
    result = names.get(response.request.method, "TaskItemResult")
    if response.request.url.path.endswith("/comments"):
        result = "TaskCommentResult"
    assert response.status_code == status, response.text
    assert response.json() == {
        "error": error,
        "message": message,
        "requestId": response.headers["x-request-id"],
        **failed_result(result, message, code),
        **more,
    }


@pytest.mark.caller(**ALL)
async def test_an_item_is_created(fresh, client):
    body = {"name": "Hang the lamp", "groupId": "done", "fields": {"note": "bright"}}
    response = await client.post(f"{BOARDS}/{fresh['kitchen']}/items", json=body)

    created = response.json()
    made = fresh.boards.items.find(created["itemId"])
    assert response.status_code == 201
    assert {name: created[name] for name in created if name != "item"} == {
        "provider": "BOARDS",
        "success": True,
        "itemId": made.id,
        "errorCode": None,
        "errorMessage": None,
        "rejectedFields": None,
    }
    assert (made.name, made.group, made.values) == ("Hang the lamp", "done", {"note": "bright"})
    assert created["item"] == (await client.get(f"{ITEMS}/{made.id}")).json()["item"]


@pytest.mark.caller(allowedTaskOperations=["create_items", "update_items"])
async def test_the_item_is_omitted_without_permission_to_view_items(fresh, client):
    created = await client.post(f"{BOARDS}/{fresh['kitchen']}/items", json={"name": "Lamp"})
    changed = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": {"note": "x"}})

    assert created.json()["item"] is None
    assert changed.json()["item"] is None
    assert all("text value" not in document for document in fresh.documents())


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize(
    ("written", "stored"),
    [
        pytest.param("plain", "plain", id="plain text"),
        pytest.param('"quoted"', "quoted", id="a JSON text"),
        pytest.param("12.5", "12.5", id="a number as text"),
        pytest.param(12.5, "12.5", id="a JSON number"),
        pytest.param(True, "true", id="a JSON truth value"),
        pytest.param("{not json", "{not json", id="text that is nearly JSON"),
    ],
)
async def test_values_are_texts_or_written_as_json(fresh, client, written, stored):
    response = await client.patch(f"{ITEMS}/{fresh['table']}", json={"fields": {"note": written}})

    assert response.json()["rejectedFields"] is None
    assert fresh.boards.items.find(fresh["table"]).values["note"] == stored


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize(
    ("column", "written", "text"),
    [
        pytest.param("state", '{"label":"Stuck"}', "Stuck", id="a status by its label"),
        pytest.param("state", {"index": 1}, "Done", id="a status by its index, as an object"),
        pytest.param("due", '{"date":"2027-01-31"}', "2027-01-31", id="a date"),
        pytest.param("kind", '{"labels":["Metal"]}', "Metal", id="a dropdown"),
        pytest.param("hours", "7", "7", id="a number"),
        pytest.param("about", '{"text":"long"}', "long", id="a long text"),
        pytest.param("owner", '{"personsAndTeams":[]}', "", id="nobody"),
        pytest.param("note", "null", "", id="null clears"),
    ],
)
async def test_a_column_accepts_the_native_json_of_the_provider(
    fresh, client, column, written, text
):
    response = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": {column: written}})

    values = {
        column_value["columnId"]: column_value["text"]
        for column_value in response.json()["item"]["columnValues"]
    }
    assert response.status_code == 200
    assert values[column] == text


@pytest.mark.caller(**ALL)
async def test_values_read_from_an_item_can_be_written_back(fresh, client):
    read = (await client.get(f"{ITEMS}/{fresh['door']}")).json()["item"]
    fields = {
        column_value["columnId"]: column_value["value"]
        for column_value in read["columnValues"]
        if column_value["value"] is not None
    }

    response = await client.patch(f"{ITEMS}/{fresh['floor']}", json={"fields": fields})

    assert response.json()["rejectedFields"] is None
    written = response.json()["item"]
    for name in ("status", "priority", "assignees", "dueDate", "labels", "description"):
        assert written[name] == read[name], name


@pytest.mark.caller(**ALL)
async def test_the_name_is_changed_by_its_pseudo_column(fresh, client):
    response = await client.patch(
        f"{ITEMS}/{fresh['door']}", json={"fields": {"name": "Paint both doors"}}
    )

    assert response.json()["item"]["name"] == "Paint both doors"
    assert response.json()["rejectedFields"] is None


@pytest.mark.caller(**ALL)
async def test_unknown_and_read_only_columns_are_rejected_without_an_upstream_call(fresh, client):
    fields = {"nothing": "1", "note": "new", "double": "4", "made": "x", "name": " "}
    response = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": fields})

    body = response.json()
    assert response.status_code == 200
    assert (body["success"], body["errorCode"]) == (True, None)
    assert body["rejectedFields"] == ["nothing", "double", "made", "name"]
    assert fresh.boards.items.find(fresh["door"]).values["note"] == "new"
    assert sum("mutation" in document for document in fresh.documents()) == 1


@pytest.mark.caller(**ALL)
async def test_values_refused_by_the_provider_are_rejected_and_the_others_written(fresh, client):
    fields = {"state": '{"label":"Nope"}', "note": "new", "due": "no day", "hours": "3"}
    response = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": fields})

    body = response.json()
    values = fresh.boards.items.find(fresh["door"]).values
    assert response.status_code == 200
    assert (body["success"], body["rejectedFields"]) == (True, ["state", "due"])
    assert (values["note"], values["hours"]) == ("new", "3")
    assert body["item"]["status"] == "Working"


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"state": '{"label":"Nope"}'}, id="one column"),
        pytest.param({"state": '{"label":"Nope"}', "due": "no day", "zz": "1"}, id="several"),
    ],
)
async def test_an_update_with_only_refused_values_fails(fresh, client, fields):
    response = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": fields})

    assert response.status_code == 200
    assert response.json() == {
        "provider": "BOARDS",
        "success": False,
        "itemId": fresh["door"],
        "item": None,
        "errorCode": None,
        "errorMessage": None,
        "rejectedFields": list(fields),
    }


@pytest.mark.caller(**ALL)
async def test_an_item_is_created_without_the_columns_that_are_refused(fresh, client):
    fields = {"state": '{"label":"Nope"}', "note": "kept", "zz": "1", "name": "other"}
    response = await client.post(
        f"{BOARDS}/{fresh['kitchen']}/items", json={"name": "Lamp", "fields": fields}
    )

    body = response.json()
    made = [item for item in fresh.boards.items.of(fresh["kitchen"]) if item.name == "Lamp"]
    assert response.status_code == 201
    assert (body["success"], body["rejectedFields"]) == (True, ["state", "zz", "name"])
    assert [item.values for item in made] == [{"note": "kept"}]


@pytest.mark.caller(**ALL, writableTaskFields=["note", "name"])
async def test_a_token_writes_its_own_columns_alone(fresh, client):
    fields = {"note": "mine", "hours": "5", "name": "Doors"}
    changed = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": fields})
    made = await client.post(
        f"{BOARDS}/{fresh['kitchen']}/items", json={"name": "Lamp", "fields": {"hours": "1"}}
    )
    barred = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": {"hours": "5"}})

    assert changed.json()["rejectedFields"] == ["hours"]
    assert changed.json()["item"]["name"] == "Doors"
    assert (made.status_code, made.json()["rejectedFields"]) == (201, ["hours"])
    refused(
        barred,
        403,
        "NO_WRITABLE_FIELDS",
        "None of these fields can be set with this token.",
        code="NO_WRITABLE_FIELDS",
        rejectedFields=["hours"],
    )
    assert fresh.boards.items.find(fresh["door"]).values["hours"] == "2"


@pytest.mark.caller(**ALL)
async def test_an_item_is_deleted(fresh, client):
    response = await client.delete(f"{ITEMS}/{fresh['table']}")

    assert response.status_code == 200
    assert response.json() == {
        "provider": "BOARDS",
        "success": True,
        "errorCode": None,
        "errorMessage": None,
    }
    assert fresh.boards.items.find(fresh["table"]).state == "deleted"


@pytest.mark.caller(**ALL)
async def test_a_comment_is_plain_text(fresh, client):
    text = "Is 1 < 2 & 3 > 2?\n<b>Yes</b>"
    response = await client.post(f"{ITEMS}/{fresh['table']}/comments", json={"body": text})

    body = response.json()
    assert response.status_code == 201
    assert body == {
        "provider": "BOARDS",
        "success": True,
        "commentId": body["commentId"],
        "errorCode": None,
        "errorMessage": None,
    }
    (comment,) = (await client.get(f"{ITEMS}/{fresh['table']}")).json()["item"]["comments"]
    assert (comment["id"], comment["body"], comment["authorName"]) == (
        body["commentId"],
        text,
        "Mo",
    )


@pytest.mark.caller(**ALL)
async def test_an_idempotency_key_creates_once(fresh, client):
    headers = {"Idempotency-Key": f"lamp-{fresh['kitchen']}"}
    path = f"{BOARDS}/{fresh['kitchen']}/items"
    first = await client.post(path, json={"name": "Lamp"}, headers=headers)
    again = await client.post(path, json={"name": "Lamp"}, headers=headers)

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    made = [item for item in fresh.boards.items.of(fresh["kitchen"]) if item.name == "Lamp"]
    assert len(made) == 1


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize("kind", ["lostAnswer", "spoiltAnswer"])
@pytest.mark.parametrize("what", ["items", "comments"])
async def test_a_lost_or_unreadable_answer_is_not_tried_again(fresh, client, world, what, kind):
    await world.fail("tasks", kind=kind, match="mutation", count=1)
    headers = {"Idempotency-Key": f"{what}-{fresh['kitchen']}"}
    path = f"{BOARDS}/{fresh['kitchen']}/items"
    body = {"name": "Lamp"}
    if what == "comments":
        path, body = f"{ITEMS}/{fresh['table']}/comments", {"body": "Once."}

    first = await client.post(path, json=body, headers=headers)
    again = await client.post(path, json=body, headers=headers)

    sentence = "It is not known whether the provider made the change."
    refused(first, 504, "OUTCOME_UNKNOWN", sentence)
    assert (again.status_code, again.content) == (504, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert sum("mutation" in document for document in fresh.documents()) == 1
    made = [item for item in fresh.boards.items.of(fresh["kitchen"]) if item.name == "Lamp"]
    assert len(made) + len(fresh.boards.comments(fresh["table"])) == 1


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize(
    ("body", "field", "why"),
    [
        pytest.param({}, "name", "It is required.", id="no name"),
        pytest.param({"name": None}, "name", "It is required.", id="null for a name"),
        pytest.param({"name": 1}, "name", "It must be a string.", id="a number for a name"),
        pytest.param({"name": " \t"}, "name", "It must not be blank.", id="a blank name"),
        pytest.param(
            {"name": "x" * 1001}, "name", "It may have at most 1000 characters.", id="too long"
        ),
        pytest.param(
            {"name": "x" * 256},
            "name",
            "The provider takes at most 255 characters.",
            id="too long for the provider",
        ),
        pytest.param({"name": "x", "fields": []}, "fields", "It must be an object.", id="a list"),
        pytest.param({"name": "x", "fields": "a"}, "fields", "It must be an object.", id="a text"),
        pytest.param(
            {"name": "x", "groupId": "cellar"},
            "groupId",
            "The board has no group with this id.",
            id="a group that is not there",
        ),
    ],
)
async def test_a_bad_new_item_is_not_created(fresh, client, body, field, why):
    response = await client.post(f"{BOARDS}/{fresh['kitchen']}/items", json=body)

    answer = response.json()
    assert (response.status_code, answer["error"]) == (400, "VALIDATION_ERROR")
    assert answer["details"] == [{"field": field, "message": why}]
    assert (answer["success"], answer["errorCode"]) == (False, None)
    assert all("mutation" not in document for document in fresh.documents())


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize(
    ("body", "field", "why"),
    [
        pytest.param({}, "fields", "It is required.", id="no fields"),
        pytest.param({"fields": {}}, "fields", "It must have at least one entry.", id="empty"),
        pytest.param({"fields": [1]}, "fields", "It must be an object.", id="a list"),
        pytest.param(
            {"fields": {"name": "x" * 1001}},
            "fields.name",
            "It may have at most 1000 characters.",
            id="a name too long",
        ),
    ],
)
async def test_a_bad_update_reaches_no_provider(fresh, client, body, field, why):
    response = await client.patch(f"{ITEMS}/{fresh['door']}", json=body)

    answer = response.json()
    assert (response.status_code, answer["error"]) == (400, "VALIDATION_ERROR")
    assert answer["details"] == [{"field": field, "message": why}]
    assert (answer["success"], answer["errorCode"]) == (False, None)
    assert fresh.documents() == []


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param({}, "It is required.", id="no body"),
        pytest.param({"body": ""}, "It must not be blank.", id="empty"),
        pytest.param({"body": "\n "}, "It must not be blank.", id="blank"),
        pytest.param(
            {"body": "x" * 20_001}, "It may have at most 20000 characters.", id="too long"
        ),
    ],
)
async def test_a_bad_comment_reaches_no_provider(fresh, client, body, why):
    response = await client.post(f"{ITEMS}/{fresh['door']}/comments", json=body)

    answer = response.json()
    assert (response.status_code, answer["error"]) == (400, "VALIDATION_ERROR")
    assert answer["details"] == [{"field": "body", "message": why}]
    assert (answer["success"], answer["errorCode"]) == (False, None)
    assert fresh.documents() == []


@pytest.mark.caller(**ALL)
async def test_writing_to_an_unknown_item_is_not_found(fresh, client):
    calls = (
        client.patch(f"{ITEMS}/999", json={"fields": {"note": "x"}}),
        client.delete(f"{ITEMS}/999"),
        client.post(f"{ITEMS}/999/comments", json={"body": "x"}),
    )
    for call in calls:
        refused(await call, 404, "NOT_FOUND", "No item with this id.", code="NOT_FOUND")


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize("board", ["999", "x", "vault"])
async def test_creating_on_a_board_that_is_not_visible_is_denied(fresh, client, board):
    board = fresh.ids.get(board, board)
    response = await client.post(f"{BOARDS}/{board}/items", json={"name": "x"})

    refused(
        response,
        403,
        "ACCESS_DENIED",
        "This board is outside this token's scope.",
        code="ACCESS_DENIED",
    )


@pytest.mark.caller(**ALL)
async def test_a_locked_board_is_retried(fresh, client, world):
    await world.fail("tasks", kind="locked", match="mutation", count=1)

    response = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": {"note": "x"}})

    assert response.json()["success"] is True
    assert fresh.boards.items.find(fresh["door"]).values["note"] == "x"


@pytest.mark.caller(**ALL)
async def test_an_agent_writes_columns(fresh, client):
    agent = Agent(client)
    made = await agent.call(
        "write_task",
        action="create",
        board=fresh["kitchen"],
        name="Lamp",
        fields={"note": "bright"},
    )
    changed = await agent.call(
        "write_task", action="update", id=fresh["door"], fields={"note": "green"}
    )
    wrong = await agent.call("write_task", action="update", id=fresh["door"], fields=["note"])

    assert ("isError" in made, "isError" in changed) == (False, False), (made, changed)
    notes = {item.name: item.values.get("note") for item in fresh.boards.items.all()}
    assert notes["Lamp"] == "bright"
    assert fresh.boards.items.find(fresh["door"]).values["note"] == "green"
    assert text_of(wrong).split("\n")[0] == "VALIDATION_ERROR"
