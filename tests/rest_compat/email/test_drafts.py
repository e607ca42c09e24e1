"""Drafts of all mailboxes: read by REST and GraphQL, under masks and flags."""

import pytest
from drafts import draft_id, leave
from world import CODES, MAILBOXES, api_id

DRAFTS = "/api/access/email/drafts"
READS = {"allowedEmailOperations": ["view_drafts"]}
both = pytest.mark.parametrize("provider", MAILBOXES)


def versions_of(*drafts):
    """The versions of drafts without what was read of them."""
    return {draft["version"].partition("~")[0] for draft in drafts}


@both
async def test_a_draft_is_read_as_a_message_with_an_id_and_a_version(world, provider):
    stored = leave(world, provider)
    async with world.client(await world.token(READS)) as client:
        answer = await client.get(f"{DRAFTS}/{draft_id(provider, stored)}")

    draft = answer.json()
    email = draft["email"]
    assert answer.status_code == 200
    assert answer.headers["etag"] == f'"{draft["version"]}"'
    assert draft["id"] == draft_id(provider, stored)
    assert email["id"] == api_id(MAILBOXES[provider], stored.immutable_id)
    assert email["threadId"] == api_id(MAILBOXES[provider], stored.thread_id)
    assert (email["subject"], email["provider"]) == ("Offer", CODES[provider])
    assert email["to"] == [{"email": "bo@work.example", "name": "Bo"}]
    assert [person["email"] for person in (*email["cc"], *email["bcc"])] == [
        "dan@work.example",
        "eve@work.example",
    ]
    assert (email["body"].strip(), email["bodyType"]) == ("<p>We offer.</p>", "html")
    assert [file["name"] for file in email["attachments"]] == ["plan.pdf"]


async def test_a_page_has_the_drafts_of_all_mailboxes_and_leads_to_the_next(world):
    stored = {
        draft_id(provider, leave(world, provider, subject=f"{number}"))
        for provider in MAILBOXES
        for number in range(2)
    }
    listed, token = [], None
    async with world.client(await world.token(READS)) as client:
        for size in (3, 1):
            query = {"limit": 3, **({"pageToken": token} if token else {})}
            page = (await client.get(DRAFTS, params=query)).json()
            assert len(page["drafts"]) == size
            assert page["hasMore"] is (size == 3)
            listed += page["drafts"]
            token = page["nextPageToken"]
        alone = (await client.get(f"{DRAFTS}/{listed[0]['id']}")).json()

    assert {draft["id"] for draft in listed} == stored
    assert {draft["email"]["body"] for draft in listed} == {None}
    assert versions_of(alone, listed[0]) == {alone["version"].partition("~")[0]}


async def test_a_page_token_of_messages_is_none_of_drafts(world):
    leave(world, "PROVIDER_A")
    async with world.client(await world.token({})) as client:
        token = (await client.get("/api/access/email/messages?limit=1")).json()["nextPageToken"]
        answer = await client.get(DRAFTS, params={"pageToken": token})

    assert (answer.status_code, answer.json()["error"]) == (400, "INVALID_PAGE_TOKEN")


@both
async def test_a_draft_is_found_by_the_id_of_its_message(world, provider):
    stored = leave(world, provider)
    message = api_id(MAILBOXES[provider], stored.immutable_id)
    async with world.client(await world.token(READS)) as client:
        answer = await client.get(f"{DRAFTS}/{message}")

    assert answer.json()["id"] == draft_id(provider, stored)


@pytest.mark.parametrize(
    "wrong", ["providerA:r1", "providerA:", "providerB:none", "r1", "imap:x", "providerA:r/1"]
)
async def test_an_unknown_draft_is_not_found(world, wrong):
    async with world.client(await world.token(READS)) as client:
        answer = await client.get(f"{DRAFTS}/{wrong.replace('/', '%2F')}")

    assert (answer.status_code, answer.json()["error"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("name", ["lease", "budget"])
async def test_a_message_that_is_no_draft_is_not_found(world, name):
    async with world.client(await world.token(READS)) as client:
        answer = await client.get(f"{DRAFTS}/{world.id(name)}")

    assert answer.status_code == 404


async def test_without_the_flag_nothing_is_asked(world):
    stored = leave(world, "PROVIDER_A")
    token = await world.token({"allowedEmailOperations": ["read_only", "send_email"]})
    async with world.client(token) as client:
        world.forget_calls()
        answers = [
            await client.get(DRAFTS),
            await client.get(f"{DRAFTS}/{draft_id('PROVIDER_A', stored)}"),
        ]

    for answer in answers:
        assert (answer.status_code, answer.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")
        assert answer.json()["requiredOperation"] == "view_drafts"
    assert world.calls() == []


@both
async def test_hidden_fields_are_null_and_not_asked_for(world, provider):
    stored = leave(world, provider)
    hidden = {**READS, "visibleEmailFields": ["subject", "to"]}
    async with world.client(await world.token(hidden)) as client:
        world.forget_calls()
        answer = await client.get(f"{DRAFTS}/{draft_id(provider, stored)}")

    email = answer.json()["email"]
    assert email["subject"] == "Offer"
    shown = {name for name, value in email.items() if value is not None}
    assert shown == {*("id", "threadId", "subject", "to", "isRead", "hasAttachments", "provider")}
    assert "bcc" not in str(world.calls()).lower()


async def test_what_draft_mode_leaves_is_a_draft(world):
    settings = {"sendMode": "draft"}
    message = {"to": [{"email": "bo@work.example"}], "subject": "Hi", "body": "Hello"}
    async with world.client(await world.token(settings)) as client:
        held = (await client.post("/api/access/email/messages/send", json=message)).json()
        page = (await client.get(DRAFTS)).json()

    (draft,) = page["drafts"]
    assert (held["held"], draft["email"]["id"]) == ("draft", held["emailId"])


async def test_graphql_reads_edges_of_a_draft(world):
    leave(world, "PROVIDER_B")
    query = "{ drafts { drafts { id version email { subject text from { email } } } } }"
    async with world.client(await world.token(READS)) as client:
        answer = (await client.post("/graphql", json={"query": query})).json()

    (draft,) = answer["data"]["drafts"]["drafts"]
    assert draft["email"]["subject"] == "Offer"
