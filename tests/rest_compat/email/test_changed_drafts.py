"""Drafts that are changed and deleted: the named members and no other, of the seen version."""

from base64 import b64encode
from email import message_from_bytes, policy

import pytest
from drafts import draft_id, leave, raw_draft
from world import MAILBOXES

DRAFTS = "/api/access/email/drafts"
WRITES = {"allowedEmailOperations": ["view_drafts", "write_drafts"]}
both = pytest.mark.parametrize("provider", MAILBOXES)

REPLY = (
    raw_draft("PROVIDER_A")
    .partition(b"\r\n")[2]
    .replace(  # Graph keeps no From of drafts
        b"MIME-Version",
        b"In-Reply-To: <lunch@world.example>\r\n"
        b"References: <a@x.example>\r\n <lunch@world.example>\r\n"
        b"X-Signature: kept  as it is\r\nMIME-Version",
    )
)
CHANGES = {
    "to": ({"to": [{"email": "ana@home.example", "name": "Ana Müller"}]}, {"to"}),
    "no to": ({"to": []}, {"to"}),
    "cc": ({"cc": [{"email": "ana@home.example"}]}, {"cc"}),
    "bcc": ({"bcc": []}, {"bcc"}),
    "subject": ({"subject": "Grüße =?x?="}, {"subject"}),
    "body": ({"body": "<b>Ja</b>"}, {"body"}),
    "text": ({"body": "1 < 2", "bodyType": "text"}, {"body"}),
    "importance": ({"importance": "high"}, {"importance"}),
    "a file": (
        {"addAttachments": [{"name": "a.txt", "contentBase64": b64encode(b"a").decode()}]},
        {"files"},
    ),
}


def stored(world, provider, before):
    """The draft as it is now."""
    mails = world.sandbox.state.mails.all(MAILBOXES[provider])
    return next(mail for mail in mails if mail.seq == before.seq)


def path_of(changed):
    """The path of the draft that a change has left: on an own server it is another one."""
    assert changed.status_code == 200, changed.text
    return f"{DRAFTS}/{changed.json()['draftId']}"


def members(raw):
    """What a program reads of a message: headers by name, the body, and the files."""
    message = message_from_bytes(raw, policy=policy.default)
    names = ("to", "cc", "bcc", "subject", "in-reply-to", "references", "x-signature")
    read = {name: str(message[name] or "") for name in (*names, "message-id", "importance")}
    body = message.get_body(("html", "plain"))
    read["body"] = (body.get_content_type(), body.get_content().strip())
    read["files"] = [
        (part.get_filename(), part.get_content_type(), part.get_content())
        for part in message.iter_attachments()
    ]
    return read


@both
@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_changes_the_named_member_and_no_other(world, provider, name):
    change, changed = CHANGES[name]
    before = leave(world, provider, REPLY)
    async with world.client(await world.token(WRITES)) as client:
        answer = await client.patch(f"{DRAFTS}/{draft_id(provider, before)}", json=change)
        draft = (await client.get(f"{DRAFTS}/{answer.json()['draftId']}")).json()

    after = stored(world, provider, before)
    old, new = members(before.raw), members(after.raw)
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "success": True,
        "draftId": draft["id"],
        "version": draft["version"].partition("~")[0],
        "emailId": draft["email"]["id"],
        "errorCode": None,
        "errorMessage": None,
    }
    assert {member for member in old if old[member] != new[member]} == changed
    assert (after.thread_id, after.folder) == (before.thread_id, "drafts")


async def test_provider_a_gets_every_other_byte_as_it_was(world):
    before = leave(world, "PROVIDER_A", REPLY)
    path = f"{DRAFTS}/{draft_id('PROVIDER_A', before)}"
    async with world.client(await world.token(WRITES)) as client:
        assert (await client.patch(path, json={"subject": "New"})).status_code == 200

    raw = stored(world, "PROVIDER_A", before).raw
    assert raw == REPLY.replace(b"Subject: Offer", b"Subject: New")


@both
async def test_a_file_is_removed_and_the_others_stay(world, provider):
    before = leave(world, provider)
    more = {"addAttachments": [{"name": "a.txt", "contentBase64": b64encode(b"a").decode()}]}
    path = f"{DRAFTS}/{draft_id(provider, before)}"
    async with world.client(await world.token(WRITES)) as client:
        path = path_of(await client.patch(path, json=more))
        files = (await client.get(path)).json()["email"]["attachments"]
        unknown = await client.patch(path, json={"removeAttachments": ["x.1"], "subject": "No"})
        gone = await client.patch(path, json={"removeAttachments": [files[0]["id"]]})
        left = (await client.get(path_of(gone))).json()["email"]

    assert (unknown.status_code, gone.status_code) == (404, 200)
    assert [file["name"] for file in files] == ["plan.pdf", "a.txt"]
    assert [file["name"] for file in left["attachments"]] == ["a.txt"]
    assert (left["subject"], left["body"].strip()) == ("Offer", "<p>We offer.</p>")


@both
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_an_old_version_is_412_and_changes_nothing(world, provider, method):
    before = leave(world, provider)
    path = f"{DRAFTS}/{draft_id(provider, before)}"
    async with world.client(await world.token(WRITES)) as client:
        tag = (await client.get(path)).headers["etag"]
        path_now = path_of(await client.patch(path, json={"subject": "Theirs"}))
        body = {"json": {"subject": "Mine"}} if method == "PATCH" else {}
        late = await client.request(method, path, headers={"If-Match": tag}, **body)
        tag = (await client.get(path_now)).headers["etag"]
        in_time = await client.request(method, path_now, headers={"If-Match": tag}, **body)

    assert (late.status_code, late.json()["error"]) == (412, "PRECONDITION_FAILED")
    assert in_time.status_code == (200 if method == "PATCH" else 204)


@both
async def test_a_deleted_draft_is_in_the_trash(world, provider):
    before = leave(world, provider)
    path = f"{DRAFTS}/{draft_id(provider, before)}"
    async with world.client(await world.token(WRITES)) as client:
        assert (await client.delete(path)).status_code == 204
        again = await client.delete(path)

    assert stored(world, provider, before).folder == "trash"
    assert again.status_code == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({}, "$"),
        ({"bodyType": "text"}, "$"),
        ({"subject": "a\nb"}, "subject"),
        ({"to": [{"email": "a b@x.example"}]}, "to[0].email"),
        ({"removeAttachments": ["a"] * 51}, "removeAttachments"),
    ],
)
async def test_a_wrong_change_is_400_and_nothing_is_asked(world, change, field):
    before = leave(world, "PROVIDER_A")
    async with world.client(await world.token(WRITES)) as client:
        world.forget_calls()
        answer = await client.patch(f"{DRAFTS}/{draft_id('PROVIDER_A', before)}", json=change)

    assert answer.status_code == 400
    assert [detail["field"] for detail in answer.json()["details"]] == [field]
    assert world.calls() == []


async def test_without_the_flag_nothing_is_asked(world):
    before = leave(world, "PROVIDER_A")
    path = f"{DRAFTS}/{draft_id('PROVIDER_A', before)}"
    token = await world.token({"allowedEmailOperations": ["read_only", "view_drafts"]})
    async with world.client(token) as client:
        world.forget_calls()
        answers = [await client.patch(path, json={"subject": "x"}), await client.delete(path)]

    for answer in answers:
        assert (answer.status_code, answer.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")
    assert world.calls() == []


@pytest.mark.parametrize("hidden", ["subject", "to", "cc", "body", "attachments"])
async def test_recipients_are_not_changed_where_they_would_read_what_is_hidden(world, hidden):
    before = leave(world, "PROVIDER_A")
    words = ["subject", "to", "cc", "bcc", "body", "attachments"]
    settings = {**WRITES, "visibleEmailFields": [word for word in words if word != hidden]}
    change = {"bcc": [{"email": "me@elsewhere.example"}]}
    async with world.client(await world.token(settings)) as client:
        world.forget_calls()
        answer = await client.patch(f"{DRAFTS}/{draft_id('PROVIDER_A', before)}", json=change)

    assert (answer.status_code, answer.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert world.calls() == []


@both
@pytest.mark.parametrize(
    "change", [{"cc": [{"email": "x@elsewhere.example"}]}, {"subject": "to others too"}]
)
async def test_recipient_rules_hold_for_all_that_the_draft_goes_to(world, provider, change):
    before = leave(world, provider)
    settings = {**WRITES, "recipientRules": {"allow": ["bo@work.example", "dan@work.example"]}}
    path = f"{DRAFTS}/{draft_id(provider, before)}"
    async with world.client(await world.token(settings)) as client:
        refused = await client.patch(path, json=change)
        allowed = await client.patch(path, json={"bcc": [], "subject": "to these"})

    assert (refused.status_code, refused.json()["error"]) == (403, "RECIPIENT_NOT_ALLOWED")
    assert allowed.status_code == 200
    assert members(stored(world, provider, before).raw)["subject"] == "to these"


@both
async def test_a_dry_run_shows_the_change_and_its_effect_binds_the_version(world, provider):
    before = leave(world, provider)
    path = f"{DRAFTS}/{draft_id(provider, before)}"
    change = {"subject": "New"}
    async with world.client(await world.token(WRITES)) as client:
        dry = await client.patch(path, json=change, headers={"Prefer": "dry-run"})
        assert stored(world, provider, before).raw == before.raw
        effect = dry.json()["effect"]
        await client.patch(path, json={"body": "by the person"})
        late = await client.patch(path, json=change, headers={"If-Effect": effect["digest"]})
        dry = await client.patch(path, json=change, headers={"Prefer": "dry-run"})
        bound = {"If-Effect": dry.json()["effect"]["digest"]}
        done = await client.patch(path, json=change, headers=bound)

    assert effect["target"] == {"kind": "draft", "id": draft_id(provider, before)}
    assert (late.status_code, late.json()["error"]) == (412, "EFFECT_CHANGED")
    assert done.status_code == 200
