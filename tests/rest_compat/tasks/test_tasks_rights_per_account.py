"""
Settings of single task accounts.

A call on an account is answered as for a token with the settings of the account, byte for byte and
call by call; what those hide is tested in `test_tasks_two_worlds`.
"""

import json

import pytest
import task_world

from policy.vocabulary import TaskField

TASKS = "/api/access/tasks"
ALL = {"allowedTaskOperations": ["all"]}
GRAPH = """query($board: String!, $item: String!, $provider: String!) {
  taskBoards(provider: $provider) { boards { id description connectionId webUrl } accessInfo }
  taskBoard(boardId: $board, provider: $provider) { board { connectionId description
    items { items { id name connectionId parent { item: id } } } } }
  taskItem(itemId: $item, provider: $provider) { item { id name status connectionId webUrl
    parent { id } subItems { id name status connectionId } columnValues { columnId text } } }
}"""

pytestmark = pytest.mark.asyncio(loop_scope="module")


def but(*hidden):
    return [word.value for word in TaskField if word not in hidden]


async def answers(tasks, client, board, item, provider):
    """Return the answers of reads and refused writes, and the calls upstream."""
    tasks.forget()
    of = {"provider": provider}
    calls = [
        ("GET", "/boards", {}),
        ("GET", f"/boards/{board}", {}),
        ("GET", f"/boards/{board}/items", {"limit": 2}),
        ("GET", f"/boards/{board}/items", {"q": "o", "status": "done"}),
        ("GET", f"/boards/{board}/items", {"assignee": "mo"}),
        ("GET", f"/items/{item}", {}),
        ("PATCH", f"/items/{item}", {"fields": {"none": "x"}}),
        ("POST", "/items/0/comments", {"body": "x"}),
        ("DELETE", "/items/0", {}),
    ]
    responses = []
    for method, path, values in calls:
        query, body = (of | values, None) if method == "GET" else (of, values)
        response = await client.request(method, f"{TASKS}{path}", params=query, json=body)
        known = response.json()
        known.pop("requestId", None)
        known.pop("nextPageToken", None)  # is sealed for one token
        responses.append((response.status_code, known))
    variables = {"board": board, "item": item, "provider": provider}
    answer = await client.post("/graphql", json={"query": GRAPH, "variables": variables})
    known = answer.json()
    known.get("extensions", {}).clear()
    for error in known.get("errors", ()):
        error["extensions"].pop("requestId", None)
    return [*responses, known], tasks.documents(), tasks.calls(), tasks.fields()


NARROW = {
    "names and links": lambda tasks: {"visibleTaskFields": but("name", "web_link")},
    "states and connections": lambda tasks: {"visibleTaskFields": but("status", "connection_id")},
    "items alone": lambda tasks: {"allowedTaskOperations": ["view_items"]},
    "boards alone": lambda tasks: {"allowedTaskOperations": ["view_boards", "update_items"]},
    "one board": lambda tasks: {"taskBoards": [{"boardId": tasks["kitchen"]}]},
    "another board": lambda tasks: {"taskBoards": [{"boardId": "0"}]},
    "sub-items and people": lambda tasks: {"visibleTaskFields": but("sub_items", "assignees")},
}


@pytest.mark.parametrize("narrow", NARROW.values(), ids=NARROW)
async def test_an_account_is_as_a_token_with_its_settings(tasks, world, narrow):
    own, connection = narrow(tasks), str(await connection_of(world, tasks, "BOARDS"))
    tokens = [
        await world.token(settings, resources=(tasks.both,))
        for settings in ({**ALL, **own}, {**ALL, "accounts": {connection: own}}, ALL)
    ]
    places = {
        "BOARDS": (tasks["kitchen"], tasks["door"]),
        "PROJECTS": (tasks["pavilion"], tasks["roof"]),
    }
    seen = []
    for token in tokens:
        async with world.client(token) as client:
            seen.append(
                {
                    provider: await answers(tasks, client, *place, provider)
                    for provider, place in places.items()
                }
            )

    whole_token, of_account, without = seen
    assert json.dumps(of_account["BOARDS"]) == json.dumps(whole_token["BOARDS"])
    assert json.dumps(of_account["PROJECTS"]) == json.dumps(without["PROJECTS"])
    assert of_account["BOARDS"] != without["BOARDS"]


async def connection_of(world, tasks, provider):
    """Return the connection of a provider on the resource with both."""
    token = await world.token(ALL, resources=(tasks.both,))
    async with world.client(token) as client:
        listed = (await client.get(f"{TASKS}/providers")).json()
    (connection,) = (each["connectionId"] for each in listed if each["providerCode"] == provider)
    return connection


async def test_results_name_their_connection(tasks, world):
    token = await world.token(ALL, resources=(tasks.both,))
    for provider, board, item in (("BOARDS", "kitchen", "door"), ("PROJECTS", "pavilion", "roof")):
        variables = {"board": tasks[board], "item": tasks[item], "provider": provider}
        async with world.client(token) as client:
            answer = await client.post("/graphql", json={"query": GRAPH, "variables": variables})
        data = answer.json()["data"]
        expected = await connection_of(world, tasks, provider)

        read = data["taskItem"]["item"]
        named = [*data["taskBoards"]["boards"], data["taskBoard"]["board"], read]
        named += read["subItems"] or []
        assert {each["connectionId"] for each in named} == {expected}


async def test_the_account_that_allows_the_operation_is_chosen(tasks, world):
    two = await task_world.resource(world, "two")
    first = await task_world.connect(world, tasks, "BOARDS", resource=two)
    second = await task_world.connect(world, tasks, "BOARDS", resource=two)
    reads = {str(first): {"allowedTaskOperations": ["view_boards"]}}
    both = {str(each): {"allowedTaskOperations": ["view_boards"]} for each in (first, second)}
    path = f"{TASKS}/items/{tasks['door']}"
    tokens = {
        name: await world.token({**ALL, "accounts": own}, resources=(two,))
        for name, own in {"one": reads, "none": both, "all": {str(first): {}}}.items()
    }
    tasks.forget()
    named = {"provider": "boards"}
    async with world.client(tokens["none"]) as client:
        refused = await client.get(path, params=named)
        assert tasks.documents() == []
    async with world.client(tokens["all"]) as client:
        ambiguous = await client.delete(path, params=named)
        assert tasks.documents() == []
    async with world.client(tokens["one"]) as client:
        graph = f'{{ taskItem(itemId: "{tasks["door"]}", provider: "BOARDS") '
        graph += "{ item { connectionId } } }"
        answer = (await client.post("/graphql", json={"query": graph})).json()

    assert (refused.status_code, refused.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")
    assert (ambiguous.status_code, ambiguous.json()["error"]) == (400, "AMBIGUOUS_ACCOUNT")
    assert answer["data"]["taskItem"]["item"]["connectionId"] == second


async def test_people_columns_take_those_that_the_account_may_write_to(fresh, world, tasks):
    connection = await connection_of(world, tasks, "BOARDS")
    own = {str(connection): {"recipientRules": {"allow": ["@work.example"]}}}
    token = await world.token({**ALL, "accounts": own}, resources=(tasks.both,))
    fresh.forget()
    async with world.client(token) as client:
        refused = await client.patch(
            f"{TASKS}/items/{fresh['door']}",
            params={"provider": "boards"},
            json={"fields": {"owner": "x@else.example"}},
        )

    assert (refused.status_code, refused.json()["error"]) == (403, "RECIPIENT_NOT_ALLOWED")
    assert not any("mutation" in document for document in fresh.documents())


async def test_an_account_writes_its_own_columns_alone(fresh, world, tasks):
    connection = await connection_of(world, tasks, "BOARDS")
    own = {str(connection): {"writableTaskFields": ["note"]}}
    token = await world.token({**ALL, "accounts": own}, resources=(tasks.both,))
    async with world.client(token) as client:
        changed = await client.patch(
            f"{TASKS}/items/{fresh['door']}",
            params={"provider": "boards"},
            json={"fields": {"note": "x", "state": "Done"}},
        )

    assert changed.json()["rejectedFields"] == ["state"]


# -- writes of one account that need its effect, or a person


MODES = {"effect": (428, "EFFECT_REQUIRED"), "approve": (202, None)}


def writes_of(fresh):
    """Return one call of each write, by its provider."""
    return {
        provider: [
            ("POST", f"/boards/{fresh[board]}/items", {"name": "Lamp"}),
            ("PATCH", f"/items/{fresh[item]}", {"fields": {"name": "Gate"}}),
            ("POST", f"/items/{fresh[item]}/comments", {"body": "Done."}),
            ("DELETE", f"/items/{fresh[item]}", None),
        ]
        for provider, board, item in (
            ("BOARDS", "kitchen", "door"),
            ("PROJECTS", "pavilion", "roof"),
        )
    }


def written(fresh):
    return [document for document in fresh.documents() if "mutation" in document]


@pytest.mark.parametrize("mode", MODES)
async def test_writes_of_one_account_are_shown_first_and_the_others_run(fresh, world, tasks, mode):
    connection = await connection_of(world, tasks, "BOARDS")
    own = {str(connection): {"writes": mode}}
    token = await world.token({**ALL, "accounts": own}, resources=(tasks.both,))
    async with world.client(token) as client:
        for method, path, body in writes_of(fresh)["BOARDS"]:
            of = {"params": {"provider": "BOARDS"}, "json": body}
            dry = await client.request(
                method, f"{TASKS}{path}", **of, headers={"prefer": "dry-run"}
            )
            fresh.forget()
            refused = await client.request(method, f"{TASKS}{path}", **of)

            answer = refused.json()
            assert (refused.status_code, answer.get("error")) == MODES[mode], refused.text
            assert answer["effect"] == dry.json()["effect"]
            assert answer["effect"]["account"]["connectionId"] == connection
            assert written(fresh) == []
        for method, path, body in writes_of(fresh)["PROJECTS"]:
            of = {"params": {"provider": "PROJECTS"}, "json": body}
            done = await client.request(method, f"{TASKS}{path}", **of)
            assert done.status_code in {200, 201}, done.text
            assert done.json()["success"] is True


async def test_a_write_of_one_account_runs_by_its_effect_or_by_a_person(fresh, world, tasks):
    connection = await connection_of(world, tasks, "BOARDS")
    path, body = f"{TASKS}/items/{fresh['door']}", {"fields": {"note": "green"}}
    answers = {}
    for mode in ("effect", "approve"):
        own = {str(connection): {"writes": mode}}
        token = await world.token({**ALL, "accounts": own}, resources=(tasks.both,))
        of = {"params": {"provider": "BOARDS"}, "json": body}
        async with world.client(token) as client:
            shown = (await client.patch(path, **of)).json()
            assert fresh.boards.items.find(fresh["door"]).values.get("note") != "green"
            if mode == "effect":
                named = {"if-effect": f'"{shown["effect"]["digest"]}"'}
                done = await client.patch(path, **of, headers=named)
                assert (done.status_code, done.json()["success"]) == (200, True), done.text
            else:
                released = await world.admin.post(f"/api/held-writes/{shown['id']}/release")
                assert released.status_code == 200, released.text
                asked = f"/api/access/writes/{shown['id']}"
                answers = (await client.get(asked, headers={"prefer": "wait=30"})).json()
        assert fresh.boards.items.find(fresh["door"]).values["note"] == "green"
        body = {"fields": {"note": "blue"}}
        async with world.client(await world.token(ALL, resources=(tasks.both,))) as client:
            await client.patch(path, params={"provider": "BOARDS"}, json=body)
        body = {"fields": {"note": "green"}}
    assert (answers["state"], answers["status"]) == ("done", 200)
