"""A replay never shows more than the token may see at that moment."""

import pytest
import world as worlds

KEY = {"Idempotency-Key": "k"}
ALL = {"allowedTaskOperations": ["all"]}
SECRET = "TOPSECRET-ORG"
CREATE = """mutation ($board: String!, $input: CreateTaskItemInput!) {
  made: createTaskItem(boardId: $board, input: $input) {
    success id: itemId errorMessage: provider item { name columnValues { columnId text } }
  }
}"""


async def change_own(world, client, **change):
    own = (await client.get("/api/access/token")).json()["id"]
    answer = await world.admin.patch(f"/api/access-tokens/{own}", json=change)
    assert answer.status_code == 200, answer.text


def rest(client, filled):
    path = f"/api/access/tasks/boards/{filled['kitchen']}/items"
    body = {"name": "Lamp", "fields": {"note": SECRET}}
    return client.post(path, json=body, headers=KEY)


def graphql(client, filled):
    body = {"name": "Lamp", "fields": {"note": SECRET}}
    variables = {"board": filled["kitchen"], "input": body}
    return client.post("/graphql", json={"query": CREATE, "variables": variables}, headers=KEY)


NARROWED = [
    pytest.param({"visibleTaskFields": ["name"]}, id="a narrower mask"),
    pytest.param({"taskBoards": []}, id="no board in scope"),
    pytest.param({"allowedTaskOperations": ["create_items"]}, id="no flag to read"),
    pytest.param({"maskMode": "basic"}, id="any other change"),
]


@pytest.mark.slow
@pytest.mark.parametrize("change", NARROWED)
async def test_a_created_task_is_not_shown_again_by_rest(tasks, change):
    world, filled = tasks
    async with world.client(await world.token(ALL)) as client:
        first = await rest(client, filled)
        await change_own(world, client, settings=change)
        filled.forget()
        again = [await rest(client, filled) for _ in range(2)]

    assert SECRET in first.text
    for answer in again:
        assert (answer.status_code, answer.headers["idempotent-replayed"]) == (201, "true")
        assert answer.json() == {
            "provider": None,
            "success": True,
            "itemId": first.json()["itemId"],
            "item": None,
            "errorCode": None,
            "errorMessage": None,
            "rejectedFields": None,
        }
    assert filled.documents() == []


@pytest.mark.slow
@pytest.mark.parametrize("change", NARROWED)
async def test_a_created_task_is_not_shown_again_by_graphql(tasks, change):
    world, filled = tasks
    async with world.client(await world.token(ALL)) as client:
        first = await graphql(client, filled)
        await change_own(world, client, settings=change)
        filled.forget()
        again = await graphql(client, filled)

    made = first.json()["data"]["made"]
    assert SECRET in first.text
    assert (again.status_code, again.headers["idempotent-replayed"]) == (200, "true")
    assert again.json()["data"] == {
        "made": {"success": True, "id": made["id"], "errorMessage": None, "item": None}
    }
    assert filled.documents() == []


async def test_the_other_api_shows_no_more(tasks):
    world, filled = tasks
    async with world.client(await world.token(ALL)) as client:
        first = await rest(client, filled)
        filled.forget()
        again = await graphql(client, filled)

    assert again.json()["data"]["made"]["id"] == first.json()["itemId"]
    assert SECRET not in again.text
    assert filled.documents() == []


async def test_without_a_change_the_answer_is_the_same(tasks):
    world, filled = tasks
    async with world.client(await world.token(ALL)) as client:
        answers = [await api(client, filled) for api in (rest, rest)]

    assert answers[0].content == answers[1].content
    assert SECRET in answers[1].text


async def test_a_removed_flag_refuses_the_replay(tasks):
    world, filled = tasks
    async with world.client(await world.token(ALL)) as client:
        await rest(client, filled)
        await change_own(world, client, settings={"allowedTaskOperations": ["read_only"]})
        filled.forget()
        again = await rest(client, filled)

    assert (again.status_code, again.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")
    assert filled.documents() == []


@pytest.mark.slow
async def test_another_account_of_the_token_is_a_change(tasks):
    world, filled = tasks
    async with world.client(await world.token(ALL)) as client:
        await rest(client, filled)
        path = f"/api/connections/{filled.connections['BOARDS']}"
        disabled = await world.admin.patch(path, json={"status": "disabled"})
        again = await rest(client, filled)

    assert disabled.status_code == 200, disabled.text
    assert (again.status_code, again.json()["item"]) == (201, None)
    assert SECRET not in again.text


async def test_an_error_tells_its_code_and_nothing_of_accounts(tasks):
    world, filled = tasks
    token = await world.token(ALL, resources=(worlds.MAIN, worlds.EMPTY))
    async with world.client(token) as client:
        first = await rest(client, filled)
        await change_own(world, client, settings={"allowedConnectionIds": []})
        again = await rest(client, filled)

    assert first.json()["connectedProviders"] == ["BOARDS", "PROJECTS"]
    assert (again.status_code, again.json()["error"]) == (400, "PROVIDER_REQUIRED")
    assert again.headers["idempotent-replayed"] == "true"
    assert "connectedProviders" not in again.json()


async def narrowed_call(content, path, narrowed, /, **arguments):
    """Call *path* twice under one key, with the settings or rules *narrowed* in between."""
    token = await content.token()
    first = await content.call("POST", path, token, headers=KEY, **arguments)
    async with content.client(token) as client, content.client(worlds.ADMIN) as admin:
        own = (await client.get("/api/access/token")).json()["id"]
        if isinstance(narrowed, list):
            answer = await admin.put(
                f"/api/access-tokens/{own}/collab-rules", json={"rules": narrowed}
            )
        else:
            answer = await admin.patch(f"/api/access-tokens/{own}", json={"settings": narrowed})
    assert answer.status_code == 200, answer.text
    content.forget_calls()
    again = await content.call("POST", path, token, headers=KEY, **arguments)
    assert content.calls() == []
    assert again.headers["idempotent-replayed"] == "true"
    return first, again


@pytest.mark.parametrize(
    "narrowed",
    [
        pytest.param({"visibleCollabFields": ["name"]}, id="a narrower mask"),
        pytest.param({"collabAllowAllDefault": False}, id="block-all"),
        pytest.param("rule", id="a block rule"),
    ],
)
async def test_a_created_list_item_is_its_id_alone(content, narrowed):
    if narrowed == "rule":
        lists = content.resources["berths"].id
        narrowed = [{"ruleType": "list_id", "pattern": lists, "action": "block"}]
    fields = {"Title": SECRET, "Length": 7, "Paid": True}

    first, again = await narrowed_call(
        content, content.path("berths", 0), narrowed, json={"fields": fields}
    )

    assert (first.status_code, again.status_code) == (201, 201)
    assert SECRET in first.text
    shown = {name: value for name, value in again.json().items() if value is not None}
    assert {name: shown[name] for name in shown if name != "accessInfo"} == {
        "id": first.json()["id"]
    }


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        pytest.param(
            lambda of: "/files/upload",
            lambda of: {
                "params": {"fileName": "new.txt", "folderId": of.id("boats")},
                "content": b"x",
            },
            id="an upload",
        ),
        pytest.param(
            lambda of: f"/files/{of.id('sketch')}/share",
            lambda _: {
                "json": {"type": "user", "role": "reader", "emailAddress": "bob@work.example"}
            },
            id="a share",
        ),
    ],
)
async def test_results_of_files_have_ids_alone(content, path, arguments):
    first, again = await narrowed_call(
        content, path(content), {"visibleCollabFields": ["name"]}, **arguments(content)
    )

    assert (first.status_code, again.status_code) == (200, 200)
    assert again.json() == {**first.json(), **({"role": None} if "role" in first.json() else {})}
