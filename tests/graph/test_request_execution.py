"""POST /graphql: statuses, bodies, order of checks."""

import json
from dataclasses import replace

import pytest
from graph_requests import Admitted, respond

from gateway.http.graphql_call import GraphQLCall
from graph.documents import cost_limits
from policy.refusals import TooManyRequests, Unauthenticated
from policy.vocabulary import UnauthorizedReason
from providers.failures import Throttled
from providers.records import mail as mail_records
from rest_compat.request import RestRequest


@pytest.fixture
def post(graph, world):
    async def run(body, *, accept="", refusal=None):
        async def admit(costs):
            world.costs.append(dict(costs))
            if refusal is not None:
                raise refusal
            return world.context()

        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await respond(graph, payload, admit=admit, request_id="req-1", accept=accept)

    return run


def error(reply):
    (only,) = json.loads(reply.body)["errors"]
    return only["extensions"]["code"], only["message"]


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        pytest.param(b"", "VALIDATION_ERROR", "The body is not JSON.", id="empty"),
        pytest.param(b"{query}", "VALIDATION_ERROR", "The body is not JSON.", id="not JSON"),
        pytest.param(b'{"query": NaN}', "VALIDATION_ERROR", "The body is not JSON.", id="NaN"),
        pytest.param(
            b'{"query": "\\ud800"}', "VALIDATION_ERROR", "The body is not JSON.", id="a surrogate"
        ),
        pytest.param(
            b'"{ emails }"',
            "VALIDATION_ERROR",
            "The body must be an object with a query, or a documentId instead.",
            id="a string",
        ),
        pytest.param(
            [{"query": "{ __typename }"}],
            "VALIDATION_ERROR",
            "Batches are not supported: send one operation per request.",
            id="a batch",
        ),
        pytest.param(
            {"query": "{ __typename }", "variables": []},
            "VALIDATION_ERROR",
            "variables must be an object.",
            id="variables that are a list",
        ),
        pytest.param(
            {"query": "{ __typename }", "operationName": 3},
            "VALIDATION_ERROR",
            "operationName must be a string.",
            id="a number for a name",
        ),
        pytest.param(
            {"query": "query A { __typename } query B { __typename }"},
            "GRAPHQL_VALIDATION_FAILED",
            "operationName must name one operation of the document.",
            id="two operations and no name",
        ),
        pytest.param(
            {"query": "subscription { emails { hasMore } }"},
            "GRAPHQL_VALIDATION_FAILED",
            "Subscriptions are not supported.",
            id="a subscription",
        ),
        pytest.param(
            {"query": "{ emails {"},
            "GRAPHQL_PARSE_FAILED",
            "Syntax Error: Expected Name, found <EOF>.",
            id="a syntax error",
        ),
        pytest.param(
            {"query": "{ emials { hasMore } }"},
            "GRAPHQL_VALIDATION_FAILED",
            "Cannot query field 'emials' on type 'Query'. Did you mean 'emails' or 'email'?",
            id="an unknown field",
        ),
        pytest.param(
            {"query": "mutation { a: deleteEmail(emailId: 1) { success } b: __typename }"},
            "GRAPHQL_VALIDATION_FAILED",
            "String cannot represent a non string value: 1",
            id="a wrong literal",
        ),
        pytest.param(
            {
                "query": 'mutation { a: deleteEmail(emailId: "1") { success } '
                'b: deleteEmail(emailId: "2") { success } }'
            },
            "QUERY_TOO_COSTLY",
            "A request may contain one mutation field.",
            id="two mutations",
        ),
        pytest.param(
            {"query": "query ($n: Int) { emails(limit: $n) { hasMore } }", "variables": {"n": "x"}},
            "INVALID_PARAMETER",
            "n: It must be of type Int.",
            id="a wrong variable",
        ),
    ],
)
async def test_a_request_that_cannot_be_run_is_400(post, world, body, code, message):
    reply = await post(body)

    assert reply.status == 400
    assert error(reply) == (code, message)
    assert json.loads(reply.body)["errors"][0]["extensions"]["requestId"] == "req-1"
    assert len(world.costs) == 1
    assert world.mailboxes[1].calls == []


async def test_at_most_ten_validation_errors_are_listed_and_long_ones_are_cut(post):
    """Each of them may quote the whole input object: telling all would take seconds."""
    members = " ".join(f"a{number}: 1" for number in range(600))

    reply = await post({"query": f"mutation {{ sendEmail(input: {{{members}}}) {{ success }} }}"})

    *messages, last = [error["message"] for error in json.loads(reply.body)["errors"]]
    assert reply.status == 400
    assert len(messages) == 10
    assert messages[0].startswith(
        "Expected value of type 'SendEmailInput' to include required field"
    )
    assert [len(message) for message in messages[:3]] == [300, 300, 300]
    assert last == "Too many validation errors, error limit reached. Validation aborted."


async def test_a_body_over_64_kib_is_413(post, world):
    body = {"query": "{ __typename }" + " " * cost_limits.MAX_BYTES}

    reply = await post(body)

    assert reply.status == 413
    assert error(reply)[0] == "PAYLOAD_TOO_LARGE"
    assert world.costs == [{"graphql": 1}]


async def test_an_invalid_token_is_401_before_the_document_is_parsed(post):
    refusal = Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)

    broken = await post({"query": "{ emails {"}, refusal=refusal)
    whole = await post({"query": "{ __schema { types { name } } }"}, refusal=refusal)

    assert broken == whole
    assert whole.status == 401
    assert dict(whole.headers) == {"WWW-Authenticate": 'Bearer error="invalid_token"'}
    assert json.loads(whole.body) == {
        "errors": [
            {
                "message": "This access token is unknown.",
                "extensions": {
                    "code": "UNAUTHENTICATED",
                    "httpStatus": 401,
                    "requestId": "req-1",
                    "reason": "UNKNOWN_TOKEN",
                },
            }
        ]
    }


async def test_a_full_window_is_429(post):
    reply = await post({"query": "{ emails { hasMore } }"}, refusal=TooManyRequests(7))

    assert reply.status == 429
    assert dict(reply.headers) == {"Retry-After": "7"}
    assert error(reply)[0] == "RATE_LIMITED"


async def test_errors_of_fields_leave_the_status_200(post):
    reply = await post({"query": "{ emails(limit: 0) { hasMore } }"})

    assert reply.status == 200
    assert error(reply)[0] == "INVALID_PARAMETER"


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        (
            "application/graphql-response+json, application/json;q=0.9",
            "application/graphql-response+json",
        ),
    ],
)
async def test_the_accepted_media_type_is_used(post, accept, kind):
    good = await post({"query": "{ __typename }"}, accept=accept)
    bad = await post({"query": "{"}, accept=accept)

    assert (good.content_type, bad.content_type) == (kind, kind)


@pytest.mark.parametrize(
    "accepted",
    [
        ("", 400),
        ("*/*", 400),
        ("application/json", 200),
        ("application/json; charset=utf-8, */*;q=0.1", 200),
        ("application/graphql-response+json", 400),
        ("application/graphql-response+json, application/json;q=0.9", 400),
    ],
)
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"query": "{ emails {"}, "GRAPHQL_PARSE_FAILED"),
        ({"query": "{ emials { hasMore } }"}, "GRAPHQL_VALIDATION_FAILED"),
        ({"query": "{ a: __typename }", "operationName": "B"}, "GRAPHQL_VALIDATION_FAILED"),
        (
            {"query": "mutation { a: deleteEmail(emailId: 1) b: deleteEmail(emailId: 1) }"},
            "QUERY_TOO_COSTLY",
        ),
        (
            {"query": "query ($n: Int) { emails(limit: $n) { hasMore } }", "variables": {"n": "x"}},
            "INVALID_PARAMETER",
        ),
        (
            {
                "query": "mutation ($i: SendEmailInput!) { sendEmail(input: $i) { success } }",
                "variables": {"i": {}},
            },
            "VALIDATION_ERROR",
        ),
    ],
)
async def test_a_document_that_cannot_run_is_200_for_clients_that_name_json_alone(
    post, world, accepted, body, code
):
    accept, status = accepted
    reply = await post(body, accept=accept)

    content = json.loads(reply.body)
    assert reply.status == status
    assert "data" not in content
    assert error(reply)[0] == code
    assert content["errors"][0]["extensions"]["httpStatus"] == 400
    assert world.mailboxes[1].calls == []


async def test_what_is_no_document_keeps_its_status_for_clients_that_name_json(post):
    refusal = Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
    body = {"query": "{ __typename }"}
    accept = "application/json"
    replies = [
        await post(b"{", accept=accept),
        await post({"query": 3}, accept=accept),
        await post({**body, "variables": []}, accept=accept),
        await post(body, accept=accept, refusal=refusal),
        await post(body, accept=accept, refusal=TooManyRequests(7)),
    ]

    assert [reply.status for reply in replies] == [400, 400, 400, 401, 429]


async def test_introspection_needs_a_valid_token_and_nothing_else(post, world):
    world.settings = {}
    world.connections.clear()

    reply = await post({"query": "{ __schema { queryType { name } } }"})

    assert json.loads(reply.body) == {"data": {"__schema": {"queryType": {"name": "Query"}}}}
    assert world.costs == [{"graphql": 1}]


@pytest.mark.parametrize(
    ("query", "variables", "costs"),
    [
        ("{ accessToken { id } }", {}, {"graphql": 1}),
        ("{ a: emails { hasMore } b: emails { hasMore } accessToken { id } }", {}, {"email": 2}),
        ("{ ...F ...F } fragment F on Query { emails { hasMore } }", {}, {"email": 1}),
        (
            "{ ...F @skip(if: true) ...F } fragment F on Query { emails { hasMore } }",
            {},
            {"email": 1},
        ),
        (
            "query ($x: Boolean!) { ...F @include(if: $x) ...G } "
            "fragment F on Query { ...G } fragment G on Query { emails @skip(if: $x) { hasMore } }",
            {"x": False},
            {"email": 1},
        ),
        (
            "query ($x: Boolean!) { a: emails { hasMore } b: emails @include(if: $x) { hasMore } }",
            {"x": False},
            {"email": 1},
        ),
        (
            "query ($x: Boolean = true) { emails @skip(if: $x) { hasMore } __typename }",
            {},
            {"graphql": 1},
        ),
    ],
)
async def test_each_root_field_is_charged_once(post, world, query, variables, costs):
    reply = await post({"query": query, "variables": variables})

    assert reply.status == 200
    assert world.costs == [costs]


async def test_the_same_text_serves_two_tokens_with_opposite_outcomes(post, world):
    query = {"query": '{ email(emailId: "providerA:a1") { subject } }'}
    allowed = await post(query)
    world.settings["allowedEmailOperations"] = []
    refused = await post(query)
    world.settings |= {"allowedEmailOperations": ["all"], "visibleEmailFields": ["to"]}
    masked = await post(query)

    assert json.loads(allowed.body)["data"] == {"email": {"subject": "Subject a1"}}
    assert json.loads(refused.body)["data"] == {"email": None}
    assert json.loads(masked.body)["data"] == {"email": {"subject": None}}


@pytest.mark.slow
async def test_the_cache_of_documents_is_bounded(graph, post):
    for number in range(140):
        await post({"query": f"{{ t{number}: __typename }}"})

    assert len(graph._documents) == 128


async def test_a_document_is_cached_for_authenticated_callers_alone(graph, post):
    query = "{ onlyHere: __typename }"

    await post({"query": query}, refusal=Unauthenticated(UnauthorizedReason.MISSING_HEADER))

    assert query not in graph._documents


SEND = """mutation {
  sendEmail(input: {to: [{email: "a@b.c"}], subject: "s", body: "b"}) { success emailId }
}"""


@pytest.mark.parametrize(
    ("changed", "path", "failed"),
    [
        ({}, [], None),
        (
            {"sent": mail_records.SentMessage(email_id=[], thread_id="t")},
            ["sendEmail", "emailId"],
            None,
        ),
        ({"failure": Throttled(retry_after=3)}, ["sendEmail"], 429),
    ],
    ids=["sent", "sent, with a result that cannot be shown", "not sent"],
)
async def test_a_mutation_has_failed_when_its_root_field_has(graph, world, changed, path, failed):
    world.mailboxes[1] = replace(world.mailboxes[1], **changed)

    async def admit(_costs):
        return world.context()

    reply = await respond(
        graph, json.dumps({"query": SEND}).encode(), admit=admit, request_id="req-1"
    )

    assert (reply.status, reply.outcome_status) == (200, failed)
    errors = json.loads(reply.body).get("errors", [])
    assert [error["path"] for error in errors] == ([path] if path else [])


async def test_only_mutations_are_run_once(graph, world):
    async def admit(_costs):
        return world.context()

    body = json.dumps({"query": "{ accessToken { name } }"}).encode()
    request = RestRequest({"headers": [(b"idempotency-key", b"k")]}, None)
    ledger = None  # a query may run as often as it is asked
    reply = await Admitted(admit, "req-1", ledger).run(
        GraphQLCall(request, graph, rows={}, sent=body)
    )

    assert json.loads(reply.body)["data"] == {"accessToken": {"name": "robot"}}
