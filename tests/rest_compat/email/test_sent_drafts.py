"""Drafts that are made, and sent as they are: once, to allowed recipients, in the seen version."""

import asyncio

import pytest
from drafts import draft_id, leave, raw_draft
from world import MAILBOXES

DRAFTS = "/api/access/email/drafts"
SENDS = {"allowedEmailOperations": ["view_drafts", "write_drafts", "send_email"]}
UPSTREAMS = {"PROVIDER_A": "provider-a", "PROVIDER_B": "provider-b"}
both = pytest.mark.parametrize("provider", MAILBOXES)


def drafts(world, provider):
    mails = world.sandbox.state.mails.all(MAILBOXES[provider])
    return [mail for mail in mails if mail.folder == "drafts"]


def path_of(provider, stored):
    return f"{DRAFTS}/{draft_id(provider, stored)}/send"


@both
async def test_a_draft_is_sent_as_it_is(world, provider):
    stored = leave(world, provider)
    async with world.client(await world.token(SENDS)) as client:
        answer = await client.post(path_of(provider, stored))
        again = await client.post(path_of(provider, stored))

    (sent,) = world.sent(MAILBOXES[provider])
    assert answer.status_code == 200, answer.text
    assert answer.json()["success"] is True
    assert (again.status_code, again.json()["error"]) == (404, "NOT_FOUND")
    assert b"We offer." in sent.raw
    assert (b"JVBERg==" in sent.raw, sent.thread_id) == (True, stored.thread_id)
    assert drafts(world, provider) == []


@both
async def test_under_a_key_it_is_sent_once(world, provider):
    stored = leave(world, provider)
    async with world.client(await world.token(SENDS)) as client:
        key = {"Idempotency-Key": "k"}
        answers = [await client.post(path_of(provider, stored), headers=key) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].content == answers[1].content
    assert answers[1].headers["idempotent-replayed"] == "true"
    assert len(world.sent(MAILBOXES[provider])) == 1


@both
async def test_keys_at_once_send_it_once(world, provider):
    stored = leave(world, provider)
    async with world.client(await world.token(SENDS)) as client:
        answers = await asyncio.gather(
            *(
                client.post(path_of(provider, stored), headers={"Idempotency-Key": f"k{number}"})
                for number in range(5)
            )
        )

    assert len(world.sent(MAILBOXES[provider])) == 1
    assert {answer.status_code for answer in answers} <= {200, 404, 502, 504}


@pytest.mark.slow  # the look-ups pause
@both
@pytest.mark.parametrize("fault", ["lostAnswer", "500"])
async def test_a_lost_response_is_looked_up_and_a_retry_sends_the_rest(world, provider, fault):
    stored = leave(world, provider)
    await world.fail(UPSTREAMS[provider], kind=fault, count=1, method="POST", match="send")
    async with world.client(await world.token(SENDS)) as client:
        headers = {"Idempotency-Key": "k"}
        first = await client.post(path_of(provider, stored), headers=headers)
        retry = await client.post(path_of(provider, stored), headers=headers)

    assert first.status_code == (200 if fault == "lostAnswer" else 502)
    assert retry.status_code == 200
    assert len(world.sent(MAILBOXES[provider])) == 1
    assert drafts(world, provider) == []


@pytest.mark.slow  # the look-ups pause
@both
async def test_a_send_that_may_come_later_is_of_unknown_outcome_and_kept(world, provider):
    stored = leave(world, provider)
    await world.fail(UPSTREAMS[provider], kind="reset", count=1, method="POST", match="send")
    async with world.client(await world.token(SENDS)) as client:
        headers = {"Idempotency-Key": "k"}
        first = await client.post(path_of(provider, stored), headers=headers)
        retry = await client.post(path_of(provider, stored), headers=headers)

    assert first.status_code == retry.status_code == 504
    assert [mail.seq for mail in drafts(world, provider)] == [stored.seq]
    assert world.sent(MAILBOXES[provider]) == []


@both
async def test_a_throttled_send_leaves_the_draft_and_a_retry_sends_it(world, provider):
    stored = leave(world, provider)
    await world.fail(UPSTREAMS[provider], kind="400", count=1, method="POST", match="send")
    async with world.client(await world.token(SENDS)) as client:
        headers = {"Idempotency-Key": "k"}
        first = await client.post(path_of(provider, stored), headers=headers)
        assert [mail.seq for mail in drafts(world, provider)] == [stored.seq]
        retry = await client.post(path_of(provider, stored), headers=headers)

    assert (first.status_code, retry.status_code) == (502, 200)
    assert len(world.sent(MAILBOXES[provider])) == 1


@both
async def test_an_old_version_is_412_and_not_sent(world, provider):
    stored = leave(world, provider)
    read = path_of(provider, stored).removesuffix("/send")
    async with world.client(await world.token(SENDS)) as client:
        tag = (await client.get(read)).headers["etag"]
        assert (await client.patch(read, json={"subject": "New"})).status_code == 200
        late = await client.post(f"{read}/send", headers={"If-Match": tag})

    assert (late.status_code, late.json()["error"]) == (412, "PRECONDITION_FAILED")
    assert world.sent(MAILBOXES[provider]) == []


@both
async def test_recipient_rules_hold_for_hidden_recipients_too(world, provider):
    stored = leave(world, provider)  # bcc: eve
    rules = {"allow": ["bo@work.example", "dan@work.example"]}
    async with world.client(await world.token({**SENDS, "recipientRules": rules})) as client:
        refused = await client.post(path_of(provider, stored))
    masked = {**SENDS, "recipientRules": rules, "visibleEmailFields": ["subject", "to", "cc"]}
    async with world.client(await world.token(masked)) as client:
        hidden = await client.post(path_of(provider, stored))

    assert (refused.status_code, refused.json()["error"]) == (403, "RECIPIENT_NOT_ALLOWED")
    assert (hidden.status_code, hidden.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert world.sent(MAILBOXES[provider]) == []


@both
async def test_a_draft_without_recipients_is_refused(world, provider):
    raw = b"\r\n".join(
        line
        for line in raw_draft(provider).split(b"\r\n")
        if not line.startswith((b"To:", b"Cc:", b"Bcc:"))
    )
    stored = leave(world, provider, raw)
    async with world.client(await world.token(SENDS)) as client:
        answer = await client.post(path_of(provider, stored))

    assert (answer.status_code, answer.json()["error"]) == (400, "VALIDATION_ERROR")
    assert world.sent(MAILBOXES[provider]) == []


async def test_a_token_that_may_write_drafts_may_not_send_them(world):
    stored = leave(world, "PROVIDER_A")
    settings = {"allowedEmailOperations": ["view_drafts", "write_drafts"]}
    async with world.client(await world.token(settings)) as client:
        world.forget_calls()
        answer = await client.post(path_of("PROVIDER_A", stored))

    assert (answer.status_code, answer.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")
    assert world.calls() == []


@both
async def test_in_draft_mode_it_stays_for_the_person(world, provider):
    stored = leave(world, provider)
    async with world.client(await world.token({**SENDS, "sendMode": "draft"})) as client:
        answer = await client.post(path_of(provider, stored))

    assert (answer.status_code, answer.json()["held"]) == (202, "draft")
    assert [mail.raw for mail in drafts(world, provider)] == [stored.raw]
    assert world.sent(MAILBOXES[provider]) == []


@both
async def test_a_dry_run_shows_to_whom_and_binds_the_version(world, provider):
    stored = leave(world, provider)
    path = path_of(provider, stored)
    async with world.client(await world.token(SENDS)) as client:
        dry = await client.post(path, headers={"Prefer": "dry-run"})
        assert world.sent(MAILBOXES[provider]) == []
        effect = dry.json()["effect"]
        await client.patch(path.removesuffix("/send"), json={"body": "other"})
        late = await client.post(path, headers={"If-Effect": effect["digest"]})

    assert effect["subject"] == "Offer"
    assert effect["recipients"]["bcc"] == [{"email": "eve@work.example", "name": None}] or (
        effect["recipients"]["bcc"][0]["email"] == "eve@work.example"
    )
    assert [file["name"] for file in effect["attachments"]] == ["plan.pdf"]
    assert (late.status_code, late.json()["error"]) == (412, "EFFECT_CHANGED")
    assert world.sent(MAILBOXES[provider]) == []


@both
async def test_a_draft_is_made_without_the_right_to_send(world, provider):
    settings = {"allowedEmailOperations": ["view_drafts", "write_drafts"]}
    body = {
        "to": [{"email": "bo@work.example"}],
        "subject": "Hi",
        "body": "Hello",
        "connectionId": world.connections[provider],
    }
    async with world.client(await world.token(settings)) as client:
        headers = {"Idempotency-Key": "k"}
        answers = [await client.post(DRAFTS, json=body, headers=headers) for _ in range(2)]
        draft = (await client.get(f"{DRAFTS}/{answers[0].json()['emailId']}")).json()

    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].json() == answers[1].json()
    assert (answers[0].json()["held"], draft["email"]["subject"]) == ("draft", "Hi")
    assert len(drafts(world, provider)) == 1
    assert world.sent(MAILBOXES[provider]) == []
