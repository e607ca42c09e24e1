"""`GET /api/decisions`: one row per call of a known token, and what decided it."""

import itertools
import re
from datetime import datetime

import httpx
import pytest
import pytest_asyncio
import world as worlds
from sqlalchemy import text

from gateway.audit import log as log_module
from gateway.store.database import StorageUnavailable

MESSAGES = "/api/access/email/messages"
DECISIONS = "/api/decisions"
_HOSTS = itertools.count(1)


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(world_template, tmp_path_factory):
    """The world, opened once for this module."""
    template, known = world_template
    async with worlds.opened(template, known, tmp_path_factory.mktemp("decisions")) as world:
        yield world


@pytest_asyncio.fixture(loop_scope="module")
async def world(running):
    """The world with an empty log."""
    await running.gateway.services.decisions.flush()
    async with running.gateway.services.database.writing() as session:
        await session.exec(text("DELETE FROM decisions"))
    return running


async def listed(world, **filters):
    # From an address of its own: reading the log this often would meet the management limits.
    transport = httpx.ASGITransport(world.gateway, client=(f"192.0.2.{next(_HOSTS)}", 1))
    async with httpx.AsyncClient(
        transport=transport, base_url=worlds.ORIGIN, headers=world.admin.headers
    ) as admin:
        answer = await admin.get(DECISIONS, params=filters)
    assert answer.status_code == 200, answer.text
    listing = answer.json()
    # The tokens of these tests are made over the API, and that is logged, too.
    listing["decisions"] = [row for row in listing["decisions"] if row["actor"] is None]
    return listing


async def rows(world, *members, **filters):
    """Return *members* of every decision, oldest first."""
    decisions = (await listed(world, **filters))["decisions"]
    return [tuple(decision[member] for member in members) for decision in reversed(decisions)]


async def token_id(world, secret):
    async with world.client(secret) as client:
        return (await client.get("/api/access/token")).json()["id"]


TOLD = ("door", "operation", "outcome", "layer", "code", "status")


async def test_a_call_is_recorded_once_without_its_content(world):
    token = await world.token({"visibleEmailFields": ["subject", "from"]})
    async with world.client(token) as client:
        answer = await client.get(
            f"{MESSAGES}/{world.id('lease')}", headers={"X-Request-Id": "the-request"}
        )
    assert answer.status_code == 200

    listing = await listed(world)

    assert set(listing) == {"decisions", "nextPageToken", "hasMore"}
    assert (listing["nextPageToken"], listing["hasMore"]) == (None, False)
    (row,) = listing["decisions"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z", row.pop("at"))
    assert row.pop("durationMs") >= 0
    assert row.pop("id") >= 1
    assert row == {
        "requestId": "the-request",
        "tokenId": await token_id(world, token),
        "operatorId": world.operator_id,
        "door": "rest",
        "surface": "email",
        "operation": "email",
        "resourceId": world.id("lease"),
        "outcome": "allowed",
        "layer": None,
        "code": None,
        "status": 200,
        "ruleId": None,
        "policyRevision": 1,
        "hiddenFields": 11,
        "cost": 1,
        "upstreamCalls": 1,
        "upstreamStatus": 200,
        "actor": None,
        "parentId": None,
        "dryRun": False,
    }


@pytest.mark.parametrize(
    ("settings", "path", "expected"),
    [
        pytest.param(
            {"emailAccessEnabled": False},
            MESSAGES,
            ("rest", "emails", "refused", "surface", "EMAIL_NOT_ENABLED", 422),
            id="the surface is off",
        ),
        pytest.param(
            {},
            "/api/access/tasks/boards",
            ("rest", "taskBoards", "refused", "connections", "NO_TASK_PROVIDER", 422),
            id="nothing is connected",
        ),
        pytest.param(
            {"allowedEmailOperations": ["view_email"]},
            f"{MESSAGES}?limit=x",
            ("rest", "emails", "refused", "operation", "OPERATION_NOT_ALLOWED", 403),
            id="the flag is missing, whatever the parameters",
        ),
        pytest.param(
            {},
            f"{MESSAGES}?limit=x",
            ("rest", "emails", "refused", "input", "INVALID_PARAMETER", 400),
            id="a parameter that the REST layer refuses",
        ),
        pytest.param(
            {},
            f"{MESSAGES}?after=2026-02-02&before=2026-01-01",
            ("rest", "emails", "refused", "input", "INVALID_RANGE", 400),
            id="a parameter that the graph refuses",
        ),
        pytest.param(
            {"allowedConnectionIds": []},
            MESSAGES,
            ("rest", "emails", "refused", "usable_connection", "NO_PROVIDER", 403),
            id="no connection may be used",
        ),
        pytest.param(
            {},
            f"{MESSAGES}/providerA:none",
            ("rest", "email", "failed", "upstream", "NOT_FOUND", 404),
            id="it is not there",
        ),
        pytest.param(
            {"visibleEmailFields": ["subject"]},
            f"{MESSAGES}?from=ana",
            ("rest", "emails", "refused", "mask", "FIELD_NOT_VISIBLE", 403),
            id="the filter would tell a hidden field",
        ),
        pytest.param(
            {},
            f"{MESSAGES}/a/b",
            ("rest", None, "refused", "input", "NOT_FOUND", 404),
            id="no such path",
        ),
        pytest.param(
            {},
            "/api/access/token",
            ("rest", "accessToken", "allowed", None, None, 200),
            id="itself",
        ),
    ],
)
async def test_a_refusal_is_recorded_with_its_layer(world, settings, path, expected):
    async with world.client(await world.token(settings)) as client:
        await client.get(path)

    assert await rows(world, *TOLD) == [expected]


async def test_an_upstream_failure_is_recorded_with_the_upstream_status(world):
    for upstream in ("provider-a", "provider-b"):
        await world.fail(upstream, kind="503")
    async with world.client(await world.token({})) as client:
        await client.get(MESSAGES)
    for upstream in ("provider-a", "provider-b"):
        await world.admin.delete(f"/sandbox/faults/{upstream}")

    assert await rows(world, *TOLD, "upstreamStatus") == [
        ("rest", "emails", "failed", "upstream", "PROVIDER_ERROR", 502, 503)
    ]


async def test_graphql_is_recorded_once_per_root_field(world):
    token = await world.token({"allowedEmailOperations": ["search_emails"]})
    document = """query ($id: String!) {
        emails(limit: 1) { hasMore }
        email(emailId: $id) { subject }
        gone: emailThread(threadId: "a person's words") { subject }
        accessToken { id }
    }"""
    async with world.client(token) as client:
        await client.post(
            "/graphql", json={"query": document, "variables": {"id": world.id("lunch")}}
        )

    lunch = world.id("lunch")
    no = ("refused", "operation", "OPERATION_NOT_ALLOWED", 403)
    assert await rows(world, *TOLD, "resourceId", "cost") == [
        ("graphql", "emails", "allowed", None, None, 200, None, 1),
        ("graphql", "email", *no, lunch, 1),
        ("graphql", "emailThread", *no, None, 1),
        ("graphql", "accessToken", "allowed", None, None, 200, None, 0),
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("{ emails {", ("graphql", None, "refused", "input", "GRAPHQL_PARSE_FAILED", 400)),
        ("{ nothing }", ("graphql", None, "refused", "input", "GRAPHQL_VALIDATION_FAILED", 400)),
        ("{ __typename }", ("graphql", None, "allowed", None, None, 200)),
    ],
)
async def test_graphql_without_a_root_field_is_recorded_once(world, query, expected):
    async with world.client(await world.token({})) as client:
        await client.post("/graphql", json={"query": query})

    assert await rows(world, *TOLD, "cost") == [(*expected, 1)]


async def test_an_incomplete_graphql_body_is_recorded(world):
    async with world.client(await world.token({})) as client:
        kind = {"Content-Type": "application/json"}
        await client.post("/graphql", content=b" " * (64 * 1024 + 1), headers=kind)

    expected = ("graphql", None, "refused", "input", "PAYLOAD_TOO_LARGE", 413)
    assert await rows(world, *TOLD, "cost") == [(*expected, 1)]


async def test_calls_without_a_valid_token_and_beyond_the_limits_leave_none(world):
    token = await world.token({"quota": {"perMinute": 1}})
    for secret in (None, "agw_nonsense", token, token):
        async with world.client(secret) as client:
            answer = await client.get(MESSAGES)
    assert answer.status_code == 429

    assert await rows(world, *TOLD) == [("rest", "emails", "allowed", None, None, 200)]


async def test_a_replayed_response_is_recorded_without_upstream_calls(world):
    token = await world.token({})
    mail = {"to": [{"email": "ann@home.example"}], "subject": "s", "body": "b"}
    async with world.client(token) as client:
        for _ in range(2):
            sent = await client.post(
                f"{MESSAGES}/send", json=mail, headers={"Idempotency-Key": "k"}
            )
            assert sent.status_code == 200

    (first, again) = await rows(world, "operation", "outcome", "status", "upstreamCalls")
    assert first[:3] == again[:3] == ("sendEmail", "allowed", 200)
    assert first[3] > 0
    assert again[3] == 0


SEND = "mutation ($input: SendEmailInput!) { sendEmail(input: $input) { success } }"


@pytest.mark.parametrize(
    ("recipients", "outcome", "code", "status"),
    [
        ([{"email": "ann@home.example"}], "allowed", None, 200),
        ([], "refused", "VALIDATION_ERROR", 400),
    ],
    ids=["sent", "refused"],
)
async def test_a_replayed_mutation_is_a_call_of_its_own_as_well(
    world, recipients, outcome, code, status
):
    token = await world.token({})
    mail = {"to": recipients, "subject": "s", "body": "b"}
    async with world.client(token) as client:
        for _ in range(2):
            await client.post(
                "/graphql",
                json={"query": SEND, "variables": {"input": mail}},
                headers={"Idempotency-Key": "k"},
            )

    decisions = await rows(world, "door", "operation", "outcome", "code", "status", "upstreamCalls")
    assert [decision[:5] for decision in decisions] == [
        ("graphql", "sendEmail", outcome, code, status)
    ] * 2
    assert decisions[1][5] == 0


async def test_a_replayed_mutation_names_the_field_that_ran(world):
    query = SEND.replace(
        "{ sendEmail", '{ deleteEmail(emailId: "x") @skip(if: true) { success } sendEmail'
    )
    mail = {"to": [{"email": "ann@home.example"}], "subject": "s", "body": "b"}
    async with world.client(await world.token({})) as client:
        for _ in range(2):
            await client.post(
                "/graphql",
                json={"query": query, "variables": {"input": mail}},
                headers={"Idempotency-Key": "k"},
            )

    assert await rows(world, "operation", "outcome") == [("sendEmail", "allowed")] * 2


async def test_a_refused_idempotency_key_is_recorded(world):
    token = await world.token({})
    async with world.client(token) as client:
        for subject in ("s", "t"):
            mail = {"to": [{"email": "ann@home.example"}], "subject": subject, "body": "b"}
            await client.post(
                "/graphql",
                json={"query": SEND, "variables": {"input": mail}},
                headers={"Idempotency-Key": "k"},
            )

    assert (await rows(world, *TOLD))[1] == (
        "graphql",
        "sendEmail",
        "refused",
        "input",
        "IDEMPOTENCY_KEY_REUSED",
        409,
    )


async def test_reads_pass_while_the_log_cannot_be_written(world, monkeypatch):
    async def unavailable(_batch):
        raise StorageUnavailable

    token = await world.token({})
    monkeypatch.setattr(world.gateway.services.decisions, "_store", unavailable)
    async with world.client(token) as client:
        assert (await client.get(MESSAGES)).status_code == 200
    assert await rows(world, *TOLD) == []
    monkeypatch.undo()

    assert await rows(world, *TOLD) == [("rest", "emails", "allowed", None, None, 200)]


async def test_writes_are_refused_while_the_log_cannot_be_written(world, monkeypatch):
    token = await world.token({})
    mail = {"to": [{"email": "ann@home.example"}], "subject": "s", "body": "b"}
    sent = len(world.sent("provider-a"))
    for name in ("CAPACITY", "CAPACITY_TIMEOUT_SECONDS"):
        monkeypatch.setattr(log_module, name, 0)
    async with world.client(token) as client:
        key = {"Idempotency-Key": "full"}
        refused = await client.post(f"{MESSAGES}/send", json=mail, headers=key)
        assert (refused.status_code, refused.json()["error"]) == (503, "OVERLOADED")
        assert len(world.sent("provider-a")) == sent
        monkeypatch.undo()
        again = await client.post(f"{MESSAGES}/send", json=mail, headers=key)

    assert (again.status_code, len(world.sent("provider-a"))) == (200, sent + 1)
    assert await rows(world, *TOLD) == [
        ("rest", "sendEmail", "refused", "address_limit", "OVERLOADED", 503),
        ("rest", "sendEmail", "allowed", None, None, 200),
    ]


async def test_the_log_contains_no_caller_content(world):
    canary = "canary-word"
    async with world.client(await world.token({})) as client:
        await client.get(MESSAGES, params={"q": canary, "from": f"{canary}@x.example"})
        await client.get(f"{MESSAGES}/{canary}")
        await client.get(f"{MESSAGES}/providerA:{canary}@x.example")
        await client.post(f"{MESSAGES}/send", json={"subject": canary})
        await client.post("/graphql", json={"query": f'{{ emails(q: "{canary}") {{ hasMore }} }}'})

    listing = await world.admin.get(DECISIONS)
    assert len([row for row in listing.json()["decisions"] if row["actor"] is None]) == 5
    assert canary not in listing.text


async def test_decisions_are_filtered_and_paged(world):
    permitted, restricted = await world.token({}), await world.token({"allowedEmailOperations": []})
    for token, name in ((permitted, "a"), (restricted, "b"), (permitted, "c"), (restricted, "d")):
        async with world.client(token) as client:
            await client.get(MESSAGES, headers={"X-Request-Id": name})

    async def matching_operations(**filters):
        return [name for (name,) in await rows(world, "requestId", **filters)]

    moments = dict(await rows(world, "requestId", "at"))
    instants = {name: datetime.fromisoformat(at) for name, at in moments.items()}
    assert await matching_operations() == ["a", "b", "c", "d"]
    (first_token, other_token, *_) = [token_id for (token_id,) in await rows(world, "tokenId")]
    assert await matching_operations(tokenId=other_token) == ["b", "d"]
    assert await matching_operations(outcome="allowed") == ["a", "c"]
    assert await matching_operations(surface="email", layer="operation") == ["b", "d"]
    assert await matching_operations(surface="tasks") == []
    assert await matching_operations(code="OPERATION_NOT_ALLOWED", tokenId=first_token) == []
    assert await matching_operations(operation="emails", requestId="c") == ["c"]
    assert await matching_operations(since=moments["c"]) == [
        name for name in "abcd" if instants[name] >= instants["c"]
    ]
    assert await matching_operations(until=moments["c"]) == [
        name for name in "abcd" if instants[name] < instants["c"]
    ]

    first = await listed(world, limit=3)
    assert [decision["requestId"] for decision in first["decisions"]] == ["d", "c", "b"]
    assert first["hasMore"] is True
    rest = await listed(world, limit=3, pageToken=first["nextPageToken"])
    assert [decision["requestId"] for decision in rest["decisions"]] == ["a"]
    assert (rest["hasMore"], rest["nextPageToken"]) == (False, None)

    other = await world.admin.get(
        DECISIONS, params={"pageToken": first["nextPageToken"], "tokenId": first_token}
    )
    assert (other.status_code, other.json()["error"]) == (400, "INVALID_PAGE_TOKEN")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("outcome=perhaps", "outcome must be one of 'allowed', 'held', 'refused' or 'failed'."),
        ("since=yesterday", "since must be a time, such as 2026-11-20T12:00:00Z."),
        ("tokenId=0", "tokenId must be at least 1."),
        ("layer=none", None),
        (
            "word=x",
            "'word' is not known (known: 'actor', 'code', 'layer', 'limit', 'operation', "
            "'outcome', 'pageToken', 'requestId', 'since', 'surface', 'tokenId', 'until').",
        ),
    ],
)
async def test_an_invalid_filter_is_refused(admin, query, why):
    answer = await admin.get(f"{DECISIONS}?{query}")

    assert (answer.status_code, answer.json()["error"]) == (400, "INVALID_PARAMETER")
    if why is not None:
        assert answer.json()["message"] == why


async def test_a_page_has_at_most_200(admin):
    answer = await admin.get(DECISIONS, params={"limit": 201})

    assert (answer.status_code, answer.headers["X-Applied-Limit"]) == (200, "200")


async def test_the_log_is_for_the_admin_alone(client, token):
    answer = await client.get(DECISIONS, headers={"Authorization": f"Bearer {token['token']}"})

    assert (answer.status_code, answer.json()["error"]) == (403, "ADMIN_REQUIRED")


async def test_the_call_is_described(admin):
    document = await admin.get("/api/management/openapi.json")
    described = document.json()["paths"][DECISIONS]["get"]
    assert "#/$defs/" not in document.text

    assert [parameter["name"] for parameter in described["parameters"]] == [
        "limit",
        "pageToken",
        "tokenId",
        "outcome",
        "surface",
        "since",
        "until",
        "operation",
        "layer",
        "code",
        "requestId",
        "actor",
    ]
