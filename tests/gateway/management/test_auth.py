"""Only the admin token manages; every refusal has the one shape and carries the common headers."""

import re

import pytest

from gateway.auth import token_format

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

PATHS = [
    ("GET", "/api/access-tokens"),
    ("POST", "/api/access-tokens"),
    ("GET", "/api/access-tokens/1"),
    ("PATCH", "/api/access-tokens/1"),
    ("DELETE", "/api/access-tokens/1"),
    ("POST", "/api/access-tokens/1/rotate"),
    ("GET", "/api/access-tokens/1/collab-rules"),
    ("PUT", "/api/access-tokens/1/collab-rules"),
    ("GET", "/api/operators"),
    ("DELETE", "/api/operators/x"),
    ("GET", "/api/resources"),
    ("PATCH", "/api/resources/1"),
    ("GET", "/api/connections"),
    ("POST", "/api/connections/1/test"),
    ("GET", "/api/provider-errors/r"),
]


@pytest.mark.parametrize(("method", "path"), PATHS)
async def test_an_access_token_cannot_manage(client, token, method, path):
    headers = {"Authorization": f"Bearer {token['token']}"}
    response = await client.request(method, path, headers=headers, content=b"{")

    assert response.status_code == 403
    body = response.json()
    assert body == {
        "error": "ADMIN_REQUIRED",
        "message": "Access tokens cannot use the management API; it needs an admin token.",
        "requestId": body["requestId"],
    }


@pytest.mark.parametrize(("method", "path"), PATHS)
async def test_a_request_without_credential_is_401(client, method, path):
    response = await client.request(method, path, content=b"{")

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    body = response.json()
    assert body == {
        "error": None,
        "message": "An Authorization header with a bearer token is required.",
        "requestId": body["requestId"],
        "reason": "MISSING_HEADER",
    }


@pytest.mark.parametrize(
    ("header", "status", "reason"),
    [
        pytest.param("Bearer wrong", 401, "UNKNOWN_TOKEN", id="another secret"),
        pytest.param("Bearer {}x", 401, "UNKNOWN_TOKEN", id="more than the secret"),
        pytest.param("Bearer", 401, "MALFORMED_HEADER", id="no credential"),
        pytest.param("Bearer ", 401, "MALFORMED_HEADER", id="a blank credential"),
        pytest.param("Basic {}", 401, "MALFORMED_HEADER", id="another scheme"),
        pytest.param("Bearer {} {}", 401, "MALFORMED_HEADER", id="two credentials"),
        pytest.param("{}", 401, "MALFORMED_HEADER", id="no scheme"),
        pytest.param("bEARER {}", 200, None, id="the scheme in any case"),
    ],
)
async def test_accepted_forms_of_the_authorization_header(client, header, status, reason):
    secret = "the-admin-token-of-the-tests"
    headers = {"Authorization": header.replace("{}", secret)}
    response = await client.get("/api/operators", headers=headers)

    assert response.status_code == status
    assert response.json().get("reason") == reason


async def test_two_authorization_headers_are_malformed(client):
    secret = "Bearer the-admin-token-of-the-tests"
    headers = [("Authorization", secret), ("Authorization", secret)]
    response = await client.get("/api/operators", headers=headers)

    assert response.json()["reason"] == "MALFORMED_HEADER"


async def test_an_unknown_access_token_is_403_as_well(client):
    headers = {"Authorization": f"Bearer {token_format.generate().text}"}
    response = await client.get("/api/operators", headers=headers)

    assert (response.status_code, response.json()["error"]) == (403, "ADMIN_REQUIRED")


async def test_the_admin_token_is_refused_on_every_surface(admin):
    response = await admin.get("/api/access/token")

    assert (response.status_code, response.json()["reason"]) == (401, "UNKNOWN_TOKEN")


@pytest.mark.parametrize(
    ("sent", "echoed"),
    [
        ("abc-DEF_1.2", True),
        ("x" * 128, True),
        ("x" * 129, False),
        ("", False),
        ("a b", False),
        ("a/b", False),
    ],
)
async def test_a_valid_request_id_is_echoed(client, sent, echoed):
    response = await client.get("/api/operators", headers={"X-Request-Id": sent})

    request_id = response.headers["X-Request-Id"]
    assert (request_id == sent) is echoed
    assert echoed or re.fullmatch(r"[0-9a-f-]{36}", request_id)
    assert response.json()["requestId"] == request_id


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/operators", 401),
        ("/api/nothing", 404),
        ("/nothing", 404),
        ("/healthz", 200),
        ("/api/access/email/messages", 401),
        ("/graphql", 405),
    ],
)
async def test_every_response_has_the_version_and_nosniff_headers(client, path, status):
    response = await client.get(path)

    assert response.status_code == status
    assert response.headers["X-Api-Version"] == "2026-11-20"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Frame-Options"] == "DENY"
    assert "Server" not in response.headers
    if status >= 400:
        assert set(response.json()) >= {"error", "message", "requestId"}


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/api/operators", "GET, POST"),
        ("POST", "/api/operators/x", "DELETE, GET, PATCH"),
        ("GET", "/api/access-tokens/1/rotate", "POST"),
        ("DELETE", "/graphql", "GET, POST"),
        ("PATCH", "/api/access-tokens/1/collab-rules", "GET, POST, PUT"),
    ],
)
async def test_405_lists_the_allowed_methods(admin, method, path, allow):
    response = await admin.request(method, path)

    assert response.status_code == 405
    assert response.headers["Allow"] == allow
    body = response.json()
    assert body == {
        "error": "METHOD_NOT_ALLOWED",
        "message": "This path does not allow this method.",
        "requestId": body["requestId"],
    }


@pytest.mark.parametrize("path", ["/api/operators/", "/healthz/", "/api/access-tokens/1/"])
async def test_a_trailing_slash_is_not_redirected(admin, path):
    response = await admin.get(path)

    assert response.status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/operators/x?full=1"),
        ("POST", "/api/access-tokens?dryRun=1"),
        ("DELETE", "/api/resources/1?force="),
        ("GET", "/api/connections?page=2"),
    ],
)
async def test_unknown_query_parameters_are_refused(admin, method, path):
    response = await admin.request(method, path)

    name = path.partition("?")[2].partition("=")[0]
    assert response.status_code == 400
    body = response.json()
    assert body == {
        "error": "INVALID_PARAMETER",
        "message": body["message"],
        "requestId": body["requestId"],
        "details": [{"field": name, "message": body["details"][0]["message"]}],
    }
    assert body["message"] == f"'{name}' {body['details'][0]['message']}."
    assert re.match(
        r"is not known(, did you mean '\w+'\?)? \(known: ", body["details"][0]["message"]
    )


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"{", id="cut"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'"text"', id="a text"),
        pytest.param(b"null", id="null"),
        pytest.param(b'{"name": NaN}', id="NaN"),
        pytest.param(b'{"name": "\\ud800"}', id="a lone surrogate"),
        pytest.param(b'{"name": "a\\u0000b"}', id="NUL"),
        pytest.param(b'{"name": "a", "name": "b"}', id="a member twice"),
        pytest.param(b'{"name":' * 2000, id="deep"),
        pytest.param(b"\xff\xfe", id="not UTF-8"),
    ],
)
@pytest.mark.parametrize("path", ["/api/resources", "/api/access-tokens", "/api/connections"])
async def test_bodies_that_are_not_json_objects_are_400(admin, path, body):
    response = await admin.post(path, content=body)

    assert (response.status_code, response.json()["error"]) == (400, "VALIDATION_ERROR")


async def test_a_body_is_read_whatever_its_content_type(admin):
    body, kind = b'{"name": "main"}', {"Content-Type": "text/plain"}

    assert (await admin.post("/api/resources", content=body, headers=kind)).status_code == 201


async def test_a_body_over_4_mib_is_413(admin):
    response = await admin.post("/api/resources", content=b" " * (4 * 1024 * 1024 + 1))

    assert (response.status_code, response.json()["error"]) == (413, "PAYLOAD_TOO_LARGE")
