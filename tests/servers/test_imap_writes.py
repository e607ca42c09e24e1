"""Mail of an own server, written through the gateway: Dovecot keeps it and Postfix sends it."""

import asyncio
from base64 import b64encode
from collections import Counter

import imap_account
import pytest
import pytest_asyncio
from mail_upstreams import ALL
from postfix import NOWHERE, postfix_server

MESSAGES = "/api/access/email/messages"
BEN = [{"email": "ben@example.test"}]
EVERYTHING = {"allowedEmailOperations": ["all"]}

pytestmark = pytest.mark.slow  # two servers start


@pytest.fixture(scope="module")
def postfix(dovecot):
    with postfix_server(dovecot) as server:
        yield server


@pytest_asyncio.fixture
async def receiver(dovecot):
    async with imap_account.opened(dovecot, user="ben") as account:
        yield account


@pytest.fixture
async def connection(connect, mailbox, postfix):
    login = {"username": "ada@example.test", "password": "ada-secret"}
    created = await connect(credentials={**login, "submissionUrl": postfix.url()})
    assert created.status_code == 201, created.text
    return created.json()


@pytest.fixture
async def client(world, connection):
    token = await world.token({**EVERYTHING, "allowedConnectionIds": [connection["id"]]})
    async with world.client(token) as client:
        yield client


def new_message(connection, **members):
    body = {"to": BEN, "subject": "Grüße", "body": "<p>Hallo</p>", "connectionId": connection["id"]}
    return {**body, **members}


async def received(account, count=1):
    for _ in range(600):
        emails = await account.every(account.query(label="INBOX"), projection=ALL)
        if len(emails) >= count:
            break
        await asyncio.sleep(0.05)
    assert len(emails) == count
    return emails


async def listed(client, **params):
    return (await client.get(MESSAGES, params=params)).json()["emails"]


def accepted(postfix):
    return Counter(postfix.deliveries())


async def test_a_person_sends_replies_labels_and_deletes(client, connection, mailbox, receiver):
    assert connection["canWrite"] is True
    await mailbox.add("Plan", message_id="<plan@north.example>", at=1)
    (plan,) = await listed(client)
    file = {"name": "größe.txt", "contentBase64": b64encode(b"abc").decode()}

    sent = await client.post(f"{MESSAGES}/send", json=new_message(connection, attachments=[file]))
    forwarded = await client.post(f"{MESSAGES}/{plan['id']}/forward", json={"to": BEN})
    changed = await client.patch(
        f"{MESSAGES}/{plan['id']}", json={"markAsRead": True, "addLabels": ["Client Work"]}
    )
    replied = await client.post(f"{MESSAGES}/{plan['id']}/reply", json={"body": "Fine."})
    thread = (await client.get(f"/api/access/email/threads/{plan['threadId']}")).json()
    read = (await client.get(f"{MESSAGES}/{plan['id']}")).json()
    deleted = await client.delete(f"{MESSAGES}/{plan['id']}")

    mail = await received(receiver, 2)
    assert {email.subject for email in mail} == {"Grüße", "Fwd: Plan"}
    assert {len(email.attachments) for email in mail} == {0, 1}
    (copy,) = [email for email in await listed(client, label="SENT") if email["subject"] == "Grüße"]
    assert sent.json() == {
        "success": True,
        "emailId": copy["id"],
        "threadId": copy["threadId"],
        "errorCode": None,
        "errorMessage": None,
    }
    assert forwarded.status_code == 200
    assert (changed.json()["emailId"], changed.json()["threadId"]) == (plan["id"], plan["threadId"])
    assert (read["isRead"], read["labels"]) == (True, ["INBOX", "Client Work"])
    assert replied.json()["threadId"] == plan["threadId"]
    assert [message["subject"] for message in thread["messages"]] == ["Plan", "Re: Plan"]
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (await client.get(f"{MESSAGES}/{plan['id']}")).status_code == 404
    assert [email["subject"] for email in await listed(client, label="TRASH")] == ["Plan"]
    assert await listed(client, label="INBOX") == []


async def test_a_key_sends_once(client, connection, receiver, postfix):
    before = accepted(postfix)
    headers = {"idempotency-key": "a-key-of-mine"}
    answers = [
        await client.post(f"{MESSAGES}/send", json=new_message(connection), headers=headers)
        for _ in range(3)
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert answers[0].json() == answers[1].json() == answers[2].json()
    await received(receiver)
    await asyncio.sleep(0.3)  # for the server's log, and for a second message
    to_ben = [to for _, to in (accepted(postfix) - before).elements() if to.startswith("ben")]
    assert len(to_ben) == 1
    assert [email["subject"] for email in await listed(client, label="SENT")] == ["Grüße"]


REFUSED = {
    "a refused recipient": (
        {"cc": [{"email": f"x@{NOWHERE}"}]},
        502,
        "PROVIDER_ERROR",
        "The mail server does not accept recipient 2 of 2, counted over to, cc and bcc. "
        "Nothing was sent.",
    ),
    "a local part beyond ASCII": (
        {"to": [{"email": "jürgen@example.test"}]},
        400,
        "VALIDATION_ERROR",
        None,
    ),
}


@pytest.mark.parametrize("row", REFUSED.values(), ids=REFUSED.keys())
async def test_a_refused_message_reaches_nobody(client, connection, postfix, row):
    changes, status, code, message = row
    before = accepted(postfix)

    answer = await client.post(f"{MESSAGES}/send", json=new_message(connection, **changes))

    assert (answer.status_code, answer.json()["errorCode"]) == (status, code), answer.text
    assert message in {None, answer.json()["message"]}
    await asyncio.sleep(0.3)
    assert accepted(postfix) == before
    assert await listed(client, label="SENT") == []


async def test_a_label_that_cannot_be_stored_is_said_so(client, mailbox):
    await mailbox.add("Plan")
    (before,) = await listed(client)
    answer = await client.patch(f"{MESSAGES}/{before['id']}", json={"addLabels": ["Trash"]})

    assert (answer.status_code, answer.json()["error"]) == (404, "NOT_FOUND")
    assert answer.json()["message"] == (
        "The state or folder of an email is not a label that can be added or removed."
    )
    assert await listed(client) == [before]


async def test_dry_runs_show_the_effect_and_write_nothing(client, connection, mailbox, postfix):
    await mailbox.add("Plan", message_id="<plan@north.example>")
    (plan,) = await listed(client)
    path, before = f"{MESSAGES}/{plan['id']}", accepted(postfix)
    writes = {
        "send": ("POST", f"{MESSAGES}/send", new_message(connection)),
        "reply": ("POST", f"{path}/reply", {"body": "Fine."}),
        "forward": ("POST", f"{path}/forward", {"to": BEN}),
        "change": ("PATCH", path, {"markAsRead": True, "addLabels": ["New"]}),
        "deletion": ("DELETE", path, None),
    }

    effects = {}
    for name, (method, url, body) in writes.items():
        dry = await client.request(method, url, json=body, headers={"prefer": "dry-run"})
        assert dry.status_code == 200, dry.text
        effects[name] = dry.json()["effect"]

    assert effects["reply"]["recipients"]["to"] == [
        {"email": "ann@north.example", "name": "Ann Author"}
    ]
    assert effects["forward"]["subject"] == "Fwd: Plan"
    assert effects["deletion"]["destination"] == {"kind": "trash"}
    assert {change["field"]: change["to"] for change in effects["change"]["changes"]} == {
        "isRead": True,
        "labels": ["INBOX", "New"],
    }
    assert accepted(postfix) == before
    assert await listed(client) == [plan]
    assert await listed(client, label="SENT") == []
    for name in ("change", "deletion"):
        method, url, body = writes[name]
        headers = {"if-effect": effects[name]["digest"]}
        if name == "deletion":
            again = await client.delete(path, headers={"prefer": "dry-run"})
            headers = {"if-effect": again.json()["effect"]["digest"]}
        done = await client.request(method, url, json=body, headers=headers)
        assert done.status_code in {200, 204}, done.text


async def test_draft_mode_leaves_a_draft(world, connection, postfix):
    before = accepted(postfix)
    settings = {**EVERYTHING, "sendMode": "draft", "allowedConnectionIds": [connection["id"]]}
    async with world.client(await world.token(settings)) as client:
        headers = {"idempotency-key": "a-draft-of-mine"}
        answers = [
            await client.post(f"{MESSAGES}/send", json=new_message(connection), headers=headers)
            for _ in range(2)
        ]
        (draft,) = await listed(client, label="DRAFT")

    for answer in answers:
        assert (answer.status_code, answer.json()["held"]) == (202, "draft")
        assert answer.json()["emailId"] == draft["id"]
    assert accepted(postfix) == before


async def test_calls_are_counted_and_logged(world, client, connection, mailbox):
    await mailbox.add("Plan")
    await listed(client)
    await client.post(f"{MESSAGES}/send", json=new_message(connection))

    decisions = (await world.admin.get("/api/decisions")).json()["decisions"]
    by_operation = {row["operation"]: row for row in decisions}
    metrics = (await world.admin.get("/metrics")).text

    assert by_operation["emails"]["upstreamCalls"] >= 3
    assert by_operation["sendEmail"]["upstreamCalls"] >= 8
    assert by_operation["sendEmail"]["upstreamStatus"] == 200
    assert 'provider="IMAP"' in metrics or 'upstream="IMAP"' in metrics


async def test_the_test_of_a_connection_tries_both_servers(world, connect, connection, postfix):
    good = await world.admin.post(f"/api/connections/{connection['id']}/test")
    login = {"username": "ada@example.test", "password": "ada-secret"}
    plain = f"smtp://localhost:{postfix.open_port}"
    other = (await connect(credentials={**login, "submissionUrl": plain})).json()
    bad = await world.admin.post(f"/api/connections/{other['id']}/test")

    assert good.json()["ok"] is True
    assert (bad.json()["ok"], bad.json()["detail"]) == (
        False,
        "The submission server offers no encryption.",
    )


async def test_a_submission_server_must_be_one(world, connect):
    before = (await world.admin.get("/api/connections")).json()
    login = {"username": "ada@example.test", "password": "ada-secret"}
    for url in ("https://mail.example.org", "smtp+plain://mail.example.org", "imaps://localhost"):
        refused = await connect(credentials={**login, "submissionUrl": url})
        assert refused.status_code == 400, refused.text
        assert refused.json()["details"][0]["field"] == "credentials.submissionUrl"
    assert (await world.admin.get("/api/connections")).json() == before


DRAFT = (
    b"From: Ada <ada@example.test>\r\nTo: ben@example.test\r\nBcc: ben@example.test\r\n"
    b"Subject: Offer\r\nX-Kept: as  it is\r\nMIME-Version: 1.0\r\n"
    b"Content-Type: text/html; charset=utf-8\r\n\r\n<p>We offer.</p>\r\n"
)


@pytest.mark.parametrize("message_id", [b"", b"Message-ID: <offer@world.example>\r\n"])
async def test_a_draft_is_sent_as_it_is_and_goes(client, mailbox, receiver, message_id):
    await mailbox.add_raw(message_id + DRAFT, folder="drafts", read=True)
    (draft,) = (await client.get("/api/access/email/drafts")).json()["drafts"]
    headers = {"Idempotency-Key": "draft", "If-Match": draft["version"]}
    path = f"/api/access/email/drafts/{draft['id']}/send"
    answers = [await client.post(path, headers=headers) for _ in range(2)]

    (email,) = await received(receiver)
    sent = await mailbox.every(mailbox.query(label="SENT"), projection=ALL)
    assert [answer.status_code for answer in answers] == [200, 200], answers[0].text
    assert answers[0].json() == answers[1].json()
    assert (email.subject, email.bcc) == ("Offer", ())
    assert [(filed.subject, len(filed.bcc)) for filed in sent] == [("Offer", 1)]
    assert (await client.get("/api/access/email/drafts")).json()["drafts"] == []
    assert (await client.post(path)).status_code == 404
