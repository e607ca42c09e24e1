"""Sending by a real Postfix, once: the contract of every mail connector, and what SMTP adds."""

import asyncio
import time
from collections import Counter

import pytest
from mail_cases import Row, draft
from mail_upstreams import ALL
from postfix import NOWHERE

from providers import dry_run
from providers.connectors.imap import submitting
from providers.failures import Broken, NeedsReauth, OutcomeUnknown, Refused, Throttled, Unreachable
from providers.imap.accounts import Account
from providers.imap.endpoints import Endpoint
from providers.imap.session import Session
from providers.imap.submission import Submission
from providers.mail import delivery
from providers.ports.mail import CREATING, WITHDRAWN, OutgoingFile, StoredContent, UnsafeMessage
from providers.records.mail import Participant
from providers.write_fence import TakenOver

BEN = Participant(email="ben@example.test", name="Ben")
ADA = Participant(email="ada@example.test")

pytestmark = pytest.mark.slow  # two servers start


def to_ben(attempt, **changes):
    return draft(attempt, **({"to": (BEN,)} | changes))


async def arrived(account, count=1):
    """The messages in an inbox, once *count* of them are there."""
    for _ in range(600):
        emails = await account.every(account.query(label="INBOX"), projection=ALL)
        if len(emails) >= count:
            break
        await asyncio.sleep(0.05)
    assert len(emails) == count
    return emails


async def stored(account):
    """Subject and labels of every message of the account."""
    emails = []
    for label in ("INBOX", "SENT", "DRAFT", "TRASH", "SPAM"):
        emails += await account.every(account.query(label=label), projection=ALL)
    return sorted((email.subject, *email.labels) for email in emails)


def deliveries(postfix, message_id):
    """Return the number of times that the server accepted a message, by recipient."""
    return Counter(to for name, to in postfix.deliveries() if name == message_id)


async def test_a_message_is_sent_and_filed(writer, receiver):
    carl = Participant(email="carl@bücher.example", name="Carl =?x?=")
    row = Row()

    sent = await writer.port.send(
        to_ben(
            row.attempt("m1@example.test"),
            cc=(carl,),
            bcc=(Participant(email="dora@west.example", name="Dörte"),),
            subject="Grüße =?utf-8?q?x?=",
            importance="high",
            files=(OutgoingFile(name="größe.txt", media_type="text/plain", content=b"abc"),),
        )
    )

    (received,) = await arrived(receiver)
    copy = await writer.port.get(sent.email_id, projection=ALL)
    for email in (received, copy):
        assert email.subject == "Grüße =?utf-8?q?x?="
        assert (email.from_, email.to) == (ADA, (BEN,))
        assert email.cc == (Participant(email="carl@xn--bcher-kva.example", name="Carl =?x?="),)
        assert (email.body, email.body_type) == ("<p>See you.</p>", "html")
        assert email.importance == "high"
        assert [file.name for file in email.attachments] == ["größe.txt"]
    assert received.bcc == ()
    assert copy.bcc == (Participant(email="dora@west.example", name="Dörte"),)
    assert (copy.is_read, copy.labels, copy.thread_id) == (True, ("SENT",), sent.thread_id)
    assert await stored(writer) == [(copy.subject, "SENT")]
    assert row.stored == ["smtp:m1@example.test"]


async def test_a_retry_after_a_send_sends_nothing(writer, mail_servers):
    row = Row()
    sent = await writer.port.send(to_ben(row.attempt("m2@example.test")))

    again = await writer.port.send(to_ben(row.attempt("m2b@example.test", maybe_sent=True)))

    assert again.email_id == sent.email_id
    assert await stored(writer) == [("Plan", "SENT")]
    assert deliveries(mail_servers[1], "m2@example.test")["ben@example.test"] == 1
    assert deliveries(mail_servers[1], "m2b@example.test") == Counter()


async def test_the_name_is_committed_before_the_last_line(writer, mail_servers):
    logged = []

    class Watching(Row):
        async def store(self, draft_id):
            logged.append("m3@example.test" in mail_servers[1].log())
            await super().store(draft_id)

    row = Watching()
    await writer.port.send(to_ben(row.attempt("m3@example.test")))

    assert row.stored == ["smtp:m3@example.test"]
    assert deliveries(mail_servers[1], "m3@example.test")["ben@example.test"] == 1


@pytest.mark.parametrize("failure", [TakenOver(), OSError()], ids=["taken over", "no database"])
async def test_without_the_commit_nothing_is_sent(writer, mail_servers, failure):
    row = Row()
    row.failure = failure

    with pytest.raises(type(failure)):
        await writer.port.send(to_ben(row.attempt("m4@example.test")))

    await asyncio.sleep(0.3)
    assert await stored(writer) == []
    assert deliveries(mail_servers[1], "m4@example.test") == Counter()


@pytest.mark.parametrize("state", [WITHDRAWN, CREATING, "smtp:never@example.test"])
async def test_a_state_without_a_copy_is_of_unknown_outcome(writer, mail_servers, state):
    row = Row()
    row.draft = state

    with pytest.raises(OutcomeUnknown):
        await writer.port.send(to_ben(row.attempt("m5@example.test", maybe_sent=True)))

    assert deliveries(mail_servers[1], "m5@example.test") == Counter()
    assert await stored(writer) == []


async def test_a_message_sent_without_a_response_is_found(writer, mail_servers, monkeypatch):
    hand_over = Submission.hand_over

    async def without_response(self, content, before_end):
        await hand_over(self, content, before_end)
        raise Unreachable(sent=True)

    monkeypatch.setattr(Submission, "hand_over", without_response)
    row = Row()

    sent = await writer.port.send(to_ben(row.attempt("m6@example.test")))

    assert sent.email_id is not None
    assert await stored(writer) == [("Plan", "SENT")]
    assert deliveries(mail_servers[1], "m6@example.test")["ben@example.test"] == 1


async def test_a_crash_before_the_copy_is_filed_leaves_one_copy(writer, mail_servers, monkeypatch):
    async def crash(*_, **__):
        raise asyncio.CancelledError

    row = Row()
    with monkeypatch.context() as patch:
        patch.setattr(submitting.Submitter, "_file", crash)
        with pytest.raises(asyncio.CancelledError):
            await writer.port.send(to_ben(row.attempt("m7@example.test")))
    await arrived(writer)

    sent = await writer.port.send(to_ben(row.attempt("m7b@example.test", maybe_sent=True)))

    assert sent.email_id is not None
    assert await stored(writer) == [("Plan", "SENT")]
    assert deliveries(mail_servers[1], "m7@example.test")["ben@example.test"] == 1
    assert deliveries(mail_servers[1], "m7b@example.test") == Counter()


async def test_without_its_own_copy_a_message_is_filed_all_the_same(writer, monkeypatch):
    offer = Submission.offer

    async def without_own_copy(self, envelope):
        await offer(self, envelope)
        return False

    monkeypatch.setattr(Submission, "offer", without_own_copy)
    monkeypatch.setattr(submitting, "_envelope", _without_own_copy)

    await writer.port.send(to_ben(Row().attempt("m8@example.test")))

    assert await stored(writer) == [("Plan", "SENT")]


def _without_own_copy(message, transmitted, *, takes_copy, envelope=submitting._envelope):
    assert takes_copy is True
    return envelope(message, transmitted, takes_copy=False)


async def test_a_message_to_the_account_itself_is_received_and_filed(writer, mail_servers):
    await writer.port.send(to_ben(Row().attempt("m9@example.test"), to=(ADA, BEN)))

    await arrived(writer)
    assert await stored(writer) == [("Plan", "INBOX"), ("Plan", "SENT")]
    counts = deliveries(mail_servers[1], "m9@example.test")
    assert counts == {"ada@example.test": 1, "ben@example.test": 1}


async def test_one_refused_recipient_keeps_the_message_from_all(writer, mail_servers):
    row = Row()
    nobody = Participant(email=f"nobody@{NOWHERE}")

    with pytest.raises(Refused) as refusal:
        await writer.port.send(to_ben(row.attempt("m10@example.test"), cc=(nobody,)))

    assert refusal.value.message == (
        "The mail server does not accept recipient 2 of 2, counted over to, cc and bcc. "
        "Nothing was sent."
    )
    await asyncio.sleep(0.3)
    assert row.draft is None
    assert deliveries(mail_servers[1], "m10@example.test") == Counter()
    assert await stored(writer) == []


async def test_a_message_that_is_too_large_is_refused_before_it_is_sent(writer, mail_servers):
    with pytest.raises(Refused) as refusal:
        await writer.port.send(to_ben(Row().attempt("m11@example.test"), body="x" * 300_000))

    assert (refusal.value.status, refusal.value.message) == (
        413,
        "The message is too large for the mail server.",
    )
    assert deliveries(mail_servers[1], "m11@example.test") == Counter()


async def test_stored_files_are_sent_piece_by_piece(writer, receiver):
    content = bytes(range(256)) * 500

    async def chunks():
        for start in range(0, len(content), 1000):
            yield content[start : start + 1000]

    file = OutgoingFile(
        name="x.bin",
        media_type="application/octet-stream",
        content=StoredContent("a", len(content), chunks),
    )
    await writer.port.send(to_ben(Row().attempt("m12@example.test"), files=(file,)))

    (email,) = await arrived(receiver)
    (attachment,) = email.attachments
    file = await receiver.port.attachment(email.id, attachment.id)
    async with file.open() as opened:
        assert b"".join([chunk async for chunk in opened.chunks]) == content


async def test_a_wrong_password_sends_nothing_and_is_tried_once(writer, mail_servers):
    _, postfix = mail_servers
    before = postfix.log().count("authentication failed")
    with pytest.raises(NeedsReauth, match="submission server refused the user name"):
        await send_by(writer, password="wrong")

    assert postfix.log().count("authentication failed") == before + 1


async def test_a_server_without_encryption_gets_no_password(writer, mail_servers):
    _, postfix = mail_servers
    plain = Endpoint.parse(f"smtp://localhost:{postfix.open_port}", "smtp")

    with pytest.raises(Unreachable, match="offers no encryption"):
        await send_by(writer, endpoint=plain)


async def test_starttls_is_used(writer, receiver, mail_servers):
    endpoint = Endpoint.parse(mail_servers[1].url(tls=False), "smtp")

    await send_by(writer, endpoint=endpoint)

    await arrived(receiver)


async def test_answers_in_plain_text_behind_starttls_end_the_connection():
    """Somebody on the way could write answers that the client would take for the server's."""

    async def serve(reader, writer):
        writer.write(b"220 ready\r\n")
        await reader.readline()
        writer.write(b"250-here\r\n250 STARTTLS\r\n")
        await reader.readline()
        writer.write(b"220 go\r\n250-here\r\n250 AUTH PLAIN\r\n235 yes\r\n")
        received.append(await reader.read())
        writer.close()

    received = []
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        account = Account(Endpoint.parse(f"smtp://localhost:{port}", "smtp"), "ada", "secret")
        with pytest.raises(Broken):
            await Submission.connect(account, ends=time.monotonic() + 10)
        await asyncio.sleep(0.05)

    assert received == [b""]


async def test_responses_in_plain_text_behind_starttls_end_the_imap_connection():
    async def serve(reader, writer):
        writer.write(b"* OK [CAPABILITY IMAP4rev1 STARTTLS] ready\r\n")
        tag = (await reader.readline()).split()[0]
        writer.write(tag + b" OK go\r\n* CAPABILITY IMAP4rev1 LITERAL+\r\n")
        received.append(await reader.read())
        writer.close()

    received = []
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        account = Account(Endpoint.parse(f"imap://localhost:{port}", "imap"), "ada", "secret")
        with pytest.raises(Unreachable):
            await Session.connect(account)
        await asyncio.sleep(0.05)

    assert received == [b""]


async def send_by(account, **changes):
    """Send from the account with another login."""
    from dataclasses import replace

    access = account.port._access

    async def changed():
        sign_in = await access()
        return sign_in._replace(submission=replace(sign_in.submission, **changes))

    account.port._access = changed
    await account.port.send(to_ben(Row().attempt("m13@example.test")))


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "Plan\r\nBcc: eve@evil.example"},
        {"to": (Participant(email="bob@south.example>\r\nRCPT TO:<eve@evil.example"),)},
        {"to": (Participant(email="bob@south.example", name="Bob\r\nBcc: eve@evil.example"),)},
        {"to": (Participant(email="jürgen@south.example"),)},
    ],
    ids=["subject", "address", "name", "local part"],
)
async def test_an_unsafe_message_is_not_sent(writer, changes, mail_servers):
    before = mail_servers[1].log().count("sasl_username=")
    with pytest.raises(UnsafeMessage):
        await writer.port.send(to_ben(Row().attempt(), **changes))

    assert mail_servers[1].log().count("sasl_username=") == before


async def test_a_dry_run_sends_nothing(writer, mail_servers):
    with dry_run.dry_run() as run:
        await writer.port.send(to_ben(Row().attempt("m14@example.test")))

    assert run.ended
    assert await stored(writer) == []
    assert "m14@example.test" not in mail_servers[1].log()


async def test_a_busy_server_is_a_throttle(writer, monkeypatch):
    from providers.imap import submission

    async def busy(self, lines):
        return [submission.Reply(451, "4.3.0", ("later",)) for _ in lines]

    monkeypatch.setattr(Submission, "_commands", busy)

    with pytest.raises(Throttled) as caught:
        await writer.port.send(to_ben(Row().attempt()))

    assert caught.value.retry_after == submission.LATER_SECONDS


async def test_a_frozen_server_is_not_waited_for_longer_than_allowed(
    writer, mail_servers, monkeypatch
):
    monkeypatch.setattr(delivery, "SEND_SECONDS", 3.0)
    monkeypatch.setattr(delivery, "LOOKUP_SECONDS", 1.0)
    _, postfix = mail_servers
    row = Row()
    postfix.freeze()
    try:
        with delivery.time_limit(), pytest.raises(Unreachable) as caught:
            await writer.port.send(to_ben(row.attempt("m15@example.test")))
    finally:
        postfix.thaw()

    assert (caught.value.sent, row.stored) == (False, [])
    await asyncio.sleep(0.5)
    assert deliveries(postfix, "m15@example.test") == Counter()


DOTTED = b".\r\n..\r\n.a\r\nb.\r\n\r\n.\r\n"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
async def test_dots_at_the_beginning_of_lines_arrive(writer, receiver, size):
    from providers.imap.submission import Envelope

    message = b"From: ada@example.test\r\nSubject: Dots\r\n\r\n" + DOTTED
    submission_account = (await writer.port._access()).submission

    async def content():
        for start in range(0, len(message), size):
            yield message[start : start + size]

    async def nothing():
        pass

    submission = await Submission.connect(submission_account, ends=time.monotonic() + 10)
    await submission.offer(
        Envelope(sender="ada@example.test", recipients=["ben@example.test"], size=len(message))
    )
    await submission.hand_over(content(), nothing)
    submission.close()

    (email,) = await arrived(receiver)
    assert email.body == DOTTED.decode()
