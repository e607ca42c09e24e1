"""A caller that was read once is used until a commit, and never after it."""

import asyncio
import random
import re
import sqlite3
from contextlib import closing

import pytest
from msgspec.structs import replace

from gateway.ratelimit.windows import UnlimitedCounter

MESSAGES = "/api/access/email/messages"
VARYING = {"content-length", "x-ratelimit-remaining", "x-ratelimit-reset"}
PAGE_TOKEN = re.compile(rb'"nextPageToken":"[^"]+"')
LIST = "query ($n: Int) { emails(limit: $n) { emails { id subject body } accessInfo } }"


def generated_requests(world, count):
    """Return GET targets, right and wrong ones, the same in every run."""
    chooser = random.Random(20261123)
    names = [*world.mails]
    texts = ["", "lease", "a b", "%00", "%FF", "x" * 300]

    def target():
        mail = chooser.choice(names)
        message = chooser.choice([world.id(mail), "providerA:none", "nobody", "", "%2F", "%00"])
        thread = chooser.choice([world.thread_id(mail), "providerB:none", "x"])
        return chooser.choice(
            [
                "/api/access/token",
                f"{MESSAGES}/{message}",
                f"{MESSAGES}/{message}?includeBody={chooser.choice(['true', 'false', 'maybe'])}",
                f"/api/access/email/threads/{thread}",
                f"{MESSAGES}?limit={chooser.choice(['0', '1', '3', '99', 'x', '-1'])}",
                f"{MESSAGES}?q={chooser.choice(texts)}&unknown=1",
                f"{MESSAGES}?from=ana@home.example&includeBody=true",
                "/api/access/calendar/events",
                "/api/access/tasks/boards",
                "/api/access/collab/sites",
            ]
        )

    return [target() for _ in range(count)]


async def answer(client, target):
    """Return all of the answer to a GET but for what no two requests share."""
    headers = {"X-Request-Id": "r", "Prefer": "handling=lenient"}
    response = await client.get(target, headers=headers)
    fixed = sorted(item for item in response.headers.items() if item[0] not in VARYING)
    content = PAGE_TOKEN.sub(b"", response.content)  # sealed with a nonce
    return response.status_code, fixed, content


@pytest.fixture
async def tokens(world):
    """Tokens that differ in masks, modes and operations."""
    return [
        await world.token({}),
        await world.token({"visibleEmailFields": ["subject", "from"]}),
        await world.token({"visibleEmailFields": ["body"], "maskMode": "basic"}),
        await world.token({"allowedEmailOperations": ["view_email"]}),
        await world.token({"emailAccessEnabled": False}),
    ]


async def commit(world, statement, *values):
    """Commit a change as another process does."""

    def run():
        with closing(sqlite3.connect(world.gateway.services.database.path)) as other, other:
            other.execute(statement, values)

    await asyncio.to_thread(run)  # the gateway may be about to commit as well


@pytest.mark.slow
async def test_a_kept_caller_is_answered_as_one_that_is_read_anew(world, tokens):
    entry = world.gateway.services.entry
    entry.limits = replace(entry.limits, counter=UnlimitedCounter())  # as AGW_RATE_LIMITS=off
    statuses = set()
    for token in tokens:
        async with world.client(token) as client:
            for target in generated_requests(world, 25):
                await commit(world, "UPDATE access_tokens SET name = name")
                first = await answer(client, target)
                assert await answer(client, target) == first, target
                statuses.add(first[0])

    assert {200, 400, 403, 404, 422} <= statuses


async def graphql(client):
    response = await client.post("/graphql", json={"query": LIST, "variables": {"n": 1}})
    return response.json()


async def settings_of(world, token_id, **changes):
    response = await world.admin.patch(f"/api/access-tokens/{token_id}", json={"settings": changes})
    assert response.status_code == 200, response.text


@pytest.fixture
async def kept(world, token, client):
    """The id of a token whose caller is kept, by REST and GraphQL."""
    for _ in range(2):
        assert (await client.get(f"{MESSAGES}/{world.id('lease')}")).status_code == 200
        assert (await graphql(client))["data"]["emails"]["emails"][0]["subject"]
    world.forget_calls()
    return (await client.get("/api/access/token")).json()["id"]


async def test_a_revocation_holds_at_the_next_request(world, client, kept):
    revoked = await world.admin.delete(f"/api/access-tokens/{kept}")

    response = await client.get(f"{MESSAGES}/{world.id('lease')}")

    assert revoked.is_success, revoked.text
    assert (response.status_code, world.calls()) == (401, [])


async def test_a_revocation_by_another_process_holds_at_the_next_request(world, client, kept):
    await commit(world, "UPDATE access_tokens SET revoked_at = 1 WHERE id = ?", kept)

    response = await client.get(f"{MESSAGES}/{world.id('lease')}")

    assert (response.status_code, world.calls()) == (401, [])


@pytest.mark.slow
async def test_a_new_mask_holds_at_the_next_request(world, client, kept):
    await settings_of(world, kept, visibleEmailFields=["from"])

    response = await client.get(f"{MESSAGES}/{world.id('lease')}")
    listed = await graphql(client)

    assert (response.json()["subject"], response.json()["body"]) == (None, None)
    assert listed["data"]["emails"]["emails"][0]["subject"] is None


async def test_a_withdrawn_operation_holds_at_the_next_request(world, client, kept):
    await settings_of(world, kept, allowedEmailOperations=["search_emails"])

    response = await client.get(f"{MESSAGES}/{world.id('lease')}")

    assert (response.status_code, world.calls()) == (403, [])
    assert response.json()["error"] == "OPERATION_NOT_ALLOWED"


async def test_a_disabled_surface_holds_at_the_next_request(world, client, kept):
    await settings_of(world, kept, emailAccessEnabled=False)

    response = await client.get(f"{MESSAGES}/{world.id('lease')}")
    listed = await graphql(client)

    assert (response.status_code, world.calls()) == (422, [])
    assert listed["data"]["emails"] is None


async def test_a_disabled_connection_holds_at_the_next_request(world, client, kept):
    await commit(world, "UPDATE connections SET status = 'disabled'")

    response = await client.get(f"{MESSAGES}/{world.id('lease')}")

    assert (response.is_success, world.calls()) == (False, [])


@pytest.mark.slow
async def test_a_lower_quota_holds_at_the_next_request(world, client, kept):
    await settings_of(world, kept, quota={"perMinute": 0})

    response = await client.get(f"{MESSAGES}/{world.id('lease')}")

    assert (response.status_code, world.calls()) == (429, [])


@pytest.mark.slow
async def test_the_token_info_tells_new_settings(world, client, kept):
    await settings_of(world, kept, allowedEmailOperations=["view_email"])

    info = (await client.get("/api/access/token")).json()

    assert info["effectiveEmailOperations"] == ["view_email"]


async def test_requests_of_one_caller_share_no_state(world, client, kept):
    lowered = await client.get(f"{MESSAGES}?limit=99")
    plain = await client.get(f"{MESSAGES}?limit=1")

    assert kept
    assert lowered.headers["X-Applied-Limit"] == "50"
    assert "X-Applied-Limit" not in plain.headers
