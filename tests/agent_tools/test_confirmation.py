"""A token with `writes: effect` shows each write before it runs, by a form or as text."""

import json
import re

import pytest
from agent_client import Agent, data_of, legacy, text_of

NEW = {"action": "new", "to": ["anna@work.example"], "subject": "Hi", "body": "Hello."}
FORMS = {"elicitation": {"form": {}}}
YES = {"effect": {"action": "accept", "content": {"confirm": True}}}

pytestmark = pytest.mark.caller(writes="effect")


@pytest.fixture
def agent(client):
    return Agent(client)


@pytest.fixture
def person(client):
    """An agent whose client can show forms."""
    return Agent(client, capabilities=FORMS)


async def asked(person, **sent):
    """Call a write; return the form and the state."""
    result = await person.call("send_mail", **sent)
    assert result["resultType"] == "input_required"
    ((name, request),) = result["inputRequests"].items()
    assert (name, request["method"]) == ("effect", "elicitation/create")
    return request["params"], result["requestState"]


async def answered(person, state, answer, **sent):
    more = {"requestState": state, "inputResponses": answer}
    return await person.call("send_mail", more, **sent)


async def test_a_client_without_forms_gets_the_effect_and_its_digest(world, agent):
    shown = await agent.call("send_mail", **NEW)
    data, line = data_of(shown)

    assert world.sent("provider-a") == []
    assert data["effect"]["recipients"]["to"] == [{"email": "anna@work.example"}]
    assert data["effect"]["account"]["email"] == "me@provider-a.example"
    digest = re.fullmatch(r"Nothing was done\. .* call again with confirm: (\S+)", line)[1]
    other = await agent.call("send_mail", **{**NEW, "subject": "Ho"}, confirm=digest)
    wrong = await agent.call("send_mail", **NEW, confirm="x")
    assert data_of(other)[0]["effect"]["subject"] == "Ho"
    assert data_of(wrong) == data_of(shown)
    assert world.sent("provider-a") == []
    done = await agent.call("send_mail", **NEW, confirm=digest)
    assert json.loads(text_of(done))["success"] is True
    assert len(world.sent("provider-a")) == 1


async def test_an_earlier_client_gets_text_too(world, client):
    body = legacy("tools/call", {"name": "send_mail", "arguments": NEW})
    result = (await client.post("/mcp", json=body)).json()["result"]

    assert "Nothing was done." in text_of(result)
    assert world.sent("provider-a") == []


async def test_an_accepted_form_runs_once(world, person):
    form, state = await asked(person, **NEW)
    again, _ = await asked(person, **NEW)

    assert again == form
    assert form["mode"] == "form"
    assert "anna@work.example" in form["message"]
    assert form["requestedSchema"] == {
        "type": "object",
        "properties": {"confirm": {"type": "boolean", "title": "Carry it out"}},
        "required": ["confirm"],
    }
    assert world.sent("provider-a") == []
    first = await answered(person, state, YES, **NEW)
    second = await answered(person, state, YES, **NEW)
    assert data_of(first) == data_of(second)
    assert json.loads(text_of(first))["success"] is True
    assert len(world.sent("provider-a")) == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"effect": {"action": "decline"}},
        {"effect": {"action": "cancel"}},
        {"effect": {"action": "accept", "content": {"confirm": False}}},
        {"effect": {"action": "accept"}},
    ],
    ids=["declined", "cancelled", "unchecked", "empty"],
)
async def test_another_answer_does_nothing(world, person, answer):
    _, state = await asked(person, **NEW)

    result = await answered(person, state, answer, **NEW)

    assert text_of(result).splitlines()[:2] == [
        "DECLINED",
        "The person did not agree. Nothing was done.",
    ]
    assert world.sent("provider-a") == []


async def test_without_an_answer_the_form_comes_again(person):
    _, state = await asked(person, **NEW)

    result = await person.call("send_mail", {"requestState": state}, **NEW)

    assert result["resultType"] == "input_required"


async def test_a_state_is_of_one_token_one_call_and_ten_minutes(world, person, monkeypatch):
    _, state = await asked(person, **NEW)
    from agent_tools import confirmation

    async with world.client(await world.token({"writes": "effect"})) as stranger:
        cases = {
            "another token": (Agent(stranger, capabilities=FORMS), state, NEW),
            "another recipient": (person, state, {**NEW, "to": ["bo@work.example"]}),
            "another octet": (person, state, {**NEW, "body": "Hello!"}),
            "a changed state": (person, state[:-2] + ("AA" if state[-2:] != "AA" else "BB"), NEW),
            "no state": (person, "x", NEW),
        }
        for case, (agent, sealed, sent) in cases.items():
            params = {
                "name": "send_mail",
                "arguments": sent,
                "requestState": sealed,
                "inputResponses": YES,
            }
            response = await agent.send("tools/call", params)
            assert (response.status_code, response.json()["error"]["code"]) == (400, -32602), case
    monkeypatch.setattr(confirmation, "MAX_AGE_SECONDS", -1)
    _, expired = await asked(person, **NEW)
    params = {"name": "send_mail", "arguments": NEW, "requestState": expired, "inputResponses": YES}
    response = await person.send("tools/call", params)
    assert "expired" in response.json()["error"]["message"]
    assert world.sent("provider-a") == []


async def test_a_target_that_changed_meanwhile_is_not_changed(world, person):
    mail = world.id("lease")
    shown = await person.call("file_mail", id=mail, read=True)
    async with world.client(await world.token({})) as other:
        await other.patch(f"/api/access/email/messages/{mail}", json={"markAsRead": True})
    answer = {"requestState": shown["requestState"], "inputResponses": YES}

    result = await person.call("file_mail", answer, id=mail, read=True)

    assert result["resultType"] == "input_required"
    assert result["requestState"] != shown["requestState"]


async def test_confirm_is_an_argument_of_writes_alone(agent):
    tools = await agent.tools()

    assert "confirm" in tools["send_mail"]["inputSchema"]["properties"]
    assert "confirm" not in tools["find_mail"]["inputSchema"]["properties"]


async def test_a_refused_write_is_refused_before_it_is_shown(world, person):
    world.forget_calls()
    refused = await person.call("send_mail", action="new", subject="Hi", body="Hello.")

    assert text_of(refused).splitlines()[:2] == ["VALIDATION_ERROR", "to is required."]
    assert world.calls() == []
