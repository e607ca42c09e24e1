"""Replies, forwards and drafts by IMAP and SMTP: the contract of every mail connector."""

import pytest
from mail_cases import RefusedRecipients, Row, draft, refuse
from mail_upstreams import ALL

from providers.failures import Missing, OutcomeUnknown, Unreachable
from providers.imap.session import Session
from providers.ports.mail import (
    CREATING,
    Forward,
    HiddenReplyRecipients,
    NoReplyRecipient,
    Reply,
    SendAttempt,
)
from providers.records.mail import Participant
from providers.write_previews import WritePreview, previewing

BOB = Participant(email="bob@south.example", name="Bob Brown")

pytestmark = pytest.mark.slow  # two servers start


async def original(account, **changes):
    """Add a message to reply to; return its id."""
    written = {
        "to": "Me <ADA@example.test>, Bob Brown <bob@south.example>",
        "cc": "carl@east.example, ada@example.test",
        "body": "Shall we?",
        "message_id": "<plan@north.example>",
        "headers": [("References", "<root@north.example>")],
    }
    await account.add("Plan", **(written | changes))
    (email,) = await account.every(account.query(), projection={"subject"})
    return email.id


def reply(**changes):
    attempt = SendAttempt(message_id="re.1@example.test")
    return Reply(**({"body": "<p>Fine.</p>", "attempt": attempt} | changes))


async def sent(account):
    (email,) = await account.every(account.query(label="SENT"), projection=ALL)
    return email


async def source(account, email):
    """The headers of a message as they are stored."""
    location = account.ids.location(email.id)
    await account.session.command("EXAMINE", f'"{location.folder.decode()}"')
    rows = await account.session.fetch(str(location.uid), "UID BODY.PEEK[HEADER]")
    return rows[location.uid]["BODY[HEADER]"]


def addresses(people):
    return [person.email for person in people]


async def test_a_reply_goes_to_the_author_within_the_thread(writer):
    name = await original(writer)

    answered = await writer.port.reply(name, reply())

    email = await sent(writer)
    assert (answered.email_id, answered.thread_id) == (email.id, email.thread_id)
    assert (addresses(email.to), email.cc) == (["ann@north.example"], ())
    assert email.subject == "Re: Plan"
    assert email.thread_id == (await writer.port.get(name, projection=ALL)).thread_id
    headers = await source(writer, email)
    assert b"In-Reply-To: <plan@north.example>" in headers
    assert headers.index(b"<root@north.example>") < headers.rindex(b"<plan@north.example>")
    assert email.body.index("Fine.") < email.body.index("Shall we?")
    thread = await writer.port.thread(email.thread_id, projection={"subject"})
    assert [message.subject for message in thread.messages] == ["Plan", "Re: Plan"]


async def test_a_reply_to_all_excludes_the_sending_account(writer):
    await writer.port.reply(await original(writer), reply(reply_all=True))

    email = await sent(writer)
    assert addresses(email.to) == ["ann@north.example", "bob@south.example"]
    assert addresses(email.cc) == ["carl@east.example"]


RECIPIENTS = {
    "reply-to": ({"headers": [("Reply-To", "Desk <desk@north.example>")]}, "desk@north.example"),
    "an own message": ({"author": "ada@example.test"}, "bob@south.example"),
}


@pytest.mark.parametrize(("changes", "to"), RECIPIENTS.values(), ids=RECIPIENTS.keys())
async def test_a_reply_goes_to_whom_the_headers_say(writer, changes, to):
    await writer.port.reply(await original(writer, **changes), reply())

    assert addresses((await sent(writer)).to) == [to]


async def test_a_reply_without_recipients_is_refused(writer):
    name = await original(writer, author="ada@example.test", to="ada@example.test", cc=None)

    for everyone in (False, True):
        with pytest.raises(NoReplyRecipient):
            await writer.port.reply(name, reply(reply_all=everyone))

    assert await writer.subjects(label="SENT") == []


async def test_a_reply_to_hidden_recipients_is_refused_and_never_reads_them(writer, mail_servers):
    name = await original(writer, author="ada@example.test")
    mail_servers[0].forget_sessions("ada")
    writer.memory.pool.close()

    with pytest.raises(HiddenReplyRecipients):
        await writer.port.reply(name, reply(to_is_hidden=True, quote=False))

    assert b"bob@" not in mail_servers[0].sent_to_clients("ada")
    assert await writer.subjects(label="SENT") == []


async def test_a_reply_need_not_quote(writer):
    await writer.port.reply(await original(writer), reply(quote=False))

    assert (await sent(writer)).body == "<p>Fine.</p>"


async def test_a_reply_is_sent_once(writer):
    name = await original(writer)
    row = Row()

    await writer.port.reply(name, reply(attempt=row.attempt("re.2@example.test")))
    await writer.port.reply(name, reply(attempt=row.attempt("re.3@example.test")))
    await writer.port.forward(
        name, Forward(to=(BOB,), body="Look:", attempt=row.attempt("re.4@example.test"))
    )

    assert await writer.subjects(label="SENT") == ["Re: Plan"]


async def test_the_derived_recipients_are_checked_before_anything_is_written(writer, mail_servers):
    name = await original(writer, headers=[("Reply-To", "desk@north.example")])
    before = mail_servers[1].log().count("sasl_username=")

    with pytest.raises(RefusedRecipients) as refusal:
        await writer.port.reply(name, reply(reply_all=True, check_recipients=refuse))

    derived = ["desk@north.example", "bob@south.example", "carl@east.example"]
    assert refusal.value.args == (derived,)
    assert mail_servers[1].log().count("sasl_username=") == before


async def test_a_forward_includes_the_attachments(writer):
    message = b"Subject: Inner\nFrom: x@y.example\n\nInn\xc3\xa9r text\n.dot\n"
    await writer.add_raw(
        b"From: Ann Author <ann@north.example>\nSubject: Plan\nMessage-ID: <p@north.example>\n"
        b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
        b"--b\nContent-Type: text/html; charset=utf-8\n\n<p>Shall we?</p>\n"
        b"--b\nContent-Type: application/pdf\nContent-Transfer-Encoding: base64\n"
        b"Content-Disposition: attachment; filename*=UTF-8''gr%C3%B6%C3%9Fe.pdf\n\nJVBERi0xLjc=\n"
        b"--b\nContent-Type: message/rfc822\nContent-Transfer-Encoding: 8bit\n\n"
        + message
        + b"--b--\n"
    )
    (listed,) = await writer.every(writer.query(), projection={"subject"})

    await writer.port.forward(
        listed.id,
        Forward(
            to=(BOB,),
            body="Look:",
            body_type="text",
            attempt=SendAttempt(message_id="fw.1@example.test"),
        ),
    )

    email = await sent(writer)
    assert (email.to, email.subject) == ((BOB,), "Fwd: Plan")
    assert email.body.index("Look:") < email.body.index("Ann Author") < email.body.index("Shall we")
    contents = {}
    for attachment in email.attachments:
        file = await writer.port.attachment(email.id, attachment.id)
        async with file.open() as opened:
            contents[attachment.name] = b"".join([chunk async for chunk in opened.chunks])
    assert contents["größe.pdf"] == b"%PDF-1.7"
    assert message.replace(b"\n", b"\r\n").strip() in contents["message.eml"]
    assert len(contents) == 2


async def test_a_forward_omits_hidden_fields(writer):
    await writer.add("Plan", body="Shall we?", cc="Dora Dean <dora@west.example>")
    (listed,) = await writer.every(writer.query(), projection={"subject"})

    await writer.port.forward(
        listed.id,
        Forward(
            to=(BOB,),
            hidden=frozenset({"from_", "to", "cc", "subject"}),
            attempt=SendAttempt(message_id="fw.1@example.test"),
        ),
    )

    email = await sent(writer)
    text = email.body + email.subject
    assert "Shall we?" in text
    assert [word for word in ("Ann", "north", "dora", "Plan") if word in text] == []


async def test_a_reply_to_a_message_that_is_gone_is_missing(writer):
    name = await original(writer)
    await writer.port.trash(name)

    for write in (
        writer.port.reply(name, reply()),
        writer.port.forward(name, Forward(to=(BOB,), attempt=SendAttempt(message_id="a@b.test"))),
    ):
        with pytest.raises(Missing):
            await write
    assert await writer.subjects(label="SENT") == []


# -- drafts that are held


class Held(Row):
    """A row whose attempts leave drafts."""

    def attempt(self, message_id="one.1@example.test", *, maybe_sent=False):
        return SendAttempt(
            message_id=message_id,
            hold=True,
            maybe_sent=maybe_sent,
            draft_id=self.draft,
            store_draft=self.store,
        )


async def drafts(account):
    return await account.every(account.query(label="DRAFT"), projection=ALL)


async def test_a_held_message_is_a_draft_and_is_not_sent(writer, mail_servers):
    row = Held()
    before = mail_servers[1].log().count("sasl_username=")
    hidden = Participant(email="dora@west.example")

    held = await writer.port.send(draft(row.attempt(), bcc=(hidden,)))

    (email,) = await drafts(writer)
    assert (held.held, held.email_id, held.thread_id) == (True, email.id, email.thread_id)
    assert (email.to, email.bcc, email.subject) == ((BOB,), (hidden,), "Plan")
    assert row.stored == [CREATING, email.id]
    await writer.session.command('EXAMINE "Drafts"')
    rows = await writer.session.fetch("1:*", "UID FLAGS")
    assert [sorted(row["FLAGS"]) for row in rows.values()] == [[b"\\Draft", b"\\Recent", b"\\Seen"]]
    assert mail_servers[1].log().count("sasl_username=") == before


async def test_a_held_message_is_made_once(writer):
    row = Held()
    first = await writer.port.send(draft(row.attempt()))

    again = await writer.port.send(draft(row.attempt(maybe_sent=True)))
    row.draft = CREATING  # the attempt died before it stored the id
    third = await writer.port.send(draft(row.attempt(maybe_sent=True)))

    assert first.email_id == again.email_id == third.email_id
    assert len(await drafts(writer)) == 1


@pytest.mark.parametrize("is_stored", [True, False], ids=["stored", "not stored"])
async def test_a_draft_whose_answer_is_lost_is_looked_up(writer, monkeypatch, is_stored):
    from providers.mail import delivery

    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    command = Session.command

    async def losing(self, *parts, **options):
        if parts[0] != "APPEND":
            return await command(self, *parts, **options)
        if is_stored:
            await command(self, *parts, **options)
        raise Unreachable(sent=True)

    monkeypatch.setattr(Session, "command", losing)
    row = Held()

    if is_stored:
        assert (await writer.port.send(draft(row.attempt()))).held
    else:
        with pytest.raises(OutcomeUnknown):
            await writer.port.send(draft(row.attempt()))

    assert len(await drafts(writer)) == is_stored
    assert (row.draft == CREATING) is not is_stored


async def test_a_held_draft_that_the_person_deleted_is_not_made_again(writer):
    row = Held()
    held = await writer.port.send(draft(row.attempt()))
    await writer.port.trash(held.email_id)

    again = await writer.port.send(draft(row.attempt(maybe_sent=True)))

    assert (again.held, again.email_id) == (True, None)
    assert await drafts(writer) == []


async def test_a_retry_in_direct_mode_sends_the_draft_and_removes_it(writer):
    row = Held()
    await writer.port.send(draft(row.attempt()))

    direct = SendAttempt(message_id="two.2@example.test", draft_id=row.draft, store_draft=row.store)
    await writer.port.send(draft(direct))

    assert await drafts(writer) == []
    assert await writer.subjects(label="SENT") == ["Plan"]


async def test_a_held_reply_describes_itself_for_a_preview(writer):
    name = await original(writer)
    preview = WritePreview(confirm=lambda: None)
    with previewing(preview):
        await writer.port.reply(name, reply(attempt=Held().attempt()))

    assert addresses(preview.recipients.to) == ["ann@north.example"]
    assert preview.subject.text == "Re: Plan"
    assert len(await drafts(writer)) == 1
