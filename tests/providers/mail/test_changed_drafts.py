"""Random drafts that are changed in one member, compared by the raw message at the provider."""

import os
import random
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from mail_upstreams import opened

from providers.failures import Impossible
from providers.mail.drafts import editing, raw_message
from providers.ports.drafts import DraftChange
from providers.ports.mail import OutgoingFile
from providers.records.mail import Participant

SEED = int(os.environ.get("DRAFT_SEED", "61"))
WORDS = ("lease", "Grüße", "=?utf-8?q?x?=", "見積", "offer; 2027", "a" * 120, "<b>&amp;</b>")
CHANGES = {
    "to": DraftChange(to=(Participant(email="new@work.example", name="Néw"),)),
    "cc": DraftChange(cc=()),
    "bcc": DraftChange(bcc=(Participant(email="hidden@work.example"),)),
    "subject": DraftChange(subject="Neue Überschrift"),
    "importance": DraftChange(importance="high"),
    "body": DraftChange(body="<p>Changed</p>"),
    "files": DraftChange(
        files=(OutgoingFile(name="new.txt", media_type="text/plain", content=b"new"),)
    ),
}


AS_ASKED = (None, ("high", "1"))  # members of drafts that a change may leave as they are


def random_draft(choose):
    """A draft as programs write them: alternatives, pictures, files, headers of their own."""
    message = EmailMessage(policy=policy.SMTP)
    if choose.random() < 0.9:
        message["To"] = ", ".join(f"p{choose.randrange(99)}@work.example" for _ in range(2))
    if choose.random() < 0.5:
        message["Cc"] = f"Zoë Ångström <z{choose.randrange(9)}@work.example>"
    if choose.random() < 0.5:
        message["Bcc"] = f"b{choose.randrange(9)}@work.example"
    message["Subject"] = choose.choice(WORDS)
    if choose.random() < 0.6:
        message["In-Reply-To"] = f"<o{choose.randrange(9)}@world.example>"
        message["References"] = " ".join(f"<r{number}@world.example>" for number in range(9))
    if choose.random() < 0.3:
        message["Importance"] = choose.choice(["low", "high"])
        message["X-Priority"] = choose.choice(["1", "5"])
    message["X-Mailer"] = choose.choice(WORDS)
    message["Message-ID"] = f"<{choose.getrandbits(64)}@world.example>"
    text = " ".join(choose.choices(WORDS, k=9))
    message.set_content(text, subtype=choose.choice(["plain", "html"]))
    if message.get_content_subtype() == "plain" and choose.random() < 0.7:
        message.add_alternative(f"<p>{text}</p>", subtype="html")
        if choose.random() < 0.5:
            message.get_payload()[1].add_related(b"GIF89a", "image", "gif", cid="<pic@x.example>")
    for number in range(choose.randrange(3)):
        content = bytes(choose.randrange(256) for _ in range(choose.randrange(200)))
        message.add_attachment(content, "application", "pdf", filename=f"f{number}ü.pdf")
    raw = message.as_bytes()
    return raw.replace(b"\r\n", b"\n") if choose.random() < 0.3 else raw


def members(raw):
    """What the standard library reads: the members that can be changed, and all else in order."""
    parsed = message_from_bytes(raw, policy=policy.compat32)
    read = {name: parsed.get(name) for name in ("to", "cc", "bcc", "subject")}
    read["importance"] = (parsed.get("importance"), parsed.get("x-priority"))
    named = {*read, "x-priority", "mime-version", "content-type", "content-transfer-encoding"}
    read["others"] = [(name, value) for name, value in parsed.items() if name.lower() not in named]
    leaves = [part for part in parsed.walk() if not part.is_multipart()]
    texts = [part for part in leaves if part.get_content_maintype() == "text" and not file(part)]
    read["body"] = [(part.get_content_type(), part.get_payload(decode=True)) for part in texts]
    read["files"] = [
        (part.items(), part.get_payload(decode=True)) for part in leaves if part not in texts
    ]
    return read


def file(part):
    return part.get_filename() is not None


@pytest.mark.tries(20, 300)
async def test_no_other_member_changes_in_the_raw_message_at_the_provider(tries):
    choose, differences = random.Random(SEED), []
    async with opened("PROVIDER_A") as account:
        mails = account.sandbox.state.mails
        for number in range(tries):
            raw = random_draft(choose)
            name = choose.choice(list(CHANGES))
            stored = mails.add(account.mailbox, raw, folder="drafts")
            drafts = account.port.drafts
            identity = (await drafts.identities([stored.id]))[stored.id]
            await drafts.update(identity, CHANGES[name])
            changed = next(mail for mail in mails.all(account.mailbox) if mail.seq == stored.seq)
            before, after = members(raw), members(changed.raw)
            other = {member for member in before if before[member] != after[member]} - {name}
            unchanged = before[name] == after[name] and before[name] not in AS_ASKED
            differences += [(number, name, other)] if other or unchanged else []
            mails.delete(account.mailbox, changed.id)

    assert differences == []


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
