"""Suggestions in validation errors: names of the token's own shape, none that it masks."""

import json

import pytest
from graph_requests import respond

from graph import schema
from graph.documents.suggestions import MAX_NAME, with_suggestion
from graph.shape import masked_by, shape_of

VISIBLE = ["subject", "from", "received_at"]


@pytest.fixture
def messages(graph, world):
    """Return the messages of a document's errors for a token with *settings*."""

    async def ask(query, **settings):
        world.settings |= settings

        async def admit(_costs):
            return world.context()

        body = json.dumps({"query": query}).encode()
        reply = await respond(graph, body, admit=admit, request_id="r-1")
        assert reply.status == 400
        return [error["message"] for error in json.loads(reply.body)["errors"]]

    return ask


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "{ emails { emails { subjct } } }",
            "Cannot query field 'subjct' on type 'Email'. Did you mean 'subject'?",
        ),
        (
            "{ emails(limt: 1) { hasMore } }",
            "Unknown argument 'limt' on field 'Query.emails'. Did you mean 'limit'?",
        ),
        (
            'mutation { sendEmail(input: {to: [], subject: "s", body: "b", importnce: high})'
            " { success } }",
            "Expected value of type 'SendEmailInput' not to include unknown field 'importnce'."
            " Did you mean 'importance'?",
        ),
        (
            'mutation { sendEmail(input: {to: [], subject: "s", body: "b", importance: HIG})'
            " { success } }",
            "Value 'HIG' does not exist in 'Importance' enum. Did you mean 'high'?",
        ),
        (
            "{ emails { ...F } } fragment F on EmialPage { hasMore }",
            "Unknown type 'EmialPage'. Did you mean 'EmailPage' or 'ThreadPage'?",
        ),
        ("{ nowhere }", "Cannot query field 'nowhere' on type 'Query'."),
        ("{ emails { emails { zzz } } }", "Cannot query field 'zzz' on type 'Email'."),
    ],
)
async def test_a_name_that_is_close_is_suggested(messages, query, message):
    assert await messages(query) == [message]


async def test_a_masked_field_is_not_suggested_and_the_shared_part_is_alike(messages):
    query = "{ emails { emails { subjct bodyy } } }"
    whole = await messages(query)
    masked = await messages(query, visibleEmailFields=VISIBLE)

    assert whole == [
        "Cannot query field 'subjct' on type 'Email'. Did you mean 'subject'?",
        "Cannot query field 'bodyy' on type 'Email'. Did you mean 'body' or 'bodyType'?",
    ]
    assert masked == [whole[0], "Cannot query field 'bodyy' on type 'Email'."]


@pytest.mark.parametrize(
    ("query", "allowed"),
    [
        ('mutation { sendEmial(input: {to: [], subject: "", body: ""}) { success } }', "sendEmail"),
        ("{ emailThred(threadId: 1) { threadId } }", "emailThread"),
    ],
)
async def test_an_operation_that_the_token_lacks_is_not_suggested(messages, query, allowed):
    whole = (await messages(query))[0]
    reader = (await messages(query, allowedEmailOperations=["search_emails"]))[0]

    assert f"'{allowed}'" in whole
    assert "Did you mean" not in reader or f"'{allowed}'" not in reader


async def test_an_argument_that_reveals_a_mask_is_not_suggested(messages):
    query = '{ emails(subjct: "a") { hasMore } }'
    whole = await messages(query)
    masked = await messages(query, visibleEmailFields=["from"])

    assert whole == ["Unknown argument 'subjct' on field 'Query.emails'. Did you mean 'subject'?"]
    assert masked == ["Unknown argument 'subjct' on field 'Query.emails'."]


@pytest.mark.parametrize("kind", ["Cannot query field '{}' on type '{}'.", "no pattern {} {}"])
def test_every_field_is_suggested_or_hidden(world, kind):
    """Every field of every type: its misspelling names it exactly when the token may see it."""
    world.settings["visibleEmailFields"] = VISIBLE
    shape = shape_of(schema.build(), world.context().caller)
    suggested, expected = set(), set()
    for name, type_ in shape.type_map.items():
        for field, definition in getattr(type_, "fields", {}).items():
            if name.startswith("__"):
                continue
            message = with_suggestion(kind.format(f"{field}q", name), shape)
            if f"'{field}'" in message.partition("Did you mean")[2]:
                suggested.add((name, field))
            if getattr(definition, "extensions", None) is None or masked_by(definition) is None:
                expected.add((name, field))

    assert ("Email", "body") not in expected
    assert suggested == (expected if kind.startswith("Cannot") else set())


def test_a_long_name_is_not_compared():
    message = f"Cannot query field '{'e' * (MAX_NAME + 1)}' on type 'Query'."

    assert with_suggestion(message, schema.build()) == message
