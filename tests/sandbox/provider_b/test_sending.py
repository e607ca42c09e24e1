"""Provider B's sending: drafts, replies, forwards, one-call sends, delivery."""

from base64 import b64encode

import pytest

from sandbox.mail.mime import parse

MESSAGES = "/me/messages"
NEIGHBOUR = "me@provider-a.example"
MIME = {"Content-Type": "text/plain"}


def to(*addresses):
    return [{"emailAddress": {"address": address}} for address in addresses]


def header(mail, name):
    return parse(mail.raw).header(name)


def letter(**more):
    message = {
        "subject": "Lease",
        "body": {"contentType": "HTML", "content": "<p>Hi</p>"},
        "toRecipients": to(NEIGHBOUR),
    }
    return {**message, **more}


async def test_sent_mail_is_kept_and_delivered_without_its_bcc(client, world):
    message = letter(
        ccRecipients=to("c@x.test"),
        bccRecipients=to("secret@x.test", "me@provider-b.example"),
        importance="high",
        replyTo=to("r@x.test"),
        internetMessageHeaders=[{"name": "X-Kind", "value": "täglich"}],
        attachments=[
            {
                "@odata.type": "#microsoft.graph.fileAttachment",
                "name": "leäse.pdf",
                "contentType": "application/pdf",
                "contentBytes": b64encode(b"pdf!").decode(),
            }
        ],
    )
    response = await client.post("/me/sendMail", json={"message": message})

    assert (response.status_code, response.content) == (202, b"")
    (sent,) = world.all(folder="sent")
    (delivered,) = world.all("provider-a")
    (to_self,) = world.all(folder="inbox")
    assert header(sent, "Bcc") == "secret@x.test, me@provider-b.example"
    assert header(delivered, "Bcc") is header(to_self, "Bcc") is None
    tree = parse(delivered.raw)
    assert tree.header("From") == '"Provider B Account" <me@provider-b.example>'
    assert tree.header("To") == NEIGHBOUR
    assert tree.header("Cc") == "c@x.test"
    assert tree.header("Reply-To") == "r@x.test"
    assert tree.header("Importance") == "high"
    assert tree.header("X-Kind") == "täglich"
    assert tree.header("Date") == "Fri, 15 Jan 2027 08:00:00 +0000"
    assert tree.header("Message-ID").endswith("@provider-b.example>")
    assert tree.body("html").text == "<p>Hi</p>"
    assert [(attachment.filename, attachment.data) for attachment in tree.attachments()] == [
        ("leäse.pdf", b"pdf!")
    ]
    shown = (await client.get(f"{MESSAGES}/{sent.id}")).json()
    assert [
        bcc_recipient["emailAddress"]["address"] for bcc_recipient in shown["bccRecipients"]
    ] == ["secret@x.test", "me@provider-b.example"]


async def test_nothing_is_kept_when_told_so(client, world):
    response = await client.post(
        "/me/sendMail", json={"Message": letter(), "SaveToSentItems": False}
    )

    assert response.status_code == 202
    assert world.all() == []
    assert len(world.all("provider-a")) == 1


@pytest.mark.parametrize(
    "subject", ["plain", "ünïcode " * 30, "=?utf-8?B?eA==?=", 'a "quoted" \\ one', "", "x" * 950]
)
async def test_a_subject_arrives_as_it_was_written(client, world, subject):
    await client.post("/me/sendMail", json={"message": letter(subject=subject)})

    (delivered,) = world.all("provider-a")
    (sent,) = world.all(folder="sent")
    shown = (await client.get(f"{MESSAGES}/{sent.id}?$select=subject")).json()["subject"]
    assert (header(delivered, "Subject") or "") == shown == subject


async def test_breaks_in_headers_do_not_make_headers(client, world):
    people = [{"emailAddress": {"address": f"{NEIGHBOUR}\r\nX-A: 1", "name": "n\nX-B: 2"}}]
    await client.post("/me/sendMail", json={"message": letter(subject="a\r\nX-C: 3")})
    await client.post("/me/sendMail", json={"message": letter(toRecipients=people)})

    for mail in world.all():
        assert not [message for message in parse(mail.raw).headers if message.name.startswith("X-")]


async def test_mime_is_sent_as_it_is(client, world):
    raw = f"To: {NEIGHBOUR}\r\nSubject: Raw\r\nX-Mine: 1\r\n\r\nDate: in the body".encode()
    response = await client.post("/me/sendMail", content=b64encode(raw), headers=MIME)

    assert response.status_code == 202
    (delivered,) = world.all("provider-a")
    assert delivered.raw.endswith(raw)
    assert header(delivered, "From") == '"Provider B Account" <me@provider-b.example>'


REFUSED = {
    "no message": ({}, "ErrorInvalidParameter"),
    "no recipients": ({"message": letter(toRecipients=[])}, "ErrorInvalidRecipients"),
    "no address": ({"message": letter(toRecipients=to("nobody"))}, "ErrorInvalidRecipients"),
    "recipients of another form": (
        {"message": letter(toRecipients=["a@x.test"])},
        "RequestBodyRead",
    ),
    "an unknown member": ({"message": letter(subjct="x")}, "RequestBodyRead"),
    "an unknown importance": ({"message": letter(importance="urgent")}, "RequestBodyRead"),
    "an unknown body type": ({"message": letter(body={"contentType": "rtf"})}, "RequestBodyRead"),
    "a header of its own": (
        {"message": letter(internetMessageHeaders=[{"name": "Sender", "value": "x"}])},
        "InvalidInternetMessageHeader",
    ),
    "a file without a name": (
        {"message": letter(attachments=[{"contentBytes": ""}])},
        "ErrorRequiredPropertyMissing",
    ),
    "a file that is not base64": (
        {"message": letter(attachments=[{"name": "a", "contentBytes": "?"}])},
        "RequestBodyRead",
    ),
}


@pytest.mark.parametrize("label", REFUSED)
async def test_a_send_refuses_and_sends_nothing(client, world, label):
    body, code = REFUSED[label]
    response = await client.post("/me/sendMail", json=body)

    assert (response.status_code, response.json()["error"]["code"]) == (400, code)
    assert world.all() == world.all("provider-a") == []


@pytest.mark.parametrize(
    ("content", "headers", "code"),
    [
        (b"not base64!", MIME, "ErrorMimeContentInvalidBase64String"),
        (b"", MIME, "ErrorMimeContentInvalidBase64String"),
        (b"{", {"Content-Type": "application/json"}, "BadRequest"),
        (b"[]", {"Content-Type": "application/json"}, "BadRequest"),
    ],
)
async def test_a_body_that_cannot_be_read_is_refused(client, world, content, headers, code):
    response = await client.post("/me/sendMail", content=content, headers=headers)

    assert (response.status_code, response.json()["error"]["code"]) == (400, code)
    assert world.all() == []


async def test_sending_for_another_is_denied(client, world):
    body = {"message": letter(**{"from": to("boss@x.test")[0]})}
    response = await client.post("/me/sendMail", json=body)

    assert (response.status_code, response.json()["error"]["code"]) == (403, "ErrorSendAsDenied")
    assert world.all() == []


async def test_a_draft_keeps_its_immutable_id_until_it_is_sent_mail(client, world):
    prefer = {"Prefer": 'IdType="ImmutableId"'}
    draft = await client.post(MESSAGES, json=letter(bccRecipients=to("s@x.test")), headers=prefer)
    body = draft.json()
    sent = await client.post(f"{MESSAGES}/{body['id']}/send")
    after = (await client.get(f"{MESSAGES}/{body['id']}", headers=prefer)).json()

    assert draft.status_code == 201
    assert (body["isDraft"], body["isRead"]) == (True, True)
    assert "from" not in body
    assert "sender" not in body
    assert (sent.status_code, sent.content) == (202, b"")
    assert (after["isDraft"], after["id"]) == (False, body["id"])
    assert after["from"]["emailAddress"]["address"] == "me@provider-b.example"
    assert after["internetMessageId"] == body["internetMessageId"]
    assert len(world.all("provider-a")) == 1
    assert (await client.post(f"{MESSAGES}/{body['id']}/send")).status_code == 400


async def test_a_draft_can_be_rewritten(client, world):
    draft = (await client.post(MESSAGES, json={"subject": "First"})).json()
    change = {
        "subject": "Second",
        "body": {"contentType": "text", "content": "plain <text>"},
        "toRecipients": to(NEIGHBOUR),
        "internetMessageId": "<mine-1@agw.example>",
        "categories": ["Home"],
        "importance": "low",
    }
    attached = await client.post(
        f"{MESSAGES}/{draft['id']}/attachments",
        json={
            "@odata.type": "#microsoft.graph.fileAttachment",
            "name": "a.txt",
            "contentBytes": "aGk=",
        },
    )
    changed = await client.patch(f"{MESSAGES}/{draft['id']}", json=change)
    await client.post(f"{MESSAGES}/{draft['id']}/send")

    assert attached.status_code == 201
    assert {name: changed.json()[name] for name in ("subject", "importance", "categories")} == {
        "subject": "Second",
        "importance": "low",
        "categories": ["Home"],
    }
    assert changed.json()["internetMessageId"] == "<mine-1@agw.example>"
    assert changed.json()["id"] == draft["id"]
    tree = parse(world.all("provider-a")[0].raw)
    assert tree.header("Message-ID") == "<mine-1@agw.example>"
    assert tree.body("plain").text == "plain <text>"
    assert [(attachment.filename, attachment.data) for attachment in tree.attachments()] == [
        ("a.txt", b"hi")
    ]
    found = await client.get(
        MESSAGES, params={"$filter": "internetMessageId eq '<mine-1@agw.example>'"}
    )
    assert [message["subject"] for message in found.json()["value"]] == ["Second"]


async def test_the_time_of_sending_replaces_any_other(client, world):
    raw = f"To: {NEIGHBOUR}\r\ndate: Mon, 05 Jan 2026\r\n 09:00:00 +0000\r\n\r\nbody"
    await client.post("/me/sendMail", content=b64encode(raw.encode()), headers=MIME)

    (sent,) = world.all(folder="sent")
    dates = [header.text for header in parse(sent.raw).headers if header.name.lower() == "date"]
    assert dates == ["Fri, 15 Jan 2027 08:00:00 +0000"]
    assert sent.raw.endswith(f"To: {NEIGHBOUR}\r\n\r\nbody".encode())


async def test_a_draft_can_be_made_of_mime(client, world):
    raw = f"To: {NEIGHBOUR}\r\nSubject: Raw\r\nMessage-ID: <m@x>\r\n\r\nbody".encode()
    draft = await client.post(MESSAGES, content=b64encode(raw), headers=MIME)

    assert draft.status_code == 201
    assert (draft.json()["isDraft"], draft.json()["subject"]) == (True, "Raw")
    assert draft.json()["internetMessageId"] == "<m@x>"
    await client.post(f"{MESSAGES}/{draft.json()['id']}/send")
    assert [header(message, "Subject") for message in world.all("provider-a")] == ["Raw"]


@pytest.fixture
def original(world):
    return world.arrive(
        "Lease",
        sender=f"Ann <{NEIGHBOUR}>",
        to="me@provider-b.example, Zoe <zoe@x.test>",
        headers={"Cc": "c@x.test, ME@provider-b.example", "References": "<root@x.test>"},
        html="<html><body><p>Original</p></body></html>",
        files={"lease.pdf": b"pdf!"},
    )


async def test_a_reply_quotes_the_original_below_the_comment(client, world, original):
    response = await client.post(f"{MESSAGES}/{original.id}/reply", json={"comment": "Fine <3"})

    assert response.status_code == 202
    (sent,) = world.all(folder="sent")
    tree = parse(sent.raw)
    assert tree.header("To") == f'"Ann" <{NEIGHBOUR}>'
    assert tree.header("Cc") is None
    assert tree.header("Subject") == "RE: Lease"
    assert tree.header("In-Reply-To") == "<Lease@x.test>"
    assert tree.header("References") == "<root@x.test> <Lease@x.test>"
    assert sent.thread_id == original.thread_id
    html = tree.body("html").text
    assert html.index("Fine &lt;3") < html.index("<p>Original</p>")
    assert tree.attachments() == ()
    assert [header(message, "Subject") for message in world.all("provider-a")] == ["RE: Lease"]


async def test_a_reply_with_a_body_quotes_nothing(client, world, original):
    body = {"message": {"body": {"contentType": "HTML", "content": "<p>Mine</p>"}}}
    await client.post(f"{MESSAGES}/{original.id}/reply", json=body)

    (sent,) = world.all(folder="sent")
    assert parse(sent.raw).body("html").text == "<p>Mine</p>"


async def test_a_reply_to_all_leaves_the_account_out(client, world, original):
    await client.post(f"{MESSAGES}/{original.id}/replyAll", json={"comment": "x"})

    (sent,) = world.all(folder="sent")
    assert header(sent, "To") == f'"Ann" <{NEIGHBOUR}>, "Zoe" <zoe@x.test>'
    assert header(sent, "Cc") == "c@x.test"


async def test_a_reply_goes_to_the_address_asked_for(client, world):
    mail = world.arrive("RE: Lease", headers={"Reply-To": "desk@x.test"})
    await client.post(f"{MESSAGES}/{mail.id}/reply", json={"comment": "x"})

    (sent,) = world.all(folder="sent")
    assert (header(sent, "To"), header(sent, "Subject")) == ("desk@x.test", "RE: Lease")


async def test_a_reply_to_own_mail_goes_to_its_recipients(client, world):
    mail = world.arrive("Lease", sender="me@provider-b.example", to="z@x.test", folder="sent")
    await client.post(f"{MESSAGES}/{mail.id}/reply", json={"comment": "x"})

    assert "z@x.test" in [
        header(message, "To") for message in world.all(folder="sent") if message != mail
    ]


async def test_a_forward_keeps_the_attachments(client, world, original):
    body = {
        "comment": "See below",
        "message": {"toRecipients": to(NEIGHBOUR), "ccRecipients": to("c@x.test")},
    }
    response = await client.post(f"{MESSAGES}/{original.id}/forward", json=body)

    assert response.status_code == 202
    (delivered,) = world.all("provider-a")
    tree = parse(delivered.raw)
    assert tree.header("Subject") == "FW: Lease"
    assert tree.header("Cc") == "c@x.test"
    assert [(attachment.filename, attachment.data) for attachment in tree.attachments()] == [
        ("lease.pdf", b"pdf!")
    ]
    assert "See below" in tree.body("html").text


BOTH = {"comment": "a", "message": {"body": {"contentType": "text", "content": "b"}}}


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("reply", BOTH),
        ("replyAll", BOTH),
        ("createReply", BOTH),
        ("forward", {**BOTH, "toRecipients": to(NEIGHBOUR)}),
        ("forward", {"comment": "a"}),
        ("forward", {"toRecipients": to(NEIGHBOUR), "message": {"toRecipients": to(NEIGHBOUR)}}),
        ("createForward", {"toRecipients": to("a@x"), "message": {"toRecipients": to("a@x")}}),
    ],
    ids=[
        "a reply with comment and body",
        "a reply to all with comment and body",
        "a draft reply with comment and body",
        "a forward with comment and body",
        "a forward to nobody",
        "a forward with recipients twice",
        "a draft forward with recipients twice",
    ],
)
async def test_an_answer_refuses_and_sends_nothing(client, world, original, action, body):
    response = await client.post(f"{MESSAGES}/{original.id}/{action}", json=body)

    assert (response.status_code, response.json()["error"]["code"]) == (400, "ErrorInvalidRequest")
    assert world.all() == [original]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("createReply", ("RE: Lease", [NEIGHBOUR])),
        ("createReplyAll", ("RE: Lease", [NEIGHBOUR, "zoe@x.test"])),
        ("createForward", ("FW: Lease", [])),
    ],
)
async def test_an_answer_can_be_drafted_first(client, world, original, action, expected):
    draft = await client.post(f"{MESSAGES}/{original.id}/{action}")
    body = draft.json()

    assert draft.status_code == 201
    people = [to_recipient["emailAddress"]["address"] for to_recipient in body["toRecipients"]]
    assert body["isDraft"] is True
    assert (body["subject"], people) == expected
    assert body["conversationId"] == original.thread_id
    assert [message.folder for message in world.all()] == ["drafts", "inbox"]
    await client.patch(f"{MESSAGES}/{body['id']}", json={"toRecipients": to(NEIGHBOUR)})
    assert (await client.post(f"{MESSAGES}/{body['id']}/send")).status_code == 202
    (sent,) = world.all(folder="sent")
    assert sent.thread_id == original.thread_id
