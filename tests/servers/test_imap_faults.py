"""
Faults of the servers of a mailbox: a clear sentence, never 500, and afterwards all is as before.

`test_imap_write_faults` has killed servers and changed folders under writes.
"""

import asyncio
import hashlib
import subprocess
from email.message import EmailMessage

import imap_account
import pytest
from dovecot import dovecot_server
from mail_upstreams import ALL
from postfix import postfix_server

from providers.failures import Throttled
from providers.imap.session import Session

MESSAGES = "/api/access/email/messages"
BEN = [{"email": "ben@example.test"}]
LOGIN = {"username": "ada@example.test", "password": "ada-secret"}
CONNECTIONS = 8  # more than a gateway has, and than may be left of the test before

pytestmark = pytest.mark.slow  # servers are killed, frozen and filled


@pytest.fixture(scope="module")
def dovecot():
    with dovecot_server(max_connections=CONNECTIONS) as server:
        yield server


@pytest.fixture(scope="module")
def postfix(dovecot):
    with postfix_server(dovecot) as server:
        yield server


@pytest.fixture
async def connection(connect, mailbox, postfix):
    created = await connect(credentials={**LOGIN, "submissionUrl": postfix.url()})
    return created.json()


@pytest.fixture
async def client(world, connection):
    settings = {"allowedEmailOperations": ["all"], "allowedConnectionIds": [connection["id"]]}
    async with world.client(await world.token(settings)) as client:
        yield client


@pytest.fixture
async def drafting(world, connection):
    """A client whose messages stay drafts."""
    settings = {"allowedEmailOperations": ["all"], "allowedConnectionIds": [connection["id"]]}
    async with world.client(await world.token({**settings, "sendMode": "draft"})) as client:
        yield client


async def send(client, connection, key):
    body = {"to": BEN, "subject": key, "body": "b", "connectionId": connection["id"]}
    headers = {"idempotency-key": key}
    return await client.post(f"{MESSAGES}/send", json=body, headers=headers)


async def subjects(client, label):
    emails = (await client.get(MESSAGES, params={"label": label})).json()["emails"]
    return [email["subject"] for email in emails]


def answer_of(response):
    body = response.json()
    return response.status_code, body["error"], body["message"]


# -- the server stops


async def test_reads_go_on_when_the_server_is_back(client, mailbox, dovecot):
    await mailbox.add("Plan", files=[("plan.txt", "text/plain", b"The plan.")])
    before = await client.get(MESSAGES)
    (email,) = before.json()["emails"]
    path = f"{MESSAGES}/{email['id']}"
    paths = [MESSAGES, f"{MESSAGES}?q=plan", path, f"/api/access/email/threads/{email['threadId']}"]
    paths.append(f"{path}/attachments/{email['attachments'][0]['id']}")

    dovecot.kill()
    refused = [await client.get(url) for url in paths]
    dovecot.start()
    answers = [await client.get(url) for url in paths]

    listing = "None of the connected mailboxes answered. Mail server (ada@example.test): failed."
    unreachable = "The server refuses the connection: nothing listens there."
    assert [answer_of(answer) for answer in refused] == [
        *[(502, "PROVIDER_ERROR", listing)] * 2,
        *[(502, "PROVIDER_ERROR", unreachable)] * 3,
    ]
    assert [answer.status_code for answer in answers] == [200] * 5
    assert answers[0].json() == before.json()


async def test_a_server_that_hangs_is_waited_for_once(
    client, connection, mailbox, dovecot, postfix
):
    """A change made while it hung happens at most once; an unsent message is sent later."""
    await mailbox.add("Plan")
    (email,) = (await client.get(MESSAGES)).json()["emails"]
    path = f"{MESSAGES}/{email['id']}"

    dovecot.freeze()
    try:
        answers = await asyncio.gather(
            client.get(MESSAGES),
            client.get(path),
            client.patch(path, json={"markAsRead": True}),
            client.delete(path),
            send(client, connection, "while-it-hangs"),
        )
    finally:
        dovecot.thaw()

    assert [answer_of(answer)[:2] for answer in answers] == [
        *[(504, "PROVIDER_TIMEOUT")] * 4,
        (502, "PROVIDER_ERROR"),  # it was surely not sent, so the key is free again
    ]
    sent = await send(client, connection, "while-it-hangs")
    assert sent.status_code == 200, sent.text
    assert await postfix.wait_for_delivery("while-it-hangs", "ben@example.test") == 1
    assert await subjects(client, "SENT") == ["while-it-hangs"]
    kept = [*await subjects(client, "INBOX"), *await subjects(client, "TRASH")]
    assert kept == ["Plan"]


# -- the disk is full


@pytest.fixture
def disk(dovecot, mailbox):
    """Give the user a small disk of its own; return what fills it."""
    mailbox.session.close()
    home = dovecot.folder / "mail" / "ada"
    owner = home.stat()
    options = f"size=4m,mode=700,uid={owner.st_uid},gid={owner.st_gid}"
    mount = ["mount", "-t", "tmpfs", "-o", options, "none", str(home)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system may be mounted here")
    yield home / "filling"
    dovecot.stop()
    subprocess.run(["umount", "--lazy", str(home)], check=True)
    dovecot.start()


def fill(path):
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 10, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue


async def test_a_draft_that_finds_no_room_is_left_once_there_is_room(
    client, drafting, connection, disk
):
    assert await subjects(client, "INBOX") == []  # the folders are made
    fill(disk)
    refused = await send(drafting, connection, "no-room")
    disk.unlink()
    held = await send(drafting, connection, "no-room")

    sentence = "The mail server reports a fault of its own, such as a full disk."
    assert answer_of(refused) == (502, "PROVIDER_ERROR", sentence)
    assert held.status_code == 202, held.text
    assert await subjects(client, "DRAFT") == ["no-room"]


async def test_a_message_whose_copy_finds_no_room_is_sent_once(client, connection, disk, postfix):
    assert await subjects(client, "INBOX") == []
    fill(disk)
    sent = await send(client, connection, "copy-without-room")
    again = await send(client, connection, "copy-without-room")
    disk.unlink()

    assert sent.status_code == again.status_code == 200, sent.text
    assert sent.json()["emailId"] is None
    assert again.content == sent.content
    assert await postfix.wait_for_delivery("copy-without-room", "ben@example.test") == 1
    # The account's own copy waits in the queue for room; it would arrive within another test.
    assert await postfix.wait_for_delivery("copy-without-room", "ada@example.test") == 1


# -- too many connections


async def connected(account):
    """Open a session, once the server has noticed the end of earlier ones."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await Session.connect(account)
            except Throttled:
                await asyncio.sleep(0.02)


async def test_a_full_server_is_a_throttle_and_no_reason_to_reconnect(
    world, client, connection, mailbox
):
    await mailbox.add("Plan")
    others = [await connected(mailbox.account) for _ in range(CONNECTIONS - 1)]

    refused = await client.get(MESSAGES)
    sent = await send(client, connection, "a-full-server")
    for other in others:
        other.close()
    for other in [await connected(mailbox.account) for _ in others]:
        other.close()  # the server has noticed the ends of the first ones
    await asyncio.sleep(1.1)  # the wait that the answer told
    answer = await client.get(MESSAGES)
    later = await send(client, connection, "a-full-server")

    assert refused.status_code == sent.status_code == 429, (refused.text, sent.text)
    assert int(refused.headers["retry-after"]) >= 1
    assert [email["subject"] for email in answer.json()["emails"]] == ["Plan"]
    assert later.status_code == 200, later.text
    status = (await world.admin.get(f"/api/connections/{connection['id']}")).json()["status"]
    assert status == "active"


# -- the password changes


async def test_a_new_password_on_the_server_needs_a_new_one_here(
    world, client, connection, mailbox, dovecot
):
    await mailbox.add("Plan")
    (email,) = (await client.get(MESSAGES)).json()["emails"]
    users = dovecot.folder / "users"
    known = users.read_text()
    path = f"/api/connections/{connection['id']}"
    try:
        users.write_text(known.replace("ada-secret", "another-secret"))
        dovecot.kill()  # the sessions end
        dovecot.start()
        refused = await client.get(f"{MESSAGES}/{email['id']}")
        status = (await world.admin.get(path)).json()["status"]
        credentials = {**LOGIN, "password": "another-secret"}
        await world.admin.patch(path, json={"credentials": credentials, "status": "active"})
        answer = await client.get(f"{MESSAGES}/{email['id']}")
    finally:
        users.write_text(known)
        dovecot.kill()
        dovecot.start()

    assert answer_of(refused)[:2] == (502, "PROVIDER_ERROR")
    assert status == "needs_reauth"
    assert answer.json()["subject"] == "Plan"


# -- folders change


@pytest.mark.parametrize(
    ("fault", "left"),
    [
        (["update", "-u", "ada@example.test", "--uid-validity", "77", "Filed"], True),
        (["rename", "-u", "ada@example.test", "Filed", "Elsewhere"], True),
        (["delete", "-u", "ada@example.test", "Filed"], False),
    ],
    ids=["new UIDVALIDITY", "renamed", "deleted"],
)
async def test_pages_go_on_when_a_folder_changes(client, mailbox, dovecot, fault, left):
    """Other messages are read once; those of the changed folder have new ids, or are gone."""
    await mailbox.session.command("CREATE", '"Filed"')
    for number in range(4):
        await mailbox.add(f"Inbox {number}", at=2 * number)
        await mailbox.add(f"Filed {number}", at=2 * number + 1, folder="Filed")
    first = (await client.get(MESSAGES, params={"limit": 2})).json()
    (filed,) = [email for email in first["emails"] if email["subject"] == "Filed 3"]
    dovecot.doveadm("mailbox", *fault)

    gone = await client.get(f"{MESSAGES}/{filed['id']}")
    thread = await client.get(f"/api/access/email/threads/{filed['threadId']}")
    pages, token = [first["emails"]], first["nextPageToken"]
    while token is not None:
        page = (await client.get(MESSAGES, params={"limit": 2, "pageToken": token})).json()
        pages.append(page["emails"])
        token = page["nextPageToken"]
    await mailbox.session.command("NOOP")
    for name in ("Filed", "Elsewhere"):
        listed = dovecot.doveadm("mailbox", "list", "-u", "ada@example.test").split()
        if name in listed:
            dovecot.doveadm("mailbox", "delete", "-u", "ada@example.test", name)

    assert gone.status_code == 404
    assert thread.status_code == (200 if left else 404)
    shown = [email["subject"] for page in pages for email in page]
    everything = [f"{name} {number}" for number in (3, 2, 1, 0) for name in ("Filed", "Inbox")]
    assert shown == [*everything[:2], *[name for name in everything[2:] if left or "Inbox" in name]]


# -- large messages


async def test_a_message_of_30_megabytes_is_read_forwarded_and_arrives(
    client, mailbox, postfix, dovecot
):
    content = hashlib.shake_256(b"large").digest(22 * 1024 * 1024)  # 30 MB in base64
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@b.example", "c@d.example", "Large"
    message.set_content("See the file.")
    message.add_attachment(content, "application", "octet-stream", filename="large.bin")
    await mailbox.add_raw(message.as_bytes())
    listing = {"includeBody": "true", "subject": "Large"}
    (email,) = (await client.get(MESSAGES, params=listing)).json()["emails"]
    path = f"{MESSAGES}/{email['id']}"

    read = await client.get(f"{path}/attachments/{email['attachments'][0]['id']}")
    forwarded = await client.post(f"{path}/forward", json={"to": BEN, "body": "See."})

    assert email["body"] == "See the file.\r\n"
    assert hashlib.sha256(read.content).digest() == hashlib.sha256(content).digest()
    assert forwarded.status_code == 200, forwarded.text
    assert await postfix.wait_for_delivery("Fwd: Large", "ben@example.test") == 1
    async with imap_account.opened(dovecot, user="ben", keep=True) as ben:
        (received,) = await ben.every(ben.query(subject="Fwd: Large"), projection=ALL)
        file = await ben.port.attachment(received.id, received.attachments[0].id)
        async with file.open() as opened:
            digest = hashlib.sha256()
            async for chunk in opened.chunks:
                digest.update(chunk)
    assert digest.digest() == hashlib.sha256(content).digest()


async def test_a_body_of_30_megabytes_is_refused_and_its_preview_is_not(client, mailbox):
    await mailbox.add("Long", body="All work and no play. " * 1_500_000)
    (email,) = (await client.get(MESSAGES)).json()["emails"]
    whole = await client.get(f"{MESSAGES}/{email['id']}")
    without = await client.get(f"{MESSAGES}/{email['id']}", params={"includeBody": "false"})

    assert email["bodyPreview"].startswith("All work and no play.")
    assert answer_of(whole)[:2] == (502, "PROVIDER_ERROR")
    assert without.json()["subject"] == "Long"
