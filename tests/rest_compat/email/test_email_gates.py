"""Checks before the first upstream call, in order, on every email call."""

import pytest
from failed_results import failed_result
from world import CODES, PREFIXES

from rest_compat.table import ENDPOINTS

shared = pytest.mark.asyncio(loop_scope="session")  # for tests that change nothing
MESSAGES = "/api/access/email/messages"
DRAFTS = "/api/access/email/drafts"
PEOPLE = "/api/access/people"
CALLS = [
    pytest.param(row, id=f"{row.method} {row.path.rpartition('/email')[2]}")
    for row in ENDPOINTS
    if row.surface == "email"
]
every_call = pytest.mark.parametrize("row", CALLS)


async def call(client, row, **more):
    some = f"{PREFIXES['PROVIDER_A']}:1"
    path = row.path.replace("{emailId}", some).replace("{threadId}", some)
    path = path.replace("{attachmentId}", "1.1")
    return await client.request(row.method, path, **more)


def body_of(row, response, error, message, **members):
    """The whole error body of *row*: a union where its success is a result object."""
    union = failed_result(row.result, message, error) if row.result else {}
    return {
        "error": error,
        "message": message,
        "requestId": response.headers["x-request-id"],
        **members,
        **union,
    }


@shared
@every_call
async def test_no_token_is_401(shared_world, row):
    async with shared_world.client() as nobody:
        response = await call(nobody, row)

    message = "An Authorization header with a bearer token is required."
    assert response.status_code == 401
    assert response.json() == body_of(row, response, None, message, reason="MISSING_HEADER")
    assert response.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert shared_world.calls() == []


@shared
@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("", "MALFORMED_HEADER"),
        ("Bearer", "MALFORMED_HEADER"),
        ("Bearer ", "MALFORMED_HEADER"),
        ("Basic abc", "MALFORMED_HEADER"),
        ("Bearer a b", "MALFORMED_HEADER"),
        ("Bearer abc", "UNKNOWN_TOKEN"),
        ("Bearer agw_" + "a" * 43 + "_000000", "UNKNOWN_TOKEN"),
    ],
)
async def test_a_bad_header_is_401_with_its_reason(shared_world, header, reason):
    async with shared_world.client() as client:
        response = await client.get(MESSAGES, headers={"authorization": header})

    assert response.status_code == 401
    assert response.json()["error"] is None
    assert response.json()["reason"] == reason


async def test_a_revoked_token_is_401_from_the_next_request_on(client, world):
    own = (await client.get("/api/access/token")).json()["id"]
    await world.admin.delete(f"/api/access-tokens/{own}")

    response = await client.get(MESSAGES)

    assert response.status_code == 401
    assert response.json()["reason"] == "REVOKED"
    assert world.calls() == []


@pytest.mark.caller(expiresAt="2026-01-01T00:00:00Z")
async def test_an_expired_token_is_401(client):
    response = await client.get(MESSAGES)

    assert response.status_code == 401
    assert response.json()["reason"] == "EXPIRED"


@shared
@every_call
@pytest.mark.caller(emailAccessEnabled=False)
async def test_a_closed_surface_is_422(shared_client, shared_world, row):
    response = await call(shared_client, row)

    message = "This token has no email access: emailAccessEnabled is false."
    assert response.status_code == 422
    assert response.json() == body_of(row, response, "EMAIL_NOT_ENABLED", message)
    assert shared_world.calls() == []


@shared
@every_call
@pytest.mark.caller(resources=(3,), allowedEmailOperations=[])
async def test_no_connection_at_all_is_422_before_the_operation(shared_client, row):
    response = await call(shared_client, row)

    message = "The token's operator has no email connection on any of the token's resources."
    assert response.status_code == 422
    assert response.json() == body_of(row, response, "NO_EMAIL_PROVIDER", message)


@shared
@every_call
@pytest.mark.caller(allowedEmailOperations=[])
async def test_a_missing_operation_is_403_before_any_parameter(shared_client, shared_world, row):
    response = await call(shared_client, row, params={"limit": "x"}, content=b"{")

    needed = response.headers["x-required-operation"].split(", ")
    message = f"This token does not allow {' or '.join(needed)}."
    assert response.status_code == 403
    flags = {"requiredOperation": needed[0], "requiredOperations": needed}
    assert response.json() == body_of(row, response, "OPERATION_NOT_ALLOWED", message, **flags)
    assert shared_world.calls() == []


@shared
@every_call
@pytest.mark.caller(resources=(4,))
async def test_a_connection_that_is_disabled_is_403(shared_client, shared_world, row):
    bodies = {"send_email": {"to": [{"email": "a@b.example"}], "subject": "", "body": ""}}
    bodies |= {"reply_to_email": {"body": ""}, "forward_email": {"to": [{"email": "a@b.example"}]}}
    bodies |= {"modify_email": {"markAsRead": True}, "update_draft": {"subject": ""}}
    bodies["create_draft"] = bodies["send_email"]
    params = {"fileName": "a.txt"} if row.body == "upload" else {}
    params |= {"name": "ana"} if row.path == PEOPLE else {}
    body = bodies.get(row.document.partition("/")[2])
    response = await call(shared_client, row, params=params, json=body)

    assert response.status_code == 403
    assert response.json()["error"] == "NO_PROVIDER"
    assert shared_world.calls() == []


@pytest.mark.caller
async def test_a_disabled_mailbox_is_left_out_without_a_warning(client, world):
    url = f"/api/connections/{world.connections['PROVIDER_B']}"
    changed = await world.admin.patch(url, json={"status": "disabled"})
    assert changed.status_code == 200

    response = await client.get("/api/access/email/messages")

    assert response.status_code == 200
    assert {email["provider"] for email in response.json()["emails"]} == {CODES["PROVIDER_A"]}
    assert "authWarnings" not in response.json()


@shared
@every_call
async def test_parameters_come_before_the_connection(shared_world, row):
    token = await shared_world.token({}, resources=(4,))
    async with shared_world.client(token) as client:
        response = await call(client, row, params={"limit": "x"}, content=b"{")

    takes_body = row.method in {"POST", "PATCH"} and not row.path.endswith("{draftId}/send")
    bad = takes_body or row.path in {MESSAGES, DRAFTS, PEOPLE}
    assert response.status_code == (400 if bad else 403)


# -- limits --------------------------------------------------------------------------------------


@shared
@every_call
async def test_every_response_has_the_rate_headers(shared_client, row):
    first = await call(shared_client, row)
    second = await call(shared_client, row)

    assert first.headers["x-ratelimit-limit"] == "60"
    assert second.headers["x-ratelimit-remaining"] == "58"
    assert first.headers["x-ratelimit-reset"].isdecimal()
    assert first.headers["x-api-version"] == "2026-11-20"
    assert "retry-after" not in first.headers


async def test_the_61st_request_in_a_minute_is_429_without_upstream_calls(client, world):
    for _ in range(60):
        await client.get("/api/access/email/nothing")
    world.forget_calls()

    response = await client.post(f"{MESSAGES}/send", json={})

    assert response.status_code == 429
    body = response.json()
    assert body["error"] is None
    assert body["success"] is False
    assert body["errorCode"] is None
    assert 1 <= int(response.headers["retry-after"]) <= 60
    assert response.headers["x-ratelimit-remaining"] == "0"
    assert world.calls() == []


async def test_requests_without_a_token_are_limited_apart_from_those_with_one(client, world):
    async with world.client() as nobody:
        statuses = [(await nobody.get(MESSAGES)).status_code for _ in range(61)]

    assert statuses == [401] * 60 + [429]
    assert (await client.get(MESSAGES)).status_code == 200


@pytest.mark.caller(quota={"perMinute": 2})
async def test_a_token_has_a_quota_of_its_own(client, world):
    answers = [(await client.get(MESSAGES)).status_code for _ in range(3)]
    async with world.client(await world.token({})) as other:
        answers.append((await other.get(MESSAGES)).status_code)

    assert answers == [200, 200, 429, 200]


# -- the rest of HTTP ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "echoed"),
    [("abc-1.2_3", True), ("a" * 128, True), ("a" * 129, False), ("a b", False), ("", False)],
)
async def test_a_valid_request_id_is_echoed(client, sent, echoed):
    response = await client.get(MESSAGES, headers={"x-request-id": sent})

    assert (response.headers["x-request-id"] == sent) is echoed


async def test_a_405_lists_every_method_and_is_charged(client):
    response = await client.put(f"{MESSAGES}/{PREFIXES['PROVIDER_A']}:1")

    assert response.status_code == 405
    assert response.headers["allow"] == "DELETE, GET, HEAD, OPTIONS, PATCH"
    assert response.json()["error"] == "METHOD_NOT_ALLOWED"
    assert response.headers["x-ratelimit-remaining"] == "59"


async def test_a_head_request_has_the_headers_of_the_get(client):
    get = await client.get(MESSAGES)
    head = await client.head(MESSAGES)

    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == get.headers["content-length"]


async def test_hostile_hosts_change_nothing(client, world):
    for host in ("evil.example", "127.0.0.1/api/../x", "[", "a@b", ""):
        response = await client.get("/api/access/email/nope", headers={"host": host})
        assert response.status_code == 404
    assert world.calls() == []


async def test_a_token_reads_its_own_settings(client, world):
    response = await client.get("/api/access/token")

    assert response.status_code == 200
    body = response.json()
    assert list(body) == [
        "id",
        "name",
        "expiresAt",
        "settings",
        "effectiveEmailOperations",
        "effectiveTaskOperations",
        "effectiveCollabOperations",
        "connections",
    ]
    assert body["settings"]["allowedEmailOperations"] == ["all"]
    assert body["connections"][0] == {
        "id": world.connections["PROVIDER_A"],
        "kind": "email",
        "provider": CODES["PROVIDER_A"],
        "accountEmail": "me@provider-a.example",
        "status": "active",
        "reconnectUrl": None,
        "cause": None,
        "expiresAt": None,
    }


@pytest.mark.caller(emailAccessEnabled=False, allowedEmailOperations=[])
async def test_a_token_without_permissions_may_read_itself(client):
    assert (await client.get("/api/access/token")).status_code == 200
