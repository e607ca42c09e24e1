"""Every mail connector: what is read of a message."""

from datetime import timedelta

import pytest
from mail_cases import BOB, HOSTILE_IDS, SIEVES
from mail_upstreams import ALL, NOON

from providers.failures import Missing
from providers.ports.mail import Forward, MailChange, MailQuery, Reply, SendAttempt
from providers.records.mail import Participant


async def test_a_message_is_read_whole(account):
    name = account.add(
        "Übersicht",
        at=3.25,
        author='"Zoë, Ltd." <zoe@north.example>',
        to="me@example.com, Bob Brown <bob@south.example>",
        cc="carl@east.example",
        labels=("Client Work",),
        body="Grüße\n",
        html="<p>Grüße</p>",
        files=[("größe.pdf", "application/pdf", b"%PDF-1.7")],
        headers=[("Importance", "High")],
        sent=NOON - timedelta(minutes=5),
    )

    email = await account.port.get(name, projection=ALL)

    assert email.id == name
    assert email.subject == "Übersicht"
    assert email.from_ == Participant(email="zoe@north.example", name="Zoë, Ltd.")
    assert email.to == (Participant(email="me@example.com"), BOB)
    assert email.cc == (Participant(email="carl@east.example"),)
    assert email.bcc == ()
    assert email.body_preview == "Grüße"
    assert (email.body.strip(), email.body_type) == ("<p>Grüße</p>", "html")
    assert email.sent_at == NOON - timedelta(minutes=5)
    assert email.received_at.replace(microsecond=0) == NOON + timedelta(seconds=3)
    assert (email.is_read, email.has_attachments, email.importance) == (False, True, "high")
    assert [
        (attachment.name, attachment.content_type, attachment.size, attachment.is_inline)
        for attachment in email.attachments
    ] == [("größe.pdf", "application/pdf", 8, False)]
    assert email.attachments[0].id
    assert "Client Work" in email.labels
    assert "UNREAD" not in email.labels


async def test_inline_images_are_no_attachments_to_speak_of(account):
    name = account.add("Hello", html="<img>", inline=[("dot.png", "image/png", b"\x89PNG")])

    email = await account.port.get(name, projection=ALL)

    assert email.has_attachments is False
    assert [(attachment.name, attachment.is_inline) for attachment in email.attachments] == [
        ("dot.png", True)
    ]


async def test_has_attachments_is_right_without_the_attachments(account):
    account.add("With", at=2, files=[("plan.pdf", "application/pdf", b"%PDF-1.7")])
    account.add("Without", at=1)

    emails = await account.every(MailQuery(), projection={"has_attachments"})

    assert [email.has_attachments for email in emails] == [True, False]


async def test_unwanted_attributes_are_none(account):
    name = account.add("Hello", labels=("Client Work",))

    email = await account.port.get(name, projection=frozenset({"id"}))

    assert [
        getattr(email, attribute)
        for attribute in ("subject", "from_", "to", "cc", "bcc", "body", "body_type", "labels")
    ] == [None] * 8
    assert (email.body_preview, email.attachments, email.importance) == (None, None, None)


@pytest.mark.parametrize("query", SIEVES.values(), ids=SIEVES.keys())
async def test_attributes_read_only_for_filtering_are_none(account, query):
    account.add("Hello", labels=("Client Work",))

    (email,) = await account.every(MailQuery(**query), projection={"importance"})

    assert email.importance == "normal"
    masked = [email.subject, email.from_, email.to, email.cc, email.labels]
    assert [*masked, email.body_preview, email.body, email.body_type] == [None] * 8


@pytest.mark.parametrize("name", HOSTILE_IDS)
async def test_an_invalid_id_is_missing_without_an_upstream_call(account, name):
    forward = Forward(to=(BOB,), attempt=SendAttempt(message_id="f@gw.example"))
    for call in (
        account.port.get(name, projection=ALL),
        account.port.thread(name, projection=ALL),
        account.port.reply(name, Reply(body="", attempt=SendAttempt(message_id="r@gw.example"))),
        account.port.forward(name, forward),
        account.port.trash(name),
        account.port.change(name, MailChange(read=True)),
    ):
        with pytest.raises(Missing):
            await call

    assert account.calls == []


async def test_an_unknown_id_is_missing(account):
    name = account.add("Hello")
    unknown = name[:-6] + "000000" if account.provider == "PROVIDER_A" else name[:-9] + "AAAAA_AA="

    with pytest.raises(Missing):
        await account.port.get(unknown, projection=ALL)
