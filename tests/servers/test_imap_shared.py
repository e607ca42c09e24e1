"""A shared mailbox on a real Dovecot: every route, within the rights that its owner gives."""

import asyncio
import json
from base64 import b64encode

import imap_account
import pytest
import pytest_asyncio
from command_line import CommandLine
from dovecot import dovecot_server
from mail_upstreams import ALL
from postfix import postfix_server

MESSAGES = "/api/access/email/messages"
DRAFTS = "/api/access/email/drafts"
EVERYTHING = {"allowedEmailOperations": ["all"]}
FOLDERS = ("INBOX", "Sent", "Drafts", "Trash", "Projects")
FILE = {"name": "größe.txt", "contentBase64": b64encode(b"abc").decode()}
BEN = [{"email": "ben@example.test"}]

pytestmark = pytest.mark.slow  # two servers start


@pytest.fixture(scope="module")
def dovecot():
    with dovecot_server(users=("ada", "ben", "team"), shares=True) as server:
        yield server


@pytest.fixture(scope="module")
def postfix(dovecot):
    with postfix_server(dovecot) as server:
        yield server


@pytest_asyncio.fixture
async def team(dovecot):
    """The mailbox of the team, by its own login; ada has all rights in it."""
    async with imap_account.opened(dovecot, user="team") as account:
        await account.session.command("CREATE Projects")
        for folder in FOLDERS:
            dovecot.give("team", folder, "ada", "lrswite")
        yield account


@pytest_asyncio.fixture
async def ben(dovecot):
    async with imap_account.opened(dovecot, user="ben") as account:
        yield account


@pytest.fixture
async def base(connect, dovecot, postfix):
    login = {"username": "ada@example.test", "password": "ada-secret"}
    created = await connect(credentials={**login, "submissionUrl": postfix.url()})
    assert created.status_code == 201, created.text
    return created.json()


@pytest.fixture
async def shared(world, base, team):
    path = f"/api/connections/{base['id']}/shared"
    created = await world.admin.post(path, json={"accountEmail": "team@example.test"})
    assert created.status_code == 201, created.text
    return created.json()


@pytest.fixture
async def client(world, shared):
    token = await world.token({**EVERYTHING, "allowedConnectionIds": [shared["id"]]})
    async with world.client(token) as client:
        yield client


@pytest.fixture
async def own_client(world, base):
    token = await world.token({**EVERYTHING, "allowedConnectionIds": [base["id"]]})
    async with world.client(token) as client:
        yield client


async def listed(client, **params):
    answer = await client.get(MESSAGES, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["emails"]


async def in_folder(account, label):
    return await account.every(account.query(label=label), projection=ALL)


async def received(account):
    for _ in range(600):
        emails = await in_folder(account, "INBOX")
        if emails:
            return emails
        await asyncio.sleep(0.05)
    raise AssertionError("nothing arrived")


async def test_its_mail_is_found_read_filed_and_deleted(client, team):
    attached = (
        b"From: c@north.example\r\nTo: team@example.test\r\nSubject: Plan\r\n"
        b"Message-ID: <plan@north.example>\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\r\nSee the file.\r\n--b\r\n'
        b'Content-Type: text/plain\r\nContent-Disposition: attachment; filename="a.txt"\r\n\r\n'
        b"abc\r\n--b--\r\n"
    )
    await team.add_raw(attached)
    await team.add("Later", folder="Projects", at=5)
    later, plan = await listed(client)
    (found,) = await listed(client, q="Plan")
    (project,) = await listed(client, label="Projects")
    file = plan["attachments"][0]
    path = f"{MESSAGES}/{plan['id']}"
    content = await client.get(f"{path}/attachments/{file['id']}")
    thread = (await client.get(f"/api/access/email/threads/{plan['threadId']}")).json()
    changed = await client.patch(path, json={"markAsRead": True, "addLabels": ["Client"]})
    read = (await client.get(path)).json()
    deleted = await client.delete(path)

    assert (found["id"], project["id"]) == (plan["id"], later["id"])
    assert (plan["labels"], later["labels"]) == (["INBOX"], ["Projects"])
    assert (file["name"], content.content.strip()) == ("a.txt", b"abc")
    assert [message["id"] for message in thread["messages"]] == [plan["id"]]
    assert changed.status_code == 200, changed.text
    assert (read["isRead"], read["labels"]) == (True, ["INBOX", "Client"])
    assert deleted.status_code == 204, deleted.text
    assert await listed(client, label="INBOX") == []
    assert [email["subject"] for email in await listed(client, label="TRASH")] == ["Plan"]
    assert [email.subject for email in await in_folder(team, "TRASH")] == ["Plan"]


async def test_what_is_sent_comes_from_the_shared_address_and_is_filed_there(
    client, own_client, team, ben, postfix
):
    message = {"to": BEN, "subject": "Grüße", "body": "<p>Hallo</p>", "attachments": [FILE]}
    sent = await client.post(f"{MESSAGES}/send", json=message)
    (mail,) = await received(ben)
    (copy,) = await in_folder(team, "SENT")

    assert sent.status_code == 200, sent.text
    assert (mail.from_.email, mail.subject) == ("team@example.test", "Grüße")
    assert [file.name for file in mail.attachments] == ["größe.txt"]
    assert copy.subject == "Grüße"
    assert (await client.get(f"{MESSAGES}/{sent.json()['emailId']}")).json()["subject"] == "Grüße"
    assert await listed(own_client) == []
    assert await in_folder(team, "INBOX") == []
    assert "from=<team@example.test>" in postfix.log()


async def test_a_reply_to_all_goes_to_the_person_too_and_not_to_the_shared_address(
    client, team, ben
):
    await team.add_raw(
        b"From: ben@example.test\r\nTo: team@example.test, ada@example.test\r\n"
        b"Subject: Plan\r\nMessage-ID: <p@example.test>\r\n\r\nHow?\r\n"
    )
    (plan,) = await listed(client)
    reply = {"body": "So.", "replyAll": True}
    replied = await client.post(f"{MESSAGES}/{plan['id']}/reply", json=reply)
    forwarded = await client.post(f"{MESSAGES}/{plan['id']}/forward", json={"to": BEN})

    copies = {copy.subject: copy for copy in await in_folder(team, "SENT")}
    assert (replied.status_code, forwarded.status_code) == (200, 200), replied.text
    people = [person.email for person in copies["Re: Plan"].to]
    assert people == ["ben@example.test", "ada@example.test"]
    assert copies["Re: Plan"].from_.email == "team@example.test"
    assert set(copies) == {"Re: Plan", "Fwd: Plan"}
    assert replied.json()["threadId"] == plan["threadId"]


async def test_its_drafts_are_made_changed_and_sent(client, team, ben):
    made = await client.post(
        DRAFTS, json={"to": BEN, "subject": "Old", "body": "b", "attachments": [FILE]}
    )
    (draft,) = (await client.get(DRAFTS)).json()["drafts"]
    changed = await client.patch(f"{DRAFTS}/{draft['id']}", json={"subject": "New"})
    (stored,) = await in_folder(team, "DRAFT")
    sent = await client.post(f"{DRAFTS}/{changed.json()['draftId']}/send")
    (mail,) = await received(ben)

    assert (made.status_code, changed.status_code, sent.status_code) == (202, 200, 200)
    assert (stored.subject, stored.from_.email) == ("New", "team@example.test")
    assert (mail.subject, mail.from_.email, len(mail.attachments)) == (
        "New",
        "team@example.test",
        1,
    )
    assert await in_folder(team, "DRAFT") == []


async def test_each_connection_has_its_own_mail_alone(client, own_client, dovecot, team):
    await team.add("Of the team")
    async with imap_account.opened(dovecot, keep=True) as ada:
        await ada.add("Of ada")
        (of_team,) = await listed(client)
        own = {email["subject"]: email for email in await listed(own_client)}
        of_ada = own["Of ada"]
        others = [
            await client.get(f"{MESSAGES}/{of_ada['id']}"),
            await own_client.get(f"{MESSAGES}/{of_team['id']}"),
            await own_client.delete(f"{MESSAGES}/{of_team['id']}"),
        ]

    assert of_team["subject"] == "Of the team"
    assert "Of the team" not in own
    assert [answer.status_code for answer in others] == [404, 404, 404]
    assert len(await in_folder(team, "INBOX")) == 1


RIGHTS = {
    "read state": ("PATCH", {"markAsRead": True}, "lrwite", 's" (mark messages as read)'),
    "labels": ("PATCH", {"addLabels": ["Client"]}, "lrsite", 'w" (change labels)'),
    "deletion": ("DELETE", None, "lrswi", 't" (mark messages as deleted), "e" (remove'),
}


@pytest.mark.parametrize("name", RIGHTS)
async def test_a_missing_right_is_named_and_nothing_changes(client, team, dovecot, name):
    method, change, letters, sentence = RIGHTS[name]
    await team.add("Plan")
    dovecot.give("team", "INBOX", "ada", letters)
    (plan,) = await listed(client)
    body = {} if change is None else {"json": change}
    answer = await client.request(method, f"{MESSAGES}/{plan['id']}", **body)

    assert (answer.status_code, answer.json()["error"]) == (404, "NOT_FOUND")
    assert sentence in answer.json()["message"]
    (after,) = await in_folder(team, "INBOX")
    assert (after.is_read, after.labels) == (False, ("INBOX",))


async def test_without_the_right_to_store_there_are_no_drafts(client, team, dovecot):
    dovecot.give("team", "Drafts", "ada", "lrswte")
    answer = await client.post(DRAFTS, json={"to": BEN, "subject": "Old", "body": "b"})

    assert (answer.status_code, answer.json()["error"]) == (403, "READ_ONLY")
    assert '"i" (store messages)' in answer.json()["message"]
    assert await in_folder(team, "DRAFT") == []


async def test_without_the_right_to_remove_a_draft_is_neither_changed_nor_sent(
    client, team, ben, dovecot, postfix
):
    await team.add("Old", folder="drafts")
    dovecot.give("team", "Drafts", "ada", "lrswi")
    before = postfix.deliveries()
    (draft,) = (await client.get(DRAFTS)).json()["drafts"]
    answers = [
        await client.patch(f"{DRAFTS}/{draft['id']}", json={"subject": "New"}),
        await client.post(f"{DRAFTS}/{draft['id']}/send"),
    ]

    for answer in answers:
        assert (answer.status_code, answer.json()["error"]) == (403, "READ_ONLY")
        assert '"e" (remove deleted messages)' in answer.json()["message"]
    assert [stored.subject for stored in await in_folder(team, "DRAFT")] == ["Old"]
    assert postfix.deliveries() == before


async def test_without_the_right_to_store_sent_mail_it_is_sent_without_a_copy(
    client, team, ben, dovecot
):
    dovecot.give("team", "Sent", "ada", "lrswte")
    message = {"to": BEN, "subject": "Hi", "body": "b"}
    sent = await client.post(f"{MESSAGES}/send", json=message)
    (mail,) = await received(ben)

    assert (sent.status_code, mail.from_.email) == (200, "team@example.test")
    assert await in_folder(team, "SENT") == []
    assert await in_folder(team, "INBOX") == []


async def test_a_folder_that_is_not_opened_to_the_person_is_not_seen(client, team, dovecot):
    await team.add("Secret", folder="Projects")
    await team.add("Plan", at=1)
    dovecot.doveadm("acl", "delete", "-u", "team@example.test", "Projects", "user=ada@example.test")

    assert [email["subject"] for email in await listed(client)] == ["Plan"]
    assert await listed(client, label="Projects") == []


async def test_a_check_tells_the_rights(world, shared, dovecot):
    dovecot.give("team", "Trash", "ada", "lr")
    answer = await world.admin.post(f"/api/connections/{shared['id']}/check")

    findings = {finding["item"]: finding for finding in answer.json()["findings"]}
    assert findings["credentials"]["outcome"] == "as-expected", findings
    detail = findings["rights"]["detail"]
    assert "INBOX: lrswite" in detail
    assert "TRASH: lr;" in f"{detail.partition('. Reading')[0]};"


async def test_a_mailbox_that_is_not_shared_is_named_so(world, base, dovecot):
    path = f"/api/connections/{base['id']}/shared"
    created = await world.admin.post(path, json={"accountEmail": "nobody@example.test"})
    tested = await world.admin.post(f"/api/connections/{created.json()['id']}/test")

    assert "is not shared with the person whose connection it uses" in tested.text


async def test_a_command_connects_it_and_stores_nothing_that_cannot_be_read(
    dovecot, team, tmp_path
):
    command = CommandLine(tmp_path, SSL_CERT_FILE=str(dovecot.certificate))
    operator, resource = command.set_up()
    add = ("connection", "add", "email", "IMAP", "ada@example.test", "--operator", operator)
    add += ("--resource", resource, "--server", dovecot.url(), "--json")
    base = json.loads(command(*add, stdin="ada-secret\n").stdout)
    share = ("connection", "add", "--on", str(base["id"]), "--json", "--shared")
    closed = command(*share, "nobody@example.test")
    made = command(*share, "team@example.test")
    listed = json.loads(command("connection", "list", "--json").stdout)
    shared = json.loads(made.stdout)
    tested = command("connection", "test", str(shared["id"]), "--json")

    assert (closed.returncode, closed.stdout) == (1, "")
    assert "is not shared with the person whose connection it uses" in closed.stderr
    assert "Nothing is stored" in closed.stderr
    assert made.returncode == 0, made.stderr
    members = ("provider", "accountEmail", "sharedOn", "baseUrl", "operatorId", "status")
    assert [shared[name] for name in members] == [
        *("IMAP", "team@example.test", base["id"], dovecot.url(), operator, "active")
    ]
    assert [(each["id"], each["sharedOn"]) for each in listed] == [
        (base["id"], None),
        (shared["id"], base["id"]),
    ]
    assert json.loads(tested.stdout)["ok"] is True
    assert "ada-secret" not in made.stdout + made.stderr + closed.stderr
