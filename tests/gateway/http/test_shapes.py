"""
Callers are shown what their token can use, by introspection, as SDL and as OpenAPI.

Generated tokens run `SHAPE_DOCUMENTS` documents each, generated from their own
introspection, and as many requests, generated from their own OpenAPI description. 50 and 1,000:
`TIMES=50 SHAPE_DOCUMENTS=1000 pytest -n 0 -s -m slow -o faulthandler_timeout=0 PATH`
"""

import os
from collections import Counter
from random import Random

import described_requests
import generated_shapes as generated
import graphql
import pytest
import whole_world
from run_sizes import times

from gateway.http import api_descriptions
from graph import schema
from rest_compat.documents import document
from rest_compat.table import ENDPOINTS

TOKENS = times(1)
DOCUMENTS = int(os.environ.get("SHAPE_DOCUMENTS", "20"))
OF_DOCUMENTS = {("/graphql/rest-of", "post"), ("/graphql/explain", "post")}  # for every token
SDL, OPENAPI = "/api/access/schema.graphql", "/api/access/openapi.json"
SAVED = {  # method and path of a saved document -> its text
    ("GET", "/api/saved/mails"): "query ($q: String, $from: String, $limit: Int = 5) {"
    " emails(q: $q, from: $from, limit: $limit) {"
    " emails { subject from { email person { events(limit: 1) { events { title } } } } } } }",
    ("POST", "/api/saved/mails/{emailId}"): "mutation ($emailId: String!, $input: ReplyEmailInput!)"
    " { replyToEmail(emailId: $emailId, input: $input) { success emailId held } }",
    ("GET", "/api/saved/days"): "query ($from: DateTime!, $to: DateTime!) {"
    " freeBusy(from: $from, to: $to) { calendars { calendarName busy { startUtc } } } }",
    ("GET", "/api/saved/files/{fileId}"): "query ($fileId: String!) {"
    " collabFile(fileId: $fileId) { file { name permissions { role } } } }",
    (
        "PATCH",
        "/api/saved/items/{itemId}",
    ): "mutation ($itemId: String!, $input: UpdateTaskItemInput!)"
    " { updateTaskItem(itemId: $itemId, input: $input) { success errorCode item { name } } }",
    ("GET", "/api/saved/people"): "query ($email: String!) {"
    " person(email: $email) { sent(limit: 1) { emails { subject } } } }",
}


@pytest.fixture(scope="module")
def world(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("shapes")) as world:
        yield world


@pytest.fixture(scope="module")
def resources(world):
    return generated.resources_by_kind(world)


@pytest.fixture(scope="module")
def tokens(world, resources):
    return [generated.token(world, Random(number), resources) for number in range(TOKENS)]


@pytest.fixture
def saved_documents(world):
    names = []
    for number, ((method, path), text) in enumerate(SAVED.items()):
        names.append(f"/api/documents/saved{number}")
        body = {"document": text, "method": method, "path": path}
        saved, _ = world.call("PUT", names[-1], json=body)
        assert saved.status_code == 200, saved.text
    yield
    for name in names:
        world.call("DELETE", name)


def root_fields(shape):
    roots = (shape.query_type, shape.mutation_type)
    return {name for root in roots if root is not None for name in root.fields}


def is_closed(error):
    """Tell whether the surface, the kind of connection or the operation was refused."""
    extensions = error["extensions"]
    words = ("free and busy", "may not create child tokens", "may not subscribe to changes")
    return extensions["code"] in generated.CLOSED or any(word in error["message"] for word in words)


def is_hidden(error):
    """Tell whether a call was refused for a hidden field, whatever the values of its arguments."""
    by_value = error["message"].startswith(("Ordering by", "The selector"))
    return error["extensions"]["code"] == "FIELD_NOT_VISIBLE" and not by_value


def hidden_words(error):
    """Return the mask words that a refusal names, as they mark what is masked."""
    return error["message"].partition(" may not see: ")[2].rstrip(".").replace("'", "")


@pytest.mark.slow
def test_what_is_shown_is_never_refused_for_want_of_permission(tokens):
    codes, problems = Counter(), []
    for number, token in enumerate(tokens):
        random = Random(f"documents {number}")
        for _ in range(DOCUMENTS):
            text = generated.document(token.shape, random)
            errors = token.ask(text)
            codes.update(error["extensions"]["code"] for error in errors)
            problems += [(text, error) for error in errors if is_closed(error)]
            problems += [
                (text, error)
                for error in errors
                if is_hidden(error) and not token.marks(text, error["path"])
            ]

    print(f"{TOKENS * DOCUMENTS} documents: {dict(codes)}")  # noqa: T201 - shown with -s
    assert problems == []
    assert codes["GRAPHQL_VALIDATION_FAILED"] == 0


@pytest.mark.slow
def test_every_root_field_that_is_hidden_is_refused(tokens):
    """Asked of the API itself, and every one that is shown is not."""
    whole = schema.build()
    for token in tokens:
        shown = root_fields(token.shape)
        for root in (whole.query_type, whole.mutation_type):
            own = getattr(token.shape.type_map.get(root.name), "fields", {})
            for name, field in root.fields.items():
                text = minimal(root, name, own.get(name, field))
                refused = any(map(is_closed, token.ask(text)))
                assert refused is (name not in shown), (text, token.settings, token.kinds)


def minimal(root, name, field):
    """Write a document of one root field that no other layer refuses before the gates."""
    required = {
        argument: value
        for argument, value in field.args.items()
        if graphql.is_required_argument(value)
    }
    values = {name: generated._value(value.type, Random(1)) for name, value in required.items()}
    arguments = ", ".join(f"{name}: {value}" for name, value in values.items())
    written = f"({arguments})" if arguments else ""
    below = "" if graphql.is_leaf_type(graphql.get_named_type(field.type)) else " { __typename }"
    kind = "query" if root.name == "Query" else "mutation"
    return f"{kind} {{ {name}{written}{below} }}"


def test_paths_are_those_of_the_root_fields(tokens):
    for token in tokens:
        described = token.get("GET", OPENAPI)
        shown = root_fields(token.shape)
        operations = {
            (path, method): operation
            for path, methods in described["paths"].items()
            for method, operation in methods.items()
        }
        expected = {
            (row.path, row.method.lower()) for row in ENDPOINTS if _root_field(row) in shown
        }
        assert operations.keys() == expected | OF_DOCUMENTS


@pytest.mark.slow
def test_every_call_that_is_not_described_is_refused(world, tokens):
    """Asked of the API itself, and every one that is described is not."""
    whole = described_requests.Description(api_descriptions.access_document())
    for token in tokens:
        own = described_requests.Description(token.get("GET", OPENAPI))
        for key in whole.operations:
            description = own if key in own.operations else whole
            request = description.least_request(key, world.ids(key[0]))
            answer = send(token, request)
            refused = any(map(is_closed, errors_of(answer)))
            assert refused is (key not in own.operations), (request, answer.text)


@pytest.mark.slow
@pytest.mark.usefixtures("saved_documents")
def test_what_is_described_is_never_refused_for_want_of_permission(world, tokens):
    """Every parameter is known, and every answer is as described to the token."""
    statuses, calls, problems = Counter(), Counter(), []
    for number, token in enumerate(tokens):
        random = Random(f"requests {number}")
        own = described_requests.Description(token.get("GET", OPENAPI))
        keys = list(own.operations)
        for key in [*keys, *random.choices(keys, k=DOCUMENTS)]:
            request = own.request(key, world.ids(key[0]), random)
            answer = send(token, request)
            media_type = answer.headers.get("Content-Type", "").partition(";")[0]
            body = answer.json() if media_type == "application/json" else None
            wrong = own.problems(key, answer.status_code, media_type, body)
            if "X-Ignored-Parameters" in answer.headers:
                wrong.append("a parameter is not known")
            if any(map(is_closed, errors_of(answer))):
                wrong.append("refused for want of permission")
            for error in filter(is_hidden, errors_of(answer)):
                if hidden_words(error) not in own.masks(key):
                    wrong.append("refused for a hidden field")
            if wrong:
                problems.append((request, wrong, answer.status_code, answer.text))
            calls[key] += 1
            statuses[answer.status_code] += 1

    print(f"{calls.total()} requests of {len(calls)} operations: {dict(statuses)}")  # noqa: T201
    assert problems == []


def send(token, request):
    target = (request.method, request.path, request.body)
    return generated.call(token.world, token.secret, *target, headers=request.headers)


def errors_of(answer):
    """Return the errors of an answer by REST as GraphQL has them."""
    if answer.status_code < 400:
        return []
    body = answer.json()
    return [{"message": body["message"], "extensions": {"code": body["error"]}}]


def test_the_three_notations_are_one_shape(tokens):
    for token in tokens:
        world = token.world
        sdl = generated.call(world, token.secret, "GET", SDL).text
        written = graphql.build_schema(sdl)
        assert written.type_map.keys() == token.shape.type_map.keys()
        assert root_fields(written) == root_fields(token.shape)
        assert graphql.find_breaking_changes(token.shape, written) == []
        changes = graphql.find_breaking_changes(written, token.shape)
        # Introspection tells of no directives of the schema itself.
        assert {change.type.name for change in changes} <= {"DIRECTIVE_REMOVED"}


@pytest.mark.slow
def test_equal_permissions_get_equal_bytes(world, resources):
    """Rules, scopes, accounts and owners differ; what may be called and seen does not."""
    own = generated.settings(Random(5))
    other = {**own, "timeframePastDays": 9, "taskBoards": [], "quota": {"perHour": 100}}
    kinds = tuple(resources.values())
    first = world.runner.run(world.world.token(own))
    second = world.runner.run(world.world.token(other, resources=kinds, name="another"))
    before = world.upstream_calls()
    query = {"query": graphql.get_introspection_query()}

    for method, path, body in (
        ("POST", "/graphql", query),
        ("GET", SDL, None),
        ("GET", OPENAPI, None),
    ):
        answers = [generated.call(world, each, method, path, body) for each in (first, second)]
        assert answers[0].content == answers[1].content, path
        assert answers[0].status_code == 200
    assert world.upstream_calls() == before


def test_what_is_valid_does_not_depend_on_the_shape(world):
    """A document beyond the shape is refused as ever, and not as an unknown field."""
    secret = world.runner.run(world.world.token({"allowedEmailOperations": ["view_email"]}))
    text = '{ emails { hasMore } __type(name: "EmailPage") { name } }'
    answer = generated.call(world, secret, "POST", "/graphql", {"query": text}).json()

    assert answer["data"] == {"emails": None, "__type": None}
    assert [error["extensions"]["code"] for error in answer["errors"]] == ["OPERATION_NOT_ALLOWED"]


def test_the_calls_are_like_every_other(world):
    secret = world.runner.run(world.world.token({}))
    answer = generated.call(world, secret, "GET", SDL)
    head = generated.call(world, secret, "HEAD", SDL)
    wrong = generated.call(world, secret, "POST", SDL)
    unknown = generated.call(world, "agw_nobody", "GET", OPENAPI)

    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(answer.content))
    assert (wrong.status_code, wrong.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
    assert (unknown.status_code, unknown.json()["reason"]) == (401, "UNKNOWN_TOKEN")


def test_a_masked_member_is_marked_in_the_description(world):
    operations = ["mark_as_read", "search_emails"]
    settings = {"visibleEmailFields": ["subject"], "allowedEmailOperations": operations}
    secret = world.runner.run(world.world.token(settings))
    described = generated.call(world, secret, "GET", OPENAPI).json()
    email = described["components"]["schemas"]["Email"]["properties"]
    listing = described["paths"]["/api/access/email/messages"]["get"]
    answer = listing["responses"]["200"]["content"]["application/json"]["example"]
    change = described["paths"]["/api/access/email/messages/{emailId}"]["patch"]
    body = change["requestBody"]["content"]["application/json"]
    members = described["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]

    assert "x-masked-by" not in email["subject"]
    assert email["labels"]["x-masked-by"] == "labels"
    assert "null" in email["labels"]["type"]
    assert email["labels"]["description"].endswith("by the mask word `labels`.")
    assert {message["labels"] for message in answer["emails"]} == {None}
    assert all(message["subject"] for message in answer["emails"])
    names = {parameter.get("name") for parameter in listing["parameters"]}
    assert {"q", "subject", "limit"} <= names
    assert not {"from", "label", "after"} & names
    assert list(members["properties"]) == ["markAsRead"]
    assert body["example"].keys() <= {"markAsRead"}
    assert [tag["name"] for tag in described["tags"]] == [
        "Email",
        "Tasks",
        "Access token",
        "GraphQL",
    ]


def _root_field(row):
    operation = graphql.parse(document(row.document)).definitions[0]
    return operation.selection_set.selections[0].name.value
