"""Tokens with `agentTools: graph` read the schema by topic, and run documents that only read."""

import json

import pytest
from agent_client import Agent, data_of, text_of

pytestmark = pytest.mark.caller(agentTools="graph", visibleEmailFields=["subject", "received_at"])


@pytest.fixture
def agent(client):
    return Agent(client)


async def test_the_schema_is_told_by_topic_and_only_what_the_token_has(agent):
    tools = await agent.tools()
    topics = text_of(await agent.call("graph_schema"))
    emails = text_of(await agent.call("graph_schema", topic="emails"))
    type_ = text_of(await agent.call("graph_schema", topic="Participant"))
    unknown = await agent.call("graph_schema", topic="email_s")

    assert list(tools)[-2:] == ["graph_schema", "graph_query"]
    assert "emails: Search every connected mailbox at once, newest first." in topics
    assert "collabFiles" not in topics
    assert emails.startswith("emails(q: String")
    assert "from: String" not in emails.split("\n")[0]
    assert type_.startswith('"""A person or mailbox in a message')
    assert len(emails) <= 8_000
    assert text_of(unknown).startswith("NOT_FOUND\ntopic is not known, did you mean 'email")


async def test_a_document_that_reads_is_run_with_masks(world, agent):
    query = "query Q($n: Int) { emails(limit: $n) { emails { subject from { email } } } }"
    data, _ = data_of(await agent.call("graph_query", query=query, variables={"n": 1}))

    assert data == {
        "data": {"emails": {"emails": [{"from": None, "subject": "Lease for the flat"}]}}
    }
    row = (await world.admin.get("/api/decisions", params={"limit": 1})).json()["decisions"][0]
    assert (row["door"], row["operation"], row["outcome"]) == ("agent", "emails", "allowed")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ('mutation { deleteEmail(emailId: "x") { success } }', "OPERATION_NOT_ALLOWED"),
        ("{ a } mutation M { b }", "OPERATION_NOT_ALLOWED"),
        ("subscription { a }", "OPERATION_NOT_ALLOWED"),
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("{ nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ('{ emails(from: "a@b.example") { totalCount } }', "FIELD_NOT_VISIBLE"),
        ("{ " + "a " * 2000 + "}", "GRAPHQL_PARSE_FAILED"),
        (7, "VALIDATION_ERROR"),
    ],
    ids=["mutation", "both", "subscription", "broken", "unknown", "masked", "long", "number"],
)
async def test_other_documents_are_refused(world, agent, query, code):
    world.forget_calls()
    result = await agent.call("graph_query", query=query)

    assert text_of(result).split("\n")[0] == code
    assert world.calls() == []


@pytest.mark.caller
async def test_other_tokens_have_no_such_tools(agent):
    assert "graph_query" not in await agent.tools()
    assert text_of(await agent.call("graph_query", query="{ a }")).startswith("NOT_FOUND\n")


@pytest.mark.caller(agentTools="graph", documents="saved")
async def test_a_token_for_saved_documents_has_no_graph(agent):
    assert json.dumps(await agent.tools()) == "{}"
