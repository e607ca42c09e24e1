"""A token with a board scope neither writes outside it nor learns what exists there."""

import pytest

from sandbox.boards.records import Column

ITEMS, BOARDS = "/api/access/tasks/items", "/api/access/tasks/boards"
OPERATIONS = {"allowedTaskOperations": ["all"]}


def same(response):
    """Return what a caller can compare: status and body without the id of the request."""
    body = response.json()
    request_id = body.pop("requestId")
    assert request_id == response.headers["x-request-id"]
    return response.status_code, body


def scoped(world, filled, *names):
    boards = [{"boardId": filled[name]} for name in names]
    return world.token({**OPERATIONS, "taskBoards": boards})


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("GET", "", None, id="read"),
        pytest.param("PATCH", "", {"fields": {"note": "x"}}, id="update"),
        pytest.param("DELETE", "", None, id="delete"),
        pytest.param("POST", "/comments", {"body": "x"}, id="comment"),
    ],
)
async def test_an_item_outside_is_answered_as_one_that_does_not_exist(tasks, method, path, body):
    world, filled = tasks
    async with world.client(await scoped(world, filled, "garden")) as client:
        answers, calls = [], []
        for item in (filled["door"], filled["hinge"], "9999999999", "none"):
            filled.forget()
            answers.append(same(await client.request(method, f"{ITEMS}/{item}{path}", json=body)))
            calls.append(len(filled.documents()))
    async with world.client(await world.token(OPERATIONS)) as unconfined:
        missing = await unconfined.request(method, f"{ITEMS}/9999999999{path}", json=body)

    assert answers[0][0] == 403
    assert answers[0][1]["error"] == "ACCESS_DENIED"
    assert answers[1:] == answers[:1] * 3
    assert calls[:3] == [1, 1, 1]  # the last is no id of the provider at all
    assert (missing.status_code, missing.json()["error"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("native", ["board_relation", "dependency"])
async def test_a_scoped_token_links_to_nothing(tasks, native):
    world, filled = tasks
    garden = filled.boards.boards.find(filled["garden"])
    link = Column(
        id="links", title="Links", type=native, settings={"boardIds": [filled["kitchen"]]}
    )
    filled.boards.change_board(garden, columns=(*garden.columns, link))
    values = [f'{{"item_ids":[{item}]}}' for item in (filled["door"], "9999999999")]

    async with world.client(await scoped(world, filled, "garden")) as client:
        filled.forget()
        updated = [
            await client.patch(f"{ITEMS}/{filled['hedge']}", json={"fields": {"links": value}})
            for value in values
        ]
        created = [
            await client.post(
                f"{BOARDS}/{filled['garden']}/items", json={"name": "x", "fields": {"links": value}}
            )
            for value in values
        ]
        written = "".join(filled.documents())

    assert same(updated[0]) == same(updated[1])
    assert (updated[0].status_code, updated[0].json()["error"]) == (403, "NO_WRITABLE_FIELDS")
    assert updated[0].json()["rejectedFields"] == ["links"]
    for response in created:
        assert (response.status_code, response.json()["rejectedFields"]) == (201, ["links"])
    assert "change_" not in written
    assert filled.boards.items.find(filled["hedge"]).values.get("links") is None


async def test_a_group_or_a_board_outside_is_no_place_to_create(tasks):
    world, filled = tasks
    async with world.client(await scoped(world, filled, "garden")) as client:
        filled.forget()
        boards = [
            same(await client.post(f"{BOARDS}/{board}/items", json={"name": "x"}))
            for board in (filled["kitchen"], filled["vault"], "999")
        ]
        unasked = filled.documents() == []
        groups = [
            same(
                await client.post(
                    f"{BOARDS}/{filled['garden']}/items", json={"name": "x", "groupId": group}
                )
            )
            for group in ("todo", "nowhere")
        ]

    assert boards == boards[:1] * 3
    assert (boards[0][0], unasked) == (403, True)
    assert groups[0] == groups[1]
    assert groups[0][0] == 400
