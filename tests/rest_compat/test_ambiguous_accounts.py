"""A write that could go to several accounts names one, and nothing is asked of a provider else."""

import random

import content_world
import pytest
from agent_client import Agent, text_of
from world import MAILBOXES, MAIN, ME_A, ME_B

MESSAGES = "/api/access/email/messages"
SEND = f"{MESSAGES}/send"
NEW = {
    "to": [{"email": "new@work.example"}],
    "subject": "Keys",
    "body": "Here.",
    "bodyType": "text",
}
NAMED = {"requireConnection": True}
SENDING = """mutation ($input: SendEmailInput!) { sendEmail(input: $input) { success } }"""
UPSTREAMS = {"PROVIDER_A": "providerA", "PROVIDER_B": "providerB"}


def accounts(world):
    return [
        {"connectionId": world.connections["PROVIDER_A"], "account": ME_A},
        {"connectionId": world.connections["PROVIDER_B"], "account": ME_B},
    ]


def sentence(world):
    names = ", ".join(f"{each['connectionId']} ({each['account']})" for each in accounts(world))
    return f"Several accounts could be meant, and none is named: {names}."


async def test_a_send_names_its_account(world):
    async with world.client(await world.token(NAMED)) as client:
        refused = await client.post(SEND, json=NEW)
        assert world.calls() == []
        named = {**NEW, "connectionId": world.connections["PROVIDER_B"]}
        sent = await client.post(SEND, json=named)

    assert (refused.status_code, refused.json()) == (
        400,
        {
            "error": "AMBIGUOUS_ACCOUNT",
            "message": sentence(world),
            "requestId": refused.headers["x-request-id"],
            "accounts": accounts(world),
            "success": False,
            "emailId": None,
            "threadId": None,
            "errorCode": "AMBIGUOUS_ACCOUNT",
            "errorMessage": sentence(world),
        },
    )
    assert sent.status_code == 200, sent.text
    assert (len(world.sent("provider-a")), len(world.sent("provider-b"))) == (0, 1)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="sent"),
        pytest.param({"sendMode": "draft"}, id="held"),
        pytest.param({"writes": "effect"}, id="effect"),
    ],
)
@pytest.mark.parametrize("headers", [{}, {"prefer": "dry-run"}, {"idempotency-key": "k-1"}])
async def test_every_way_of_sending_is_refused(world, settings, headers):
    async with world.client(await world.token({**NAMED, **settings})) as client:
        first = await client.post(SEND, json=NEW, headers=headers)
        again = await client.post(SEND, json=NEW, headers=headers)
        written = {"query": SENDING, "variables": {"input": NEW}}
        graph = (await client.post("/graphql", json=written)).json()

    for response in (first, again):
        assert (response.status_code, response.json()["error"]) == (400, "AMBIGUOUS_ACCOUNT")
    (error,) = graph["errors"]
    assert error["extensions"]["code"] == "AMBIGUOUS_ACCOUNT"
    assert error["extensions"]["accounts"] == accounts(world)
    assert world.calls() == []


async def test_an_agent_is_told_to_ask(world):
    settings = {**NAMED, "sendMode": "draft"}
    async with world.client(await world.token(settings)) as client:
        result = await Agent(client).call(
            "draft_mail", action="new", to=["new@work.example"], subject="Keys", body="Here."
        )

    assert result["isError"] is True
    assert text_of(result).split("\n") == [
        "AMBIGUOUS_ACCOUNT",
        sentence(world),
        "Ask which one is meant, and name it by connectionId.",
    ]
    assert world.calls() == []


@pytest.mark.parametrize("provider", ["PROVIDER_A", "PROVIDER_B"])
async def test_one_possible_account_needs_no_name(world, provider):
    only = {"allowedConnectionIds": [world.connections[provider]]}
    async with world.client(await world.token({**NAMED, **only})) as client:
        response = await client.post(SEND, json=NEW)

    assert response.status_code == 200, response.text
    assert len(world.sent(MAILBOXES[provider])) == 1


async def test_an_account_that_cannot_be_meant_is_not_counted(world):
    named = world.connections["PROVIDER_A"]
    await world.admin.patch(f"/api/connections/{named}", json={"status": "disabled"})
    async with world.client(await world.token(NAMED)) as client:
        response = await client.post(SEND, json=NEW)

    assert response.status_code == 200, response.text
    assert (len(world.sent("provider-a")), len(world.sent("provider-b"))) == (0, 1)


async def test_the_contract_holds_for_other_tokens(world):
    async with world.client(await world.token({})) as client:
        response = await client.post(SEND, json=NEW)

    assert response.status_code == 200, response.text
    assert (len(world.sent("provider-a")), len(world.sent("provider-b"))) == (1, 0)


@pytest.mark.parametrize(("mail", "mailbox"), [("lease", "provider-a"), ("budget", "provider-b")])
async def test_a_reply_goes_out_from_the_account_that_received(world, mail, mailbox):
    async with world.client(await world.token(NAMED)) as client:
        response = await client.post(f"{MESSAGES}/{world.id(mail)}/reply", json={"body": "Yes."})

    assert response.status_code == 200, response.text
    sent = {each: len(world.sent(each)) for each in MAILBOXES.values()}
    assert sent == {each: int(each == mailbox) for each in MAILBOXES.values()}


async def test_a_folder_without_a_parent_is_ambiguous(content):
    scopes = ["Files.ReadWrite.All", "Sites.ReadWrite.All"]
    world = content.world
    await content_world.connect(world, resource=MAIN, scopes=scopes, account=content_world.BOB)
    token = await content.token(**NAMED)
    content.forget_calls()

    refused = await content.call("POST", "/folders", token, json={"name": "New"})
    calls = content.calls()
    written = {"name": "New", "parentFolderId": content.id("boats")}
    made = await content.call("POST", "/folders", token, json=written)

    assert (refused.status_code, refused.json()["error"]) == (400, "AMBIGUOUS_ACCOUNT")
    people = [each["account"] for each in refused.json()["accounts"]]
    assert people == [content_world.ANN, content_world.BOB]
    assert calls == []
    assert made.status_code == 200, made.text


@pytest.mark.tries(50, 600)
async def test_no_write_is_a_guess(world, tries):
    """Each write goes to the account that it names, or is refused and reaches no provider."""
    world.sandbox.upstreams["providerA"].quota.allowance = None
    chosen = random.Random(tries)
    tokens = [
        (usable, await world.token({**NAMED, "allowedConnectionIds": [*usable.values()], **mode}))
        for usable in (world.connections, *({name: id_} for name, id_ in world.connections.items()))
        for mode in ({}, {"sendMode": "draft"})
    ]
    refused = 0
    for number in range(tries):
        usable, token = chosen.choice(tokens)
        named = chosen.choice([None, None, *usable])
        mail, owner = chosen.choice([("lease", "PROVIDER_A"), ("budget", "PROVIDER_B")])
        call, target = chosen.choice([(send, named), (reply, owner), (mark, owner)])
        caller = world.called_from(f"10.9.{number // 40}.{number % 40}")
        world.forget_calls()
        async with caller.client(token) as client:
            response = await call(client, world, mail, named)

        reached = upstreams(world)
        if call is send and named is None and len(usable) > 1:
            refused += 1
            assert (response.status_code, response.json()["error"]) == (400, "AMBIGUOUS_ACCOUNT")
            assert reached == set()
        elif call is send or target in usable:
            assert response.status_code in {200, 202}, response.text
            assert reached == {UPSTREAMS[target or next(iter(usable))]}
        else:
            assert (response.status_code, response.json()["error"]) == (404, "NOT_FOUND")
            assert reached == set()
    assert refused > tries / 40


def upstreams(world):
    return {name for name in UPSTREAMS.values() if world.sandbox.upstreams[name].calls}


async def send(client, world, _mail, named):
    chosen = {"connectionId": world.connections[named]} if named else {}
    return await client.post(SEND, json={**NEW, **chosen})


async def reply(client, world, mail, _named):
    return await client.post(f"{MESSAGES}/{world.id(mail)}/reply", json={"body": "Yes."})


async def mark(client, world, mail, _named):
    return await client.patch(f"{MESSAGES}/{world.id(mail)}", json={"markAsRead": True})
