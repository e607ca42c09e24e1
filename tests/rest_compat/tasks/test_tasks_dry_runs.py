"""Dry runs of task writes: nothing is written, and the real call does what the effect says."""

import pytest

BOARDS = "/api/access/tasks/boards"
ITEMS = "/api/access/tasks/items"
ALL = {"allowedTaskOperations": ["all"]}
DRY = {"prefer": "dry-run"}

pytestmark = pytest.mark.asyncio(loop_scope="module")


def writes(tasks):
    mutations = [text for text in tasks.documents() if text.lstrip().startswith("mutation")]
    return mutations + [call for call in tasks.calls() if not call.startswith("GET ")]


def calls(fresh):
    """Every write, on both providers: method, path, body, query parameters."""
    by_provider = {
        "BOARDS": (fresh["kitchen"], fresh["door"], {"note": "x", "hours": "7"}),
        "PROJECTS": (fresh["pavilion"], fresh["wall1"], {"notes": "x", "name": "Wall"}),
    }
    for provider, (board, item, fields) in by_provider.items():
        query = {"provider": provider}
        set_by_create = {column: text for column, text in fields.items() if column != "name"}
        new = {"name": "New", "fields": {**set_by_create, "unknown": "z"}}
        yield "create", "POST", f"{BOARDS}/{board}/items", new, query
        yield "update", "PATCH", f"{ITEMS}/{item}", {"fields": fields}, query
        yield "comment", "POST", f"{ITEMS}/{item}/comments", {"body": "Said"}, query
        yield "delete", "DELETE", f"{ITEMS}/{item}", None, query


@pytest.mark.caller(**ALL, resources="both")
async def test_the_real_write_does_what_its_effect_says(fresh, client):
    for name, method, path, body, query in calls(fresh):
        shown = None
        if name == "update":
            shown = texts((await client.get(path, params=query)).json()["item"])
        fresh.forget()
        dry = await client.request(method, path, json=body, params=query, headers=DRY)
        answer = dry.json()
        effect = answer["effect"]
        assert writes(fresh) == [], (name, query)

        expected = {"if-effect": effect["digest"]}
        real = await client.request(method, path, json=body, params=query, headers=expected)
        assert (real.status_code, list(real.json())) == (dry.status_code, list(answer)[:-2]), name
        assert len(writes(fresh)) == 1, (name, query)
        assert answer["dryRun"] is True
        assert effect["account"]["provider"] == query["provider"]
        for member in ("provider", "success", "errorCode", "rejectedFields"):
            assert answer.get(member) == real.json().get(member), (name, member)

        changes = {change["field"]: change for change in effect.get("changes", ())}
        if shown is not None:
            assert {field: shown.get(field) for field in changes} == {
                field: change["from"] for field, change in changes.items()
            }
        if name in {"create", "update"}:
            item = texts(real.json()["item"])
            assert {field: item[field] for field in changes} == {
                field: change["to"] for field, change in changes.items()
            }
        if name == "create":
            assert effect["target"] == {"kind": "board", "id": path.split("/")[-2]}
            assert answer["rejectedFields"] == ["unknown"]
        else:
            assert effect["target"] == {"kind": "item", "id": path.split("/")[5]}


def texts(item):
    values = {value["columnId"]: value["text"] for value in item["columnValues"] or ()}
    return {**values, "name": item["name"]}


@pytest.mark.caller(**ALL)
async def test_a_value_that_has_moved_refuses_the_write(fresh, client):
    path, body = f"{ITEMS}/{fresh['door']}", {"fields": {"note": "x"}}
    effect = (await client.patch(path, json=body, headers=DRY)).json()["effect"]
    await client.patch(path, json={"fields": {"note": "moved"}})
    fresh.forget()

    response = await client.patch(path, json=body, headers={"if-effect": effect["digest"]})

    assert response.status_code == 412
    assert (response.json()["error"], response.json()["errorCode"]) == ("EFFECT_CHANGED", None)
    assert writes(fresh) == []
    assert fresh.boards.items.find(fresh["door"]).values["note"] == "moved"


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"visibleTaskFields": ["name"]}, id="hidden columns"),
        pytest.param({"allowedTaskOperations": ["update_items"]}, id="no flag to read"),
    ],
)
async def test_values_that_the_token_may_not_see_are_not_read(fresh, world, tasks, settings):
    token = await world.token({**ALL, **settings})
    async with world.client(token) as client:
        fresh.forget()
        path = f"{ITEMS}/{fresh['door']}"
        response = await client.patch(path, json={"fields": {"hours": "7"}}, headers=DRY)

    assert response.status_code == 200, response.text
    changes = response.json()["effect"]["changes"]
    assert changes == [{"field": "hours", "from": None, "to": "7"}]
    assert all("text value" not in document for document in fresh.documents())
    assert writes(fresh) == []


@pytest.mark.caller(**ALL)
async def test_both_apis_show_the_same_effect(fresh, client):
    body = {"fields": {"note": "x"}}
    rest = await client.patch(f"{ITEMS}/{fresh['door']}", json=body, headers=DRY)
    document = (
        "mutation($id: String!, $input: UpdateTaskItemInput!) "
        "{ updateTaskItem(itemId: $id, input: $input) { success item { id } } }"
    )
    graph = await client.post(
        "/graphql",
        json={"query": document, "variables": {"id": fresh["door"], "input": body}},
        headers=DRY,
    )

    assert graph.headers["preference-applied"] == "dry-run"
    assert graph.json()["data"] == {"updateTaskItem": {"success": True, "item": None}}
    assert graph.json()["extensions"]["effect"] == rest.json()["effect"]
    assert writes(fresh) == []
