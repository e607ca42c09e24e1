"""Attacks on the masks of mail: none of them tells a hidden field."""

import pytest

shared = pytest.mark.asyncio(loop_scope="session")  # for tests that change nothing

MESSAGES = "/api/access/email/messages"
# What stands in the lease alone, by the word that hides it.
SECRETS = {"subject": "flat", "from": "ana", "cc": "bo", "attachments": "lease.pdf"}


def visible_without(word):
    words = ("subject", "from", "to", "cc", "bcc", "body", "body_preview", "labels", "attachments")
    return [name for name in words if name != word]


async def test_a_page_token_from_before_a_mask_is_worth_nothing_after_it(world):
    """The filter of a page is checked again on the next page, by the mask of that moment."""
    token = await world.token({})
    async with world.client(token) as client:
        first = await client.get(MESSAGES, params={"from": "bo", "limit": 1})
        number = (await client.get("/api/access/token")).json()["id"]
        settings = {"settings": {"visibleEmailFields": visible_without("from")}}
        assert (await world.admin.patch(f"/api/access-tokens/{number}", json=settings)).is_success
        world.forget_calls()
        page = {"from": "bo", "limit": 1, "pageToken": first.json()["nextPageToken"]}
        second = await client.get(MESSAGES, params=page)
        unfiltered = await client.get(MESSAGES, params={"pageToken": page["pageToken"]})

    assert (second.status_code, second.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert (unfiltered.status_code, unfiltered.json()["error"]) == (400, "INVALID_PAGE_TOKEN")
    assert world.calls() == []


@pytest.mark.slow
@shared
@pytest.mark.parametrize("word", SECRETS)
@pytest.mark.parametrize("wrap", ["{}", '"{}"', "{}*", "{} OR zebra", "in:anywhere {}"])
async def test_free_text_finds_nothing_in_a_hidden_field(shared_world, word, wrap):
    """Nor do the operators of a provider's search language, which are words here."""
    operator = {"attachments": "filename"}.get(word, word)
    secret = SECRETS[word]
    token = await shared_world.token({"visibleEmailFields": visible_without(word)})
    async with shared_world.client(token) as client:
        for text in (secret, f"{operator}:{secret}", f"{operator}:({secret})"):
            body = (await client.get(MESSAGES, params={"q": wrap.format(text)})).json()
            ids = [email["id"] for email in body["emails"]]

            assert shared_world.id("lease") not in ids


async def test_aliases_fragments_and_threads_show_no_hidden_field(world):
    token = await world.token({"visibleEmailFields": ["subject"]})
    document = """query ($email: String!, $thread: String!) {
        one: email(emailId: $email) { ...Parts ... on Email { sender: from { email } body } }
        thread: emailThread(threadId: $thread) { participants { email } messages { ...Parts } }
        emails { emails { ...Parts } }
    }
    fragment Parts on Email { f: from { name } t: to { email } c: cc { email } p: bodyPreview
        a: attachments { name } l: labels s: sentAt r: receivedAt }"""
    names = {"email": world.id("lease"), "thread": world.thread_id("lease")}
    async with world.client(token) as client:
        response = await client.post("/graphql", json={"query": document, "variables": names})

    data = response.json()["data"]
    hidden = dict.fromkeys(("f", "t", "c", "p", "a", "l", "s", "r"))
    assert data["one"] == {**hidden, "sender": None, "body": None}
    assert data["thread"] == {"participants": None, "messages": [hidden]}
    assert data["emails"]["emails"] == [hidden] * len(data["emails"]["emails"])
