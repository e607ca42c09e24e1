"""Explanations of task calls: boards, columns, providers; nothing is written on a board."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALL = {"allowedTaskOperations": ["all"]}


@pytest.fixture
def explain(world, tasks):
    """Ask about a call of a new token: ``await explain("GET", "/boards/1", setting=…)``."""

    async def ask(method, path, *, body=None, resources=None, **settings):
        more = {"resources": resources} if resources else {}
        text = await world.token({**ALL, **settings}, **more)
        async with world.client(text) as mine:
            token_id = (await mine.get("/api/access/token")).json()["id"]
        tasks.forget()
        question = {"method": method, "path": f"/api/access/tasks{path}"}
        question |= {} if body is None else {"body": body}
        answer = await world.admin.post(f"/api/access-tokens/{token_id}/explain", json=question)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return ask


def layer(explanation):
    return next(step["layer"] for step in explanation["layers"] if step["outcome"] == "refused")


def entry(board, *, create=False):
    return {"boardId": board, "provider": "BOARDS", "allowCreate": create}


@pytest.mark.slow
async def test_a_board_outside_the_scope_is_added_to_it_to_be_seen(explain, tasks):
    scope = [{"boardId": tasks["garden"]}]
    for method, path, body in (
        ("GET", f"/boards/{tasks['kitchen']}", None),
        ("GET", f"/boards/{tasks['kitchen']}/items", None),
        ("GET", f"/items/{tasks['door']}", None),
        ("PATCH", f"/items/{tasks['door']}", {"fields": {"note": "x"}}),
        ("POST", f"/items/{tasks['door']}/comments", {"body": "x"}),
        ("DELETE", f"/items/{tasks['door']}", None),
    ):
        explanation = await explain(method, path, body=body, taskBoards=scope)
        assert (explanation["status"], explanation["error"]) == (403, "ACCESS_DENIED"), path
        assert layer(explanation) == "scope"
        assert explanation["change"]["settings"] == {
            "taskBoards": [{**scope[0], "allowCreate": True}, entry(tasks["kitchen"])]
        }, path


@pytest.mark.parametrize("listed", [False, True])
async def test_creating_needs_more_than_seeing(explain, tasks, listed):
    scope = [entry(tasks["kitchen"])] if listed else []
    path = f"/boards/{tasks['kitchen']}/items"
    explanation = await explain("POST", path, body={"name": "x"}, taskBoards=scope)

    assert explanation["error"] == "ACCESS_DENIED"
    wanted = explanation["change"]["settings"]["taskBoards"]
    assert wanted == [*scope, entry(tasks["kitchen"], create=True)]


async def test_one_writable_column_is_sufficient(explain, tasks):
    fields = {"double": "4", "note": "x", "hours": "3"}
    explanation = await explain(
        "PATCH", f"/items/{tasks['door']}", body={"fields": fields}, writableTaskFields=[]
    )

    assert (explanation["error"], layer(explanation)) == ("NO_WRITABLE_FIELDS", "mask")
    assert explanation["change"]["settings"] == {"writableTaskFields": ["note"]}


async def test_read_only_columns_are_not_a_matter_of_settings(explain, tasks):
    explanation = await explain(
        "PATCH", f"/items/{tasks['door']}", body={"fields": {"double": "4"}}
    )

    assert (explanation["error"], explanation["change"]) == ("NO_WRITABLE_FIELDS", None)


async def test_a_provider_is_chosen_where_several_are_connected(explain, tasks):
    explanation = await explain("GET", "/boards", resources=(tasks.both,))

    assert (explanation["status"], explanation["error"], layer(explanation)) == (
        400,
        "PROVIDER_REQUIRED",
        "input",
    )
    assert explanation["change"]["settings"] == {"defaultTaskProvider": "BOARDS"}


async def test_an_unknown_board_is_not_a_matter_of_settings(explain):
    explanation = await explain("GET", "/boards/4711")

    assert (explanation["error"], layer(explanation), explanation["change"]) == (
        "NOT_FOUND",
        "upstream",
        None,
    )


@pytest.mark.slow
async def test_nothing_is_written_on_any_board(explain, tasks):
    calls = [
        ("POST", f"/boards/{tasks['kitchen']}/items", {"name": "x"}, 201),
        ("PATCH", f"/items/{tasks['door']}", {"fields": {"note": "x"}}, 200),
        ("DELETE", f"/items/{tasks['door']}", None, 200),
        ("POST", f"/items/{tasks['door']}/comments", {"body": "x"}, 201),
    ]
    for method, path, body, status in calls:
        explanation = await explain(method, path, body=body)
        assert (explanation["outcome"], explanation["status"]) == ("allowed", status), path
        assert [
            document for document in tasks.documents() if document.lstrip().startswith("mutation")
        ] == []

    project, chosen = (tasks.both,), {"defaultTaskProvider": "PROJECTS"}
    for method, path, body, status in (
        ("POST", f"/boards/{tasks['pavilion']}/items", {"name": "x"}, 201),
        ("PATCH", f"/items/{tasks['roof']}", {"fields": {"name": "x"}}, 200),
        ("DELETE", f"/items/{tasks['roof']}", None, 200),
        ("POST", f"/items/{tasks['roof']}/comments", {"body": "x"}, 201),
    ):
        explanation = await explain(method, path, body=body, resources=project, **chosen)
        assert (explanation["outcome"], explanation["status"]) == ("allowed", status), path
        assert {call.split()[0] for call in tasks.calls()} <= {"GET"}
