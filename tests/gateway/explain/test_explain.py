"""`POST /api/access-tokens/{tokenId}/explain`: every layer, and the smallest change that helps."""

import calendar_world
import pytest
import pytest_asyncio
import world as worlds
from schemathesis import openapi
from world import BROKEN, EMPTY, FIRST, READ_ONLY

MAIL = {"to": [{"email": "x@else.example"}], "subject": "s", "body": "b"}
LIST = {"method": "GET", "path": "/api/access/email/messages"}
SEND = {"method": "POST", "path": "/api/access/email/messages/send", "body": MAIL}
LAYERS = (
    "address_limit",
    "token",
    "quota",
    "document",
    "surface",
    "connections",
    "operation",
    "input",
    "usable_connection",
    "scope",
    "upstream",
    "mask",
)
NOTHING = {"addRules": [], "removeRules": []}


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(world_template, tmp_path_factory):
    """A gateway without rate limits, in which nothing is changed."""
    folder = tmp_path_factory.mktemp("explaining")
    async with worlds.opened(*world_template, folder, rate_limits="off") as world:
        yield world


@pytest_asyncio.fixture(loop_scope="module")
async def limited(world_template, tmp_path):
    """A gateway with rate limits."""
    async with worlds.opened(*world_template, tmp_path) as world:
        yield world


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def described(world):
    """The call as it is described, which holds answers to that."""
    document = (await world.admin.get("/api/management/openapi.json")).json()
    return openapi.from_dict(document)["/api/access-tokens/{tokenId}/explain"]["POST"]


@pytest.fixture
def explain(world, described):
    """Ask about a call of a new token: ``await explain(call, setting=…)``."""

    async def ask(call, *, resources=None, expires=None, address=None, **settings):
        more = {"resources": resources} if resources else {}
        if expires:
            more["expiresAt"] = expires
        await world.token(settings, **more)
        token_id = await newest(world)
        world.forget_calls()
        question = {**call, **({"address": address} if address else {})}
        path = f"/api/access-tokens/{token_id}/explain"
        answer = await world.admin.post(path, json=question)
        assert answer.status_code == 200, answer.text
        described.validate_response(answer)
        return answer.json()

    return ask


async def newest(world):
    """Return the id of the token that was made last."""
    listed = (await world.admin.get("/api/access-tokens", params={"limit": 200})).json()
    return listed["tokens"][-1]["id"]


def outcomes(explanation):
    assert tuple(layer["layer"] for layer in explanation["layers"]) == LAYERS
    return {layer["layer"]: layer["outcome"] for layer in explanation["layers"]}


async def test_an_allowed_call_is_explained_layer_by_layer(explain, world):
    explanation = await explain(
        {**LIST, "query": {"q": "lease", "limit": 5}}, visibleEmailFields=["to"]
    )

    assert explanation == {
        "outcome": "allowed",
        "status": 200,
        "dryRun": False,
        "error": None,
        "message": None,
        "layers": [
            {
                "layer": "address_limit",
                "outcome": "not_applicable",
                "detail": "Counted by the address that a call comes from.",
            },
            {"layer": "token", "outcome": "passed", "detail": "The token is active."},
            {
                "layer": "quota",
                "outcome": "not_applicable",
                "detail": "The token has no quota of its own.",
            },
            {
                "layer": "document",
                "outcome": "not_applicable",
                "detail": "The token is not limited to saved documents.",
            },
            {"layer": "surface", "outcome": "passed", "detail": "emailAccessEnabled is true."},
            {
                "layer": "connections",
                "outcome": "passed",
                "detail": "2 email within the token's reach.",
            },
            {"layer": "operation", "outcome": "passed", "detail": "search_emails is allowed."},
            {
                "layer": "input",
                "outcome": "passed",
                "detail": "The parameters and the body are valid.",
            },
            {
                "layer": "usable_connection",
                "outcome": "passed",
                "detail": f"Connections that can be used: {FIRST}, {FIRST + 1}.",
            },
            {"layer": "scope", "outcome": "passed", "detail": "It is within the token's scopes."},
            {"layer": "upstream", "outcome": "passed", "detail": "Upstream answered."},
            {
                "layer": "mask",
                "outcome": "passed",
                "detail": "Hidden: subject, from, cc, bcc, body_preview, body, sent_at, "
                "received_at, attachments, labels, importance.",
            },
        ],
        "rule": None,
        "hiddenFields": {
            "email": [
                "subject",
                "from",
                "cc",
                "bcc",
                "body_preview",
                "body",
                "sent_at",
                "received_at",
                "attachments",
                "labels",
                "importance",
            ]
        },
        "change": None,
        "unchangeable": None,
        "partialChange": None,
        "rehearsals": 1,
    }


REFUSALS = [
    (
        "surface",
        LIST,
        {"emailAccessEnabled": False},
        (422, "EMAIL_NOT_ENABLED"),
        {"emailAccessEnabled": True},
    ),
    (
        "operation",
        LIST,
        {"allowedEmailOperations": ["send_email"]},
        (403, "OPERATION_NOT_ALLOWED"),
        {"allowedEmailOperations": ["send_email", "search_emails"]},
    ),
    (
        "usable_connection",
        LIST,
        {"allowedConnectionIds": []},
        (403, "NO_PROVIDER"),
        {"allowedConnectionIds": [FIRST]},
    ),
    (
        "scope",
        SEND,
        {"recipientRules": {"allow": ["@work.example"], "block": ["@else.example"]}},
        (403, "RECIPIENT_NOT_ALLOWED"),
        {"recipientRules": {"allow": ["@work.example", "x@else.example"], "block": []}},
    ),
    (
        "mask",
        {**LIST, "query": "from=bo&subject=x"},
        {"visibleEmailFields": ["to"]},
        (403, "FIELD_NOT_VISIBLE"),
        {"visibleEmailFields": ["to", "from", "subject"]},
    ),
    (
        "mask",
        {**LIST, "path": LIST["path"] + "?q=x"},
        {"visibleEmailFields": []},
        (403, "FIELD_NOT_VISIBLE"),
        {"visibleEmailFields": ["subject"]},
    ),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case[0])
async def test_a_refusal_names_its_layer_and_the_change_that_lifts_it(explain, case):
    layer, call, settings, expected, change = case
    explanation = await explain(call, **settings)

    assert explanation["outcome"] == "refused"
    assert (explanation["status"], explanation["error"]) == expected
    at = LAYERS.index(layer)
    told_of = outcomes(explanation)
    assert told_of[layer] == "refused"
    assert {told_of[name] for name in LAYERS[at + 1 :]} <= {"not_reached"}
    assert "refused" not in {told_of[name] for name in LAYERS[:at]}
    assert {name: value for name, value in explanation["change"].items() if name != "text"} == {
        "settings": change,
        **NOTHING,
    }
    assert (explanation["unchangeable"], explanation["partialChange"]) == (None, None)


WORDS = [
    ("token", LIST, {}, (401, None), "A revoked token stays revoked: create another one."),
    (
        "connections",
        LIST,
        {"resources": (EMPTY,)},
        (422, "NO_EMAIL_PROVIDER"),
        "The token's operator has no such email connection on its resources: connect an account, "
        "link the operator to the resource again, or link the token to another one.",
    ),
    (
        "input",
        {**LIST, "query": {"limit": 0}},
        {},
        (400, "INVALID_PARAMETER"),
        "The request itself is wrong; no setting of the token is the reason.",
    ),
    (
        "usable_connection",
        LIST,
        {"resources": (BROKEN,)},
        (403, "NO_PROVIDER"),
        f"No connection can be used ({FIRST + 3} is disabled): reconnect one, or set it to active.",
    ),
    (
        "usable_connection",
        SEND,
        {"resources": (READ_ONLY,)},
        (403, "READ_ONLY"),
        f"No suitable connection may write ({FIRST + 2} is active with read scopes only): connect "
        "one with write scopes.",
    ),
    (
        "usable_connection",
        {**SEND, "body": {**MAIL, "connectionId": 99}},
        {},
        (404, "CONNECTION_NOT_FOUND"),
        "The token does not reach the requested connection: use another one.",
    ),
    (
        "upstream",
        {"method": "GET", "path": "/api/access/email/messages/providerA:0000000000000000"},
        {},
        (404, "NOT_FOUND"),
        "The token's connections see no resource with this id.",
    ),
    (
        "input",
        {"method": "GET", "path": "/api/access/email/nothing"},
        {},
        (404, "NOT_FOUND"),
        "The request itself is wrong; no setting of the token is the reason.",
    ),
]


@pytest.mark.parametrize("case", WORDS, ids=lambda case: case[0])
async def test_a_refusal_that_no_setting_lifts_is_described_as_unchangeable(explain, world, case):
    layer, call, more, expected, words = case
    if layer == "token":
        await world.token({})
        token_id = await newest(world)
        await world.admin.delete(f"/api/access-tokens/{token_id}")
        answer = await world.admin.post(f"/api/access-tokens/{token_id}/explain", json=call)
        explanation = answer.json()
    else:
        explanation = await explain(call, **more)

    assert (explanation["status"], explanation["error"]) == expected
    assert outcomes(explanation)[layer] == "refused"
    assert (explanation["change"], explanation["unchangeable"], explanation["partialChange"]) == (
        None,
        words,
        None,
    )


async def test_an_expired_token_may_live_on(explain):
    explanation = await explain(LIST, expires="2026-01-01T00:00:00Z")

    assert (explanation["status"], outcomes(explanation)["token"]) == (401, "refused")
    assert explanation["change"]["settings"] == {}
    assert explanation["change"]["expiresAt"] > "2026-11-20"


async def test_the_proposed_change_is_complete_and_minimal(explain):
    explanation = await explain(
        {**LIST, "query": {"q": "lease", "to": "me"}},
        emailAccessEnabled=False,
        allowedEmailOperations=[],
        allowedConnectionIds=[],
        visibleEmailFields=[],
    )

    assert explanation["error"] == "EMAIL_NOT_ENABLED"
    assert explanation["change"]["settings"] == {
        "emailAccessEnabled": True,
        "allowedEmailOperations": ["search_emails"],
        "allowedConnectionIds": [FIRST],
        "visibleEmailFields": ["to"],  # where q may look then as well
    }
    assert explanation["rehearsals"] <= 20


async def test_a_remaining_refusal_is_reported_with_the_partial_change(explain):
    explanation = await explain({**SEND, "body": {**MAIL, "to": []}}, allowedEmailOperations=[])

    assert (explanation["error"], explanation["change"]) == ("OPERATION_NOT_ALLOWED", None)
    assert explanation["unchangeable"].startswith("The request itself is wrong")
    assert explanation["partialChange"]["settings"] == {"allowedEmailOperations": ["send_email"]}


@pytest.mark.slow
async def test_limits_are_looked_at_and_not_charged(limited):
    world = limited
    quota = {"perMinute": 3, "perDay": 100}
    text = await world.token({"quota": quota})
    token_id = await newest(world)
    path = f"/api/access-tokens/{token_id}/explain"
    async with world.client(text) as client:
        await client.get(LIST["path"])
        for _ in range(4):
            body = (await world.admin.post(path, json={**LIST, "address": "127.0.0.1"})).json()
            assert body["outcome"] == "allowed"
        left = (await client.get(LIST["path"])).headers["x-ratelimit-remaining"]

    details = {layer["layer"]: layer["detail"] for layer in body["layers"]}
    assert details["quota"] == "Used: 1 of 3 in 60 seconds, 1 of 100 in 86400 seconds."
    assert details["address_limit"] == "Used: 1 of 60 in 60 seconds, 1 of 300 in 3600 seconds."
    assert left == "1"


async def test_a_full_quota_is_raised_to_what_the_call_needs(limited):
    await limited.token({"quota": {"perMinute": 0, "perDay": 9}})
    path = f"/api/access-tokens/{await newest(limited)}/explain"
    body = (await limited.admin.post(path, json=LIST)).json()

    assert (body["status"], body["error"], outcomes(body)["quota"]) == (429, None, "refused")
    assert body["change"]["settings"] == {"quota": {"perMinute": 1, "perDay": 9}}


@pytest.mark.slow
async def test_an_exhausted_address_limit_is_reported(limited):
    world = limited
    text = await world.token({})
    token_id = await newest(world)
    async with world.client(text) as client:
        for _ in range(60):
            await client.get(LIST["path"], params={"limit": 0})
    answer = await world.admin.post(
        f"/api/access-tokens/{token_id}/explain", json={**LIST, "address": "127.0.0.1"}
    )

    body = answer.json()
    assert (body["status"], outcomes(body)["address_limit"]) == (429, "refused")
    assert body["unchangeable"] == "Too many requests came in a short time: wait."


@pytest.mark.parametrize("mail", ["lunch", "minutes"])
async def test_a_reply_to_a_stranger_needs_exactly_its_recipient(explain, world, mail):
    path = f"/api/access/email/messages/{world.id(mail)}/reply"
    rules = {"allow": ["carla@work.example"], "block": ["x@else.example"]}
    call = {"method": "POST", "path": path, "body": {"body": "b"}}
    explanation = await explain(call, recipientRules=rules)

    assert (explanation["status"], explanation["error"]) == (403, "RECIPIENT_NOT_ALLOWED")
    assert explanation["message"] == "This token may not write to another recipient."
    assert explanation["change"]["settings"] == {
        "recipientRules": {
            "allow": ["bo@work.example", "carla@work.example"],
            "block": ["x@else.example"],
        }
    }
    assert [sent for sent in world.calls() if sent["method"] != "GET"] == []


def writes(world):
    lease, minutes = world.id("lease"), world.id("minutes")
    base = "/api/access/email/messages"
    for mail in (lease, minutes):
        yield {"method": "POST", "path": f"{base}/{mail}/reply", "body": {"body": "b"}}
        yield {
            "method": "POST",
            "path": f"{base}/{mail}/forward",
            "body": {"to": MAIL["to"], "body": "b"},
        }
        yield {"method": "PATCH", "path": f"{base}/{mail}", "body": {"markAsRead": True}}
        yield {"method": "PATCH", "path": f"{base}/{mail}", "body": {"addLabels": ["New"]}}
        yield {"method": "DELETE", "path": f"{base}/{mail}"}
    for connection in world.connections.values():
        yield {**SEND, "body": {**MAIL, "connectionId": connection}}


@pytest.mark.slow
async def test_no_write_reaches_upstream(explain, world):
    before = {name: world.stored(name) for name in world.mails}
    changed = []
    for call in writes(world):
        explanation = await explain(call)
        status = 204 if call["method"] == "DELETE" else 200
        assert (explanation["outcome"], explanation["status"]) == ("allowed", status), call
        assert outcomes(explanation)["upstream"] == "passed"
        changed += [sent for sent in world.calls() if sent["method"] not in ("GET", "HEAD")]

    assert changed == []
    assert {name: world.stored(name) for name in world.mails} == before
    assert (world.sent("provider-a"), world.sent("provider-b")) == ([], [])


async def test_an_explanation_does_not_count_as_use_of_the_token(explain, world):
    explanation = await explain(LIST)
    token_id = await newest(world)
    stored = (await world.admin.get(f"/api/access-tokens/{token_id}")).json()
    decisions = await world.admin.get("/api/decisions", params={"tokenId": token_id})

    assert explanation["outcome"] == "allowed"
    assert stored["lastUsedAt"] is None
    assert [row["operation"] for row in decisions.json()["decisions"]] == ["createToken"]


# -- documents


TWO = """query Two($id: String!) {
  found: emails(q: "lease") { emails { id subject body } }
  one: email(emailId: $id) { id from { email } }
  accessToken { id }
}"""


async def test_a_document_is_explained_field_by_field(explain, world):
    request = {"document": TWO, "variables": {"id": world.id("lease")}}
    explanation = await explain(
        request, allowedEmailOperations=["view_email"], visibleEmailFields=["subject", "to"]
    )

    assert (explanation["outcome"], explanation["status"], explanation["error"]) == (
        "refused",
        200,
        "OPERATION_NOT_ALLOWED",
    )
    assert explanation["fields"] == [
        {
            "key": "found",
            "field": "emails",
            "outcome": "refused",
            "layer": "operation",
            "error": "OPERATION_NOT_ALLOWED",
        },
        {"key": "one", "field": "email", "outcome": "allowed", "layer": None, "error": None},
        {
            "key": "accessToken",
            "field": "accessToken",
            "outcome": "allowed",
            "layer": None,
            "error": None,
        },
    ]
    assert explanation["hiddenFields"] == {"email": ["from", "body"]}
    assert explanation["change"]["settings"] == {
        "allowedEmailOperations": ["view_email", "search_emails"]
    }


async def test_an_edge_of_a_document_is_explained_by_its_name(explain):
    request = {"document": "{ emails(limit: 1) { emails { talk: thread { id } } } }"}
    explanation = await explain(request, allowedEmailOperations=["search_emails"])

    assert explanation["error"] == "OPERATION_NOT_ALLOWED"
    assert explanation["fields"] == [
        {"key": "emails", "field": "emails", "outcome": "allowed", "layer": None, "error": None},
        {
            "key": "emails.emails.talk",
            "field": "Email.thread",
            "outcome": "refused",
            "layer": "operation",
            "error": "OPERATION_NOT_ALLOWED",
        },
    ]
    assert explanation["change"]["settings"] == {
        "allowedEmailOperations": ["search_emails", "view_thread"]
    }


LEFT_OUT = """query Asked($id: String!, $more: Boolean = false) {
    email(emailId: $id) { subject body @include(if: $more) ...To @skip(if: true) }
    ...Sites @include(if: $more)
}
query Unasked($id: String!) { email(emailId: $id) { ...From } }
fragment To on Email { to { email } }
fragment From on Email { from { email } }
fragment Sites on Query { collabSites(limit: 1) { hasMore } }"""


async def test_skipped_fields_of_a_document_are_not_explained(explain, world):
    request = {
        "document": LEFT_OUT,
        "operationName": "Asked",
        "variables": {"id": world.id("lease")},
    }
    explanation = await explain(request, visibleEmailFields=["subject"], collabAccessEnabled=False)

    assert (explanation["outcome"], explanation["status"], explanation["hiddenFields"]) == (
        "allowed",
        200,
        {},
    )
    assert explanation["fields"] == [
        {"key": "email", "field": "email", "outcome": "allowed", "layer": None, "error": None}
    ]
    details = {layer["layer"]: layer["detail"] for layer in explanation["layers"]}
    assert details["surface"] == "emailAccessEnabled is true."
    assert details["operation"] == "view_email is allowed."
    assert details["mask"] == "No requested field is hidden."


async def test_a_document_passes_when_all_of_its_fields_do(explain, world):
    request = {"document": TWO, "variables": {"id": world.id("lease")}}
    explanation = await explain(request, emailAccessEnabled=False, allowedEmailOperations=[])

    assert [field["error"] for field in explanation["fields"]] == ["EMAIL_NOT_ENABLED"] * 2 + [None]
    assert explanation["change"]["settings"] == {
        "emailAccessEnabled": True,
        "allowedEmailOperations": ["search_emails", "view_email"],
    }


async def test_a_mutation_is_not_carried_out(explain, world):
    request = {
        "document": "mutation($i: SendEmailInput!) { sendEmail(input: $i) { success } }",
        "variables": {"i": MAIL},
    }
    explanation = await explain(request)

    assert (explanation["outcome"], explanation["status"]) == ("allowed", 200)
    assert [call["method"] for call in world.calls() if call["method"] != "GET"] == []
    assert world.sent("provider-a") == []


@pytest.mark.parametrize(
    ("document", "error"),
    [("query {", "GRAPHQL_PARSE_FAILED"), ("{ nothing }", "GRAPHQL_VALIDATION_FAILED")],
)
async def test_an_invalid_document_is_refused_at_the_input_layer(explain, document, error):
    explanation = await explain({"document": document})

    assert (explanation["status"], explanation["error"], explanation["fields"]) == (400, error, [])
    assert outcomes(explanation)["input"] == "refused"
    assert explanation["unchangeable"].startswith("The request itself is wrong")


# -- calendars


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agendas(world):
    """Calendars with an event of five days ago."""
    agendas = await calendar_world.opened(world)
    agendas.plant(
        "work",
        "past",
        calendar_world.meeting(
            calendar_world.at(-5, "09:00"), calendar_world.at(-5, "10:00"), "Past"
        ),
    )
    return agendas


@pytest_asyncio.fixture(loop_scope="module")
async def meeting(agendas):
    """The id of the event that callers know."""
    day = calendar_world.text(calendar_world.day(-5))
    listed = await agendas.get("/events", from_=day)
    return listed.json()["events"][0]["id"]


async def test_a_window_is_widened_by_as_many_days_as_the_event_needs(explain, meeting):
    call = {"method": "GET", "path": f"/api/access/calendar/events/{meeting}"}
    explanation = await explain(call, calendarAccessEnabled=True, timeframePastDays=1)

    assert (explanation["status"], explanation["error"]) == (403, "TIMEFRAME_DENIED")
    assert outcomes(explanation)["scope"] == "refused"
    assert explanation["change"]["settings"] == {"timeframePastDays": 5}


async def test_an_excluded_calendar_is_allowed_by_its_id(explain, agendas, meeting):
    ids = await agendas.ids()
    call = {"method": "GET", "path": f"/api/access/calendar/events/{meeting}"}
    explanation = await explain(call, calendarAccessEnabled=True, allowedCalendarIds=[ids["Club"]])

    assert (explanation["status"], explanation["error"]) == (404, "EVENT_NOT_FOUND")
    assert outcomes(explanation)["scope"] == "refused"
    assert explanation["change"]["settings"] == {"allowedCalendarIds": [ids["Club"], ids["Me"]]}


async def test_the_level_of_a_calendar_is_its_operation(explain, agendas):
    call = {"method": "GET", "path": "/api/access/calendar/events"}
    explanation = await explain(
        call, calendarAccessEnabled=True, calendarAccessLevel="free_busy_only"
    )

    assert (explanation["status"], explanation["error"]) == (403, "ACCESS_DENIED")
    assert outcomes(explanation)["operation"] == "refused"
    assert explanation["change"]["settings"] == {"calendarAccessLevel": "view_filtered"}


# -- who may ask, and what


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({}, "$"),
        ({**LIST, "document": "{ accessToken { id } }"}, "$"),
        ({"method": "FETCH", "path": LIST["path"]}, "method"),
        ({"path": LIST["path"]}, "method"),
        ({"method": "GET", "path": "/api/access-tokens"}, "path"),
        ({"method": "GET", "path": "/api/access/email/ä"}, "path"),
        ({**LIST, "headers": {}}, "headers"),
        ({**LIST, "address": "here"}, "address"),
        ({**LIST, "query": 5}, "query"),
        ({**LIST, "query": {"limit": {}}}, "query"),
    ],
)
async def test_an_invalid_question_is_400(world, question, field):
    await world.token({})
    path = f"/api/access-tokens/{await newest(world)}/explain"
    answer = await world.admin.post(path, json=question)

    assert (answer.status_code, answer.json()["error"]) == (400, "VALIDATION_ERROR")
    assert answer.json()["details"][0]["field"] == field


async def test_explaining_requires_the_admin_and_an_existing_token(world):
    async with world.client(await world.token({})) as client:
        mine = await client.post("/api/access-tokens/1/explain", json=LIST)
    unknown = await world.admin.post("/api/access-tokens/999/explain", json=LIST)

    assert (mine.status_code, mine.json()["error"]) == (403, "ADMIN_REQUIRED")
    assert (unknown.status_code, unknown.json()["error"]) == (404, "TOKEN_NOT_FOUND")


async def test_an_explanation_contains_no_upstream_content(explain, world):
    answer = await explain(
        {"method": "GET", "path": f"/api/access/email/messages/{world.id('lease')}"}
    )

    assert answer["outcome"] == "allowed"
    text = str(answer)
    for words in ("Lease", "lease.pdf", "ana@home.example", "Please sign"):
        assert words not in text


async def test_the_answer_is_described(world):
    described = (await world.admin.get("/api/management/openapi.json")).json()
    operation = described["paths"]["/api/access-tokens/{tokenId}/explain"]["post"]

    body = operation["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/ExplainCallRequest"}
    properties = described["components"]["schemas"]["ExplainCallRequest"]["properties"]
    assert list(properties) == [
        "method",
        "path",
        "query",
        "body",
        "document",
        "variables",
        "operationName",
        "address",
        "dryRun",
        "ifEffect",
    ]
    answer = operation["responses"]["200"]["content"]["application/json"]["schema"]
    assert answer == {"$ref": "#/components/schemas/Explanation"}
    assert described["components"]["schemas"]["Explanation"]["required"] == [
        "outcome",
        "status",
        "dryRun",
        "error",
        "message",
        "layers",
        "rule",
        "hiddenFields",
        "change",
        "unchangeable",
        "partialChange",
        "rehearsals",
    ]
