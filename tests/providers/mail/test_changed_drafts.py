"""Random drafts that are changed in one member, compared by the raw message at the provider."""

import random

import pytest
from mail_upstreams import opened
from random_drafts import CHANGES, SEED, differences, members, random_draft, values

from providers.failures import Impossible
from providers.mail.drafts import editing, raw_message
from providers.ports.drafts import DraftChange
from providers.ports.mail import MailQuery


@pytest.mark.parametrize(("provider", "read"), [("PROVIDER_A", members), ("PROVIDER_B", values)])
@pytest.mark.tries(20, 300)
async def test_no_other_member_changes_in_the_raw_message_at_the_provider(provider, read, tries):
    choose, wrong = random.Random(SEED), []
    async with opened(provider) as account:
        mails = account.sandbox.state.mails
        for number in range(tries):
            raw = random_draft(choose)
            name = choose.choice(list(CHANGES))
            stored = mails.add(account.mailbox, raw, folder="drafts")
            drafts = account.port.drafts
            (email,) = (
                await account.port.search(
                    MailQuery(label="DRAFT"), after=None, projection=frozenset({"id"})
                )
            ).emails
            identity = (await drafts.identities([email.id]))[email.id]
            await drafts.update(identity, CHANGES[name])
            changed = next(mail for mail in mails.all(account.mailbox) if mail.seq == stored.seq)
            if others := differences(name, raw, changed.raw, read):
                wrong.append((number, name, others))
            mails.delete(account.mailbox, changed.id)

    assert wrong == []


@pytest.mark.parametrize(
    ("raw", "texts"),
    [
        pytest.param(b"Subject: only headers", [b""], id="no body"),
        pytest.param(b"\r\nText", [b"Text"], id="no headers"),
        pytest.param(
            b'Content-Type: multipart/mixed; boundary="b"\r\n\r\nnothing', [], id="closed"
        ),
    ],
)
async def test_odd_drafts_get_a_body(raw, texts):
    edited = await editing.edit(raw, DraftChange(body="New", body_type="text"), ())

    root = raw_message.parse(edited)
    (text,) = raw_message.arrange(root).texts
    assert edited[text.body : text.end].strip() == b"TmV3"
    assert [
        raw[part.body : part.end] for part in raw_message.arrange(raw_message.parse(raw)).texts
    ] == texts


async def test_a_draft_of_a_file_alone_gets_a_body_before_it():
    raw = (
        b"To: bo@work.example\r\nMIME-Version: 1.0\r\nContent-Type: application/pdf\r\n"
        b"Content-Disposition: attachment; filename=plan.pdf\r\n\r\n%PDF"
    )
    edited = await editing.edit(raw, DraftChange(body="New", body_type="text"), ())

    parts = raw_message.arrange(raw_message.parse(edited))
    assert [part.filename for part in parts.files] == ["plan.pdf"]
    assert edited[parts.files[0].body : parts.files[0].end] == b"%PDF"
    assert len(parts.texts) == 1


async def test_an_invitation_among_the_alternatives_stays():
    raw = (
        b'Content-Type: multipart/alternative; boundary="b"\n\n--b\n\nOld\n--b\n'
        b"Content-Type: text/html\n\n<p>Old</p>\n--b\n"
        b"Content-Type: text/calendar; method=REQUEST\n\nBEGIN:VCALENDAR\n--b--\n"
    )
    edited = await editing.edit(raw, DraftChange(body="<p>New</p>"), ())

    assert b"BEGIN:VCALENDAR" in edited
    assert b"Old" not in edited


async def test_a_change_that_would_change_other_parts_is_refused(monkeypatch):
    raw = random_draft(random.Random(3))
    monkeypatch.setattr(editing, "_with_headers", lambda *_: b"To: x@x.example\r\n\r\nother")

    with pytest.raises(Impossible):
        await editing.edit(raw, DraftChange(subject="x"), ())
