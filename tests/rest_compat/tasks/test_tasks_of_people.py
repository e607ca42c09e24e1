"""Items by the address of an assignee: `assigneeEmail`, and the edge `Person.tasks`."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALL = {"allowedTaskOperations": ["all"]}
PROJECTS = {**ALL, "resources": 3}


async def items(client, tasks, board, argument):
    query = f'{{ taskItems(boardId: "{tasks[board]}", {argument}) {{ items {{ id }} hasMore }} }}'
    return (await client.post("/graphql", json={"query": query})).json()


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize(
    ("argument", "names"),
    [
        pytest.param(
            'assigneeEmail: "BO@tasks.example"', ["door", "table"], id="any people column"
        ),
        pytest.param('assigneeEmail: "ana@tasks.example"', ["door"], id="one of two"),
        pytest.param('assigneeEmail: "na@tasks.example"', [], id="no part of an address"),
        pytest.param('assigneeEmail: "bo@tasks.example", status: "Done"', ["table"], id="and"),
        pytest.param('assigneeEmail: "ana@tasks.example", assignee: "bo"', ["door"], id="and name"),
    ],
)
async def test_items_of_boards_are_found_by_an_address(tasks, client, argument, names):
    body = await items(client, tasks, "kitchen", argument)

    assert body["data"]["taskItems"] == {
        "items": [{"id": tasks[name]} for name in names],
        "hasMore": False,
    }


@pytest.mark.caller(**PROJECTS)
@pytest.mark.parametrize(
    ("argument", "names"),
    [
        pytest.param('assigneeEmail: "ANA@tasks.example"', ["roof"], id="the assignee"),
        pytest.param('assigneeEmail: "a@tasks.example"', [], id="no part of an address"),
    ],
)
async def test_tasks_of_projects_are_found_by_an_address(tasks, client, argument, names):
    body = await items(client, tasks, "pavilion", argument)

    assert body["data"]["taskItems"] == {
        "items": [{"id": tasks[name]} for name in names],
        "hasMore": False,
    }


@pytest.mark.caller(**ALL)
async def test_a_person_leads_to_their_items_of_a_board(tasks, client):
    query = f"""{{ person(email: "ana@tasks.example") {{
        tasks(boardId: "{tasks["kitchen"]}") {{ items {{ name assignees }} }} }} }}"""

    body = (await client.post("/graphql", json={"query": query})).json()

    item = {"name": "Paint the door", "assignees": ["Ana Müller", "Bo Li"]}
    assert body["data"]["person"]["tasks"] == {"items": [item]}
    assert len(tasks.documents()) == 2  # the columns with the user's id, then the items


@pytest.mark.caller(**ALL, visibleTaskFields=["name", "status"])
async def test_who_may_not_see_assignees_cannot_find_items_by_them(tasks, client):
    body = await items(client, tasks, "kitchen", 'assigneeEmail: "ana@tasks.example"')

    assert body["data"] == {"taskItems": None}
    assert body["errors"][0]["extensions"]["code"] == "FIELD_NOT_VISIBLE"
    assert tasks.documents() == []


@pytest.mark.caller(**ALL, taskBoards=[])
async def test_a_board_outside_the_scope_is_refused_before_anything_is_asked(tasks, client):
    query = f"""{{ person(email: "ana@tasks.example") {{
        tasks(boardId: "{tasks["kitchen"]}") {{ items {{ name }} }} }} }}"""

    body = (await client.post("/graphql", json={"query": query})).json()

    assert body["data"] == {"person": {"tasks": None}}
    assert body["errors"][0]["extensions"]["code"] == "ACCESS_DENIED"
    assert tasks.documents() == []
