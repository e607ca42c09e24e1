"""`get_file` reads texts of attachments and files in slices, and structured content is the same."""

import content_world
import documents
import pytest
import world as worlds
from agent_client import Agent, data_of, text_of

LINES = "".join(f"Line {number} of the order.\n" for number in range(1_500))
READER = {"emailAccessEnabled": True, "allowedEmailOperations": ["read_only"]}


@pytest.fixture
def email_id(world):
    """A message with a document of Word."""
    document = documents.word(documents.paragraphs(*LINES.splitlines()))
    kind = "application/octet-stream"
    message = worlds.mail(
        "order",
        worlds.ANA,
        worlds.ME_A,
        "Order",
        "See the file.\n",
        at="2026-11-19T10:00:00",
        attachment=("order.docx", kind, document),
    )
    stored = world.sandbox.state.mails.add("provider-a", message.raw, folder="inbox")
    return worlds.api_id("provider-a", stored.immutable_id)


async def attachment_of(agent, email_id):
    message, _ = await agent.read("read_mail", id=email_id)
    return message["attachments"][0]["id"]


async def test_the_text_of_an_attachment_is_read_in_slices(client, email_id):
    agent = Agent(client)
    file = {"mail": email_id, "attachment": await attachment_of(agent, email_id)}

    offset, text = 0, ""
    while offset < len(LINES):
        result = await agent.call("get_file", **file, text=True, offset=offset)
        assert len(text_of(result)) <= 8_000
        data, line = data_of(result)
        assert data["isCut"] is False
        text += data["content"]
        assert line == (
            f"cut at {len(text)} of {len(LINES)}; offset: {len(text)}"
            if len(text) < len(LINES)
            else ""
        )
        offset = len(text)
    assert text == LINES
    link, _ = await agent.read("get_file", **file)
    assert link["name"] == "order.docx"
    assert "downloadUrl" in link


async def test_the_text_of_a_file(content):
    async with content.client(await content.token()) as client:
        plan = await Agent(client).read("get_file", id=content.id("plan"), text=True)
        picture = await Agent(client).call("get_file", id=content.id("hull"), text=True)

    assert plan == ({"content": "The keel of oak\n", "isCut": False}, "")
    assert text_of(picture).startswith("UNSUPPORTED_MEDIA_TYPE\n")


async def test_a_file_that_may_not_be_downloaded_is_not_read(content):
    token = await content.token(allowedCollabOperations=["get_file_metadata"])
    content.forget_calls()
    async with content.client(token) as client:
        agent = Agent(client)
        refused = await agent.call("get_file", id=content.id("plan"), text=True)
        properties = (await agent.tools())["get_file"]["inputSchema"]["properties"]

    assert text_of(refused).splitlines()[:2] == [
        "OPERATION_NOT_ALLOWED",
        "This token does not allow download_file.",
    ]
    assert "text" not in properties
    assert content.calls() == []


async def test_structured_content_is_the_json_of_the_text(content_template, tmp_path):
    settings = {"agents_structured_content": True, "rate_limits": "off"}
    async with content_world.opened(content_template, tmp_path / "content", **settings) as content:
        token = await content.world.token({**content_world.EVERYTHING, **READER})
        async with content.client(token) as client:
            agent = Agent(client)
            calls = [
                await agent.call("find_mail", limit=2),
                await agent.call("find_mail", q="lease"),
                await agent.call("read_mail", id=content.world.id("lease")),
                await agent.call("find_files", limit=1),
                await agent.call("get_file", id=content.id("plan"), text=True),
                await agent.call("change_file", action="create_folder", name="Oars"),
            ]
            refused = await agent.call("find_mail", limit="x")

    for result in calls:
        assert (result["structuredContent"], "") == data_of(result)
    assert calls[0]["structuredContent"]["next"].startswith("shown 2 of 5; cursor: ")
    assert calls[1]["structuredContent"]["next"] == "shown 1 of 1; no more"
    assert "next" not in calls[2]["structuredContent"]
    assert "structuredContent" not in refused
