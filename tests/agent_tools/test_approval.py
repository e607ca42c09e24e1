"""A write of a token with `writes: approve` waits for a person, also when a tool asks for it."""

import re

import pytest
from agent_client import Agent, data_of, legacy, text_of

NEW = {"action": "new", "to": ["anna@work.example"], "subject": "Hi", "body": "Hello."}

pytestmark = pytest.mark.caller(writes="approve")


@pytest.fixture
def agent(client):
    return Agent(client)


async def held(agent, **sent):
    """Call a write; return the id under which it waits."""
    result = await agent.call("send_mail", **sent)
    assert result["isError"] is True
    code, nothing, then = text_of(result).splitlines()[:3]
    assert code == "WRITE_HELD"
    assert nothing.startswith("Nothing was done so far: a person releases or rejects it until 20")
    return re.fullmatch(r"Do not make this call again\. pending_write .*: id (\S+)\.", then)[1]


async def decide(world, write_id, verb="release", **content):
    releases = world.gateway.services.releases
    response = await world.admin.post(f"/api/held-writes/{write_id}/{verb}", **content)
    assert response.status_code == 200, response.text
    await releases.run_due()
    await releases.idle()


async def test_a_tool_s_write_waits_and_runs_once_when_it_is_released(world, agent):
    world.forget_calls()
    write_id = await held(agent, **NEW)
    waiting, _ = data_of(await agent.call("pending_write", id=write_id))
    assert (waiting["state"], waiting["operation"]) == ("held", "sendEmail")
    assert world.sent("provider-a") == []

    await decide(world, write_id)

    done, _ = data_of(await agent.call("pending_write", id=write_id))
    assert (done["state"], done["status"]) == ("done", 200)
    assert done["result"]["data"]["result"]["success"] is True
    assert len(world.sent("provider-a")) == 1


async def test_a_call_with_a_key_finds_the_write_that_waits_and_its_end(world, agent):
    first = await held(agent, **NEW, key="k1")
    assert await held(agent, **NEW, key="k1") == first
    assert await held(agent, **NEW) != first

    await decide(world, first)
    ended = await agent.call("send_mail", **NEW, key="k1")

    data, _ = data_of(ended)
    assert (data["id"], data["state"], data["status"]) == (first, "done", 200)
    assert not ended.get("isError")
    assert len(world.sent("provider-a")) == 1


async def test_a_rejected_write_is_an_error_with_the_reason(world, agent):
    write_id = await held(agent, **NEW, key="k2")

    await decide(world, write_id, "reject", json={"reason": "Not to her."})
    ended = await agent.call("send_mail", **NEW, key="k2")

    assert ended["isError"] is True
    data, _ = data_of(ended)
    assert data == {"id": write_id, "state": "rejected", "reason": "Not to her."}
    assert world.sent("provider-a") == []


async def test_an_earlier_client_s_write_waits_too(world, client):
    body = legacy("tools/call", {"name": "send_mail", "arguments": NEW})
    result = (await client.post("/mcp", json=body)).json()["result"]

    assert text_of(result).startswith("WRITE_HELD\n")
    assert world.sent("provider-a") == []


async def test_other_tokens_have_no_such_tool_and_learn_nothing(world, agent):
    write_id = await held(agent, **NEW)
    async with (
        world.client(await world.token({"writes": "approve"})) as stranger,
        world.client(await world.token({})) as direct,
    ):
        asked = [await Agent(stranger).call("pending_write", id=i) for i in (write_id, "x" * 16)]
        assert "pending_write" not in await Agent(direct).tools()

    assert asked[0] == asked[1]
    assert text_of(asked[0]).splitlines()[0] == "NOT_FOUND"
    assert "pending_write" in await agent.tools()


URLS = {"elicitation": {"url": {}}}


async def test_a_client_that_opens_urls_gets_the_page_of_the_write(world, client):
    person = Agent(client, capabilities=URLS)
    result = await person.call("send_mail", **NEW)
    (params,) = [each["params"] for each in result["inputRequests"].values()]
    write_id = params["url"].rpartition("/")[2]

    assert result["resultType"] == "input_required"
    assert list(result["inputRequests"]) == ["release"]
    assert result["inputRequests"]["release"]["method"] == "elicitation/create"
    assert set(params) == {"mode", "message", "url"}
    assert params["mode"] == "url"
    assert params["url"].startswith(f"{world.gateway.services.settings.base_url}/console/writes/")
    again = {"requestState": result["requestState"]}
    again["inputResponses"] = {"release": {"action": "accept"}}
    waits = await person.call("send_mail", again, **NEW)
    assert text_of(waits).startswith("WRITE_HELD\n")
    assert write_id in text_of(waits)
    assert world.sent("provider-a") == []

    await decide(world, write_id, "release")
    ended = await person.call("send_mail", again, **NEW)

    assert data_of(ended)[0]["state"] == "done"
    assert len(world.sent("provider-a")) == 1
    listed = (await world.admin.get("/api/held-writes")).json()["writes"]
    assert [each["id"] for each in listed] == [write_id]


@pytest.mark.parametrize("forms", [{}, {"form": {}}])
async def test_a_client_with_forms_alone_gets_text(client, forms):
    result = await Agent(client, capabilities={"elicitation": forms}).call("send_mail", **NEW)

    assert text_of(result).startswith("WRITE_HELD\n")


async def test_a_state_of_another_call_or_token_is_refused(world, client):
    person = Agent(client, capabilities=URLS)
    state = (await person.call("send_mail", **NEW))["requestState"]
    other = {**NEW, "subject": "Ho"}
    async with world.client(await world.token({"writes": "approve"})) as stranger:
        for agent, sent in ((person, other), (Agent(stranger, capabilities=URLS), NEW)):
            params = {"name": "send_mail", "arguments": sent, "requestState": state}
            refused = await agent.send("tools/call", params)
            assert refused.json()["error"]["code"] == -32602
    listed = (await world.admin.get("/api/held-writes")).json()["writes"]
    assert len(listed) == 1
