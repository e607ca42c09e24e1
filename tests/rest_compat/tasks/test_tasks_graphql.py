"""The tasks fields through /graphql: the same answers, and only what is selected."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALL = {"allowedTaskOperations": ["all"]}


async def ask(client, query, **variables):
    response = await client.post("/graphql", json={"query": query, "variables": variables})
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.caller(**ALL)
async def test_only_selected_fields_are_requested_upstream(tasks, client):
    query = "query($b: String!) { taskItems(boardId: $b) { items { name status } } }"
    body = await ask(client, query, b=tasks["kitchen"])

    assert body["data"]["taskItems"]["items"] == [
        {"name": "Paint the door", "status": "Working"},
        {"name": "Sand the table", "status": "Done"},
        {"name": "Wax the floor", "status": "Done"},
    ]
    (document,) = tasks.documents()
    assert "column_values(types:[status])" in document
    assert not [word for word in ("subitems", "updates", "url", "group") if word in document]


@pytest.mark.caller(**ALL)
async def test_a_board_selection_requests_only_its_columns(tasks, client):
    query = "query($b: String!) { taskBoard(boardId: $b) { board { columns { id } } } }"
    await ask(client, query, b=tasks["kitchen"])

    assert tasks.documents() == [
        "query($b:[ID!],$n:Int){boards(ids:$b,limit:$n,state:all)"
        "{id state type columns{id title type settings_str archived}}}"
    ]


@pytest.mark.caller(**ALL)
async def test_items_are_written_and_commented_on(fresh, client):
    made = await ask(
        client,
        """mutation($b: String!) {
          createTaskItem(boardId: $b, input: {name: "Lamp", fields: {note: "x", zz: 1}}) {
            success rejectedFields item { name columnValues { columnId text } }
          }
        }""",
        b=fresh["kitchen"],
    )
    changed = await ask(
        client,
        """mutation($i: String!) {
          updateTaskItem(itemId: $i, input: {fields: {state: {label: "Done"}}}) {
            success errorCode item { status }
          }
        }""",
        i=fresh["door"],
    )
    answer = await ask(
        client,
        """mutation($i: String!) {
          addTaskComment(itemId: $i, input: {body: "Hm."}) { success commentId }
        }""",
        i=fresh["door"],
    )
    gone = await ask(
        client,
        "mutation($i: String!) { deleteTaskItem(itemId: $i) { success provider } }",
        i=fresh["door"],
    )

    created = made["data"]["createTaskItem"]
    assert (created["success"], created["rejectedFields"]) == (True, ["zz"])
    assert {"columnId": "note", "text": "x"} in created["item"]["columnValues"]
    assert changed["data"]["updateTaskItem"] == {
        "success": True,
        "errorCode": None,
        "item": {"status": "Done"},
    }
    assert answer["data"]["addTaskComment"]["success"] is True
    assert gone["data"]["deleteTaskItem"] == {"success": True, "provider": "BOARDS"}


@pytest.mark.caller(allowedTaskOperations=["view_boards"])
async def test_refusals_name_the_field_and_leave_its_siblings(tasks, client):
    query = """{ taskProviders { providerCode } taskItem(itemId: "1") { provider }
                 taskBoards(limit: 0) { provider } }"""
    body = await ask(client, query)

    assert body["data"]["taskProviders"] == [{"providerCode": "BOARDS"}]
    assert {error["path"][0]: error["extensions"]["code"] for error in body["errors"]} == {
        "taskItem": "OPERATION_NOT_ALLOWED",
        "taskBoards": "INVALID_PARAMETER",
    }


@pytest.mark.caller(**ALL, visibleTaskFields=["name"])
async def test_aliases_and_fragments_reveal_nothing(tasks, client):
    query = """query($i: String!) { taskItem(itemId: $i) { item {
      a: assignees b: status ...More subItems { c: assignees }
    } } } fragment More on TaskItem { d: dueDate name e: columnValues { text value } }"""
    body = await ask(client, query, i=tasks["door"])

    assert body["data"]["taskItem"]["item"] == {
        "a": None,
        "b": None,
        "d": None,
        "name": "Paint the door",
        "e": None,
        "subItems": None,
    }
    assert tasks.documents() == [
        "query($i:[ID!],$n:Int){items(ids:$i,limit:$n)"
        "{id state name board{id} parent_item{id board{id}}}}"
    ]


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize("kind", ["lostAnswer", "spoiltAnswer"])
@pytest.mark.parametrize(
    "field",
    [
        pytest.param('createTaskItem(boardId: "#kitchen#", input: {name: "Lamp"})', id="an item"),
        pytest.param('addTaskComment(itemId: "#table#", input: {body: "Once."})', id="a comment"),
    ],
)
async def test_a_lost_or_unreadable_answer_is_not_tried_again(fresh, client, world, field, kind):
    await world.fail("tasks", kind=kind, match="mutation", count=1)
    for name in ("kitchen", "table"):
        field = field.replace(f"#{name}#", fresh[name])
    body = {"query": f"mutation {{ {field} {{ success }} }}"}
    headers = {"Idempotency-Key": f"{kind}-{fresh['table']}"}

    first, again = [await client.post("/graphql", json=body, headers=headers) for _ in range(2)]

    root = field.partition("(")[0]
    assert (first.status_code, again.content) == (200, first.content)
    assert first.json() == {
        "data": {root: None},
        "errors": [
            {
                "message": "It is not known whether the provider made the change.",
                "locations": [{"line": 1, "column": 12}],
                "path": [root],
                "extensions": {
                    "code": "OUTCOME_UNKNOWN",
                    "httpStatus": 504,
                    "requestId": first.headers["x-request-id"],
                },
            }
        ],
        "extensions": {"access": {"hiddenFields": {}}},
    }
    assert again.headers["idempotent-replayed"] == "true"
    assert sum("mutation" in document for document in fresh.documents()) == 1
    made = [item for item in fresh.boards.items.of(fresh["kitchen"]) if item.name == "Lamp"]
    assert len(made) + len(fresh.boards.comments(fresh["table"])) == 1
