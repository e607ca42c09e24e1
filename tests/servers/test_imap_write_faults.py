"""Writes while the servers of a mailbox fail: nothing is lost, doubled, or answered with 500."""

import asyncio

import imap_account
import pytest
from dovecot import dovecot_server
from mail_upstreams import ALL
from postfix import postfix_server

MESSAGES = "/api/access/email/messages"
DRAFTS = "/api/access/email/drafts"
BEN = [{"email": "ben@example.test"}]

pytestmark = pytest.mark.slow  # servers are killed and started again


@pytest.fixture
def dovecot():
    with dovecot_server() as server:
        yield server


@pytest.fixture
def postfix(dovecot):
    with postfix_server(dovecot) as server:
        yield server


@pytest.fixture
async def connection(connect, mailbox, postfix):
    login = {"username": "ada@example.test", "password": "ada-secret"}
    return (await connect(credentials={**login, "submissionUrl": postfix.url()})).json()


@pytest.fixture
async def client(world, connection):
    settings = {"allowedEmailOperations": ["all"], "allowedConnectionIds": [connection["id"]]}
    async with world.client(await world.token(settings)) as client:
        yield client


async def send(client, connection, key):
    body = {"to": BEN, "subject": key, "body": "b", "connectionId": connection["id"]}
    headers = {"idempotency-key": key}
    return await client.post(f"{MESSAGES}/send", json=body, headers=headers)


async def subjects(client, label):
    emails = (await client.get(MESSAGES, params={"label": label})).json()["emails"]
    return [email["subject"] for email in emails]


async def received(dovecot):
    await asyncio.sleep(0.5)
    async with imap_account.opened(dovecot, user="ben", keep=True) as ben:
        emails = await ben.every(ben.query(label="INBOX"), projection=ALL)
    return [email.subject for email in emails]


@pytest.mark.parametrize("server", ["dovecot", "postfix"])
async def test_a_send_while_a_server_is_down_is_sent_by_its_retry(
    client, connection, dovecot, postfix, server
):
    stopped = {"dovecot": dovecot, "postfix": postfix}[server]
    stopped.kill()

    refused = await send(client, connection, "a-key-of-the-outage")
    stopped.start()
    sent = await send(client, connection, "a-key-of-the-outage")
    await postfix.wait_for_delivery("a-key-of-the-outage", "ben@example.test")

    assert (refused.status_code, refused.json()["errorCode"]) == (502, "PROVIDER_ERROR")
    assert sent.status_code == 200, sent.text
    assert await received(dovecot) == ["a-key-of-the-outage"]
    assert await subjects(client, "SENT") == ["a-key-of-the-outage"]
    assert await subjects(client, "INBOX") == []


@pytest.mark.parametrize("server", ["dovecot", "postfix"])
async def test_a_draft_stays_while_a_server_is_down_and_is_sent_by_the_retry(
    client, connection, dovecot, postfix, server
):
    body = {"to": BEN, "subject": "Offer", "body": "b", "connectionId": connection["id"]}
    path = f"{DRAFTS}/{(await client.post(DRAFTS, json=body)).json()['emailId']}/send"
    key = {"idempotency-key": "a-key-of-the-outage"}
    stopped = {"dovecot": dovecot, "postfix": postfix}[server]
    stopped.kill()

    refused = await client.post(path, headers=key)
    stopped.start()
    left = await subjects(client, "DRAFT")
    sent = await client.post(path, headers=key)
    await postfix.wait_for_delivery("Offer", "ben@example.test")

    assert (refused.status_code, sent.status_code) == (502, 200), (refused.text, sent.text)
    assert left == ["Offer"]
    assert await subjects(client, "DRAFT") == []
    assert await received(dovecot) == await subjects(client, "SENT") == ["Offer"]


@pytest.mark.parametrize(
    "fault",
    [
        ["mailbox", "update", "-u", "ada@example.test", "--uid-validity", "77", "Filed"],
        ["mailbox", "rename", "-u", "ada@example.test", "Filed", "Elsewhere"],
        ["mailbox", "delete", "-u", "ada@example.test", "Filed"],
    ],
    ids=["new UIDVALIDITY", "renamed", "deleted"],
)
async def test_a_message_whose_folder_changed_is_not_found(client, mailbox, dovecot, fault):
    await mailbox.session.command("CREATE", '"Filed"')
    await mailbox.add("Plan", folder="Filed")
    (email,) = (await client.get(MESSAGES, params={"label": "Filed"})).json()["emails"]
    path = f"{MESSAGES}/{email['id']}"
    await client.patch(path, json={"markAsRead": True})  # the folder is open
    dovecot.doveadm(*fault)

    answers = [
        await client.patch(path, json={"markAsRead": False}),
        await client.delete(path),
        await client.post(f"{path}/reply", json={"body": "b"}),
        await client.post(f"{path}/forward", json={"to": BEN}),
    ]

    assert [answer.status_code for answer in answers] == [404] * 4
    assert await subjects(client, "TRASH") == await subjects(client, "SENT") == []
    assert await received(dovecot) == []
