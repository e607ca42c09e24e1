"""`connectionId` of mails and events: the account that a result comes from, by GraphQL."""

import pytest
from world import MAILBOXES

from policy.vocabulary import EmailField

MAIL = """query($id: String!, $thread: String!) {
  emails(limit: 50) { emails { id connectionId } }
  email(emailId: $id) { connectionId }
  emailThread(threadId: $thread) { messages { connectionId } }
}"""


async def ask(world, settings, document=MAIL, **variables):
    variables = variables or {"id": world.id("budget"), "thread": world.thread_id("budget")}
    async with world.client(await world.token(settings)) as client:
        response = await client.post("/graphql", json={"query": document, "variables": variables})
    assert "errors" not in response.json(), response.text
    return response.json()["data"]


async def test_each_message_names_the_connection_of_its_mailbox(world):
    data = await ask(world, {})

    expected = {
        mail["id"]: world.connections[provider]
        for mail in data["emails"]["emails"]
        for provider in MAILBOXES
        if mail["id"].startswith(provider.replace("PROVIDER_", "provider"))
    }
    assert set(expected.values()) == set(world.connections.values())
    assert {mail["id"]: mail["connectionId"] for mail in data["emails"]["emails"]} == expected
    owner = world.connections["PROVIDER_B"]
    assert data["email"] == {"connectionId": owner}
    assert {each["connectionId"] for each in data["emailThread"]["messages"]} == {owner}


@pytest.mark.parametrize("mode", ["strict", "basic"])
async def test_a_hidden_connection_is_null_everywhere(world, mode):
    data = await ask(world, {"visibleEmailFields": ["subject"], "maskMode": mode})

    assert {mail["connectionId"] for mail in data["emails"]["emails"]} == {None}
    assert data["email"] == {"connectionId": None}
    assert {each["connectionId"] for each in data["emailThread"]["messages"]} == {None}


async def test_an_account_hides_the_connection_of_its_messages_alone(world):
    provider_a, provider_b = world.connections["PROVIDER_A"], world.connections["PROVIDER_B"]
    own = {"accounts": {str(provider_b): {"visibleEmailFields": ["subject"]}}}

    data = await ask(world, own)

    assert {mail["connectionId"] for mail in data["emails"]["emails"]} == {provider_a, None}
    assert data["email"] == {"connectionId": None}
    assert {each["connectionId"] for each in data["emailThread"]["messages"]} == {None}


async def test_messages_that_are_read_together_name_their_connections(world):
    names = ("lease", "budget", "minutes")
    document = (
        "{"
        + " ".join(
            f'{name}: email(emailId: "{world.id(name)}") {{ connectionId }}' for name in names
        )
        + "}"
    )
    hidden = {str(world.connections["PROVIDER_A"]): {"visibleEmailFields": ["subject"]}}

    data = await ask(world, {}, document)
    masked = await ask(world, {"accounts": hidden}, document)

    owner = world.connections["PROVIDER_B"]
    assert data == {
        "lease": {"connectionId": world.connections["PROVIDER_A"]},
        "budget": {"connectionId": owner},
        "minutes": {"connectionId": owner},
    }
    assert masked == {**data, "lease": {"connectionId": None}}


async def test_rest_has_the_members_of_the_contract(world):
    every_member = [word for word in EmailField if word != "connection_id"]
    settings = {"requireConnection": True, "visibleEmailFields": every_member}
    async with world.client(await world.token(settings)) as client:
        page = (await client.get("/api/access/email/messages")).json()

    assert all("connectionId" not in mail for mail in page["emails"])
    assert "Hidden" not in page.get("accessInfo", "")
