"""Drafts on a real Dovecot: read, changed byte for byte, and gone when somebody was faster."""

import re

import pytest
from mail_upstreams import ALL

from providers.failures import Missing
from providers.ports.drafts import DraftChange
from providers.ports.mail import MailQuery, OutgoingFile
from providers.records.mail import Participant

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

    with pytest.raises(Missing):
        await mailbox.port.drafts.update(draft, DraftChange(subject="Mine"))
    assert await raw_drafts(mailbox) == [theirs]
