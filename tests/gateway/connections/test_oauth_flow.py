"""An account is connected by consent, once, and its own alone; the provider is the sandbox's."""

import pytest
import pytest_asyncio
from consents import agree, begin, query

from sandbox.world.tasks import boards

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

BASE = "http://gateway.test"
WRITE_SCOPES = {
    "PROVIDER_A": "https://www.googleapis.com/auth/gmail.modify",
    "PROVIDER_B": "Mail.ReadWrite",
    "COLLAB": "Files.ReadWrite.All",
    "BOARDS": "boards:write",
    "PROJECTS": "tasks:write",
}
EVERY = pytest.mark.parametrize("provider", WRITE_SCOPES)


@pytest.fixture(scope="module")
def sandbox(sandbox):
    boards.seed(sandbox.state.database)
    return sandbox


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


async def seen(admin, connection):
    return (await admin.get(f"/api/connections/{connection}")).json()


@EVERY
async def test_a_consent_connects_the_account(admin, client, connect, provider):
    account = "nora.lindqvist@harbourlight.example"
    connection = await connect(provider, account)
    url = await begin(admin, connection)
    back = await agree(client, url, login_hint=account)
    assert back.startswith(f"{BASE}/oauth/callback?code=")
    page = await client.get(back)

    assert (page.status_code, account in page.text) == (200, True)
    now = await seen(admin, connection)
    assert (now["status"], now["canWrite"]) == ("active", True)
    assert WRITE_SCOPES[provider] in now["grantedScopes"]


async def test_the_page_runs_no_scripts_and_is_not_cached(admin, client, connect):
    back = await agree(client, await begin(admin, await connect()))
    page = await client.get(back)

    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors 'none'" in policy
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["referrer-policy"] == "no-referrer"


async def test_a_state_is_good_once(admin, client, connect, sandbox):
    connection = await connect()
    back = await agree(client, await begin(admin, connection))
    assert (await client.get(back)).status_code == 200
    again = await agree(client, await begin(admin, connection))
    other = query(again)["code"]
    used = await client.get(
        "/oauth/callback", params={"state": query(back)["state"], "code": other}
    )

    assert (used.status_code, "used already" in used.text) == (400, True)


async def test_a_state_is_bound_to_its_connection(admin, client, connect):
    ada, ben = await connect(), await connect(account="ben@example.org")
    back = await agree(client, await begin(admin, ben), login_hint="ada@example.org")
    page = await client.get(back)

    assert (page.status_code, "another account than ben@example.org" in page.text) == (403, True)
    for connection_id in (ada, ben):
        assert (await seen(admin, connection_id))["grantedScopes"] == []


@EVERY
async def test_another_account_is_refused(admin, client, connect, provider):
    connection = await connect(provider, "somebody@else.example")
    account = "nora.lindqvist@harbourlight.example"
    page = await client.get(await agree(client, await begin(admin, connection), login_hint=account))

    assert page.status_code == 403
    assert (await seen(admin, connection))["grantedScopes"] == []


@pytest.mark.parametrize(
    "params",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"code": "x"}, id="no state"),
        pytest.param({"code": "x", "state": "x"}, id="a guessed state"),
        pytest.param({"code": "x", "state": "<script>alert(1)</script>"}, id="markup"),
    ],
)
async def test_a_callback_without_a_valid_state_changes_nothing(client, params):
    page = await client.get("/oauth/callback", params=params)

    assert (page.status_code, "<script" in page.text) == (400, False)


async def test_a_refusal_uses_the_state_up(admin, client, connect):
    connection = await connect()
    state = query(await begin(admin, connection))["state"]
    denied = {"error": "access_denied", "error_description": "<b>", "state": state}
    page = await client.get("/oauth/callback", params=denied)

    assert (page.status_code, "<b>" in page.text) == (400, False)
    assert "used already" in (await client.get("/oauth/callback", params=denied)).text


async def test_a_refused_authorization_code_leaves_the_connection_unchanged(admin, client, connect):
    connection = await connect()
    state = query(await begin(admin, connection))["state"]
    page = await client.get("/oauth/callback", params={"state": state, "code": "a guess"})

    assert page.status_code == 400
    assert (await seen(admin, connection))["lastOkAt"] is None


async def allow(client, url, scopes, account="ada@example.org"):
    """Consent with some of the boxes ticked; return the page after it."""
    decision = {"decision": "allow", "account": account, "scope": list(scopes)}
    return await client.get((await client.post(url, data=decision)).headers["location"])


async def test_a_consent_without_a_needed_scope_connects_nothing(admin, client, connect):
    connection = await connect()
    page = await allow(client, await begin(admin, connection), ["openid", "email"])

    scope = "https://www.googleapis.com/auth/gmail.modify"
    sentence = f"The consent does not include {scope}."
    assert (page.status_code, sentence in page.text) == (403, True)
    now = await seen(admin, connection)
    assert (now["status"], now["statusDetail"]) == ("needs_reauth", sentence)
    assert (now["grantedScopes"], now["lastOkAt"]) == ([], None)


async def test_a_narrower_consent_leaves_a_connected_account_unchanged(admin, client, connect):
    connection = await connect()
    await client.get(await agree(client, await begin(admin, connection)))
    before = await seen(admin, connection)
    page = await allow(client, await begin(admin, connection), ["openid", "email"])

    assert page.status_code == 403
    assert await seen(admin, connection) == before


async def test_only_reading_may_be_granted(admin, client, connect):
    account = "nora.lindqvist@harbourlight.example"
    connection = await connect("BOARDS", account)
    url = await begin(admin, connection)
    reading = [scope for scope in query(url)["scope"].split() if not scope.endswith(":write")]
    assert (await allow(client, url, reading, account)).status_code == 200

    now = await seen(admin, connection)
    assert (now["status"], now["grantedScopes"], now["canWrite"]) == ("active", reading, False)


async def test_one_writing_scope_of_two_is_not_enough(admin, client, connect):
    account = "nora.lindqvist@harbourlight.example"
    connection = await connect("BOARDS", account)
    url = await begin(admin, connection)
    scopes = [scope for scope in query(url)["scope"].split() if scope != "boards:write"]
    page = await allow(client, url, scopes, account)

    assert (page.status_code, "does not include boards:write." in page.text) == (403, True)
    assert (await seen(admin, connection))["status"] == "needs_reauth"


async def test_scopes_of_earlier_consents_do_not_widen_a_read_only_connection(
    admin, client, connect
):
    writing = await connect()
    assert "include_granted_scopes" not in query(await begin(admin, writing))
    await client.get(await agree(client, await begin(admin, writing)))
    reading = "https://www.googleapis.com/auth/gmail.readonly"
    connection = await connect(grantedScopes=[reading])
    url = await begin(admin, connection)
    page = await client.get(await agree(client, url, include_granted_scopes="true"))

    assert page.status_code == 200
    now = await seen(admin, connection)
    assert (now["grantedScopes"], now["canWrite"]) == (["openid", "email", reading], False)


async def test_a_token_without_the_scope_needs_a_consent(admin, connect, sandbox):
    for provider, upstream, scope in (
        ("PROVIDER_A", "providerA", "gmail.readonly"),
        ("PROVIDER_B", "providerB", "Mail.Read"),
    ):
        token = sandbox.state.tokens.issue(upstream, "ada@example.org", ("openid",))
        connection = await connect(provider, credentials={"accessToken": token})
        tested = (await admin.post(f"/api/connections/{connection}/test", json={})).json()

        assert (tested["status"], tested["detail"]) == (
            "needs_reauth",
            f"The connection needs to be reconnected: its consent does not include {scope}.",
        )


async def test_a_read_only_connection_requests_read_scopes_only(admin, connect):
    connection = await connect(grantedScopes=["https://www.googleapis.com/auth/gmail.readonly"])

    scopes = query(await begin(admin, connection))["scope"].split()
    assert scopes == ["openid", "email", "https://www.googleapis.com/auth/gmail.readonly"]


async def test_app_only_connections_have_no_consent(admin, connect):
    connection = await connect("COLLAB", mode="selected_sites")
    refused = await admin.post(f"/api/connections/{connection}/reconnect", json={})

    assert (refused.status_code, refused.json()["error"]) == (400, "INVALID_REQUEST")
    unknown = await admin.post("/api/connections/99/reconnect", json={})
    assert (unknown.status_code, unknown.json()["error"]) == (404, "CONNECTION_NOT_FOUND")


@pytest_asyncio.fixture(loop_scope="module")
async def dead(admin, connect, new_token):
    """A connection whose refresh token is dead, and a holder's header."""
    expired = {"accessToken": "old", "refreshToken": "dead", "expiresAt": "2026-01-01T00:00:00Z"}
    connection = await connect(credentials=expired)
    await admin.post(f"/api/connections/{connection}/test", json={})
    flags = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"]}
    made = await admin.post("/api/access-tokens", json={**new_token, "settings": flags})
    return connection, {"Authorization": f"Bearer {made.json()['token']}"}


async def test_a_dead_connection_has_a_reconnect_link(admin, client, dead):
    connection, holder = dead
    url = (await seen(admin, connection))["reconnectUrl"]
    own = (await client.get("/api/access/token", headers=holder)).json()["connections"]

    assert (await seen(admin, connection))["status"] == "needs_reauth"
    assert [listed["reconnectUrl"] for listed in own] == [url]
    led = await client.get(url)
    assert led.status_code == 302
    assert led.headers["location"].startswith(f"{BASE}/sandbox/oauth/provider-a/authorize?")
    page = await client.get(await agree(client, led.headers["location"]))
    assert page.status_code == 200
    now = await seen(admin, connection)
    assert (now["status"], now["reconnectUrl"]) == ("active", None)
    tried = (await admin.post(f"/api/connections/{connection}/test", json={})).json()
    assert tried["status"] != "needs_reauth"


@pytest.mark.parametrize("change", ["1.99999.", "2.", "x", "%00", "1.1.1"])
async def test_a_link_cannot_be_made_up(admin, client, dead, change):
    url = (await seen(admin, dead[0]))["reconnectUrl"]
    path, _, text = url.rpartition("/")
    forged = f"{path}/{change}{text.rpartition('.')[2]}"

    page = await client.get(forged)
    assert (page.status_code, "location" in page.headers) == (410, False)


async def test_a_mailbox_that_loses_its_consent_during_a_call_has_a_reconnect_link(
    client, connect, dead
):
    connection = await connect("PROVIDER_B", "me@studio.example")
    answer = await client.get("/api/access/email/messages", headers=dead[1])

    assert answer.status_code == 502
    assert f"Reconnect: {BASE}/oauth/reconnect/{connection}." in answer.text


async def test_a_new_account_address_is_compared_anew(admin, client, connect):
    connection = await connect()
    await client.get(await agree(client, await begin(admin, connection)))
    await admin.patch(f"/api/connections/{connection}", json={"accountEmail": "ben@example.org"})
    page = await client.get(
        await agree(client, await begin(admin, connection), login_hint="ben@example.org")
    )

    assert page.status_code == 200


async def test_scopes_for_people_are_requested_where_the_connection_names_them(admin, connect):
    people = ["People.Read", "User.ReadBasic.All"]
    granted = ["Mail.Read", "User.Read"]
    with_people = await connect("PROVIDER_B", grantedScopes=[*granted, *people])
    without = await connect("PROVIDER_B", grantedScopes=granted)

    scopes = query(await begin(admin, with_people))["scope"].split()
    assert scopes[-2:] == people
    assert not set(people) & set(query(await begin(admin, without))["scope"].split())
