"""The refusal of an old version names the members that somebody has changed, and no hidden one."""

from base64 import b64encode

import pytest
from drafts import draft_id, leave
from world import MAILBOXES

DRAFTS = "/api/access/email/drafts"
WRITES = {"allowedEmailOperations": ["view_drafts", "write_drafts", "send_email"]}
MEMBERS = ["to", "cc", "bcc", "subject", "body", "importance", "attachments"]
both = pytest.mark.parametrize("provider", MAILBOXES)
CHANGES = {
    "to": {"to": [{"email": "ana@home.example"}]},
    "cc": {"cc": []},
    "bcc": {"bcc": []},
    "subject": {"subject": "Theirs"},
    "body": {"body": "<p>Theirs</p>"},
    "importance": {"importance": "high"},
    "attachments": {"addAttachments": [{"name": "a", "contentBase64": b64encode(b"a").decode()}]},
    "subject, body": {"subject": "Theirs", "body": "<p>Theirs</p>"},
}
NOT_KNOWN = (
    "The draft has changed since it was read. What has changed is not known: read the draft again."
)


async def read_and_outpaced(world, provider, change, settings=WRITES, query=None):
    """Read a draft by a token, let another token change it, and return the path and the version."""
    path = f"{DRAFTS}/{draft_id(provider, leave(world, provider))}"
    async with world.client(await world.token(settings)) as client:
        if query is None:
            version = (await client.get(path)).headers.get("etag")
        else:
            version = query((await client.get(DRAFTS)).json()["drafts"][0])
    async with world.client(await world.token(WRITES)) as client:
        assert (await client.patch(path, json=change)).status_code == 200
    return path, version


def sentence(changed, compared):
    return (
        "The draft has changed since it was read. "
        f"Changed: {', '.join(changed) or 'nothing'}. Compared: {', '.join(compared)}."
    )


@both
@pytest.mark.parametrize("name", CHANGES)
async def test_it_names_what_has_changed(world, provider, name):
    path, version = await read_and_outpaced(world, provider, CHANGES[name])
    headers = {"If-Match": version}
    async with world.client(await world.token(WRITES)) as client:
        answers = [
            await client.patch(path, json={"subject": "Mine"}, headers=headers),
            await client.delete(path, headers=headers),
            await client.post(f"{path}/send", headers=headers),
        ]

    changed = name.split(", ")
    changed.sort(key=MEMBERS.index)
    for answer in answers:
        assert answer.status_code == 412, answer.text
        assert answer.json()["message"] == sentence(changed, MEMBERS)
        assert [detail["field"] for detail in answer.json()["details"]] == changed
    assert world.sent(MAILBOXES[provider]) == []


@both
async def test_a_hidden_member_is_neither_named_nor_read(world, provider):
    visible = ["to", "cc", "bcc", "subject"]
    masked = {**WRITES, "visibleEmailFields": visible}
    path, whole = await read_and_outpaced(world, provider, CHANGES["subject, body"])
    async with world.client(await world.token(masked)) as client:
        world.forget_calls()
        with_whole = await client.delete(path, headers={"If-Match": whole})
        queries = str([call["query"] for call in world.calls()]).lower()
        own = (await client.get(path)).headers["etag"]

    assert with_whole.json()["message"] == sentence(["subject"], visible)
    assert len(own.partition("~")[2]) == len(whole.partition("~")[2])
    assert "body" not in queries
    assert "attachments" not in queries


@both
async def test_without_the_right_to_read_drafts_nothing_is_named(world, provider):
    path, version = await read_and_outpaced(world, provider, CHANGES["subject"])
    async with world.client(await world.token({"allowedEmailOperations": ["write_drafts"]})) as c:
        answer = await c.delete(path, headers={"If-Match": version})

    assert (answer.status_code, answer.json()["message"]) == (412, NOT_KNOWN)
    assert "details" not in answer.json()


@both
async def test_a_listing_without_bodies_compares_the_other_members(world, provider):
    path, version = await read_and_outpaced(
        world, provider, CHANGES["body"], query=lambda draft: draft["version"]
    )
    async with world.client(await world.token(WRITES)) as client:
        answer = await client.delete(path, headers={"If-Match": version})

    others = [member for member in MEMBERS if member != "body"]
    assert answer.json()["message"] == sentence([], others)


@both
@pytest.mark.parametrize("spoil", ["native", "of another draft", "damaged", "another version"])
async def test_a_version_that_the_gateway_did_not_write_tells_nothing(world, provider, spoil):
    path, version = await read_and_outpaced(world, provider, CHANGES["subject"])
    native, _, digests = version.strip('"').partition("~")
    async with world.client(await world.token(WRITES)) as client:
        _, other = await read_and_outpaced(world, provider, CHANGES["cc"])
        spoiled = {
            "native": native,
            "of another draft": f"{native}~{other.strip(chr(34)).partition('~')[2]}",
            "damaged": f"{native}~{digests[:-1]}",
            "another version": f"x{native}~{digests}",
        }[spoil]
        answer = await client.delete(path, headers={"If-Match": spoiled})

    assert (answer.status_code, answer.json()["message"]) == (412, NOT_KNOWN)


@both
async def test_the_version_after_a_change_knows_the_members_that_stayed(world, provider):
    path = f"{DRAFTS}/{draft_id(provider, leave(world, provider))}"
    async with world.client(await world.token(WRITES)) as client:
        headers = {"If-Match": (await client.get(path)).headers["etag"]}
        mine = await client.patch(path, json={"subject": "Mine"}, headers=headers)
        await client.patch(path, json={"cc": [], "subject": "Theirs"})
        late = await client.delete(path, headers={"If-Match": mine.json()["version"]})

    others = [member for member in MEMBERS if member != "subject"]
    assert late.json()["message"] == sentence(["cc"], others)


async def test_graphql_says_the_same(world):
    path, version = await read_and_outpaced(world, "PROVIDER_A", CHANGES["subject"])
    change = {
        "query": "mutation($id: String!, $v: String) "
        "{ deleteDraft(draftId: $id, ifMatch: $v) { success } }",
        "variables": {"id": path.rpartition("/")[2], "v": version},
    }
    async with world.client(await world.token(WRITES)) as client:
        (error,) = (await client.post("/graphql", json=change)).json()["errors"]

    assert error["message"] == sentence(["subject"], MEMBERS)
    assert error["extensions"]["code"] == "PRECONDITION_FAILED"
    assert error["extensions"]["details"] == [{"field": "subject", "message": "It has changed."}]
