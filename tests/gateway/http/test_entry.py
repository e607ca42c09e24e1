"""Entry of requests: address limits, the token, its quota, and the rate headers."""

import httpx
import orjson
import pytest
import pytest_asyncio

from gateway.app import assemble
from gateway.ratelimit.buckets import bucket_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

RATE = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
EMAILS = "/api/access/email/messages"
ADMIN = {"Authorization": "Bearer the-admin-token-of-the-tests"}


@pytest_asyncio.fixture(loop_scope="module")
async def gateway(settings, clock, emptying):
    """A gateway per test, so that counters start at zero."""
    changed = settings.model_copy(update={"rate_limits": "on", "internal_enabled": True})
    async with assemble(changed, clock=clock).running() as running:
        yield running
        await emptying(running)


@pytest_asyncio.fixture(loop_scope="module")
async def client(gateway):
    async with httpx.AsyncClient(**reached(gateway)) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="module")
async def admin(gateway):
    async with httpx.AsyncClient(**reached(gateway), headers=ADMIN) as client:
        yield client


def reached(gateway):
    transport = httpx.ASGITransport(gateway, raise_app_exceptions=False)
    return {"transport": transport, "base_url": "http://gateway.test"}


def rates(response):
    return tuple(int(response.headers[name]) for name in RATE)


async def test_the_61st_request_of_a_minute_is_refused_and_not_counted(client, clock):
    for left in range(59, -1, -1):
        response = await client.get(EMAILS)
        assert (response.status_code, rates(response)[:2]) == (401, (60, left))

    for _ in range(140):
        response = await client.get(EMAILS, headers={"X-Request-Id": "r"})
        assert response.status_code == 429
    assert response.headers["Retry-After"] == "60"
    assert rates(response) == (60, 0, int(clock.now) + 60)
    assert response.json() == {
        "error": None,
        "message": "Too many requests. Try again in 60 seconds.",
        "requestId": "r",
    }
    clock.now += 60
    assert (await client.get(EMAILS)).status_code == 401


async def test_surfaces_addresses_and_mounts_have_buckets_of_their_own(client, gateway, token):
    for _ in range(3):
        await client.get(EMAILS)

    assert rates(await client.get("/api/access/token"))[:2] == (60, 59)  # not those of the admin
    assert rates(await client.get(EMAILS))[1] == 56


async def test_a_token_is_limited_by_its_own_quota(admin, client, new_token):
    quota = {"settings": {"quota": {"perMinute": 2}}}
    text = (await admin.post("/api/access-tokens", json={**new_token, **quota})).json()["token"]
    mine = {"Authorization": f"Bearer {text}"}

    answers = [await client.get("/api/access/token", headers=mine) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [rates(answer)[:2] for answer in answers] == [(2, 1), (2, 0), (2, 0)]
    other = await client.get("/api/access/token")
    assert rates(other)[:2] == (60, 59)  # this one alone: the others had valid tokens


async def test_a_quota_of_zero_refuses_every_request(admin, client, new_token):
    nothing = {"settings": {"quota": {"perMinute": 0}}}
    text = (await admin.post("/api/access-tokens", json={**new_token, **nothing})).json()["token"]
    response = await client.get(EMAILS, headers={"Authorization": f"Bearer {text}"})

    assert response.status_code == 429
    assert rates(response)[:2] == (0, 0)
    assert response.headers["Retry-After"] == "60"
    assert rates(await client.get(EMAILS))[:2] == (60, 59)  # the refused one was not counted


async def test_a_full_address_bucket_is_429_before_a_bad_token_is_401(client):
    for _ in range(60):
        await client.get(EMAILS)

    response = await client.get(EMAILS, headers={"Authorization": "Bearer nonsense"})
    assert response.status_code == 429


async def test_graphql_is_charged_to_the_same_limits_as_rest(admin, client, token):
    mine = {"Authorization": f"Bearer {token['token']}"}
    twice = {"query": "{ a: emails { totalCount } b: emails { totalCount } }"}
    response = await client.post("/graphql", json=twice, headers=mine)

    assert response.status_code == 200
    assert rates(response)[:2] == (60, 58)
    assert rates(await client.get(EMAILS, headers=mine))[1] == 57


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ((), "MISSING_HEADER"),
        ([(b"authorization", b"Basic x")], "MALFORMED_HEADER"),
        ([(b"authorization", b"Bearer agw_nobodys")], "UNKNOWN_TOKEN"),
    ],
)
async def test_the_body_of_an_unauthenticated_request_is_not_read(gateway, headers, reason):
    """The body is not even received, so no document of theirs reaches the parser."""
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/graphql",
        "raw_path": b"/graphql",
        "query_string": b"",
        "headers": [(b"x-request-id", b"r"), (b"transfer-encoding", b"chunked"), *headers],
        "client": ("192.0.2.7", 1),
    }
    sent = []

    async def receive():
        raise AssertionError("somebody asked for the body")

    async def send(message):
        sent.append(message)

    await gateway.middleware.app(scope, receive, send)

    start, body = sent
    (error,) = orjson.loads(body["body"])["errors"]
    assert start["status"] == 401
    assert (b"www-authenticate", b'Bearer error="invalid_token"') in start["headers"]
    assert error["extensions"]["code"] == "UNAUTHENTICATED"
    assert error["extensions"]["reason"] == reason


async def test_unauthenticated_graphql_requests_have_their_own_bucket(client, token):
    query = {"query": "{ emails { totalCount } }"}
    for left in range(59, -1, -1):
        response = await client.post("/graphql", json=query)
        assert (response.status_code, rates(response)[:2]) == (401, (60, left))

    full = await client.post("/graphql", json=query, headers={"Authorization": "Bearer agw_x"})
    mine = {"Authorization": f"Bearer {token['token']}"}
    known = await client.post("/graphql", json=query, headers=mine)

    assert full.status_code == 429
    assert full.headers["Retry-After"] == "60"
    assert full.json()["errors"][0]["extensions"]["code"] == "RATE_LIMITED"
    assert (known.status_code, rates(known)[:2]) == (200, (60, 59))


async def test_a_document_that_cannot_run_is_charged_to_graphql_once_the_caller_is_known(
    client, token
):
    mine = {"Authorization": f"Bearer {token['token']}", "Content-Type": "application/json"}

    answers = [
        await client.post("/graphql", content=body, headers=mine)
        for body in (b'{"query": "{ emails {"}', b"nonsense", b"x" * (64 * 1024 + 1))
    ]

    assert [answer.status_code for answer in answers] == [400, 400, 413]
    assert [rates(answer)[:2] for answer in answers] == [(60, 59), (60, 58), (60, 57)]


async def test_unknown_paths_of_a_surface_have_rate_headers(client):
    response = await client.get("/api/access/email/nothing")

    assert rates(response)[0] == 60


async def test_management_is_limited_by_address(client):
    for _ in range(60):
        assert (await client.get("/api/operators")).status_code == 401

    for path in ("/api/operators", "/metrics", "/oauth/callback", "/api/access/token"):
        response = await client.get(path)
        assert (response.status_code, response.headers["Retry-After"]) == (429, "60")


WRONG = {
    "another text": "Bearer something-else",
    "an access token": "Bearer agw_0000000000000000000000000000000000000000000_0rQV8Q",
    "another scheme": "Basic dGhlOmFkbWlu",
    "nothing": "",
}


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/api/operators", "/api/access-tokens", "/api/decisions"])
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_the_admin_token_is_valid_after_any_number_of_wrong_ones(client, path, wrong):
    answers = [await client.get(path, headers={"Authorization": wrong}) for _ in range(80)]
    right = await client.get(path, headers=ADMIN)

    assert {answer.status_code for answer in answers[:60]} <= {401, 403}
    assert [answer.status_code for answer in answers[60:]] == [429] * 20
    assert (right.status_code, rates(right)[:2]) == (200, (60, 59))


@pytest.mark.slow
async def test_guesses_at_the_metrics_are_limited_and_the_admin_token_is_valid_after_them(client):
    wrong = {"Authorization": "Bearer something-else"}
    answers = [await client.get("/metrics", headers=wrong) for _ in range(80)]

    assert [answer.status_code for answer in answers] == [401] * 60 + [429] * 20
    assert (await client.get("/api/operators", headers=wrong)).status_code == 429
    for _ in range(80):
        assert (await client.get("/metrics", headers=ADMIN)).status_code == 200
    assert (await client.get("/api/operators", headers=ADMIN)).status_code == 200


@pytest.mark.slow
async def test_the_admin_token_has_a_limit(client):
    answers = [await client.get("/api/operators", headers=ADMIN) for _ in range(61)]
    assert [answer.status_code for answer in answers] == [200] * 60 + [429]


@pytest.mark.parametrize("path", ["/api/access/token", "/internal/api/access/collab/sites", EMAILS])
async def test_an_access_token_is_valid_after_any_number_of_wrong_ones(client, token, path):
    wrong = {"Authorization": "Bearer agw_wrong"}
    answers = [await client.get(path, headers=wrong) for _ in range(80)]
    right = await client.get(path, headers={"Authorization": f"Bearer {token['token']}"})

    statuses = [answer.status_code for answer in answers]
    assert statuses in ([401] * 60 + [429] * 20, [404] * 80)  # /internal may be off
    assert right.status_code not in (401, 429)


async def test_valid_tokens_are_limited_by_address_as_before(client, token):
    mine = {"Authorization": f"Bearer {token['token']}"}
    answers = [await client.get("/api/access/token", headers=mine) for _ in range(58)]

    assert [answer.status_code for answer in answers] == [200] * 57 + [429]  # 3 of the admin


async def test_pages_and_health_have_no_limit(client):
    for path in ("/healthz", "/nothing", "/openapi.json"):
        assert "X-RateLimit-Limit" not in (await client.get(path)).headers


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/access/email/messages", ("email", "")),
        ("/api/access/calendar", ("calendar", "")),
        ("/internal/api/access/collab/files", ("collab", "/internal")),
        ("/api/access/token", ("management", "")),
        ("/api/access-tokens/1", ("management", "")),
        ("/graphql", ("graphql", "")),
        ("/", ("", "")),
        ("/healthz", ("", "")),
        ("/explorer/index.html", ("", "")),
        ("/sandbox/provider-a/x", ("", "")),
    ],
)
async def test_bucket_of_a_path(path, expected):
    assert bucket_of(path) == expected


async def test_the_last_use_of_a_token_is_shown_to_the_admin(admin, client, token, gateway):
    mine = {"Authorization": f"Bearer {token['token']}"}
    assert (await client.get("/api/access/token", headers=mine)).status_code == 200
    await gateway.services.last_uses.write()

    shown = (await admin.get("/api/access-tokens/1")).json()
    assert shown["lastUsedAt"] == "2026-11-18T11:06:40Z"


async def test_a_revocation_takes_effect_at_once_for_rest_and_graphql(admin, client, token):
    mine = {"Authorization": f"Bearer {token['token']}"}
    query = {"query": "{ accessToken { id } }"}
    assert (await client.get("/api/access/token", headers=mine)).status_code == 200
    assert (await client.post("/graphql", json=query, headers=mine)).status_code == 200
    await admin.delete("/api/access-tokens/1")

    rest = await client.get("/api/access/token", headers=mine)
    graphql = await client.post("/graphql", json=query, headers=mine)
    assert (rest.status_code, rest.json()["reason"]) == (401, "REVOKED")
    assert graphql.status_code == 401
    assert graphql.json()["errors"][0]["extensions"]["reason"] == "REVOKED"


async def test_an_unavailable_store_refuses_every_request(client, token, gateway, monkeypatch):
    from gateway.store.database import StorageUnavailable

    async def broken(headers, **_):
        raise StorageUnavailable

    monkeypatch.setattr(gateway.services.authenticator, "authenticate", broken)
    mine = {"Authorization": f"Bearer {token['token']}"}

    rest = await client.get("/api/access/token", headers=mine)
    assert (rest.status_code, rest.json()["error"]) == (503, "OVERLOADED")
    graphql = await client.post("/graphql", json={"query": "{__typename}"}, headers=mine)
    assert graphql.status_code == 503
    assert graphql.json()["errors"][0]["extensions"]["code"] == "OVERLOADED"


async def test_a_500_reveals_nothing(client, token, gateway, monkeypatch):
    async def bug(headers, **_):
        raise RuntimeError("a secret of the program")

    monkeypatch.setattr(gateway.services.authenticator, "authenticate", bug)
    response = await client.get("/api/access/token", headers={"X-Request-Id": "r"})

    assert response.status_code == 500
    assert response.headers["X-Api-Version"] == "2026-11-20"
    assert response.json() == {
        "error": "INTERNAL_ERROR",
        "message": "Internal error. The operator can find its cause by the request id.",
        "requestId": "r",
    }


async def test_a_graphql_body_over_64_kib_is_413_in_the_graphql_shape(client, token):
    mine = {"Authorization": f"Bearer {token['token']}", "X-Request-Id": "r"}
    mine["Content-Type"] = "application/json"
    response = await client.post("/graphql", content=b"x" * (64 * 1024 + 1), headers=mine)

    assert response.status_code == 413
    assert response.json() == {
        "errors": [
            {
                "message": "The request body is larger than 65536 bytes.",
                "extensions": {"code": "PAYLOAD_TOO_LARGE", "httpStatus": 413, "requestId": "r"},
            }
        ]
    }
