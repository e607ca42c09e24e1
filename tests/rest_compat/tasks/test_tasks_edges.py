"""Odd values on the way in: deep JSON, halves of characters, intents that may have been done."""

import pytest

from graph.documents.operations import Graph
from graph.schema import build
from providers.ports.mail import SendAttempt
from rest_compat.documents import document

ITEMS = "/api/access/tasks/items"
ALL = {"allowedTaskOperations": ["all"]}

pytestmark = pytest.mark.asyncio(loop_scope="module")

UPDATE = """mutation($i: String!, $f: JSON!) {
  updateTaskItem(itemId: $i, input: {fields: $f}) { success rejectedFields }
}"""


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"note":"\\ud800"}', id="half a character in a value"),
        pytest.param('{"\\udc00":"x"}', id="half a character in a key"),
        pytest.param('{"note":' + "[" * 3000 + "]" * 3000 + "}", id="deep"),
        pytest.param('{"note":["\\ud800"]}', id="half a character within"),
        pytest.param('{"note":1e400}', id="a number beyond all"),
        pytest.param('{"note":NaN}', id="no number"),
    ],
)
@pytest.mark.parametrize("door", ["rest", "graphql"])
async def test_odd_json_is_refused_or_taken_and_never_our_fault(fresh, client, text, door):
    kind = {"content-type": "application/json"}
    if door == "rest":
        body = '{"fields":' + text + "}"
        response = await client.patch(
            f"{ITEMS}/{fresh['door']}", content=body.encode(), headers=kind
        )
    else:
        query = UPDATE.replace("\n", " ").replace('"', '\\"')
        variables = f'{{"i":"{fresh["door"]}","f":{text}}}'
        body = f'{{"query":"{query}","variables":{variables}}}'
        response = await client.post("/graphql", content=body.encode(), headers=kind)

    assert response.status_code in (200, 400), response.text
    assert "INTERNAL_ERROR" not in response.text


@pytest.mark.caller(**ALL)
@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("create_task_item", {"boardId": "kitchen", "input": {"name": "Lamp"}}),
        ("add_task_comment", {"itemId": "door", "input": {"body": "Twice?"}}),
    ],
)
async def test_an_intent_that_may_have_completed_is_not_repeated(
    fresh, client, world, name, variables
):
    headers = [(b"authorization", client.headers["authorization"].encode())]
    scope = {"type": "http", "path": "/", "headers": headers, "client": ("127.0.0.1", 1)}
    entry = world.gateway.services.entry
    caller = await entry.authenticate(scope, {"tasks": 1})
    context = await entry.charge_caller(scope, caller, {"tasks": 1})
    context.delivery = SendAttempt(message_id="x", maybe_sent=True)
    fresh.forget()
    operation = Graph(build()).prepare(document(f"tasks/{name}"))
    ids = {key: fresh[value] for key, value in variables.items() if key != "input"}

    outcome = await operation.run({**variables, **ids}, context)

    assert [error["extensions"]["code"] for error in outcome.errors] == ["OUTCOME_UNKNOWN"]
    assert fresh.documents() == []
