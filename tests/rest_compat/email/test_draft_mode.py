"""Draft mode: a message is left as a draft, once, and sent by the person's own client."""

from base64 import b64encode
from email import message_from_bytes, policy
from itertools import count

import pytest
from world import CODES, DRAFT_WRITES, MAILBOXES, api_id

from gateway.store.idempotency.store import IdempotencyStore
from providers.http.client import Upstream
from providers.imap.session import Session
from providers.mail import delivery

MESSAGES = "/api/access/email/messages"
DRAFTS = {"sendMode": "draft"}
ORIGINALS = {"PROVIDER_A": "lease", "PROVIDER_B": "budget"}
FILES = [
    {"name": "Übersicht.csv", "contentBase64": b64encode("a;ü\n".encode()).decode()},
    {
        "name": "plan.pdf",
        "contentType": "application/pdf",
        "contentBase64": b64encode(b"%PDF").decode(),
    },
]
# What the provider writes anew for each message.
OWN_OF_EACH = {"message-id", "date", "received", "return-path", "delivered-to"}

both = pytest.mark.parametrize("provider", MAILBOXES)


def drafts(world, provider):
    """The drafts of the mailbox; the world has none of its own."""
    mails = world.sandbox.state.mails.all(MAILBOXES[provider])
    return [mail for mail in mails if mail.folder == "drafts"]


def new_message(world, provider, **more):
    return {
        "to": [{"email": "bo@work.example", "name": "Bø"}],
        "subject": "Grüße",
        "body": "<p>Hallo</p>",
        "connectionId": world.connections[provider],
        **more,
    }


def calls(world, provider):
    """A call of each kind: path and body."""
    original = f"{MESSAGES}/{world.id(ORIGINALS[provider])}"
    forwarded = {"to": [{"email": "dan@work.example"}], "cc": [{"email": "bo@work.example"}]}
    everybody = {"cc": [{"email": "dan@work.example"}], "bcc": [{"email": "eve@work.example"}]}
    whole = new_message(world, provider, importance="high", attachments=FILES, **everybody)
    return {
        "send": (f"{MESSAGES}/send", whole),
        "text": (f"{MESSAGES}/send", new_message(world, provider, body="1 < 2", bodyType="text")),
        "reply": (f"{original}/reply", {"body": "<b>Yes</b>", "attachments": FILES}),
        "reply to all": (f"{original}/reply", {"body": "Yes", "replyAll": True}),
        "forward": (f"{original}/forward", {**forwarded, "body": "See", "attachments": FILES}),
    }


async def send_as_the_person(world, provider):
    (draft,) = drafts(world, provider)
    await world.send_draft(provider, draft)


def content_of(mail):
    """Headers but those that are each message's own, and every part with its bytes."""
    message = message_from_bytes(mail.raw, policy=policy.default)
    headers = [
        (name, str(value)) for name, value in message.items() if name.lower() not in OWN_OF_EACH
    ]
    parts = [
        (part.get_content_type(), part.get_filename(), part.get_payload(decode=True))
        for part in message.walk()
        if not part.is_multipart()
    ]
    return (
        [(name, value) for name, value in headers if "boundary" not in value],
        parts,
        mail.thread_id,
    )


@pytest.mark.slow
@both
@pytest.mark.parametrize("kind", ["send", "text", "reply", "reply to all", "forward"])
async def test_the_draft_that_the_person_sends_is_the_message_that_was_asked_for(
    world, provider, kind
):
    path, body = calls(world, provider)[kind]
    async with world.client(await world.token({})) as client:
        assert (await client.post(path, json=body)).status_code == 200
    (direct,) = world.sent(MAILBOXES[provider])
    async with world.client(await world.token(DRAFTS)) as client:
        answer = await client.post(path, json=body)

    (draft,) = drafts(world, provider)
    email_id = draft.id if provider == "PROVIDER_A" else draft.immutable_id
    assert answer.status_code == 202
    assert answer.json() == {
        "success": True,
        "emailId": api_id(MAILBOXES[provider], email_id),
        "threadId": api_id(MAILBOXES[provider], draft.thread_id),
        "errorCode": None,
        "errorMessage": None,
        "held": "draft",
    }
    assert world.sent(MAILBOXES[provider]) == [direct]

    await send_as_the_person(world, provider)

    (sent,) = [mail for mail in world.sent(MAILBOXES[provider]) if mail.seq != direct.seq]
    assert drafts(world, provider) == []
    headers, parts, thread = content_of(sent)
    expected_headers, expected_parts, expected_thread = content_of(direct)
    assert headers == expected_headers
    assert parts == expected_parts
    if kind.startswith("reply"):
        assert thread == expected_thread


@both
async def test_the_draft_is_read_by_the_id_of_the_answer(world, provider):
    async with world.client(await world.token(DRAFTS)) as client:
        made = await client.post(f"{MESSAGES}/send", json=new_message(world, provider))
        read = await client.get(f"{MESSAGES}/{made.json()['emailId']}")

    assert read.status_code == 200
    assert read.json()["subject"] == "Grüße"


@both
async def test_a_key_leaves_one_draft_in_both_apis(world, provider):
    body, key = new_message(world, provider), {"Idempotency-Key": "k"}
    document = """mutation ($input: SendEmailInput!) {
      sendEmail(input: $input) { success emailId held errorCode }
    }"""
    async with world.client(await world.token(DRAFTS)) as client:
        first = await client.post(f"{MESSAGES}/send", json=body, headers=key)
        again = await client.post(f"{MESSAGES}/send", json=body, headers=key)
        world.forget_calls()
        query = {"query": document, "variables": {"input": body}}
        third = await client.post("/graphql", json=query, headers=key)

    assert (first.status_code, again.status_code) == (202, 202)
    assert again.content == first.content
    assert again.headers["idempotent-replayed"] == "true"
    assert third.status_code == 200
    expected = {"success": True, "emailId": first.json()["emailId"], "held": "draft"}
    assert third.json()["data"] == {"sendEmail": {**expected, "errorCode": None}}
    assert world.calls() == []
    assert len(drafts(world, provider)) == 1
    assert world.sent(MAILBOXES[provider]) == []


async def test_a_replay_after_a_change_of_policy_has_the_same_status(world):
    body, key = new_message(world, "PROVIDER_A"), {"Idempotency-Key": "k"}
    async with world.client(await world.token(DRAFTS)) as client:
        first = await client.post(f"{MESSAGES}/send", json=body, headers=key)
        await change_token(world, client, {"visibleEmailFields": ["subject"]})
        world.forget_calls()
        again = await client.post(f"{MESSAGES}/send", json=body, headers=key)

    assert again.status_code == 202
    assert again.json() == {**first.json()}
    assert world.calls() == []


@pytest.mark.slow
@both
@pytest.mark.parametrize("kind", ["send", "reply", "forward"])
@pytest.mark.parametrize("writes", range(1, 7))
async def test_one_draft_is_left_after_a_crash(world, provider, kind, writes, monkeypatch):
    """The attempt dies after one of its writes or commits; the next one leaves a whole draft."""
    path, body = calls(world, provider)[kind]
    key = {"Idempotency-Key": "k"}
    done = count(1)
    call, command = Upstream.call, Session.command
    store = IdempotencyStore.store_draft

    async def call_and_die(upstream, method, *segments, **options):
        response = await call(upstream, method, *segments, **options)
        if method != "GET" and next(done) == writes:
            raise RuntimeError
        return response

    async def command_and_die(session, *parts, **options):
        reply = await command(session, *parts, **options)
        if parts[0] == "APPEND" and next(done) == writes:
            raise RuntimeError
        return reply

    async def store_and_die(*arguments):
        stored = await store(*arguments)
        if next(done) == writes:
            raise RuntimeError
        return stored

    monkeypatch.setattr(Upstream, "call", call_and_die)
    monkeypatch.setattr(Session, "command", command_and_die)
    monkeypatch.setattr(IdempotencyStore, "store_draft", store_and_die)
    async with world.client(await world.token(DRAFTS)) as client:
        first = await client.post(path, json=body, headers=key)
        monkeypatch.undo()
        second = await client.post(path, json=body, headers=key)

    assert first.status_code == (500 if writes <= DRAFT_WRITES[provider][kind] else 202)
    assert second.status_code == 202, second.text
    assert_whole(world, provider, kind)
    email_id = second.json()["emailId"].partition(":")[2]
    (draft,) = drafts(world, provider)
    assert email_id in {draft.id, draft.immutable_id}


def assert_whole(world, provider, kind):
    """There is one draft, with all its files and recipients, and nothing was sent."""
    (draft,) = drafts(world, provider)
    message = message_from_bytes(draft.raw, policy=policy.default)
    names = [part.get_filename() for part in message.iter_attachments()]
    assert [name for name in names if name != "lease.pdf"] == ["Übersicht.csv", "plan.pdf"]
    assert ("lease.pdf" in names) == (provider == "PROVIDER_A" and kind == "forward")
    assert message["To"]
    text = message.get_body(("html",)).get_content()
    written = {"send": "Hallo", "reply": "<b>Yes</b>", "forward": "See"}[kind]
    assert text.count(written) == 1
    assert world.sent(MAILBOXES[provider]) == []


@pytest.mark.slow
@both
@pytest.mark.parametrize("kind", ["send", "reply", "forward"])
@pytest.mark.parametrize("fault", ["lostAnswer", "503"])
async def test_one_draft_is_left_when_the_creation_fails(world, provider, kind, fault, monkeypatch):
    """A draft that was made although the answer was lost is found and finished."""
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0.0, 0.0))
    path, body = calls(world, provider)[kind]
    key = {"Idempotency-Key": "k"}
    await world.fail(MAILBOXES[provider], kind=fault, count=1, method="POST", match="draft")
    if provider == "PROVIDER_B":
        match = {"send": "messages", "reply": "createReply", "forward": "createForward"}[kind]
        await world.fail(MAILBOXES[provider], kind=fault, count=1, method="POST", match=match)
    async with world.client(await world.token(DRAFTS)) as client:
        answers = [await client.post(path, json=body, headers=key)]
        if answers[0].status_code == 502:
            assert drafts(world, provider) == []
            answers.append(await client.post(path, json=body, headers=key))

    assert [answer.status_code for answer in answers] == (
        [202] if fault == "lostAnswer" else [502, 202]
    )
    assert_whole(world, provider, kind)


@both
async def test_what_the_person_did_with_the_draft_is_no_reason_for_another(
    world, provider, monkeypatch
):
    """The attempt died after its commit, and the person has sent the draft before the retry."""
    path, body = calls(world, provider)["send"]
    key = {"Idempotency-Key": "k"}
    store, done = IdempotencyStore.store_draft, count(1)

    async def store_and_die(*arguments):
        stored = await store(*arguments)
        if next(done) == 2:
            raise RuntimeError
        return stored

    monkeypatch.setattr(IdempotencyStore, "store_draft", store_and_die)
    async with world.client(await world.token(DRAFTS)) as client:
        assert (await client.post(path, json=body, headers=key)).status_code == 500
        monkeypatch.undo()
        await send_as_the_person(world, provider)
        second = await client.post(path, json=body, headers=key)

    assert second.status_code == 202
    assert second.json()["held"] == "draft"
    assert (second.json()["emailId"] is None) == (CODES[provider] != "PROVIDER_B")
    assert drafts(world, provider) == []
    assert len(world.sent(MAILBOXES[provider])) == 1


@both
async def test_direct_mode_sends_the_draft_that_was_held(world, provider, monkeypatch):
    """The attempt died after its commit; before the retry the token changed to direct mode."""
    path, body = calls(world, provider)["send"]
    key = {"Idempotency-Key": "k"}
    store, done = IdempotencyStore.store_draft, count(1)

    async def store_and_die(*arguments):
        stored = await store(*arguments)
        if next(done) == 2:
            raise RuntimeError
        return stored

    monkeypatch.setattr(IdempotencyStore, "store_draft", store_and_die)
    async with world.client(await world.token(DRAFTS)) as client:
        assert (await client.post(path, json=body, headers=key)).status_code == 500
        monkeypatch.undo()
        await change_token(world, client, {"sendMode": "direct"})
        second = await client.post(path, json=body, headers=key)

    assert second.status_code == 200
    assert "held" not in second.json()
    assert drafts(world, provider) == []
    assert len(world.sent(MAILBOXES[provider])) == 1


@both
async def test_direct_mode_sends_nothing_while_a_draft_may_have_been_made(
    world, provider, monkeypatch
):
    path, body = calls(world, provider)["send"]
    key = {"Idempotency-Key": "k"}
    store = IdempotencyStore.store_draft

    async def store_and_die(*arguments):
        await store(*arguments)
        raise RuntimeError

    monkeypatch.setattr(IdempotencyStore, "store_draft", store_and_die)
    async with world.client(await world.token(DRAFTS)) as client:
        assert (await client.post(path, json=body, headers=key)).status_code == 500
        monkeypatch.undo()
        await change_token(world, client, {"sendMode": "direct"})
        world.forget_calls()
        second = await client.post(path, json=body, headers=key)

    assert (second.status_code, second.json()["error"]) == (504, "OUTCOME_UNKNOWN")
    assert world.calls() == []


@both
async def test_recipient_rules_leave_no_draft(world, provider):
    async with world.client(await world.token({**DRAFTS, "recipientRules": {}})) as client:
        answer = await client.post(f"{MESSAGES}/send", json=new_message(world, provider))

    assert answer.status_code == 403
    assert "held" not in answer.json()
    assert world.calls() == []


async def test_other_changes_are_made_at_once(world):
    change = {"markAsRead": True}
    async with world.client(await world.token(DRAFTS)) as client:
        answer = await client.patch(f"{MESSAGES}/{world.id('lease')}", json=change)

    assert answer.status_code == 200
    assert "held" not in answer.json()
    assert world.stored("lease").is_read


async def test_the_decision_log_and_explain_say_held(world):
    body = new_message(world, "PROVIDER_A")
    text = "mutation ($m: SendEmailInput!) { sendEmail(input: $m) { held } }"
    async with world.client(await world.token(DRAFTS)) as client:
        await client.post(f"{MESSAGES}/send", json=body)
        await client.post("/graphql", json={"query": text, "variables": {"m": body}})
        await client.post(f"{MESSAGES}/send", json={**body, "to": []})
        access = (await client.get(f"{MESSAGES}/{world.id('lease')}")).json()["accessInfo"]
        token = await token_id(client)
    logged = (await world.admin.get("/api/decisions?operation=sendEmail")).json()["decisions"]
    held = (await world.admin.get("/api/decisions?outcome=held")).json()["decisions"]
    world.forget_calls()
    call = {"method": "POST", "path": f"{MESSAGES}/send", "body": body}
    answer = await world.admin.post(f"/api/access-tokens/{token}/explain", json=call)
    explained = answer.json()

    assert [row["outcome"] for row in logged] == ["refused", "held", "held"]
    assert [row["status"] for row in held] == [200, 202]
    assert access == "Mail is put into the Drafts folder for a person to send."
    assert (explained["outcome"], explained["status"]) == ("held", 202)
    assert [call["method"] for call in world.calls() if call["method"] != "GET"] == []


async def token_id(client):
    return (await client.get("/api/access/token")).json()["id"]


async def change_token(world, client, settings):
    """Change the settings of the token of *client*."""
    url = f"/api/access-tokens/{await token_id(client)}"
    answer = await world.admin.patch(url, json={"settings": settings})
    assert answer.status_code == 200, answer.text


@pytest.mark.slow
@both
@pytest.mark.parametrize("kind", ["send", "reply", "forward"])
async def test_a_dry_run_says_that_the_message_would_be_held(world, provider, kind):
    path, body = calls(world, provider)[kind]
    async with world.client(await world.token(DRAFTS)) as client:
        dry = await client.post(path, json=body, headers={"Prefer": "dry-run"})
        assert drafts(world, provider) == []
        expected = {"If-Effect": dry.json()["effect"]["digest"], "Idempotency-Key": "k"}
        held = await client.post(path, json=body, headers=expected)

    assert (dry.status_code, dry.json()["held"], dry.json()["dryRun"]) == (202, "draft", True)
    assert (held.status_code, held.json()["held"]) == (202, "draft")
    assert_whole(world, provider, kind)


@both
async def test_a_dry_run_in_another_mode_has_another_effect(world, provider):
    path, body = calls(world, provider)["send"]
    async with world.client(await world.token(DRAFTS)) as client:
        dry = await client.post(path, json=body, headers={"Prefer": "dry-run"})
        await change_token(world, client, {"sendMode": "direct"})
        expected = {"If-Effect": dry.json()["effect"]["digest"]}
        refused = await client.post(path, json=body, headers=expected)

    assert (refused.status_code, refused.json()["error"]) == (412, "EFFECT_CHANGED")
    assert drafts(world, provider) == []
    assert world.sent(MAILBOXES[provider]) == []


@pytest.mark.slow
@both
@pytest.mark.parametrize("commits", [1, 2])
async def test_a_retry_with_an_expected_effect_leaves_one_draft(
    world, provider, commits, monkeypatch
):
    """The attempt died after a commit: before the draft was created, or after it was complete."""
    path, body = calls(world, provider)["reply"]
    store, done = IdempotencyStore.store_draft, count(1)

    async def store_and_die(*arguments):
        stored = await store(*arguments)
        if next(done) == commits:
            raise RuntimeError
        return stored

    async with world.client(await world.token(DRAFTS)) as client:
        dry = await client.post(path, json=body, headers={"Prefer": "dry-run"})
        expected = {"If-Effect": dry.json()["effect"]["digest"], "Idempotency-Key": "k"}
        monkeypatch.setattr(IdempotencyStore, "store_draft", store_and_die)
        first = await client.post(path, json=body, headers=expected)
        monkeypatch.undo()
        second = await client.post(path, json=body, headers=expected)

    assert (first.status_code, second.status_code) == (500, 202), second.text
    assert_whole(world, provider, "reply")
