"""A mailbox on an owner's own server, connected and read through the gateway."""

import pytest

MESSAGES = "/api/access/email/messages"


@pytest.fixture
async def connection(connect):
    created = await connect()
    assert created.status_code == 201, created.text
    return created.json()


@pytest.fixture
async def client(world, connection):
    token = await world.token({"allowedConnectionIds": [connection["id"]]})
    async with world.client(token) as client:
        yield client


async def test_a_connection_says_nothing_of_its_password(world, connection):
    assert (connection["provider"], connection["canWrite"]) == ("IMAP", False)
    listed = await world.admin.get("/api/connections")
    assert "ada-secret" not in listed.text


REFUSED = {
    "no server": ({"baseUrl": None}, "baseUrl"),
    "a server of another protocol": ({"baseUrl": "https://mail.example.org"}, "baseUrl"),
    "a server without encryption elsewhere": (
        {"baseUrl": "imap+plain://mail.example.org"},
        "baseUrl",
    ),
    "a server with a path": ({"baseUrl": "imaps://mail.example.org/INBOX"}, "baseUrl"),
    "a token in place of a password": ({"credentials": {"accessToken": "x"}}, "credentials"),
    "a user without a password": ({"credentials": {"username": "ada"}}, "credentials"),
}


@pytest.mark.parametrize(("changes", "member"), REFUSED.values(), ids=REFUSED.keys())
async def test_wrong_servers_and_credentials_are_refused(world, connect, changes, member):
    before = (await world.admin.get("/api/connections")).json()
    refused = await connect(**changes)

    assert refused.status_code == 400
    assert [detail["field"] for detail in refused.json()["details"]] == [member]
    assert (await world.admin.get("/api/connections")).json() == before


async def test_a_password_is_for_mail_servers_alone(connect):
    refused = await connect(provider="PROVIDER_A", baseUrl=None)

    assert refused.status_code == 400
    assert [detail["field"] for detail in refused.json()["details"]] == ["credentials"]


async def test_a_connection_is_tested_and_a_wrong_password_is_named(world, connection):
    path = f"/api/connections/{connection['id']}"
    tested = (await world.admin.post(f"{path}/test")).json()
    wrong = {"credentials": {"username": "ada@example.test", "password": "wrong"}}
    await world.admin.patch(path, json=wrong)
    refused = (await world.admin.post(f"{path}/test")).json()

    assert (tested["ok"], tested["status"]) == (True, "active")
    assert (refused["ok"], refused["status"]) == (False, "needs_reauth")
    assert refused["detail"] == "The mail server refused the user name or the password."


async def test_the_owner_renews_a_password_by_a_link(world, connection):
    path = f"/api/connections/{connection['id']}"
    wrong = {"credentials": {"username": "ada@example.test", "password": "wrong"}}
    await world.admin.patch(path, json=wrong)
    await world.admin.post(f"{path}/test")
    link = (await world.admin.post(f"{path}/reconnect-link", json={})).json()["url"]
    page = link.removeprefix(str(world.admin.base_url).rstrip("/"))
    refused = await world.admin.post(page, data={"password": "also wrong"})
    before = (await world.admin.get(path)).json()["status"]
    renewed = await world.admin.post(page, data={"password": "ada-secret"})

    assert (refused.status_code, "refused the user name or the password" in refused.text) == (
        400,
        True,
    )
    assert (before, renewed.status_code) == ("needs_reauth", 200)
    assert (await world.admin.get(path)).json()["status"] == "active"
    assert (await world.admin.post(f"{path}/test")).json()["ok"] is True


@pytest.mark.slow
async def test_a_password_that_is_refused_later_marks_the_connection(world, connection, client):
    path = f"/api/connections/{connection['id']}"
    wrong = {"credentials": {"username": "ada@example.test", "password": "wrong"}}
    await world.admin.patch(path, json=wrong)

    answer = await client.get(MESSAGES)

    assert (answer.status_code, answer.json()["error"]) == (502, "PROVIDER_ERROR")
    assert (await world.admin.get(path)).json()["status"] == "needs_reauth"


@pytest.mark.slow
async def test_ids_stay_when_the_password_changes(world, connection, client, mailbox):
    await mailbox.add("Hello")
    first = (await client.get(MESSAGES)).json()["emails"]
    same = {"credentials": {"username": "ada@example.test", "password": "ada-secret"}}
    await world.admin.patch(f"/api/connections/{connection['id']}", json=same)

    assert (await client.get(MESSAGES)).json()["emails"] == first


async def test_mail_is_listed_read_and_shown_as_a_thread(client, mailbox):
    root = "<one@north.example>"
    await mailbox.add(
        "Plan",
        at=1,
        message_id=root,
        body="Words.",
        labels=("Client Work",),
        files=[("plan.txt", "text/plain", b"The plan.")],
    )
    await mailbox.add("Re: Plan", at=2, headers=[("References", root)], folder="sent", read=True)

    listed = (await client.get(MESSAGES)).json()
    email = listed["emails"][1]
    whole = (await client.get(f"{MESSAGES}/{email['id']}")).json()
    thread = (await client.get(f"/api/access/email/threads/{email['threadId']}")).json()
    (attachment,) = whole["attachments"]
    content = await client.get(f"{MESSAGES}/{email['id']}/attachments/{attachment['id']}")

    assert [entry["subject"] for entry in listed["emails"]] == ["Re: Plan", "Plan"]
    assert (listed["totalCount"], listed["hasMore"]) == (2, False)
    assert email == {
        "id": email["id"],
        "threadId": email["threadId"],
        "subject": "Plan",
        "from": {"email": "ann@north.example", "name": "Ann Author"},
        "to": [{"email": "me@example.com", "name": None}],
        "cc": [],
        "bcc": [],
        "bodyPreview": "Words.",
        "body": None,
        "bodyType": None,
        "sentAt": "2026-03-02T12:00:00Z",
        "receivedAt": "2026-03-02T12:00:01Z",
        "isRead": False,
        "hasAttachments": True,
        "attachments": [attachment],
        "labels": ["INBOX", "Client Work"],
        "importance": "normal",
        "provider": "IMAP",
    }
    assert email["id"].startswith("imap:")
    assert whole == {**email, "body": "Words.\r\n", "bodyType": "text"}
    assert [message["subject"] for message in thread["messages"]] == ["Plan", "Re: Plan"]
    assert content.content == b"The plan."


@pytest.mark.slow
async def test_mailboxes_of_all_providers_are_merged(world, connection, mailbox):
    await mailbox.add("From a server of my own", at=10**9)
    async with world.client(await world.token({})) as client:
        emails, page_token, seen = [], None, set()
        while True:
            params = {"limit": 7, **({"pageToken": page_token} if page_token else {})}
            page = (await client.get(MESSAGES, params=params)).json()
            emails += page["emails"]
            page_token = page["nextPageToken"]
            if page_token is None:
                break

    seen = [email["id"] for email in emails]
    assert len(seen) == len(set(seen))
    assert {email["provider"] for email in emails} == {"PROVIDER_A", "PROVIDER_B", "IMAP"}
    received = [email["receivedAt"] for email in emails]
    assert received == sorted(received, reverse=True)


WRITES = {
    "reply": ("POST", "/{id}/reply", {"body": "Thanks."}, 403),
    "forward": ("POST", "/{id}/forward", {"to": [{"email": "bob@south.example"}]}, 403),
    "delete": ("DELETE", "/{id}", None, 404),
    "change": ("PATCH", "/{id}", {"markAsRead": True}, 404),
    "send": ("POST", "/send", {"to": [{"email": "b@c.example"}], "subject": "", "body": ""}, 403),
}


@pytest.mark.slow
@pytest.mark.parametrize("write", [pytest.param(call, id=name) for name, call in WRITES.items()])
async def test_writes_are_refused_and_change_nothing(client, mailbox, write):
    method, path, body, status = write
    await mailbox.add("Hello")
    (email,) = (await client.get(MESSAGES)).json()["emails"]

    answer = await client.request(method, MESSAGES + path.format(id=email["id"]), json=body)

    assert answer.status_code == status
    assert answer.json()["error"] == ("READ_ONLY" if status == 403 else "NOT_FOUND")
    assert (await client.get(MESSAGES)).json()["emails"] == [email]


async def test_hidden_fields_never_leave_the_server(world, connection, mailbox, dovecot):
    await mailbox.add(
        "Subject-canary", author="From-canary <from-canary@north.example>", body="Body-canary"
    )
    settings = {
        "allowedConnectionIds": [connection["id"]],
        "visibleEmailFields": ["subject", "received_at"],
    }
    async with world.client(await world.token(settings)) as client:
        dovecot.forget_sessions("ada")
        (email,) = (await client.get(MESSAGES)).json()["emails"]
        whole = (await client.get(f"{MESSAGES}/{email['id']}")).json()
        refused = await client.get(MESSAGES, params={"from": "from-canary"})
    sent = dovecot.sent_to_clients("ada")

    assert (whole["subject"], whole["from"], whole["body"]) == ("Subject-canary", None, None)
    assert (refused.status_code, refused.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert b"Subject-canary" in sent
    assert b"canary@" not in sent
    assert b"Body-canary" not in sent
