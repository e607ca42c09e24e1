"""One request through the REST layer: order of checks, bodies, headers, paths, errors."""

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

import httpx
import orjson
import pytest
from graphql import GraphQLNonNull, OperationDefinitionNode, parse, type_from_ast

from gateway.http.calls import Calls
from graph import schema
from policy.refusals import (
    OperationNotAllowed,
    Refusal,
    SurfaceNotEnabled,
    TooManyRequests,
    Unauthenticated,
)
from policy.vocabulary import EmailOp, Surface, UnauthorizedReason
from rest_compat import readers
from rest_compat.ledger import Attempt, Completed, InProgress
from rest_compat.responses import RestResponse
from rest_compat.router import rest_app
from rest_compat.table import ENDPOINTS, Prefix, RateBucket

MESSAGES = "/api/access/email/messages"
SEND = {"to": [{"email": "a@b.example"}], "subject": "s", "body": "b"}


@dataclass
class Variable:
    name: str
    type: Any
    required: bool
    default: object = None


@dataclass
class Outcome:
    data: dict[str, Any] | None
    errors: tuple[dict[str, Any], ...] = ()
    causes: tuple[BaseException, ...] = (RuntimeError(),)


@dataclass
class Operation:
    """Echoes its variables, or returns the prepared result."""

    name: str
    variables: tuple[Variable, ...]
    gateway: "FakeGateway"
    refusal_depends_on_input: bool = False
    surface: Surface | None = None

    def check_gates(self, context, variables):
        self.gateway.log.append(("check_gates", self.name))
        if self.gateway.refuse_operation:
            raise self.gateway.refuse_operation

    def root_call(self, variables):
        return self.name, variables

    async def run(self, variables, context):
        self.gateway.log.append(("run", self.name, variables))
        return self.gateway.outcome or Outcome({"result": {"ran": self.name, "with": variables}})


@dataclass
class Context:
    """The part of a context that the REST layer reads."""

    gateway: "FakeGateway"
    applied_limit: int | None = None
    etag: str | None = None
    effect: None = None
    expected_effect: None = None
    stops_before_write: bool = False
    held: bool = False
    has_waited: bool = False
    kept_result: bytes = b""
    visibility: bytes = b"all"
    request_id: str = "r-1"
    repeated: Any = None
    caller = SimpleNamespace(token_id=7, grant=SimpleNamespace(strict_parameters=False))

    def ask_for_effect(self, *, dry_run, expected):
        self.gateway.log += [("preview", expected)] if dry_run or expected else []


@dataclass
class FakeGateway(Calls):
    """The order of checks over a fake admission and a fake ledger, with a log of what they do."""

    log: list[tuple[Any, ...]] = field(default_factory=list)
    outcome: Outcome | None = None
    refuse_entry: Refusal | None = None
    refuse_operation: Refusal | None = None
    begins: Any = None
    noted: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        super().__init__(None, self)

    def prepare(self, text):
        return Operation(*_prepared(text), self)

    def request_id(self, scope):
        return "r-1"

    async def admit(self, call):
        assert call.document is None  # no saved document
        self.log.append(("admit", call.bucket, call.partial_fail))
        if self.refuse_entry:
            raise self.refuse_entry
        self.context = Context(self, **self.noted)
        return self.context

    def attempt(self, context, attempt):
        self.log.append(("attempt", attempt.seed, attempt.maybe_sent))
        return nullcontext()

    def record(self, call, context, reply, bug):
        """Record nothing."""

    async def begin(self, intent):
        self.log.append(("begin", intent))
        return self.begins or Attempt(entry_id="1", number=1, seed="seed", maybe_sent=False)

    async def complete(self, attempt, response):
        self.log.append(("complete", response.status, response.body))

    async def release(self, attempt, *, maybe_sent):
        self.log.append(("release", maybe_sent))

    async def abandon(self, attempt):
        self.log.append(("abandon",))

    def steps(self) -> list[str]:
        return [entry[0] for entry in self.log]


@cache
def _prepared(text):
    """Return the name and the variables of a document's operation."""
    node = next(
        definition
        for definition in parse(text).definitions
        if isinstance(definition, OperationDefinitionNode)
    )
    variables = []
    for definition in node.variable_definitions or ():
        kind = type_from_ast(schema.build(), definition.type)
        required = isinstance(kind, GraphQLNonNull) and definition.default_value is None
        variables.append(Variable(definition.variable.name.value, kind, required))
    return node.name.value, tuple(variables)


def client_of(gateway: FakeGateway, endpoints=ENDPOINTS) -> httpx.AsyncClient:
    app = rest_app(endpoints, prepare=gateway.prepare, calls=gateway)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway")


@pytest.fixture
def gateway():
    return FakeGateway()


@pytest.fixture
async def client(gateway):
    async with client_of(gateway) as client:
        yield client


def refusal(code: str, status: int, **more: Any) -> Outcome:
    extensions = {"code": code, "httpStatus": status, "requestId": "r-1", **more}
    return Outcome(None, ({"message": "No.", "extensions": extensions},))


async def test_a_request_passes_admission_gates_and_operation_in_this_order(client, gateway):
    response = await client.get(MESSAGES, params={"q": "lease", "limit": "10"})

    assert gateway.log == [
        ("admit", RateBucket(windows="email"), False),
        ("check_gates", "ListEmails"),
        ("run", "ListEmails", {"q": "lease", "limit": 10}),
    ]
    assert response.status_code == 200
    assert response.content == b'{"ran":"ListEmails","with":{"q":"lease","limit":10}}'
    assert response.headers["content-type"] == "application/json"


async def test_a_refusal_comes_before_the_check_of_parameters(client, gateway):
    needed = EmailOp.SEARCH_EMAILS, EmailOp.VIEW_EMAIL
    gateway.refuse_operation = OperationNotAllowed(*needed)

    response = await client.get(MESSAGES, params={"limit": "none"})

    assert response.status_code == 403
    assert response.json() == {
        "error": "OPERATION_NOT_ALLOWED",
        "message": "This token does not allow search_emails or view_email.",
        "requestId": "r-1",
        "requiredOperation": "search_emails",
        "requiredOperations": ["search_emails", "view_email"],
    }
    assert response.headers["x-required-operation"] == "search_emails, view_email"
    assert gateway.steps() == ["admit", "check_gates"]


async def test_a_refused_call_does_not_read_the_body(client, gateway):
    gateway.refuse_operation = SurfaceNotEnabled(Surface.EMAIL)

    response = await client.post(f"{MESSAGES}/send", content=b"x" * (5 * 1024 * 1024))

    assert response.status_code == 422
    assert response.json()["errorCode"] == "EMAIL_NOT_ENABLED"


async def test_401_has_no_code_but_a_reason_and_a_challenge(client, gateway):
    gateway.refuse_entry = Unauthenticated(UnauthorizedReason.EXPIRED)

    response = await client.get(MESSAGES)

    assert response.status_code == 401
    assert response.json() == {
        "error": None,
        "message": "This access token has expired.",
        "requestId": "r-1",
        "reason": "EXPIRED",
    }
    assert response.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert gateway.steps() == ["admit"]


async def test_429_has_no_code_but_a_retry_after(client, gateway):
    gateway.refuse_entry = TooManyRequests(17)

    response = await client.get(MESSAGES)

    assert response.status_code == 429
    assert response.json() == {
        "error": None,
        "message": "Too many requests. Try again in 17 seconds.",
        "requestId": "r-1",
    }
    assert response.headers["retry-after"] == "17"


@pytest.mark.parametrize(
    ("outcome", "status", "error"),
    [
        (refusal("NOT_FOUND", 404), 404, "NOT_FOUND"),
        (refusal("PROVIDER_ERROR", 502), 502, "PROVIDER_ERROR"),
        (refusal("PROVIDER_TIMEOUT", 504), 504, "PROVIDER_TIMEOUT"),
        (refusal("INTERNAL_ERROR", 500), 500, "INTERNAL_ERROR"),
    ],
    ids=["not found", "provider failed", "provider too slow", "our bug"],
)
async def test_an_error_of_the_operation_is_the_whole_answer(
    client, gateway, outcome, status, error
):
    gateway.outcome = outcome

    response = await client.get(f"{MESSAGES}/providerA:1")

    assert response.status_code == status
    assert response.json() == {"error": error, "message": "No.", "requestId": "r-1"}
    assert "retry-after" not in response.headers


async def test_the_error_of_a_result_object_reads_as_both(client, gateway):
    gateway.outcome = refusal("READ_ONLY", 403)

    response = await client.post(f"{MESSAGES}/send", json=SEND)

    assert response.status_code == 403
    assert response.content == (
        b'{"error":"READ_ONLY","message":"No.","requestId":"r-1",'
        b'"success":false,"emailId":null,"threadId":null,"errorCode":"READ_ONLY","errorMessage":"No."}'
    )


async def test_details_of_graphql_errors_name_rest_members(client, gateway):
    gateway.outcome = refusal(
        "VALIDATION_ERROR",
        400,
        details=[{"field": "input", "message": "A."}, {"field": "input.to[0]", "message": "B."}],
    )

    response = await client.post(f"{MESSAGES}/send", json=SEND)

    assert response.json()["details"] == [
        {"field": "$", "message": "A."},
        {"field": "to[0]", "message": "B."},
    ]


async def test_an_empty_accessinfo_and_empty_warnings_are_left_out(client, gateway):
    page = {"emails": [{"subject": None}], "accessInfo": None, "authWarnings": None}
    gateway.outcome = Outcome({"result": page})

    response = await client.get(MESSAGES)

    assert response.content == b'{"emails":[{"subject":null}]}'


async def test_accessinfo_and_warnings_keep_their_position(client, gateway):
    page = {"emails": [], "nextPageToken": None, "accessInfo": "A.", "authWarnings": ["W."]}
    gateway.outcome = Outcome({"result": page})

    response = await client.get(MESSAGES)

    assert response.content == (
        b'{"emails":[],"nextPageToken":null,"accessInfo":"A.","authWarnings":["W."]}'
    )


async def test_a_deletion_answers_204_without_body_or_length(client):
    response = await client.delete(f"{MESSAGES}/providerA:1")

    assert response.status_code == 204
    assert response.content == b""
    assert "content-length" not in response.headers
    assert "content-type" not in response.headers


async def test_a_lowered_limit_is_reported_in_a_header(client, gateway):
    gateway.noted["applied_limit"] = 50

    response = await client.get(MESSAGES, params={"limit": "500"})

    assert response.headers["x-applied-limit"] == "50"


async def test_a_body_is_read_whatever_its_content_type(client, gateway):
    response = await client.post(
        f"{MESSAGES}/send", content=orjson.dumps(SEND), headers={"content-type": "text/plain"}
    )

    assert response.status_code == 200
    assert gateway.log[-1] == ("run", "SendEmail", {"input": SEND})


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        pytest.param(b"", ["to", "subject", "body"], id="no body"),
        pytest.param(b"{}", ["to", "subject", "body"], id="an empty object"),
        pytest.param(b"{", ["$"], id="no JSON"),
        pytest.param(b"[]", ["$"], id="a list"),
    ],
)
async def test_an_invalid_body_is_400_and_runs_no_operation(client, gateway, body, fields):
    response = await client.post(f"{MESSAGES}/send", content=body)

    assert response.status_code == 400
    assert response.json()["error"] == "VALIDATION_ERROR"
    assert [detail["field"] for detail in response.json()["details"]] == fields
    assert gateway.steps() == ["admit", "check_gates"]


async def test_a_body_over_4_mib_is_413(client, gateway):
    response = await client.post(f"{MESSAGES}/send", content=b" " * (4 * 1024 * 1024 + 1))

    assert response.status_code == 413
    assert response.json()["error"] == "PAYLOAD_TOO_LARGE"
    assert gateway.steps() == ["admit", "check_gates"]


# -- preferences ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent", ["handling=strict", 'Handling="strict"; x=1', "wait=5, handling = strict"]
)
async def test_strict_handling_refuses_unknown_parameters_and_is_announced(client, sent):
    response = await client.get(MESSAGES, params={"colour": "red"}, headers={"prefer": sent})

    assert response.status_code == 400
    known = (
        "'q', 'from', 'to', 'subject', 'label', 'unread', 'after', 'before', 'hasAttachment', "
        "'limit', 'includeBody', 'pageToken'"
    )
    assert response.json() == {
        "error": "INVALID_PARAMETER",
        "message": f"'colour' is not known (known: {known}).",
        "requestId": "r-1",
        "details": [{"field": "colour", "message": f"It is not known (known: {known})."}],
    }
    assert response.headers["preference-applied"] == "handling=strict"
    assert "x-ignored-parameters" not in response.headers


@pytest.mark.parametrize(
    ("query", "header"),
    [
        pytest.param("colour=red&q=x&form=ana", "colour, form", id="in order"),
        pytest.param("colour=", None, id="an empty value is absent"),
        pytest.param("q=x&limit=1", None, id="known ones"),
        pytest.param("%0d%0aX-Evil:1=1", "%0D%0AX-Evil%3A1", id="nothing ends the header"),
        pytest.param("%C3%BC=1", "%C3%BC", id="beyond ASCII"),
        pytest.param("Q=x", "Q", id="another case is another name"),
    ],
)
async def test_ignored_parameters_are_named(client, query, header):
    response = await client.get(f"{MESSAGES}?{query}")

    assert response.status_code == 200
    assert response.headers.get("x-ignored-parameters") == header


async def test_ignored_parameters_are_named_on_errors_too(client):
    response = await client.get(MESSAGES, params={"colour": "red", "limit": "x"})

    assert response.status_code == 400
    assert response.headers["x-ignored-parameters"] == "colour"


async def test_unknown_members_are_refused_without_a_preference(client, gateway):
    response = await client.post(f"{MESSAGES}/send", json={**SEND, "colour": "red"})

    assert (response.status_code, response.json()["error"]) == (400, "VALIDATION_ERROR")
    assert [detail["field"] for detail in response.json()["details"]] == ["colour"]
    assert gateway.steps() == ["admit", "check_gates"]


async def test_unknown_preferences_are_not_announced(client):
    response = await client.get(MESSAGES, headers={"prefer": "handling=lenient, wait=5"})

    assert response.status_code == 200
    assert response.headers["preference-applied"] == "handling=lenient"


async def test_partial_fail_is_passed_on(client, gateway):
    response = await client.get(MESSAGES, headers={"prefer": "partial=fail"})

    assert gateway.log[0] == ("admit", RateBucket(windows="email"), True)
    assert response.headers["preference-applied"] == "partial=fail"


# -- paths and methods ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "email_id"),
    [
        pytest.param("providerA:1", "providerA:1", id="plain"),
        pytest.param("providerA%3A1", "providerA:1", id="percent-encoded"),
        pytest.param("providerB:a%2Fb", "providerB:a/b", id="an encoded slash stays inside"),
        pytest.param("providerB:a+b", "providerB:a+b", id="a plus is a plus"),
        pytest.param("providerB:a%252Fb", "providerB:a%2Fb", id="decoded once"),
        pytest.param("", "", id="an empty id"),
        pytest.param("send", "send", id="the name of a call is an id to another method"),
        pytest.param("%2e%2e", "..", id="dots"),
    ],
)
async def test_an_id_is_one_segment(gateway, path, email_id):
    app = rest_app(ENDPOINTS, prepare=gateway.prepare, calls=gateway)
    raw = f"{MESSAGES}/{path}".encode()
    scope = {"type": "http", "method": "GET", "path": "/ignored", "raw_path": raw}
    sent = []

    async def send(message):
        sent.append(message)

    await app({**scope, "query_string": b"", "headers": []}, None, send)

    assert sent[0]["status"] == 200
    assert gateway.log[-1] == ("run", "GetEmail", {"emailId": email_id})


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("/api/access/email", MESSAGES),
        ("/api/access/email/", MESSAGES),
        ("/api/access/emails/mesages", MESSAGES),
        (f"{MESSAGES}/providerA:1/", f"{MESSAGES}/{{emailId}}"),
        (f"{MESSAGES}/a/b", f"{MESSAGES}/{{emailId}}/reply"),
        (f"{MESSAGES}/a/replay", f"{MESSAGES}/{{emailId}}/reply"),
        ("/api/access/email/Messages", MESSAGES),
        ("/api/access/nowhere", None),
    ],
)
async def test_an_unknown_path_is_404_after_admission_and_never_redirected(
    client, gateway, path, nearest
):
    response = await client.get(path)

    assert response.status_code == 404
    assert response.json() == {
        "error": "NOT_FOUND",
        "message": "There is nothing at this path. "
        + (f"Did you mean {nearest}? " if nearest else "")
        + "The calls are described at /docs/.",
        "requestId": "r-1",
    }
    assert gateway.steps() == ["admit"]


async def test_an_unknown_path_outside_every_surface_is_404_without_admission(client, gateway):
    response = await client.get("/elsewhere")

    assert response.status_code == 404
    assert gateway.log == []


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", MESSAGES, "GET, HEAD, OPTIONS"),
        ("PUT", f"{MESSAGES}/providerA:1", "DELETE, GET, HEAD, OPTIONS, PATCH"),
        ("PUT", f"{MESSAGES}/send", "DELETE, GET, HEAD, OPTIONS, PATCH, POST"),
        ("GET", f"{MESSAGES}/providerA:1/reply", "OPTIONS, POST"),
        ("TRACE", MESSAGES, "GET, HEAD, OPTIONS"),
    ],
)
async def test_another_method_is_405_with_every_method_that_is_allowed(
    client, gateway, method, path, allow
):
    response = await client.request(method, path)

    assert response.status_code == 405
    assert response.headers["allow"] == allow
    assert response.json() == {
        "error": "METHOD_NOT_ALLOWED",
        "message": f"This path does not allow {method}.",
        "requestId": "r-1",
    }
    assert gateway.steps() == ["admit"]


async def test_options_returns_the_allowed_methods(client, gateway):
    response = await client.options(MESSAGES)

    assert response.status_code == 204
    assert response.headers["allow"] == "GET, HEAD, OPTIONS"
    assert gateway.log == []


async def test_head_is_get_without_the_body(client, gateway):
    whole = await client.get(MESSAGES)
    head = await client.head(MESSAGES)

    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == str(len(whole.content))


async def test_a_surface_can_be_mounted_a_second_time_with_buckets_of_its_own(gateway):
    rows = [row.mounted("/internal") for row in ENDPOINTS]
    async with client_of(gateway, rows) as client:
        response = await client.get(f"/internal{MESSAGES}")
        public = await client.get(MESSAGES)

    assert response.status_code == 200
    assert public.status_code == 404
    assert gateway.log[0] == ("admit", RateBucket(windows="email", mount="/internal"), False)


async def test_on_collab_a_missing_path_and_a_failure_have_no_code(gateway):
    collab = Prefix(
        path="/api/access/collab",
        folder="email",
        surface=Surface.COLLAB,
        bucket=RateBucket(windows="collab"),
    )
    row = collab.post("/files/{emailId}", "reply_to_email", result="DriveOperationResult")
    async with client_of(gateway, [row]) as client:
        missing = await client.get("/api/access/collab/nowhere")
        gateway.outcome = refusal("PROVIDER_ERROR", 502)
        failed = await client.post("/api/access/collab/files/x", json={"body": "b"})

    assert missing.json()["error"] is None
    assert failed.json() == {
        "error": None,
        "message": "No.",
        "requestId": "r-1",
        "success": False,
        "emailId": None,
        "threadId": None,
        "errorCode": "PROVIDER_ERROR",
        "errorMessage": "No.",
    }


# -- rows of later surfaces ----------------------------------------------------------------------

calendar = Prefix(
    path="/api/access/calendar",
    folder="email",
    surface=Surface.CALENDAR,
    bucket=RateBucket(windows="calendar"),
)


async def test_a_literal_row_before_a_parameter_row_wins(gateway):
    rows = [calendar.get("/events/by-contact", "list_emails")]
    rows += [calendar.get("/events/{emailId}", "get_email")]
    async with client_of(gateway, rows) as client:
        literal = await client.get("/api/access/calendar/events/by-contact?from=ana")
        other = await client.get("/api/access/calendar/events/by-contact2")

    assert literal.json()["ran"] == "ListEmails"
    assert other.json() == {"ran": "GetEmail", "with": {"emailId": "by-contact2"}}


async def test_a_row_may_answer_201_and_any_json(gateway):
    rows = [calendar.post("/items/{emailId}", "reply_to_email", status=201)]
    rows += [calendar.get("/providers", "list_emails")]
    async with client_of(gateway, rows) as client:
        made = await client.post("/api/access/calendar/items/7", json={"body": "b"})
        gateway.outcome = Outcome({"result": [{"providerCode": "BOARDS"}]})
        flat = await client.get("/api/access/calendar/providers")

    assert made.status_code == 201
    assert flat.content == b'[{"providerCode":"BOARDS"}]'


class Handle:
    """A body that stays where it is."""

    fingerprint = b"digest"
    parameters = {}  # noqa: RUF012 - nobody changes it
    read_error = None

    def value(self):
        return {"handle": 1}


class Handles:
    """A reader of its own."""

    async def receive(self, call, variable):
        return Handle()


async def test_a_row_may_name_a_reader_of_its_own(gateway):
    row = calendar.post("/files/{emailId}", "reply_to_email", body="upload")
    app = rest_app([row], prepare=gateway.prepare, calls=gateway, readers={"upload": Handles()})
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
        await client.post("/api/access/calendar/files/7", content=b"\x00\x01")

    assert gateway.log[-1] == ("run", "ReplyToEmail", {"emailId": "7", "input": {"handle": 1}})


# -- idempotency ---------------------------------------------------------------------------------


async def post(client, key="k", **more):
    return await client.post(
        f"{MESSAGES}/send", json=SEND, headers={"idempotency-key": key}, **more
    )


async def test_a_keyed_post_is_entered_in_the_ledger_before_it_runs(client, gateway):
    response = await post(client)

    assert response.status_code == 200
    assert gateway.steps() == ["admit", "check_gates", "begin", "attempt", "run", "complete"]
    assert gateway.log[3] == ("attempt", "seed", False)
    assert gateway.log[5] == ("complete", 200, response.content)


async def test_the_body_of_a_keyed_post_is_parsed_once(client, gateway, monkeypatch):
    parsed = []

    def parse_body(body):
        parsed.append(body)
        return orjson.loads(body)

    monkeypatch.setattr(readers, "parse", parse_body)

    await post(client)

    assert len(parsed) == 1
    assert gateway.log[4][2]["input"] == SEND


async def test_an_intent_is_scoped_to_token_and_row_and_knows_its_arguments(client, gateway):
    await post(client)
    await post(client, params={"x": "1"})
    await client.post(
        f"{MESSAGES}/send", json={**SEND, "subject": "t"}, headers={"idempotency-key": "k"}
    )
    (first, same, other) = (entry[1] for entry in gateway.log if entry[0] == "begin")

    assert (first.token_id, first.method, first.path, first.key) == (
        7,
        "POST",
        f"{MESSAGES}/send",
        "k",
    )
    assert len(first.fingerprint) == 32
    assert first.fingerprint == same.fingerprint != other.fingerprint


async def test_a_path_parameter_is_bound_decoded(client, gateway):
    for message in ("providerA:1c", "provider%41%3A1C", " providerA:1c "):
        path = f"{MESSAGES}/{message}/reply"
        await client.post(path, json={"body": "b"}, headers={"idempotency-key": "k"})
    paths = [entry[1].path for entry in gateway.log if entry[0] == "begin"]

    assert paths == [f"{MESSAGES}/providera:1c/reply"] * 3


@pytest.mark.parametrize(
    ("kept_result", "steps"),
    [
        pytest.param(b"", ["admit", "check_gates", "begin"], id="of an earlier version"),
        pytest.param(b"{}", ["admit", "check_gates", "begin", "run"], id="another view"),
    ],
)
async def test_a_replay_under_another_view_repeats_the_kept_result(
    client, gateway, kept_result, steps
):
    stored = RestResponse(status=200, body=b'{"stored":1}', kept_result=kept_result, view=b"other")
    gateway.begins = Completed(response=stored)

    response = await post(client)

    assert response.headers["idempotent-replayed"] == "true"
    assert (response.content == stored.body) is (kept_result == b"")
    assert (gateway.context.repeated is None) is (kept_result == b"")
    assert gateway.steps() == steps


async def test_a_replay_runs_nothing_but_passes_the_gates(client, gateway):
    await post(client)
    recorded = gateway.log[-1]
    gateway.log.clear()
    gateway.begins = Completed(response=RestResponse(status=recorded[1], body=recorded[2]))

    response = await post(client)

    assert response.status_code == 200
    assert response.content == recorded[2]
    assert response.headers["idempotent-replayed"] == "true"
    assert gateway.steps() == ["admit", "check_gates", "begin"]


async def test_an_intent_that_is_running_is_409_without_retry_after(client, gateway):
    gateway.begins = InProgress()

    response = await post(client)

    assert response.status_code == 409
    assert response.json() == {
        "error": "IDEMPOTENCY_IN_PROGRESS",
        "message": "A request with this Idempotency-Key is still running.",
        "requestId": "r-1",
        "success": False,
        "emailId": None,
        "threadId": None,
        "errorCode": "IDEMPOTENCY_IN_PROGRESS",
        "errorMessage": "A request with this Idempotency-Key is still running.",
    }
    assert "retry-after" not in response.headers
    assert gateway.steps() == ["admit", "check_gates", "begin"]


@pytest.mark.parametrize(
    ("outcome", "closed"),
    [
        pytest.param(refusal("VALIDATION_ERROR", 400), "complete", id="400 is kept"),
        pytest.param(refusal("NOT_FOUND", 404), "complete", id="404 is kept"),
        pytest.param(refusal("OUTCOME_UNKNOWN", 504), "complete", id="an unknown outcome is kept"),
        pytest.param(refusal("RATE_LIMITED", 429, retryAfter=3), ("release", False), id="429"),
        pytest.param(refusal("PROVIDER_ERROR", 502), ("release", False), id="502"),
        pytest.param(refusal("OVERLOADED", 503), ("release", False), id="503"),
        pytest.param(refusal("INTERNAL_ERROR", 500), ("release", True), id="500, who knows when"),
    ],
)
async def test_a_response_is_stored_or_the_key_released(client, gateway, outcome, closed):
    gateway.outcome = outcome

    await post(client)

    last = gateway.log[-1]
    assert (last[0] if closed == "complete" else last) == closed


async def test_the_response_to_a_bad_body_is_stored_too(client, gateway):
    await client.post(f"{MESSAGES}/send", content=b"{", headers={"idempotency-key": "k"})

    assert gateway.steps() == ["admit", "check_gates", "begin", "attempt", "complete"]


async def test_a_crash_of_the_operation_leaves_the_intent_to_its_lease(client, gateway):
    gateway.outcome = Outcome({})

    with pytest.raises(ValueError, match="expected 1, got 0"):
        await post(client)

    assert gateway.steps()[-1] == "abandon"


@pytest.mark.parametrize(
    "key",
    ["", " ", "a b", "k" * 256, "k\u00e9".encode("latin-1")],
    ids=["empty", "blank", "a blank inside", "256 characters", "not ASCII"],
)
async def test_a_bad_key_is_400(client, gateway, key):
    response = await post(client, key=key)

    assert response.status_code == 400
    assert response.json()["error"] == "INVALID_PARAMETER"
    assert response.json()["details"] == [
        {
            "field": "Idempotency-Key",
            "message": "It must be one value of 1 to 255 visible ASCII characters.",
        }
    ]
    assert gateway.steps() == ["admit", "check_gates"]


async def test_two_keys_are_400(client):
    headers = [("idempotency-key", "a"), ("idempotency-key", "b")]
    response = await client.post(f"{MESSAGES}/send", json=SEND, headers=headers)

    assert response.status_code == 400


async def test_a_key_of_255_characters_is_taken(client):
    assert (await post(client, key="~" * 255)).status_code == 200


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_a_key_means_nothing_to_other_methods(client, gateway, method):
    await client.request(
        method,
        f"{MESSAGES}/providerA:1",
        headers={"idempotency-key": "a b"},
        content=b'{"markAsRead":true}',
    )

    assert gateway.steps() == ["admit", "check_gates", "run"]


async def get_observed(gateway, path, **more):
    """Send one GET; return the status and what was recorded."""
    observed = []

    def record(call, context, reply, bug):
        name = call.operation and call.operation.name
        observed.append((name, reply and reply.status, type(bug)))

    gateway.record = record
    app = rest_app(ENDPOINTS, prepare=gateway.prepare, calls=gateway)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
        response = await client.get(path, **more)
    return response.status_code, observed


NOBODY = type(None)


@pytest.mark.parametrize(
    ("path", "status", "observed"),
    [
        (MESSAGES, 200, ("ListEmails", 200, NOBODY)),
        (f"{MESSAGES}?limit=x", 400, ("ListEmails", 400, NOBODY)),
        (f"{MESSAGES}/a/b", 404, (None, 404, NOBODY)),
    ],
    ids=["answered", "refused", "no row takes it"],
)
async def test_a_call_is_recorded_once(gateway, path, status, observed):
    assert await get_observed(gateway, path) == (status, [observed])


async def test_a_bug_is_recorded_too(gateway, monkeypatch):
    monkeypatch.setattr(gateway, "outcome", object())  # no outcome at all

    assert await get_observed(gateway, MESSAGES) == (500, [("ListEmails", None, AttributeError)])


async def test_a_call_that_was_not_admitted_is_not_recorded(gateway):
    gateway.refuse_entry = Unauthenticated(UnauthorizedReason.EXPIRED)

    assert await get_observed(gateway, MESSAGES) == (401, [])
