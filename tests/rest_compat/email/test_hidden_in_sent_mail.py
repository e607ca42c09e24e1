"""No hidden field of an original stands in a mail that is sent, by whichever provider."""

from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

import pytest
from world import api_id

from policy.vocabulary import EmailField

MESSAGES = "/api/access/email/messages"
MAILBOXES = {"providerA": "provider-a", "providerB": "provider-b"}
ACCOUNTS = {"providerA": "me@provider-a.example", "providerB": "me@provider-b.example"}
WORDS = tuple(EmailField)

# What tells each field, wherever it stands; the preview is a piece of the body.
TELLING = {
    "subject": ("CanarySubject",),
    "from": ("CanaryFrom", "from@canary.example"),
    "to": ("CanaryTo", "to@canary.example"),
    "cc": ("CanaryCc", "cc@canary.example"),
    "bcc": ("CanaryBcc", "bcc@canary.example"),
    "body": ("CanaryBody",),
    "body_preview": (),
    "sent_at": ("2019", "13:37"),
    "received_at": ("2018", "17:31"),
    "attachments": ("CanaryFile",),
    "labels": ("CanaryLabel",),
    "importance": ("high",),
    "connection_id": (),  # a number of this gateway, which no mail has
}
ACTIONS = {
    "reply": {"body": "Words."},
    "reply all": {"body": "Words.", "replyAll": True},
    "forward": {"body": "Words.", "to": [{"email": "x@y.example"}]},
}
# The words without which an action is refused: they are sent, or tell whom it is sent to.
NEEDED = {"reply": {"from"}, "reply all": {"from", "to", "cc"}, "forward": {"body", "attachments"}}


def original(account, *, sender="CanaryFrom <from@canary.example>", to=None):
    """Write a mail that holds each of `TELLING`."""
    message = EmailMessage()
    message["From"] = sender
    message["To"] = to or f"{account}, CanaryTo <to@canary.example>"
    message["Cc"] = "CanaryCc <cc@canary.example>"
    message["Bcc"] = "CanaryBcc <bcc@canary.example>"
    message["Subject"] = "CanarySubject"
    message["Date"] = "Tue, 05 Mar 2019 13:37:00 +0000"
    message["Message-ID"] = "<original@world.example>"
    message["Importance"] = "high"
    message.set_content("CanaryBody\n")
    message.add_alternative("<p>CanaryBody</p>", subtype="html")
    message.add_attachment(b"%PDF-1.4", "application", "pdf", filename="CanaryFile.pdf")
    return message.as_bytes()


def receive(world, provider, **changes):
    """Put the original into a mailbox; return the API's id."""
    mail = world.sandbox.state.mails.add(
        MAILBOXES[provider],
        original(ACCOUNTS[provider], **changes),
        folder="inbox",
        labels=("CanaryLabel",),
        received_ms=int(datetime(2018, 1, 1, 17, 31, tzinfo=UTC).timestamp() * 1000),
    )
    world.sandbox.state.mails.add_label(MAILBOXES[provider], "CanaryLabel")
    return api_id(MAILBOXES[provider], mail.immutable_id)


def text_of(raw, *, besides):
    """Everything that a reader sees of a mail, but for the headers *besides* and random texts."""
    message = message_from_bytes(raw, policy=default)
    random = {"Message-ID", "Content-Type"}  # that of the whole has a boundary; parts are below
    headers = [
        f"{name}: {value}" for name, value in message.items() if name not in {*besides, *random}
    ]
    parts = [part for part in message.walk() if not part.is_multipart()]
    texts = [part.get_content() for part in parts if part.get_content_maintype() == "text"]
    return "\n".join((*headers, *texts, *(part.get_filename() or "" for part in parts)))


def path_of(email_id, action):
    return f"{MESSAGES}/{email_id}/{'forward' if action == 'forward' else 'reply'}"


def writes(world):
    return [call for call in world.calls() if call["method"] != "GET"]


@pytest.mark.slow
@pytest.mark.parametrize("provider", MAILBOXES)
@pytest.mark.parametrize("body_type", ["text", "html"])
@pytest.mark.parametrize("action", ACTIONS)
async def test_no_hidden_field_is_sent(world, provider, action, body_type):
    """Of every word, one hidden at a time: it is refused, or what is sent does not tell it."""
    email_id = receive(world, provider)
    body = ACTIONS[action] | {"bodyType": body_type}
    # Recipients are needed to be visible; a reply has the subject of its thread.
    besides = {"To", "Cc", "Date"} | ({"Subject"} if action != "forward" else set())
    for hidden in WORDS:
        visible = [word for word in WORDS if word != hidden]
        token = await world.token({"visibleEmailFields": visible})
        before = {mail.immutable_id for mail in world.sent(MAILBOXES[provider])}
        world.forget_calls()
        async with world.client(token) as client:
            response = await client.post(path_of(email_id, action), json=body)
        sent = [m for m in world.sent(MAILBOXES[provider]) if m.immutable_id not in before]

        if hidden in NEEDED[action]:
            assert (hidden, response.status_code) == (hidden, 403)
            assert response.json()["error"] == "FIELD_NOT_VISIBLE"
            assert sent == []
            assert world.calls() == []
            continue
        assert (hidden, response.status_code) == (hidden, 200)
        (mail,) = sent
        text = text_of(mail.raw, besides=besides)
        assert "Words." in text
        assert [(hidden, piece) for piece in TELLING[hidden] if piece in text] == []


@pytest.mark.slow
@pytest.mark.parametrize("provider", MAILBOXES)
@pytest.mark.parametrize("action", ACTIONS)
async def test_basic_masks_refuse_nothing(world, provider, action):
    email_id = receive(world, provider)
    token = await world.token({"visibleEmailFields": ["importance"], "maskMode": "basic"})
    async with world.client(token) as client:
        response = await client.post(path_of(email_id, action), json=ACTIONS[action])

    assert response.status_code == 200
    (mail,) = world.sent(MAILBOXES[provider])
    text = text_of(mail.raw, besides=())
    assert [
        piece for piece in ("CanarySubject", "CanaryFrom", "CanaryBody") if piece not in text
    ] == []


@pytest.mark.parametrize("provider", MAILBOXES)
@pytest.mark.parametrize("visible", [["from", "body"], ["from", "cc", "subject"]])
async def test_the_hidden_recipients_of_an_own_mail_get_no_reply(world, provider, visible):
    """A reply to one's own mail goes to its recipients; with `to` hidden it is refused."""
    email_id = receive(world, provider, sender=f"Me <{ACCOUNTS[provider].upper()}>")
    token = await world.token({"visibleEmailFields": visible})
    async with world.client(token) as client:
        response = await client.post(path_of(email_id, "reply"), json=ACTIONS["reply"])

    assert response.status_code == 403
    message = "Replying would reveal a field that this token may not see: 'to'."
    assert (response.json()["error"], response.json()["message"]) == ("FIELD_NOT_VISIBLE", message)
    assert writes(world) == []
    assert world.sent(MAILBOXES[provider]) == []


@pytest.mark.parametrize("provider", MAILBOXES)
async def test_a_reply_to_somebody_else_needs_no_visible_to(world, provider):
    email_id = receive(world, provider)
    token = await world.token({"visibleEmailFields": ["from"]})
    async with world.client(token) as client:
        response = await client.post(path_of(email_id, "reply"), json=ACTIONS["reply"])

    assert response.status_code == 200
    (mail,) = world.sent(MAILBOXES[provider])
    assert message_from_bytes(mail.raw, policy=default)["To"].addresses[0].addr_spec == (
        "from@canary.example"
    )


@pytest.mark.parametrize(
    ("all_of_them", "visible", "message"),
    [
        (False, ["to", "cc"], "Replying would reveal a field that this token may not see: 'from'."),
        (
            True,
            ["from"],
            "Replying to all would reveal a field that this token may not see: 'to', 'cc'.",
        ),
    ],
)
async def test_a_refused_reply_names_the_hidden_words(world, all_of_them, visible, message):
    token = await world.token({"visibleEmailFields": visible})
    async with world.client(token) as client:
        body = {"body": "Words.", "replyAll": all_of_them}
        response = await client.post(f"{MESSAGES}/{world.id('budget')}/reply", json=body)

    assert response.status_code == 403
    assert response.json() == {
        "error": "FIELD_NOT_VISIBLE",
        "message": message,
        "requestId": response.headers["x-request-id"],
        "success": False,
        "emailId": None,
        "threadId": None,
        "errorCode": "FIELD_NOT_VISIBLE",
        "errorMessage": message,
    }
    assert world.calls() == []
