"""Attachments of sent messages: by REST and by GraphQL, on both providers, once."""

from base64 import b64encode
from email import message_from_bytes, policy

import pytest

shared = pytest.mark.asyncio(loop_scope="session")  # for tests that change nothing
MESSAGES = "/api/access/email/messages"
BO = {"email": "bo@work.example"}
REPORT = b"%PDF-1.4 report"
TABLE = "a;ü\n".encode()
FILES = [
    {
        "name": "report.pdf",
        "contentType": "application/pdf",
        "contentBase64": "JVBERi0xLjQgcmVwb3J0",
    },
    {"name": "Übersicht.csv", "contentBase64": b64encode(TABLE).decode()},
]
ATTACHED = [
    ("report.pdf", "application/pdf", REPORT),
    ("Übersicht.csv", "application/octet-stream", TABLE),
]
OF_LEASE = ("lease.pdf", "application/pdf", b"%PDF-1.4 lease")
PROVIDERS = {"provider-a": ("PROVIDER_A", "lease"), "provider-b": ("PROVIDER_B", "budget")}
both = pytest.mark.parametrize("mailbox", ["provider-a", "provider-b"])


def attached(stored):
    message = message_from_bytes(stored.raw, policy=policy.default)
    return [
        (part.get_filename(), part.get_content_type(), part.get_payload(decode=True))
        for part in message.iter_attachments()
    ]


def new_message(world, mailbox, files, **more):
    connection = world.connections[PROVIDERS[mailbox][0]]
    message = {"to": [BO], "subject": "Files", "body": "See the files."}
    return {**message, "connectionId": connection, "attachments": files, **more}


@both
async def test_a_message_is_sent_with_its_files(client, world, mailbox):
    answer = await client.post(f"{MESSAGES}/send", json=new_message(world, mailbox, FILES))

    assert answer.status_code == 200, answer.text
    (sent,) = world.sent(mailbox)
    assert attached(sent) == ATTACHED


@both
async def test_a_reply_is_sent_with_its_files(client, world, mailbox):
    email_id = world.id(PROVIDERS[mailbox][1])

    answer = await client.post(
        f"{MESSAGES}/{email_id}/reply", json={"body": "Here.", "attachments": FILES}
    )

    assert answer.status_code == 200, answer.text
    (sent,) = world.sent(mailbox)
    assert attached(sent) == ATTACHED


@both
async def test_a_forward_has_its_files_besides_those_of_the_original(client, world, mailbox):
    email_id = world.id(PROVIDERS[mailbox][1])

    answer = await client.post(
        f"{MESSAGES}/{email_id}/forward", json={"to": [BO], "attachments": FILES}
    )

    assert answer.status_code == 200, answer.text
    (sent,) = world.sent(mailbox)
    assert attached(sent) == [*([OF_LEASE] if mailbox == "provider-a" else []), *ATTACHED]


@pytest.mark.slow
@both
async def test_graphql_sends_files_of_the_full_size(client, world, mailbox):
    content = bytes(range(250)) * 12_000  # 3,000,000 bytes
    files = [{"name": "a.bin", "contentBase64": b64encode(content).decode()}]
    document = "mutation($input: SendEmailInput!) { sendEmail(input: $input) { success } }"

    answer = await client.post(
        "/graphql",
        json={"query": document, "variables": {"input": new_message(world, mailbox, files)}},
    )

    assert answer.json()["data"] == {"sendEmail": {"success": True}}
    (sent,) = world.sent(mailbox)
    assert attached(sent) == [("a.bin", "application/octet-stream", content)]


@pytest.mark.slow
async def test_a_large_reply_joins_its_thread(client, world):
    content = bytes(range(250)) * 12_000
    files = [{"name": "a.bin", "contentBase64": b64encode(content).decode()}]

    answer = await client.post(
        f"{MESSAGES}/{world.id('lease')}/reply", json={"body": "x", "attachments": files}
    )

    assert answer.status_code == 200, answer.text
    assert answer.json()["threadId"] == world.thread_id("lease")
    (sent,) = world.sent("provider-a")
    assert attached(sent) == [("a.bin", "application/octet-stream", content)]


@pytest.mark.slow
@shared
@pytest.mark.parametrize(
    ("file", "field"),
    [
        pytest.param({"name": ""}, "attachments[0].name", id="no name"),
        pytest.param({"name": "a\r\nX: y"}, "attachments[0].name", id="a header in the name"),
        pytest.param({"name": "a" * 256}, "attachments[0].name", id="a long name"),
        pytest.param({"name": None}, "attachments[0].name", id="a missing name"),
        pytest.param({"contentBase64": "a"}, "attachments[0].contentBase64", id="no base64"),
        pytest.param({"contentBase64": "YQ==YQ=="}, "attachments[0].contentBase64", id="twice"),
        pytest.param({"contentBase64": "_-8="}, "attachments[0].contentBase64", id="base64url"),
        pytest.param({"contentBase64": None}, "attachments[0].contentBase64", id="no content"),
        pytest.param({"contentType": "pdf"}, "attachments[0].contentType", id="no type"),
        pytest.param({"contentType": "a/b; c=d"}, "attachments[0].contentType", id="parameters"),
        pytest.param({"contentType": "a/b\r\nX: y"}, "attachments[0].contentType", id="a header"),
        pytest.param({"contentType": "message/rfc822"}, "attachments[0].contentType", id="a mail"),
        pytest.param({"contentType": "Multipart/x"}, "attachments[0].contentType", id="parts"),
        pytest.param({"contentBase64": "AAAA" * 1_000_001}, "attachments", id="too large"),
    ],
)
@pytest.mark.parametrize("call", ["send", "reply", "forward"])
async def test_a_wrong_file_is_named_and_nothing_is_sent(
    shared_client, shared_world, call, file, field
):
    files = [{"name": "a.txt", "contentBase64": "YQ==", **file}]
    bodies = {
        "send": new_message(shared_world, "provider-a", files),
        "reply": {"body": "x", "attachments": files},
        "forward": {"to": [BO], "attachments": files},
    }
    path = "send" if call == "send" else f"{shared_world.id('lease')}/{call}"

    answer = await shared_client.post(f"{MESSAGES}/{path}", json=bodies[call])

    assert answer.status_code == 400, answer.text
    body = answer.json()
    assert (body["error"], body["details"][0]["field"]) == ("VALIDATION_ERROR", field)
    assert shared_world.calls() == []


async def test_more_than_fifty_files_are_refused(client, world):
    files = [{"name": "a.txt", "contentBase64": ""}] * 51

    answer = await client.post(f"{MESSAGES}/send", json=new_message(world, "provider-a", files))

    assert (answer.status_code, answer.json()["details"][0]["field"]) == (400, "attachments")
    assert world.calls() == []


@both
async def test_a_repeated_send_sends_once(client, world, mailbox):
    body, key = new_message(world, mailbox, FILES), {"idempotency-key": "k1"}

    answers = [await client.post(f"{MESSAGES}/send", json=body, headers=key) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[1].headers["idempotent-replayed"] == "true"
    assert len(world.sent(mailbox)) == 1


async def test_other_files_under_the_same_key_are_another_request(client, world):
    key = {"idempotency-key": "k1"}
    first = new_message(world, "provider-a", FILES)
    await client.post(f"{MESSAGES}/send", json=first, headers=key)

    second = new_message(world, "provider-a", FILES[:1])
    answer = await client.post(f"{MESSAGES}/send", json=second, headers=key)

    assert (answer.status_code, answer.json()["error"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert len(world.sent("provider-a")) == 1


async def test_a_draft_that_lacks_a_file_is_never_sent(client, world):
    body, key = new_message(world, "provider-b", FILES), {"idempotency-key": "k1"}
    await world.fail("provider-b", kind="500", count=1, match="/attachments")

    failed = await client.post(f"{MESSAGES}/send", json=body, headers=key)

    drafts = [
        mail for mail in world.sandbox.state.mails.all("provider-b") if mail.folder == "drafts"
    ]
    assert (failed.status_code, failed.json()["error"]) == (502, "PROVIDER_ERROR")
    assert world.sent("provider-b") == drafts == []

    again = await client.post(f"{MESSAGES}/send", json=body, headers=key)

    (sent,) = world.sent("provider-b")
    assert again.status_code == 200
    assert attached(sent) == ATTACHED


@pytest.mark.parametrize("place", ["query", "variables"])
async def test_a_large_graphql_body_without_files_is_refused(client, world, place):
    long = "a" * 65_536
    document = "mutation($input: SendEmailInput!) { sendEmail(input: $input) { success } }"
    body = {"query": document, "variables": {"input": new_message(world, "provider-a", [])}}
    if place == "query":
        body["query"] += f" # {long}"
    else:
        body["variables"]["input"]["body"] = long

    answer = await client.post("/graphql", json=body)

    assert answer.status_code == 413
    assert world.calls() == []
