"""Drafts of replies and forwards: made without the right to send, and whole in the mailbox."""

from email import message_from_bytes, policy

import pytest
from world import MAILBOXES

DRAFTS = "/api/access/email/drafts"
MESSAGES = "/api/access/email/messages"
WRITES = {"allowedEmailOperations": ["view_email", "view_drafts", "write_drafts"]}
DRAFT_MODE = {"allowedEmailOperations": ["all"], "sendMode": "draft"}
ORIGINALS = {"PROVIDER_A": "lease", "PROVIDER_B": "budget"}
BO = [{"email": "bo@home.example", "name": "Bo"}]
KINDS = {
    "reply": ("replyTo", {}, "reply", {}),
    "reply to all": ("replyTo", {"replyAll": True}, "reply", {"replyAll": True}),
    "forward": ("forwardOf", {"to": BO}, "forward", {"to": BO}),
}
both = pytest.mark.parametrize("provider", MAILBOXES)


def drafts(world, provider):
    mails = world.sandbox.state.mails.all(MAILBOXES[provider])
    return [mail for mail in mails if mail.folder == "drafts"]


def read(mail):
    """What a mail program reads of a draft, without what is each message's own."""
    message = message_from_bytes(mail.raw, policy=policy.default)
    own = {"message-id", "date", "content-type"}
    headers = {name: str(value) for name, value in message.items() if name.lower() not in own}
    parts = [
        (part.get_content_type(), part.get_filename(), part.get_payload(decode=True))
        for part in message.walk()
        if not part.is_multipart()
    ]
    return headers, parts, mail.thread_id


@both
@pytest.mark.parametrize("kind", KINDS)
async def test_it_is_the_draft_that_draft_mode_makes(world, provider, kind):
    member, written, action, same = KINDS[kind]
    original = world.stored(ORIGINALS[provider])
    name = world.id(ORIGINALS[provider])
    async with world.client(await world.token(WRITES)) as client:
        body = {"body": "<b>Ja</b>", member: name, **written}
        answer = await client.post(DRAFTS, json=body)
        draft = (await client.get(f"{DRAFTS}/{answer.json()['emailId']}")).json()
    (made,) = drafts(world, provider)
    async with world.client(await world.token(DRAFT_MODE)) as client:
        held = await client.post(f"{MESSAGES}/{name}/{action}", json={"body": "<b>Ja</b>", **same})
    (expected,) = [mail for mail in drafts(world, provider) if mail.seq != made.seq]

    assert (answer.status_code, held.status_code) == (202, 202), answer.text
    assert answer.json()["held"] == "draft"
    assert "<b>Ja</b>" in draft["email"]["body"]
    headers, parts, thread = read(made)
    expected_headers, expected_parts, expected_thread = read(expected)
    assert (headers, parts) == (expected_headers, expected_parts)
    if kind != "forward":
        assert thread == expected_thread == original.thread_id
        sent_id = message_from_bytes(original.raw)["Message-ID"]
        assert (headers["In-Reply-To"], sent_id in headers["References"]) == (sent_id, True)
    assert world.sent(MAILBOXES[provider]) == []


@both
async def test_a_draft_of_a_forward_needs_no_recipient_yet(world, provider):
    async with world.client(await world.token(WRITES)) as client:
        forward = {"body": "", "forwardOf": world.id(ORIGINALS[provider])}
        answer = await client.post(DRAFTS, json=forward)
        path = f"{DRAFTS}/{answer.json()['emailId']}"
        empty = (await client.get(path)).json()["email"]["to"]
        added = await client.patch(path, json={"to": BO})

    (made,) = drafts(world, provider)
    assert (answer.status_code, empty, added.status_code) == (202, [], 200)
    assert "bo@home.example" in message_from_bytes(made.raw)["To"]


@both
async def test_a_new_draft_needs_no_recipient_and_no_subject(world, provider):
    connection = world.connections[provider]
    async with world.client(await world.token(WRITES)) as client:
        answer = await client.post(DRAFTS, json={"body": "Hm", "connectionId": connection})
        email = (await client.get(f"{DRAFTS}/{answer.json()['emailId']}")).json()["email"]

    assert answer.status_code == 202
    assert (email["to"], email["subject"] or "") == ([], "")
    assert email["body"].strip() == "Hm"


WRONG = {
    "recipients of a reply": ({"replyTo": "x", "to": BO, "cc": []}, ["to", "cc"]),
    "a subject of a reply": ({"replyTo": "x", "subject": ""}, ["subject"]),
    "an account of a forward": ({"forwardOf": "x", "connectionId": 1}, ["connectionId"]),
    "a hidden copy of a forward": ({"forwardOf": "x", "bcc": []}, ["bcc"]),
    "both": ({"replyTo": "x", "forwardOf": "y"}, ["forwardOf"]),
    "all of a forward": ({"forwardOf": "y", "replyAll": False}, ["replyAll"]),
    "all of nothing": ({"replyAll": True, "to": BO}, ["replyAll"]),
}


@pytest.mark.parametrize("name", WRONG)
async def test_members_of_another_kind_are_400_and_nothing_is_asked(world, name):
    members, fields = WRONG[name]
    async with world.client(await world.token(WRITES)) as client:
        world.forget_calls()
        answer = await client.post(DRAFTS, json={"body": "b", **members})

    assert (answer.status_code, answer.json()["error"]) == (400, "VALIDATION_ERROR")
    assert [detail["field"] for detail in answer.json()["details"]] == fields
    assert world.calls() == []


@pytest.mark.parametrize("member", ["replyTo", "forwardOf"])
async def test_the_original_needs_its_own_flag_and_nothing_is_asked(world, member):
    token = await world.token({"allowedEmailOperations": ["write_drafts", "reply_to_email"]})
    async with world.client(token) as client:
        world.forget_calls()
        body = {"body": "b", member: world.id("lease")}
        answer = await client.post(DRAFTS, json=body)

    assert (answer.status_code, answer.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")
    assert answer.json()["requiredOperation"] == "view_email"
    assert world.calls() == []


@pytest.mark.parametrize(
    ("body", "hidden"),
    [
        ({"replyTo": "lease"}, "from"),
        ({"replyTo": "lease", "replyAll": True}, "cc"),
        ({"forwardOf": "lease", "to": BO}, "body"),
        ({"forwardOf": "lease", "to": BO}, "attachments"),
    ],
)
async def test_a_hidden_field_that_the_draft_would_show_is_403(world, body, hidden):
    words = ["subject", "from", "to", "cc", "body", "attachments"]
    masked = {**WRITES, "visibleEmailFields": [word for word in words if word != hidden]}
    ids = {key: world.id(value) if value == "lease" else value for key, value in body.items()}
    async with world.client(await world.token(masked)) as client:
        world.forget_calls()
        answer = await client.post(DRAFTS, json={"body": "b", **ids})

    assert (answer.status_code, answer.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert world.calls() == []


@both
async def test_recipient_rules_hold_for_whom_a_reply_goes_to(world, provider):
    rules = {**WRITES, "recipientRules": {"allow": ["nobody@home.example"]}}
    async with world.client(await world.token(rules)) as client:
        body = {"body": "b", "replyTo": world.id(ORIGINALS[provider])}
        answer = await client.post(DRAFTS, json=body)

    assert (answer.status_code, answer.json()["error"]) == (403, "RECIPIENT_NOT_ALLOWED")
    assert drafts(world, provider) == []


@both
async def test_an_unknown_original_is_404(world, provider):
    name = world.id(ORIGINALS[provider])
    async with world.client(await world.token(WRITES)) as client:
        answers = [
            await client.post(DRAFTS, json={"body": "b", member: unknown})
            for member in ("replyTo", "forwardOf")
            for unknown in (f"{name}0000", "x", "")
        ]

    assert {answer.status_code for answer in answers} == {404}
    assert drafts(world, provider) == []


@both
async def test_under_a_key_there_is_one_draft(world, provider):
    async with world.client(await world.token(WRITES)) as client:
        body = {"body": "b", "replyTo": world.id(ORIGINALS[provider])}
        key = {"Idempotency-Key": "k"}
        answers = [await client.post(DRAFTS, json=body, headers=key) for _ in range(2)]

    assert answers[0].json() == answers[1].json()
    assert len(drafts(world, provider)) == 1


@both
async def test_a_dry_run_shows_the_reply_and_makes_nothing(world, provider):
    name = world.id(ORIGINALS[provider])
    async with world.client(await world.token(WRITES)) as client:
        body = {"body": "b", "replyTo": name}
        dry = await client.post(DRAFTS, json=body, headers={"Prefer": "dry-run"})
        assert drafts(world, provider) == []
        bound = {"If-Effect": dry.json()["effect"]["digest"]}
        answer = await client.post(DRAFTS, json=body, headers=bound)

    effect = dry.json()["effect"]
    assert effect["target"] == {"kind": "message", "id": name}
    assert effect["allowedBy"]["operation"] == "write_drafts"
    assert len(effect["recipients"]["to"]) == 1
    assert answer.status_code == 202
    assert len(drafts(world, provider)) == 1


async def test_an_account_that_may_not_be_read_holds_no_original(world):
    accounts = {str(world.connections["PROVIDER_A"]): {"allowedEmailOperations": ["write_drafts"]}}
    async with world.client(await world.token({**WRITES, "accounts": accounts})) as client:
        refused = await client.post(DRAFTS, json={"body": "b", "replyTo": world.id("lease")})
        allowed = await client.post(DRAFTS, json={"body": "b", "replyTo": world.id("budget")})

    assert (refused.status_code, allowed.status_code) == (403, 202)
    assert (len(drafts(world, "PROVIDER_A")), len(drafts(world, "PROVIDER_B"))) == (0, 1)
