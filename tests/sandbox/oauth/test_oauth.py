"""The sandbox's authorization servers: consent, codes with PKCE, rotation of refresh tokens."""

import base64
import hashlib
import json
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from sandbox.app import create
from sandbox.oauth.clients import ClientRegistry

VERIFIER = "v" * 64
CHALLENGE = (
    base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
)
BACK = "https://gateway.example/oauth/callback"
SERVERS = {
    "provider-a": ("/oauth/provider-a/authorize", "/oauth/provider-a/token"),
    "provider-b": (
        "/oauth/provider-b/common/oauth2/v2.0/authorize",
        "/oauth/provider-b/common/oauth2/v2.0/token",
    ),
    "tasks": ("/oauth/tasks/authorize", "/oauth/tasks/token"),
    "projects": ("/oauth/projects/authorize", "/oauth/projects/token"),
}
EVERY = pytest.mark.parametrize("server", SERVERS)


@pytest.fixture
def sandbox():
    sandbox = create(None, public_base="http://sandbox.test")
    for server in SERVERS:
        ClientRegistry(sandbox.state.database).register(
            *(server, "gateway", "its secret"),
            [BACK, "http://127.0.0.1/back", "http://localhost:8765/back"],
        )
    return sandbox


@pytest.fixture
async def client(sandbox):
    transport = httpx.ASGITransport(sandbox)
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox.test") as client:
        yield client


def authorize_query(**changed):
    query = {
        "client_id": "gateway",
        "redirect_uri": BACK,
        "response_type": "code",
        "scope": "openid offline_access Mail.Read",
        "state": "a state / with signs&",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "access_type": "offline",
        "prompt": "consent",
        "login_hint": "ada@example.org",
        "auto_approve": "true",
        **changed,
    }
    return {name: value for name, value in query.items() if value is not None}


def redirect_parameters(response):
    assert response.status_code == 302
    parts = urlsplit(response.headers["location"])
    return {name: values[0] for name, values in parse_qs(parts.query).items()}


async def consent(client, server, **changed):
    return redirect_parameters(
        await client.get(SERVERS[server][0], params=authorize_query(**changed))
    )


async def exchange(client, server, code, **changed):
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "client_id": "gateway",
        "client_secret": "its secret",
        "redirect_uri": BACK,
        "code_verifier": VERIFIER,
        **changed,
    }
    return await client.post(SERVERS[server][1], data=form)


async def renew(client, server, token, **changed):
    form = {"grant_type": "refresh_token", "refresh_token": token, "client_id": "gateway"}
    return await client.post(
        SERVERS[server][1], data={**form, "client_secret": "its secret", **changed}
    )


@EVERY
async def test_a_code_is_exchanged_for_tokens_once(client, sandbox, server):
    parameters = await consent(client, server)
    assert parameters["state"] == "a state / with signs&"

    tokens = (await exchange(client, server, parameters["code"])).json()
    upstream = {"provider-a": "providerA", "provider-b": "providerB"}.get(server, server)
    grant = sandbox.state.tokens.read(upstream, tokens["access_token"])
    assert (grant.account, "Mail.Read" in grant.scopes) == ("ada@example.org", True)
    assert tokens["refresh_token"]
    again = await exchange(client, server, parameters["code"])
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")


@EVERY
@pytest.mark.parametrize(
    ("changed", "error"),
    [
        pytest.param({"code_verifier": "w" * 64}, (400, "invalid_grant"), id="another verifier"),
        pytest.param({"code_verifier": ""}, (400, "invalid_grant"), id="no verifier"),
        pytest.param({"redirect_uri": f"{BACK}/"}, (400, "invalid_grant"), id="another address"),
        pytest.param({"client_secret": "a guess"}, (401, "invalid_client"), id="a wrong secret"),
        pytest.param({"client_id": "other"}, (400, "invalid_grant"), id="another client"),
        pytest.param({"code": "a guess"}, (400, "invalid_grant"), id="no code of ours"),
    ],
)
async def test_a_code_needs_its_client_redirect_uri_and_verifier(client, server, changed, error):
    code = (await consent(client, server))["code"]
    response = await exchange(client, server, **{"code": code, **changed})

    assert (response.status_code, response.json()["error"]) == error


@EVERY
@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"client_id": "nobody"}, id="unknown client"),
        pytest.param({"redirect_uri": "https://evil.example/"}, id="another address"),
        pytest.param({"redirect_uri": f"{BACK}?x=1"}, id="a query more"),
        pytest.param({"redirect_uri": None}, id="no address"),
        pytest.param({"redirect_uri": "http://127.0.0.1:5@evil.example/back"}, id="a user"),
    ],
)
async def test_an_unregistered_redirect_uri_is_never_redirected_to(client, server, changed):
    response = await client.get(SERVERS[server][0], params=authorize_query(**changed))

    assert response.status_code == 400
    assert "location" not in response.headers


@pytest.mark.parametrize(
    ("server", "changed", "code"),
    [
        ("tasks", {"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ("provider-a", {"code_challenge_method": "plain"}, "invalid_request"),
        ("provider-a", {"code_challenge": "short"}, "invalid_request"),
        ("provider-b", {"response_type": "token"}, "unsupported_response_type"),
    ],
)
async def test_an_invalid_request_is_reported_to_the_client(client, server, changed, code):
    parameters = await consent(client, server, **changed)

    assert (parameters["error"], parameters["state"]) == (code, "a state / with signs&")
    assert "code" not in parameters


@pytest.mark.parametrize(
    ("server", "redirect_uri", "accepted"),
    [
        ("provider-a", "http://127.0.0.1:49152/back", True),
        ("provider-a", "http://localhost:49152/back", True),
        ("provider-b", "http://localhost:49152/back", True),
        ("provider-b", "http://127.0.0.1:49152/back", False),
        ("tasks", "http://localhost:8765/back", True),
        ("tasks", "http://localhost:49152/back", False),
        ("projects", "http://localhost:8765/back", True),
        ("projects", "http://localhost:49152/back", False),
        ("projects", "http://127.0.0.1:8765/back", False),
    ],
)
async def test_the_port_of_a_loopback_address_is_compared_as_by_the_vendor(
    client, server, redirect_uri, accepted
):
    query = authorize_query(redirect_uri=redirect_uri)
    response = await client.get(SERVERS[server][0], params=query)

    assert (response.status_code == 302) is accepted
    assert ("location" in response.headers) is accepted


async def test_a_loopback_redirect_uri_gets_the_code(client):
    back = "http://127.0.0.1:49152/back"
    code = (await consent(client, "provider-a", redirect_uri=back))["code"]

    assert (await exchange(client, "provider-a", code, redirect_uri=back)).status_code == 200


async def test_the_user_may_grant_fewer_scopes_or_deny(client):
    address = SERVERS["provider-a"][0]
    query = authorize_query(auto_approve=None, scope="openid read write")
    page = await client.get(address, params=query)
    assert page.status_code == 200
    assert "form-action 'self' https://gateway.example" in page.headers["content-security-policy"]
    less = {"decision": "allow", "account": "ben@example.org", "scope": ["openid", "read", "more"]}
    parameters = redirect_parameters(await client.post(address, params=query, data=less))
    tokens = (await exchange(client, "provider-a", parameters["code"])).json()

    assert tokens["scope"] == "openid read"
    nothing = redirect_parameters(
        await client.post(address, params=query, data={"decision": "deny"})
    )
    assert nothing["error"] == "access_denied"


async def test_the_consent_page_escapes_markup(client):
    query = authorize_query(auto_approve=None, scope="<script>", login_hint='"><script>')
    page = await client.get(SERVERS["provider-b"][0], params=query)

    assert "<script" not in page.text


async def test_provider_a_returns_its_refresh_token_once_and_keeps_it(client):
    code = (await consent(client, "provider-a"))["code"]
    first = (await exchange(client, "provider-a", code)).json()["refresh_token"]
    for _ in range(2):
        assert "refresh_token" not in (await renew(client, "provider-a", first)).json()
    code = (await consent(client, "provider-a", prompt=None))["code"]
    assert "refresh_token" not in (await exchange(client, "provider-a", code)).json()
    code = (await consent(client, "provider-a", access_type=None))["code"]
    assert "refresh_token" not in (await exchange(client, "provider-a", code)).json()


@pytest.mark.parametrize("server", ["provider-b", "tasks"])
async def test_other_servers_rotate_the_refresh_token(client, server):
    code = (await consent(client, server))["code"]
    first = (await exchange(client, server, code)).json()["refresh_token"]
    second = (await renew(client, server, first)).json()["refresh_token"]

    assert (await renew(client, server, first)).json()["error"] == "invalid_grant"
    assert (await renew(client, server, second)).status_code == 200


@EVERY
async def test_a_refresh_needs_the_registered_clients_secret(client, server):
    code = (await consent(client, server))["code"]
    token = (await exchange(client, server, code)).json()["refresh_token"]
    refused = await renew(client, server, token, client_secret="a guess")

    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
    assert (await renew(client, server, token)).status_code == 200


@pytest.mark.parametrize("server", ["provider-a", "provider-b"])
async def test_an_identity_token_names_the_account(client, server):
    code = (await consent(client, server, nonce="n-1"))["code"]
    token = (await exchange(client, server, code)).json()["id_token"].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(token + "=="))

    assert (claims["email"], claims["aud"], claims["nonce"]) == (
        "ada@example.org",
        "gateway",
        "n-1",
    )


async def test_the_boards_server_puts_the_lifetime_into_its_token(client, sandbox):
    code = (await consent(client, "tasks"))["code"]
    tokens = (await exchange(client, "tasks", code)).json()

    assert tokens.keys() == {"access_token", "refresh_token", "token_type", "scope"}
    assert tokens["access_token"].count(".") == 2
    assert sandbox.state.tokens.read("tasks", tokens["access_token"]) is not None


@pytest.mark.parametrize(
    "path",
    [
        "/oauth/tasks/.well-known/oauth-authorization-server",
        "/oauth/.well-known/oauth-authorization-server/tasks",
    ],
)
async def test_the_boards_server_publishes_metadata(client, path):
    metadata = (await client.get(path)).json()

    assert metadata["issuer"] == "http://sandbox.test/oauth/tasks"
    assert metadata["authorization_endpoint"] == "http://sandbox.test/oauth/tasks/authorize"
    assert metadata["token_endpoint"] == "http://sandbox.test/oauth/tasks/token"
    assert metadata["code_challenge_methods_supported"] == ["S256"]


async def test_content_scopes_give_tokens_of_the_content_upstream(client, sandbox):
    scope = "offline_access https://graph.microsoft.com/Files.ReadWrite.All"
    code = (await consent(client, "provider-b", scope=scope))["code"]
    tokens = (await exchange(client, "provider-b", code)).json()

    assert tokens["scope"] == "Files.ReadWrite.All"
    assert sandbox.state.tokens.read("collab", tokens["access_token"]) is not None
    assert sandbox.state.tokens.read("providerB", tokens["access_token"]) is None


async def test_the_device_flow_waits_for_the_users_decision(client, sandbox):
    base = "/oauth/provider-b/common/oauth2/v2.0"
    credentials = {"client_id": "gateway", "client_secret": "its secret"}
    begun = (
        await client.post(
            f"{base}/devicecode", data={**credentials, "scope": "Mail.Read offline_access"}
        )
    ).json()
    ask = {
        **credentials,
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": begun["device_code"],
    }
    waiting = await client.post(f"{base}/token", data=ask)
    assert (waiting.status_code, waiting.json()["error"]) == (400, "authorization_pending")
    decision = {"user_code": begun["user_code"], "decision": "allow"}
    assert (await client.post(begun["verification_uri"], data=decision)).status_code == 200

    tokens = (await client.post(f"{base}/token", data=ask)).json()
    assert sandbox.state.tokens.read("providerB", tokens["access_token"]) is not None
    assert (await client.post(f"{base}/token", data=ask)).status_code == 400


async def test_provider_a_revokes_all_that_the_account_granted(client, sandbox):
    tokens = sandbox.state.tokens
    mail, calendar = (tokens.issue_refresh("providerA", "ada@x.example", ()) for _ in range(2))
    other = tokens.issue_refresh("providerA", "bob@x.example", ())
    statuses = [
        (await client.post("/oauth/provider-a/revoke", data={"token": mail})).status_code
        for _ in range(2)
    ]

    assert statuses == [200, 400]
    assert tokens.read_refresh("providerA", calendar) is None
    assert tokens.read_refresh("providerA", other) is not None
