"""Readable text of attachments, by REST and GraphQL (docs/spec/readable-text.md#files)."""

from email.message import EmailMessage
from urllib.parse import quote

import documents
import pytest
from world import api_id

MESSAGES = "/api/access/email/messages"
WORD = documents.word(documents.paragraphs("Oars", "and masts"))
DOCUMENT = """query($emailId: String!, $attachmentId: String!) {
  emailAttachmentText(emailId: $emailId, attachmentId: $attachmentId) { content isCut }
}"""
BY_TYPE = {
    "word.docx": ("application/octet-stream", WORD, "Oars\nand masts\n"),
    "page.html": ("text/html", b"<p>One<p>Two", "One\nTwo"),
    "list.csv": ("text/csv", b"a,b\r\n1,2\r\n", "a,b\n1,2\n"),
}


def add(world, mailbox, name, media_type, content):
    """Put a message with a file into a mailbox; return its API id."""
    message = EmailMessage()
    message["From"], message["Subject"] = "ana@home.example", "Files"
    message["To"] = f"me@{mailbox}.example"
    message.set_content("See the file.\n")
    main, _, sub = media_type.partition("/")
    message.add_attachment(content, maintype=main, subtype=sub, filename=name)
    stored = world.sandbox.state.mails.add(mailbox, message.as_bytes(), folder="inbox")
    return api_id(mailbox, stored.immutable_id)


async def attachment_id(world, email_id):
    async with world.client(await world.token({"emailAccessEnabled": True})) as client:
        answer = await client.get(f"{MESSAGES}/{quote(email_id, safe='')}")
        return answer.json()["attachments"][0]["id"]


async def read(client, email_id, attachment):
    path = f"{MESSAGES}/{quote(email_id, safe='')}/attachments/{quote(attachment, safe='')}/text"
    rest = await client.get(path)
    variables = {"emailId": email_id, "attachmentId": attachment}
    body = {"query": DOCUMENT, "variables": variables}
    return rest, (await client.post("/graphql", json=body)).json()


@pytest.mark.parametrize("mailbox", ["provider-a", "provider-b"])
@pytest.mark.parametrize("name", BY_TYPE)
async def test_the_text_of_an_attachment(client, world, mailbox, name):
    media_type, content, text = BY_TYPE[name]
    email_id = add(world, mailbox, name, media_type, content)

    rest, graph = await read(client, email_id, await attachment_id(world, email_id))

    assert (rest.status_code, rest.json()) == (200, {"content": text, "isCut": False})
    assert graph["data"] == {"emailAttachmentText": rest.json()}


@pytest.mark.parametrize(
    ("name", "media_type", "content"),
    [("a.png", "image/png", b"\x89PNG"), ("a.docx", "application/octet-stream", b"junk")],
)
async def test_a_file_without_text_is_refused(client, world, name, media_type, content):
    email_id = add(world, "provider-a", name, media_type, content)

    rest, graph = await read(client, email_id, await attachment_id(world, email_id))

    assert (rest.status_code, rest.json()["error"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    extensions = graph["errors"][0]["extensions"]
    assert (extensions["code"], extensions["httpStatus"]) == ("UNSUPPORTED_MEDIA_TYPE", 415)
    if name == "a.png":  # no byte was requested
        assert not any("/attachments/" in call["path"] for call in world.calls())


@pytest.mark.caller(visibleEmailFields=["subject", "body"], maskMode="basic")
async def test_without_the_word_nothing_is_asked_of_the_provider(client, world):
    email_id = add(world, "provider-b", "word.docx", "application/octet-stream", WORD)
    attachment = await attachment_id(world, email_id)
    world.forget_calls()

    rest, graph = await read(client, email_id, attachment)

    assert (rest.status_code, rest.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert graph["errors"][0]["extensions"]["code"] == "FIELD_NOT_VISIBLE"
    assert world.calls() == []


@pytest.mark.caller(allowedEmailOperations=["search_emails"])
async def test_without_the_operation_it_is_refused(client, world):
    rest, graph = await read(client, world.id("lease"), "1")

    assert (rest.status_code, rest.json()["requiredOperation"]) == (403, "view_email")
    assert graph["errors"][0]["extensions"]["code"] == "OPERATION_NOT_ALLOWED"
    assert world.calls() == []


async def test_an_unknown_attachment_is_not_found(client, world):
    rest, _ = await read(client, world.id("lease"), "nothing")

    assert (rest.status_code, rest.json()["error"]) == (404, "NOT_FOUND")
