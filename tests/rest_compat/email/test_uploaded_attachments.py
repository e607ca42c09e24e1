"""Files that are uploaded first and attached by their handles, on both providers, once."""

import asyncio
from base64 import b64encode
from email import message_from_bytes, policy

import pytest

from gateway.store import uploads

UPLOADS = "/api/access/email/attachments"
MESSAGES = "/api/access/email/messages"
BO = {"email": "bo@work.example"}
LARGE = bytes(range(251)) * 20_000  # 5,020,000 bytes: slices, and a rest
SMALL = b"a;b\n1;2\n"
PROVIDERS = {"provider-a": ("PROVIDER_A", "lease"), "provider-b": ("PROVIDER_B", "budget")}
both = pytest.mark.parametrize("mailbox", PROVIDERS)


async def uploaded(client, content, name="plan.pdf", media_type="application/pdf"):
    answer = await client.post(
        UPLOADS, params={"fileName": name}, content=content, headers={"content-type": media_type}
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


def attached(stored):
    message = message_from_bytes(stored.raw, policy=policy.default)
    return [
        (part.get_filename(), part.get_content_type(), part.get_payload(decode=True))
        for part in message.iter_attachments()
    ]


def new_message(world, mailbox, *files):
    connection = world.connections[PROVIDERS[mailbox][0]]
    message = {"to": [BO], "subject": "Files", "body": "See the files."}
    return {**message, "connectionId": connection, "attachments": list(files)}


async def test_an_upload_answers_with_its_handle(client, world):
    upload = await uploaded(client, SMALL, "table.csv", "text/csv; charset=utf-8")

    assert upload == {
        "handle": upload["handle"],
        "name": "table.csv",
        "contentType": "text/csv",
        "size": len(SMALL),
        "expiresAt": upload["expiresAt"],
    }
    assert world.calls() == []


@pytest.mark.slow
@pytest.mark.parametrize("call", ["send", "reply", "forward"])
@both
async def test_large_files_are_sent_by_their_handles(client, world, mailbox, call):
    large = (await uploaded(client, LARGE))["handle"]
    small = (await uploaded(client, SMALL, "table.csv", "text/csv"))["handle"]
    files = [
        {"handle": large},
        {"handle": small, "name": "other.txt", "contentType": "text/plain"},
        {"name": "inline.txt", "contentBase64": b64encode(b"inline").decode()},
    ]
    bodies = {
        "send": new_message(world, mailbox, *files),
        "reply": {"body": "Here.", "attachments": files},
        "forward": {"to": [BO], "attachments": files},
    }
    path = call if call == "send" else f"{world.id(PROVIDERS[mailbox][1])}/{call}"

    answer = await client.post(f"{MESSAGES}/{path}", json=bodies[call])

    assert answer.status_code == 200, answer.text
    if (mailbox, call) == ("provider-a", "reply"):
        assert answer.json()["threadId"] == world.thread_id("lease")
    (sent,) = world.sent(mailbox)
    assert attached(sent)[-3:] == [
        ("plan.pdf", "application/pdf", LARGE),
        ("other.txt", "text/plain", SMALL),
        ("inline.txt", "application/octet-stream", b"inline"),
    ]


@both
async def test_graphql_uploads_and_sends_by_a_handle(client, world, mailbox):
    made = await client.post(
        "/graphql",
        json={
            "query": "mutation($bytes: FileContent!) { uploadEmailAttachment("
            'fileName: "a.txt", contentType: "text/plain", input: $bytes) { handle size } }',
            "variables": {"bytes": b64encode(SMALL).decode()},
        },
    )
    upload = made.json()["data"]["uploadEmailAttachment"]
    document = "mutation($input: SendEmailInput!) { sendEmail(input: $input) { success } }"
    message = new_message(world, mailbox, {"handle": upload["handle"]})

    answer = await client.post(
        "/graphql", json={"query": document, "variables": {"input": message}}
    )

    assert upload["size"] == len(SMALL)
    assert answer.json()["data"] == {"sendEmail": {"success": True}}
    (sent,) = world.sent(mailbox)
    assert attached(sent) == [("a.txt", "text/plain", SMALL)]


async def test_a_form_uploads_its_file(client, world):
    answer = await client.post(UPLOADS, files={"file": ("plan.txt", SMALL, "text/plain")})

    assert answer.status_code == 201, answer.text
    assert (answer.json()["name"], answer.json()["size"]) == ("plan.txt", len(SMALL))


@both
async def test_a_handle_serves_several_messages_until_it_expires(client, world, mailbox):
    handle = (await uploaded(client, SMALL))["handle"]
    body = new_message(world, mailbox, {"handle": handle})

    answers = [await client.post(f"{MESSAGES}/send", json=body) for _ in range(2)]
    store = world.gateway.services.uploads
    store._now = lambda: 2**53
    late = await client.post(f"{MESSAGES}/send", json=body)

    assert [answer.status_code for answer in answers] == [200, 200]
    assert (late.status_code, late.json()["details"][0]["field"]) == (400, "attachments[0].handle")
    assert len(world.sent(mailbox)) == 2
    assert await store.sweep() == 1


async def test_the_handle_of_another_token_is_unknown(client, world):
    handle = (await uploaded(client, SMALL))["handle"]
    text = await world.token({})

    async with world.client(text) as other:
        answer = await other.post(
            f"{MESSAGES}/send", json=new_message(world, "provider-a", {"handle": handle})
        )

    assert (answer.status_code, answer.json()["details"][0]["field"]) == (
        400,
        "attachments[0].handle",
    )
    assert world.calls() == []


async def test_a_deleted_file_can_no_longer_be_attached(client, world):
    handle = (await uploaded(client, SMALL))["handle"]
    kept = (await uploaded(client, SMALL))["handle"]

    deleted = await client.delete(f"{UPLOADS}/{handle}")
    again = await client.delete(f"{UPLOADS}/{handle}")
    sent = await client.post(
        f"{MESSAGES}/send", json=new_message(world, "provider-a", {"handle": handle})
    )

    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (again.status_code, again.json()["error"], again.json()["message"]) == (
        404,
        "NOT_FOUND",
        "This token has no uploaded file with this handle.",
    )
    assert (sent.status_code, sent.json()["details"][0]["field"]) == (400, "attachments[0].handle")
    assert world.calls() == []
    body = new_message(world, "provider-a", {"handle": kept})
    assert (await client.post(f"{MESSAGES}/send", json=body)).status_code == 200


@pytest.mark.parametrize("handle", ["unknown", "ü", "x" * 200])
async def test_an_unknown_handle_is_not_found_when_it_is_deleted(client, handle):
    assert (await client.delete(f"{UPLOADS}/{handle}")).status_code == 404


async def test_a_token_deletes_no_file_of_another_token(client, world):
    handle = (await uploaded(client, SMALL))["handle"]
    text = await world.token({})

    async with world.client(text) as other:
        answer = await other.delete(f"{UPLOADS}/{handle}")

    assert answer.status_code == 404
    sent = await client.post(
        f"{MESSAGES}/send", json=new_message(world, "provider-a", {"handle": handle})
    )
    assert sent.status_code == 200, sent.text


async def test_deleting_a_file_by_graphql_needs_a_flag_that_may_attach(client, world):
    handle = (await uploaded(client, SMALL))["handle"]
    document = f'mutation {{ deleteUploadedAttachment(handle: "{handle}") {{ success }} }}'
    text = await world.token({"allowedEmailOperations": ["read_only"]})

    async with world.client(text) as reader:
        refused = await reader.post("/graphql", json={"query": document})
    deleted = await client.post("/graphql", json={"query": document})

    (error,) = refused.json()["errors"]
    assert error["extensions"]["requiredOperations"] == [
        "send_email",
        "reply_to_email",
        "forward_email",
    ]
    assert deleted.json()["data"] == {"deleteUploadedAttachment": {"success": True}}
    assert world.calls() == []


@pytest.mark.parametrize(
    ("file", "field"),
    [
        pytest.param({"handle": "unknown"}, "handle", id="unknown"),
        pytest.param({"handle": ""}, "handle", id="empty"),
        pytest.param({"handle": "ü" * 200}, "handle", id="long"),
        pytest.param({"contentBase64": "YQ=="}, "contentBase64", id="bytes besides"),
        pytest.param({"name": "a\r\nX: y"}, "name", id="a header in the name"),
        pytest.param({"contentType": "message/rfc822"}, "contentType", id="a mail"),
    ],
)
async def test_a_wrong_reference_is_named_and_nothing_is_sent(client, world, file, field):
    handle = (await uploaded(client, SMALL))["handle"]

    answer = await client.post(
        f"{MESSAGES}/send", json=new_message(world, "provider-a", {"handle": handle, **file})
    )

    assert answer.status_code == 400, answer.text
    assert answer.json()["details"][0]["field"] == f"attachments[0].{field}"
    assert world.calls() == []


@pytest.mark.parametrize(
    ("params", "status", "field"),
    [
        pytest.param({}, 400, "fileName", id="no name"),
        pytest.param({"fileName": " "}, 400, "fileName", id="a blank name"),
        pytest.param({"fileName": "a", "contentType": "a"}, 400, "contentType", id="no type"),
    ],
)
async def test_a_wrong_upload_is_refused(client, world, params, status, field):
    answer = await client.post(UPLOADS, params=params, content=SMALL)

    assert answer.status_code == status
    assert answer.json()["details"][0]["field"] == field


@pytest.mark.parametrize(("limit", "value"), [("MAX_FILES", 1), ("MAX_BYTES", 2 * len(SMALL) - 1)])
async def test_a_token_has_so_many_files_and_bytes_at_most(
    client, world, monkeypatch, limit, value
):
    monkeypatch.setattr(uploads, limit, value)
    await uploaded(client, SMALL)

    answer = await client.post(UPLOADS, params={"fileName": "b"}, content=SMALL)
    refused = (answer.status_code, answer.json()["error"])
    monkeypatch.setattr(uploads, limit, value + len(SMALL))  # both limits have room now

    assert refused == (422, "UPLOAD_LIMIT")
    await uploaded(client, SMALL)  # nothing of the refused one counts


async def test_nothing_stored_is_readable(client, world):
    await uploaded(client, b"a hidden report", "hidden-name.pdf")

    stored = b"".join(
        path.read_bytes() for path in world.gateway.services.settings.data_dir.glob("*.db*")
    )
    assert b"hidden report" not in stored
    assert b"hidden-name" not in stored
    assert b"upload_chunks" in stored  # it is the right file


@pytest.mark.slow
@both
async def test_a_repeated_send_by_a_handle_sends_once(client, world, mailbox):
    handle = (await uploaded(client, LARGE))["handle"]
    body, key = new_message(world, mailbox, {"handle": handle}), {"idempotency-key": "k1"}

    answers = [await client.post(f"{MESSAGES}/send", json=body, headers=key) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[1].headers["idempotent-replayed"] == "true"
    assert len(world.sent(mailbox)) == 1


@pytest.mark.slow
@both
async def test_a_draft_is_sent_after_its_handle_expired(client, world, mailbox):
    """A retry sends the stored draft, which has its files already."""
    handle = (await uploaded(client, LARGE))["handle"]
    body, key = new_message(world, mailbox, {"handle": handle}), {"idempotency-key": "k1"}
    await world.fail(mailbox, kind="429", retryAfter=0, count=1, match="/send")

    failed = await client.post(f"{MESSAGES}/send", json=body, headers=key)
    world.gateway.services.uploads._now = lambda: 2**53
    await asyncio.sleep(1.1)  # the provider asked to wait for a second
    again = await client.post(f"{MESSAGES}/send", json=body, headers=key)

    assert failed.status_code == 429
    assert again.status_code == 200, again.text
    (sent,) = world.sent(mailbox)
    assert attached(sent) == [("plan.pdf", "application/pdf", LARGE)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mailbox", "match"),
    [
        pytest.param("provider-a", "upload_id", id="provider-a"),
        pytest.param("provider-b", "attachmentUploads", id="provider-b"),
    ],
)
async def test_a_slice_that_fails_is_sent_again(client, world, mailbox, match):
    handle = (await uploaded(client, LARGE))["handle"]
    await world.fail(mailbox, kind="500", count=1, match=match)

    answer = await client.post(
        f"{MESSAGES}/send", json=new_message(world, mailbox, {"handle": handle})
    )

    assert answer.status_code == 200, answer.text
    (sent,) = world.sent(mailbox)
    assert attached(sent) == [("plan.pdf", "application/pdf", LARGE)]


@pytest.mark.slow
@both
async def test_a_message_that_is_too_large_for_the_provider_is_413(
    client, world, mailbox, monkeypatch
):
    from providers.connectors.provider_a.gmail import drafts
    from sandbox.provider_b.outlook_mail import sending

    monkeypatch.setattr(drafts, "MAX_MESSAGE_BYTES", 1_000_000)
    monkeypatch.setattr(sending, "MAX_SENT", 1_000_000)
    handle = (await uploaded(client, LARGE))["handle"]

    answer = await client.post(
        f"{MESSAGES}/send", json=new_message(world, mailbox, {"handle": handle})
    )

    assert (answer.status_code, answer.json()["error"]) == (413, "PAYLOAD_TOO_LARGE")
    assert world.sent(mailbox) == []


@pytest.mark.caller(allowedEmailOperations=["search_emails"])
async def test_a_token_that_may_not_send_may_not_upload(client, world):
    answer = await client.post(UPLOADS, params={"fileName": "a"}, content=SMALL)

    assert (answer.status_code, answer.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")
