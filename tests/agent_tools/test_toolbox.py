"""The list of tools follows the token, and is small."""

import json

import pytest
from agent_client import ASSISTANT, READER, Agent, text_of, tokens

from agent_tools.table import TOOLS
from agent_tools.toolbox import root_field, usable_call
from gateway.documents import prepared

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def listed(world, **settings):
    async with world.client(await world.token(settings)) as client:
        return await Agent(client).tools()


async def test_every_row_fits_the_schema():
    schema = prepared.graph().schema
    for tool in TOOLS:
        for call in tool.calls.values():
            usable = usable_call(call, schema, lambda _field: False)
            assert usable is not None, call.root
            assert set(call.brief.split()) <= set(usable.fields), call.root
            root = root_field(schema, call.root)
            named = {path.partition(".")[0] for path in (*call.paths.values(), *call.constants)}
            assert named <= set(root.args), call.root
            required = {name for name, value in root.args.items() if str(value.type).endswith("!")}
            assert required <= named, call.root


@pytest.mark.parametrize(
    ("settings", "most", "names"),
    [
        pytest.param(READER, 350, "find_mail read_mail get_file find_person", id="reader"),
        pytest.param(
            ASSISTANT,
            950,
            "find_mail read_mail get_file find_person draft_mail file_mail",
            id="assistant",
        ),
    ],
)
async def test_it_has_what_the_token_can_do_and_is_small(shared_world, settings, most, names):
    tools = await listed(shared_world, **settings)

    assert list(tools) == names.split()
    assert tokens(tools) <= most
    print(f"{tokens(tools):.0f} tokens")  # noqa: T201


async def test_an_assistant_that_drafts_is_told_so(shared_world):
    tools = await listed(shared_world, **ASSISTANT)

    assert tools["draft_mail"]["description"].startswith("Leave mail in Drafts")
    assert tools["draft_mail"]["annotations"] == {"destructiveHint": False}
    assert tools["file_mail"] == {
        "name": "file_mail",
        "description": "File mail. Or mark read, change labels.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "read": {"type": "boolean"},
                "addLabels": {"type": "array", "items": {"type": "string"}},
                "removeLabels": {"type": "array", "items": {"type": "string"}},
                "key": {"type": "string"},
            },
            "required": ["id"],
        },
        "annotations": {"destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
    }


async def test_a_masked_field_is_neither_a_filter_nor_a_field(shared_world):
    visible = ["subject", "to", "body", "received_at"]
    tools = await listed(shared_world, **READER, visibleEmailFields=visible)

    properties = tools["find_mail"]["inputSchema"]["properties"]
    assert "from" not in properties
    assert "subject" in properties
    assert "from" not in properties["fields"]["items"]["enum"]
    unknown = await listed(shared_world, **READER, visibleEmailFields=["subject", "bcc"])
    assert "find_person" not in unknown  # who wrote to whom cannot be told
    without_body = await listed(shared_world, **READER, visibleEmailFields=["subject", "from"])
    assert "read_mail" not in without_body


async def test_recipient_rules_are_named_in_one_sentence(shared_world):
    tools = await listed(
        shared_world, **ASSISTANT, recipientRules={"allow": ["@work.example"], "block": []}
    )

    assert tools["draft_mail"]["description"].endswith("Only to recipients that this token allows.")
    assert "work.example" not in json.dumps(tools)


async def test_a_token_for_saved_documents_has_nothing_else(world):
    body = {
        "document": "query Inbox($q: String, $limit: Int = 5) "
        "{ emails(q: $q, limit: $limit) { emails { id subject } } }",
        "method": "GET",
        "path": "/api/saved/inbox",
        "description": "What came in.",
    }
    other = {**body, "path": "/api/saved/other"}
    for name, document in (("inbox", body), ("other", other)):
        assert (await world.admin.put(f"/api/documents/{name}", json=document)).status_code == 200
    async with world.client(await world.token({"documents": ["inbox"]})) as client:
        agent = Agent(client)

        assert await agent.tools() == {
            "inbox": {
                "name": "inbox",
                "description": "What came in.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"q": {"type": "string"}, "limit": {"type": "integer"}},
                },
                "annotations": {"readOnlyHint": True},
            }
        }
        data, _ = await agent.read("inbox", q="lease")
        assert data == {"emails": [{"id": world.id("lease"), "subject": "Lease for the flat"}]}
        world.forget_calls()
        for name in ("other", "find_mail"):
            refused = await agent.call(name)
            assert refused["isError"] is True
        assert text_of(refused).startswith("DOCUMENT_NOT_ALLOWED\n")
        assert world.calls() == []
