"""Drafts on a real Dovecot: read, changed byte for byte, and gone when somebody was faster."""

import random
import re

import pytest
from mail_upstreams import ALL
from random_drafts import CHANGES as CHANGES_OF_ONE
from random_drafts import SEED, differences, random_draft

from providers.connectors.imap import filing, sending
from providers.connectors.imap.sending import PENDING
from providers.failures import Missing, OutcomeUnknown, Stale, Unreachable
from providers.mail import delivery
from providers.ports.drafts import DraftChange
from providers.ports.mail import MailQuery, OutgoingFile, SendAttempt
from providers.records.mail import Participant, SentMessage

RAW = (
    b"From: ada@example.test\r\nTo: Bo <bo@work.example>\r\nBcc: eve@work.example\r\n"
    b"In-Reply-To: <lunch@world.example>\r\n"
    b"References: <a@x.example>\r\n\t<lunch@world.example>\r\n"
    b"Subject: Offer\r\nMessage-ID: <offer@world.example>\r\nX-Kept:  as   it is \r\n"
    b'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\nPreamble\r\n--b\r\n'
    b"Content-Type: text/html; charset=utf-8\r\n\r\n<p>We offer.</p>\r\n--b\r\n"
    b'Content-Type: application/pdf; name="plan.pdf"\r\nContent-Transfer-Encoding: base64\r\n\r\n'
    b"JVBERg==\r\n--b--\r\n"
)


async def raw_drafts(mailbox):
    """The drafts as the server has them, read by a session of the test's own."""
    await mailbox.session.command("SELECT Drafts")
    reply = await mailbox.session.command("UID SEARCH ALL")
    numbers = re.findall(rb"\d+", b" ".join(reply.texts("SEARCH")) if reply else b"")
    rows = [await mailbox.session.fetch(number.decode(), "UID BODY.PEEK[]") for number in numbers]
    return [row["BODY[]"] for fetched in rows for row in fetched.values()]


@pytest.fixture
async def draft(mailbox):
    await mailbox.add_raw(RAW, folder="drafts", read=True)
    (email,) = (
        await mailbox.port.search(
            MailQuery(label="DRAFT"), after=None, projection=frozenset({"id"})
        )
    ).emails
    return (await mailbox.port.drafts.identities([email.id]))[email.id]


async def test_a_draft_is_found_by_its_id(mailbox, draft):
    assert await mailbox.port.drafts.locate(draft.id) == draft


async def test_a_message_elsewhere_is_no_draft(mailbox):
    await mailbox.add("Inbox mail")
    (email,) = (
        await mailbox.port.search(MailQuery(), after=None, projection=frozenset({"id"}))
    ).emails

    with pytest.raises(Missing):
        await mailbox.port.drafts.locate(email.id)


CHANGES = {
    "subject": (DraftChange(subject="New"), (b"Subject: Offer", b"Subject: New")),
    "bcc": (DraftChange(bcc=()), (b"Bcc: eve@work.example\r\n", b"")),
    "to": (
        DraftChange(to=(Participant(email="dan@work.example"),)),
        (b"To: Bo <bo@work.example>", b"To: dan@work.example"),
    ),
    "body": (
        DraftChange(body="Yes", body_type="text"),
        (
            b"Content-Type: text/html; charset=utf-8\r\n\r\n<p>We offer.</p>",
            b'Content-Type: text/plain; charset="utf-8"\r\nContent-Transfer-Encoding: base64\r\n'
            b"\r\nWWVz\r\n",
        ),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_every_other_byte_stays_and_the_old_draft_goes(mailbox, draft, name):
    change, (old, new) = CHANGES[name]

    changed = await mailbox.port.drafts.update(draft, change)

    assert await raw_drafts(mailbox) == [RAW.replace(old, new)]
    assert await mailbox.port.drafts.locate(changed.id) == changed
    with pytest.raises(Missing):
        await mailbox.port.drafts.locate(draft.id)


@pytest.mark.tries(5, 150)
async def test_no_other_member_of_random_drafts_changes_at_the_server(mailbox, tries):
    choose, wrong = random.Random(SEED), []
    for number in range(tries):
        raw, name = random_draft(choose), choose.choice(list(CHANGES_OF_ONE))
        await mailbox.add_raw(raw, folder="drafts", read=True)
        query = MailQuery(label="DRAFT")
        (email,) = (
            await mailbox.port.search(query, after=None, projection=frozenset({"id"}))
        ).emails
        identity = (await mailbox.port.drafts.identities([email.id]))[email.id]
        await mailbox.port.drafts.update(identity, CHANGES_OF_ONE[name])
        (changed,) = await raw_drafts(mailbox)
        stored = raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")  # as APPEND takes it
        if others := differences(name, stored, changed):
            wrong.append((number, name, others))
        await mailbox.session.command("STORE 1:* +FLAGS.SILENT (\\Deleted)")
        await mailbox.session.command("EXPUNGE")

    assert wrong == []


async def test_files_are_added_and_removed(mailbox, draft):
    file = OutgoingFile(name="a.txt", media_type="text/plain", content=b"a")
    added = await mailbox.port.drafts.update(draft, DraftChange(files=(file,)))
    email = await mailbox.port.get(added.message_id, projection=ALL)
    pdf = next(kept for kept in email.attachments if kept.name == "plan.pdf")
    removed = await mailbox.port.drafts.update(added, DraftChange(removed=(pdf.id,)))
    left = await mailbox.port.get(removed.message_id, projection=ALL)

    assert [kept.name for kept in email.attachments] == ["plan.pdf", "a.txt"]
    assert [kept.name for kept in left.attachments] == ["a.txt"]
    assert left.body.strip() == "<p>We offer.</p>"


async def test_a_draft_that_somebody_replaced_is_not_changed(mailbox, draft):
    await mailbox.session.command("SELECT Drafts")
    await mailbox.session.command("STORE 1:* +FLAGS.SILENT (\\Deleted)")
    await mailbox.session.command("EXPUNGE")
    theirs = RAW.replace(b"Offer", b"Theirs")
    await mailbox.add_raw(theirs, folder="drafts")

    with pytest.raises(Stale):
        await mailbox.port.drafts.update(draft, DraftChange(subject="Mine"))
    assert await raw_drafts(mailbox) == [theirs]


@pytest.mark.parametrize("capability", ["CONDSTORE", "none"])
@pytest.mark.parametrize("expunges", [True, False])
async def test_a_draft_that_somebody_replaces_while_it_is_replaced_stays_theirs(
    mailbox, draft, monkeypatch, capability, expunges
):
    theirs = RAW.replace(b"Offer", b"Theirs")
    append = filing.append

    async def outpaced(session, folder, message, flags):
        if capability == "none":
            session.capabilities -= {"CONDSTORE"}
        location = await append(session, folder, message, flags)
        await mailbox.session.command("SELECT Drafts")
        await mailbox.session.command("STORE 1 +FLAGS.SILENT (\\Deleted)")
        if expunges:
            await mailbox.session.command("EXPUNGE")
        await mailbox.add_raw(theirs, folder="drafts")
        return location

    monkeypatch.setattr(filing, "append", outpaced)
    with pytest.raises(Stale):
        await mailbox.port.drafts.update(draft, DraftChange(subject="Mine"))

    assert (await raw_drafts(mailbox))[not expunges :] == [theirs]


async def test_a_flag_that_changes_meanwhile_is_no_other_version(mailbox, draft, monkeypatch):
    session_type, stores = type(mailbox.session), []
    command = session_type.command

    async def interrupted(session, *parts, **options):
        if "UNCHANGEDSINCE" in str(parts[0]):
            stores.append(parts[0])
            if len(stores) == 1:
                await command(mailbox.session, "SELECT Drafts")
                await command(mailbox.session, "STORE 1 +FLAGS.SILENT (\\Flagged)")
        return await command(session, *parts, **options)

    monkeypatch.setattr(session_type, "command", interrupted)
    await mailbox.port.drafts.update(draft, DraftChange(subject="Mine"))

    assert len(stores) == 2
    assert await raw_drafts(mailbox) == [RAW.replace(b"Offer", b"Mine")]


async def flags_of_drafts(mailbox):
    await mailbox.session.command("SELECT Drafts")
    rows = await mailbox.session.fetch("1:*", "UID FLAGS")
    return [{flag.decode() for flag in row["FLAGS"]} for row in rows.values()]


async def test_a_draft_that_was_not_sent_can_be_sent_again(mailbox, draft):
    """The account has no server for outgoing mail, so the send ends before the submission."""
    with pytest.raises(Unreachable):
        await mailbox.port.drafts.send(draft.id, SendAttempt(message_id="a@example.test"))

    (flags,) = await flags_of_drafts(mailbox)
    assert PENDING not in flags


async def test_a_draft_that_another_call_sends_is_of_unknown_outcome_and_later_taken_over(
    mailbox, draft, monkeypatch
):
    await mailbox.session.command("SELECT Drafts")
    await mailbox.session.command(f"STORE 1 +FLAGS.SILENT ({PENDING})")
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0.0,))
    attempt = SendAttempt(message_id="a@example.test")
    with pytest.raises(OutcomeUnknown):
        await mailbox.port.drafts.send(draft.id, attempt)
    monkeypatch.setattr(sending, "_CLAIM_SECONDS", -1.0)

    with pytest.raises(Unreachable):  # it goes on to the submission
        await mailbox.port.drafts.send(draft.id, attempt)


async def test_a_draft_that_another_call_has_sent_meanwhile_is_sent(mailbox, draft, monkeypatch):
    await mailbox.session.command("SELECT Drafts")
    await mailbox.session.command(f"STORE 1 +FLAGS.SILENT ({PENDING})")
    poll = delivery.poll

    async def sent_then(look):
        await mailbox.session.command("STORE 1 +FLAGS.SILENT (\\Deleted)")
        await mailbox.session.command("EXPUNGE")
        return await poll(look)

    monkeypatch.setattr(delivery, "poll", sent_then)
    sent = await mailbox.port.drafts.send(draft.id, SendAttempt(message_id="a@example.test"))

    assert sent == SentMessage()
