"""Clients of sign-in: documents, registration by themselves, redirect URIs, commands."""

import json

import httpx
import pytest
import world as worlds
from command_line import CommandLine
from sign_in_client import REDIRECT, App

from gateway.sign_in import client_documents, clients, redirect_uris
from gateway.sign_in.failures import SignInFailed
from providers.http.origins import Origins

ID = "https://app.example/oauth/client.json"
DOCUMENT = {"client_id": ID, "client_name": "An\u202e app", "redirect_uris": [REDIRECT]}


@pytest.fixture(autouse=True)
def _forget():
    client_documents._kept.clear()


@pytest.fixture
def documents(world, monkeypatch):
    """Serve *documents*, by address, to the gateway; return the addresses that were called."""
    called = []

    def serve(answers):
        async def respond(request):
            called.append(str(request.url))
            body = answers[str(request.url)]
            return body if isinstance(body, httpx.Response) else httpx.Response(200, json=body)

        origins = Origins(transport=httpx.MockTransport(respond))
        monkeypatch.setattr(world.gateway.services.accounts, "origins", origins)
        return called

    return serve


async def test_a_client_is_described_by_the_document_at_its_id(documents, http, base, own):
    called = documents({ID: DOCUMENT})
    app = App(http, ID, base=base)
    page = await app.ask()

    assert page.status_code == 200
    assert "“An app”" in page.text
    assert (
        "by a document at <strong>app.example</strong>; nobody has checked that name" in page.text
    )
    assert (await app.sign_in(own))["scope"] == "reader"
    assert called == [ID]


WRONG = [
    ({**DOCUMENT, "client_id": "https://app.example/other"}, "its client_id is not its address"),
    ({**DOCUMENT, "redirect_uris": []}, "it needs 1 to 50 redirect_uris"),
    ({**DOCUMENT, "redirect_uris": [REDIRECT] * 51}, "it needs 1 to 50 redirect_uris"),
    (
        {**DOCUMENT, "token_endpoint_auth_method": "client_secret_post"},
        "its token_endpoint_auth_method is not none",
    ),
    ([DOCUMENT], "its client_id is not its address"),
    (httpx.Response(200, content=b"{"), "it is not a JSON object"),
    (httpx.Response(200, content=b" " * 10_241), "it cannot be fetched"),
    (httpx.Response(404), "it cannot be fetched"),
    (httpx.Response(302, headers={"location": "https://app.example/x"}), "it cannot be fetched"),
]


@pytest.mark.parametrize(("document", "reason"), WRONG)
async def test_a_document_that_cannot_be_used_is_refused(documents, http, base, document, reason):
    called = documents({ID: document})
    refused = await App(http, ID, base=base).ask()

    assert refused.status_code == 400
    assert f"The document of this client cannot be used: {reason}" in refused.text
    assert "<form" not in refused.text
    assert set(called) == {ID}


async def test_a_redirect_that_the_document_does_not_name_is_refused(documents, http, base):
    documents({ID: {**DOCUMENT, "redirect_uris": ["javascript:x", "http://127.0.0.1:1/cb"]}})
    assert (await App(http, ID, base=base).ask()).status_code == 400
    assert (await App(http, ID, base=base, redirect_uri="javascript:x").ask()).status_code == 400
    loopback = App(http, ID, base=base, redirect_uri="http://127.0.0.1:54321/cb")
    page = await loopback.ask()
    assert page.status_code == 200
    assert "a program on this computer (127.0.0.1)" in page.text


@pytest.mark.parametrize(
    "url", ["https://127.0.0.1/c.json", "https://10.1.2.3/c.json", "https://localhost/c.json"]
)
async def test_documents_are_fetched_from_public_addresses_alone(url):
    origins = Origins()
    with pytest.raises(SignInFailed) as refusal:
        await client_documents.fetch(origins, url)
    await origins.aclose()

    assert "it cannot be fetched from a public address" in refusal.value.message


@pytest.mark.parametrize(
    "client_id",
    [
        *("http://app.example/c", "https://app.example", "https://app.example/"),
        *("https://a@app.example/c", "https://app.example/c#x", "https://app.example/a/../c"),
        *("https://app.example/c\n", "https://app.example/" + "c" * 500, "https://äpp.example/c"),
    ],
)
async def test_an_id_that_is_no_address_of_a_document_calls_nobody(
    documents, http, base, client_id
):
    called = documents({})
    refused = await App(http, client_id, base=base).ask()

    assert refused.status_code == 401
    assert called == []


@pytest.mark.parametrize(
    ("registered", "asked", "equal"),
    [
        (REDIRECT, REDIRECT, True),
        (f"{REDIRECT}?a=1", f"{REDIRECT}?a=1", True),
        (REDIRECT, f"{REDIRECT}?a=1", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:8/cb", True),
        ("http://127.0.0.1:7/cb", "http://127.0.0.1:8/cb", True),
        ("http://[::1]/cb", "http://[::1]:8/cb", True),
        ("http://localhost/cb", "http://localhost:8/cb", True),
        ("http://localhost/cb", "http://127.0.0.1/cb", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:8/other", False),
        ("https://127.0.0.1/cb", "https://127.0.0.1:8/cb", False),
        ("com.example.app:/cb", "com.example.app:/cb", True),
        ("http://app.example/cb", "http://app.example/cb", False),
        ("http://127.0.0.1:99999/cb", "http://127.0.0.1:99999/cb", False),
        ("javascript:x", "javascript:x", False),
        ("HTTPS://app.example/cb", "HTTPS://app.example/cb", False),
    ],
)
def test_redirect_uris_are_equal_but_for_the_port_of_a_loopback(registered, asked, equal):
    assert redirect_uris.is_registered(asked, [registered]) is equal


@pytest.fixture
async def open_world(world_template, tmp_path):
    """A deployment where applications register themselves, and documents are off."""
    settings = {"client_registration": True, "client_documents": False}
    async with worlds.opened(*world_template, tmp_path / "open", **settings) as world:
        yield world


async def test_an_app_registers_itself_where_the_setting_allows_it(open_world):
    async with open_world.client() as http:
        base = open_world.gateway.services.settings.base_url
        metadata = (await http.get("/.well-known/oauth-authorization-server")).json()
        assert metadata["registration_endpoint"] == f"{base}/oauth/register"
        assert metadata["client_id_metadata_document_supported"] is False
        asked = {"redirect_uris": [REDIRECT], "client_name": "Self\u202e", "jwks_uri": "x"}
        made = await http.post("/oauth/register", json=asked)
        assert made.status_code == 201
        assert made.json() == {
            "client_id": made.json()["client_id"],
            "client_id_issued_at": made.json()["client_id_issued_at"],
            "client_name": "Self",
            "redirect_uris": [REDIRECT],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }
        app = App(http, made.json()["client_id"], base=base)
        tokens = await app.sign_in(await open_world.token({"allowChildren": True}))
        assert tokens["scope"] == "reader"
        (listed,) = (await open_world.admin.get("/api/oauth-clients")).json()["clients"]
        assert listed["isRegisteredByItself"] is True
        for uris in (None, [], ["javascript:x"], ["http://app.example/"], "x", [REDIRECT] * 11):
            refused = await http.post("/oauth/register", json={"redirect_uris": uris})
            assert refused.status_code == 400
            assert refused.json()["error"] == "invalid_redirect_uri"
        assert (await App(http, ID, base=base).ask()).status_code == 401


async def test_those_that_register_themselves_take_no_room_of_the_operator(open_world, monkeypatch):
    monkeypatch.setattr(clients, "MAX_CLIENTS", 2)
    async with open_world.client() as http:
        asked = {"redirect_uris": [REDIRECT]}
        statuses = [(await http.post("/oauth/register", json=asked)).status_code for _ in range(3)]
        assert statuses == [201, 201, 400]
        new = {"name": "App", "redirectUris": [REDIRECT]}
        assert (await open_world.admin.post("/api/oauth-clients", json=new)).status_code == 201
        monkeypatch.setattr(clients, "UNUSED_MS", -1_000)
        assert (await http.post("/oauth/register", json=asked)).status_code == 201
        listed = (await open_world.admin.get("/api/oauth-clients")).json()["clients"]
        assert sorted(each["isRegisteredByItself"] for each in listed) == [False, True]


@pytest.mark.slow  # starts processes
def test_the_command_line_registers_lists_and_removes(tmp_path):
    run = CommandLine(tmp_path)
    made = json.loads(run("client", "add", "App", "--redirect-uri", REDIRECT, "--json").stdout)
    assert made["clientSecret"] is None
    confidential = run("client", "add", "Server", "--redirect-uri", REDIRECT, "--secret")
    client_id, secret = confidential.stdout.split()
    listed = json.loads(run("client", "list", "--json").stdout)
    assert [each["clientId"] for each in listed] == [made["clientId"], client_id]
    assert secret not in json.dumps(listed)
    assert run("client", "remove", client_id, "--yes").returncode == 0
    assert len(json.loads(run("client", "list", "--json").stdout)) == 1
    wrong = run("client", "add", "App", "--redirect-uri", "http://app.example/")
    assert wrong.returncode == 1
    assert "must be https, http on 127.0.0.1" in wrong.stderr
    assert run("client", "link", "7").returncode == 1


@pytest.mark.slow  # starts processes
def test_the_command_line_makes_a_link(tmp_path):
    run = CommandLine(tmp_path, AGW_PUBLIC_URL="https://gateway.example")
    operator, resource = run.set_up()
    run("token", "create", "own", "--operator", operator, "--resource", resource)
    link = run("client", "link", "1")
    assert link.stdout.startswith("https://gateway.example/connect/"), link.stderr
