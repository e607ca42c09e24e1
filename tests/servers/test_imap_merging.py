"""Mail of the providers A and B and of an own server as one list, while mail arrives at each."""

import asyncio
import smtplib
from email.message import EmailMessage

import pytest
from mail_upstreams import NOON, raw
from postfix import postfix_server

MESSAGES = "/api/access/email/messages"
EACH = 40  # messages in each mailbox
MAILBOXES = ("provider-a", "provider-b")
PROVIDERS = ("PROVIDER_A", "PROVIDER_B", "IMAP")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def postfix(dovecot):
    with postfix_server(dovecot) as server:
        yield server


async def add(world, mailbox, number, seconds):
    """Add a message to each mailbox, all received at the same second."""
    for name in MAILBOXES:
        world.sandbox.state.mails.add(
            name,
            raw(f"{name} {number}", message_id=f"<{name}-{number}@north.example>"),
            folder="inbox",
            received_ms=int(NOON.timestamp() + seconds) * 1000,
        )
    await mailbox.add(f"imap {number}", at=seconds, message_id=f"<imap-{number}@north.example>")


def deliver(postfix, number):
    message = EmailMessage()
    message["From"], message["To"] = "ann@north.example", "ada@example.test"
    message["Subject"] = f"delivered {number}"
    message.set_content("Words.")
    with smtplib.SMTP("127.0.0.1", postfix.open_port) as client:
        client.send_message(message)


async def all_delivered(postfix, count):
    """Wait until the server's log has *count* deliveries: it delivers after it has accepted."""
    async with asyncio.timeout(60):
        while len(postfix.deliveries()) < count:  # noqa: ASYNC110 - Postfix tells nobody
            await asyncio.sleep(0.1)


async def pages(client, *, limit, between=None, **filters):
    """The pages of a listing; *between* runs after each with its number."""
    token, number = None, 0
    while True:
        params = {"limit": limit, **filters, **({"pageToken": token} if token else {})}
        answer = await client.get(MESSAGES, params=params)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert "authWarnings" not in page, page["authWarnings"]
        yield page["emails"]
        number, token = number + 1, page["nextPageToken"]
        if token is None:
            return
        if between is not None:
            await between(number)


@pytest.mark.parametrize("filters", [{}, {"q": "words"}], ids=["all", "a search"])
async def test_no_message_is_lost_or_repeated_while_mail_arrives(
    world, connect, mailbox, postfix, filters
):
    await connect()
    world.sandbox.upstreams["providerA"].quota.allowance = None  # more is read than a person may
    for number in range(EACH):
        await add(world, mailbox, number, number // 2)  # two of each mailbox in a second
    expected = {f"{name} {n}" for name in (*MAILBOXES, "imap") for n in range(EACH)}
    before = "2026-03-02T13:00:00Z"  # the world has mail of its own, which is newer

    async def arrive(number):
        await add(world, mailbox, EACH + number, 60 + number)
        await asyncio.to_thread(deliver, postfix, number)

    shown, rounds, delivered = [], len(expected) // 7, len(postfix.deliveries())
    async with world.client(await world.token({})) as client:
        first = pages(client, limit=7, between=arrive, before=before, **filters)
        async for emails in first:
            assert len(emails) <= 7
            shown += emails
        await all_delivered(postfix, delivered + rounds)
        again = [email async for page in pages(client, limit=50, **filters) for email in page]

    assert len({email["id"] for email in shown}) == len(shown)
    subjects = [email["subject"] for email in shown]
    assert sorted(subjects) == sorted(expected)
    assert {email["provider"] for email in shown[:7]} == set(PROVIDERS)
    received = [email["receivedAt"] for email in shown]
    assert received == sorted(received, reverse=True)
    assert len({email["id"] for email in again}) == len(again)
    arrived = {email["subject"] for email in again} - expected
    assert {f"imap {EACH + number}" for number in range(1, rounds + 1)} <= arrived
    assert {f"delivered {number}" for number in range(1, rounds + 1)} <= arrived
    times = [email["receivedAt"] for email in again]
    assert times == sorted(times, reverse=True)
