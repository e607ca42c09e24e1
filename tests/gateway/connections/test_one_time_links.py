"""The owner of an account renews it by a link, once, and no other account; the sandbox consents."""

import asyncio
import contextvars
import re
from base64 import b64encode

import pytest
import pytest_asyncio
from consents import agree, query

from gateway.store import timestamps

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

BASE = "http://gateway.test"
ENDED = "This link is no longer valid"
HOUR = 60 * 60 * 1000


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


async def apart(call):
    """Run a request as a server does: without the context of the requests before it."""
    return await asyncio.create_task(call, context=contextvars.Context())


async def make_link(admin, connection, **new):
    made = await admin.post(f"/api/connections/{connection}/reconnect-link", json=new)
    assert (made.status_code, made.json().keys()) == (201, {"url", "expiresAt"})
    return made.json()["url"]


async def status_of(admin, connection):
    return (await admin.get(f"/api/connections/{connection}")).json()["status"]


@pytest_asyncio.fixture(loop_scope="module")
async def dead(admin, connect):
    """A connection that was never consented to, switched on by nobody but its owner."""
    return await connect(account="nora.lindqvist@harbourlight.example")


NORA = {"login_hint": "nora.lindqvist@harbourlight.example"}


async def test_the_owner_reconnects_once(admin, client, dead):
    link = await make_link(admin, dead)
    shown = await client.get(link)
    begun = await client.post(link)
    page = await apart(client.get(await agree(client, begun.headers["location"], **NORA)))

    assert shown.status_code == 200
    assert "n…@harbourlight.example" in shown.text
    assert "nora" not in shown.text
    assert begun.status_code == 303
    assert "login_hint" not in query(begun.headers["location"])
    assert (page.status_code, "can be used again" in page.text) == (200, True)
    assert (await client.get(link)).status_code == 410
    again = await client.post(link)
    assert (again.status_code, ENDED in again.text) == (410, True)


async def test_the_page_runs_no_scripts_and_tells_nobody_its_address(admin, client, dead):
    shown = await client.get(await make_link(admin, dead))

    policy = shown.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert f"form-action 'self' {BASE}; frame-ancestors 'none'" in policy
    assert shown.headers["cache-control"] == "no-store"
    assert shown.headers["referrer-policy"] == "no-referrer"
    assert "<script" not in shown.text


async def test_another_account_is_refused_and_the_right_one_is_not_named(admin, client, dead):
    link = await make_link(admin, dead)
    begun = await client.post(link)
    page = await client.get(
        await agree(client, begun.headers["location"], login_hint="ada@example.org")
    )

    assert page.status_code == 403
    assert "another account than the one that this link is for" in page.text
    assert "nora" not in page.text
    assert (await admin.get(f"/api/connections/{dead}")).json()["grantedScopes"] == []
    # A wrong account uses the link not up.
    assert (await client.get(link)).status_code == 200


async def test_of_two_consents_by_one_link_one_counts(admin, client, dead):
    link = await make_link(admin, dead)
    addresses = [(await client.post(link)).headers["location"] for _ in range(2)]
    backs = [await agree(client, address, **NORA) for address in addresses]
    pages = [await client.get(back) for back in backs]

    assert [page.status_code for page in pages] == [200, 410]
    assert "used already" in pages[1].text


async def test_a_link_ends(admin, client, dead, monkeypatch):
    link = await make_link(admin, dead, hours=2)
    now = timestamps.now_ms()
    monkeypatch.setattr(timestamps, "now_ms", lambda: now + 2 * HOUR - 60_000)
    assert (await client.get(link)).status_code == 200
    monkeypatch.setattr(timestamps, "now_ms", lambda: now + 2 * HOUR + 60_000)

    assert (await client.get(link)).status_code == 410
    assert (await client.post(link)).status_code == 410


@pytest.mark.parametrize("hours", [0, 169, "2", 1.5])
async def test_a_link_lives_an_hour_to_a_week(admin, dead, hours):
    refused = await admin.post(f"/api/connections/{dead}/reconnect-link", json={"hours": hours})

    assert (refused.status_code, refused.json()["details"][0]["field"]) == (400, "hours")


async def test_a_link_ends_with_its_connection(admin, client, dead):
    link = await make_link(admin, dead)
    await admin.delete(f"/api/connections/{dead}")

    assert (await client.get(link)).status_code == 410
    assert (await admin.post(f"/api/connections/{dead}/reconnect-link", json={})).status_code == 404


@pytest.mark.parametrize("text", ["x" * 43, "x", "x" * 5000, "%00" * 43, "é" * 43, "<script>"])
async def test_a_guess_finds_nothing(client, text):
    for response in (
        await client.get(f"/oauth/link/{text}"),
        await client.post(f"/oauth/link/{text}"),
    ):
        assert (response.status_code, "<script>" in response.text) == (410, False)


async def test_a_pending_consent_is_no_link(admin, client, dead, gateway):
    """The rows of consents are in the same table; nobody knows a text with their digest."""
    from sqlmodel import select

    from gateway.store.tables import OAuthAttempt

    await admin.post(f"/api/connections/{dead}/reconnect", json={})
    async with gateway.services.database.reading() as session:
        [attempt] = (await session.exec(select(OAuthAttempt.id))).all()

    assert (await client.get(f"/oauth/link/{attempt}")).status_code == 410


async def test_an_app_only_connection_has_no_owner(admin, connect):
    client_of_its_own = {"clientId": "app", "clientSecret": "secret", "tenant": "t.example"}
    app = await connect("COLLAB", mode="selected_sites", credentials=client_of_its_own)
    refused = await admin.post(f"/api/connections/{app}/reconnect-link", json={})

    assert (refused.status_code, "app-only" in refused.json()["message"]) == (400, True)


async def test_making_and_using_a_link_are_changes(admin, client, dead):
    link = await make_link(admin, dead)
    begun = await client.post(link)
    await client.get(await agree(client, begun.headers["location"], **NORA))
    rows = (await admin.get("/api/decisions")).json()["decisions"]

    changes = {row["operation"]: row["resourceId"] for row in rows}
    assert changes["createReconnectLink"] == changes["reconnectConnection"] == str(dead)
    assert link.rpartition("/")[2] not in str(rows)


async def test_nothing_secret_is_logged(admin, client, dead, caplog):
    caplog.set_level(0)
    link = await make_link(admin, dead)
    await client.get(link)
    await client.post(link)

    ours = [record for record in caplog.records if record.name.startswith("gateway")]
    assert link.rpartition("/")[2] not in "".join(str(record.__dict__) for record in ours)


# -- own servers


@pytest.fixture
def calendar_server(gateway, monkeypatch):
    """An own calendar server: it takes the password "new", after those that are listed."""
    from providers.failures import NeedsReauth, Unreachable

    tried = []

    class Port:
        def __init__(self, credentials):
            self.credentials = credentials

        async def probe(self):
            token = await self.credentials.token()
            tried.append(token)
            if token == b64encode(b"ada@example.org:down").decode():
                raise Unreachable
            if token != b64encode(b"ada@example.org:new").decode():
                raise NeedsReauth

    from providers import registry

    opened = registry.open_upstream

    def upstream(origins, info, credentials, **more):
        upstream = opened(origins, info, credentials, **more)
        return Port(credentials) if info.provider == "CALDAV" else upstream

    monkeypatch.setattr(registry, "open_upstream", upstream)
    monkeypatch.setattr(
        registry.PortRegistry, "open", lambda self, info: self._upstream_for(info), raising=True
    )
    return tried


@pytest_asyncio.fixture(loop_scope="module")
async def agenda(admin, operator, resource):
    """A connection to an own calendar server, by a password."""
    new = {
        "resourceId": resource,
        "operatorId": operator,
        "kind": "calendar",
        "provider": "CALDAV",
        "accountEmail": "ada@example.org",
        "baseUrl": "http://127.0.0.1:9",
        "credentials": {"username": "ada@example.org", "password": "old"},
    }
    return (await admin.post("/api/connections", json=new)).json()["id"]


async def test_a_password_is_tried_before_it_is_stored(
    admin, client, gateway, agenda, calendar_server
):
    link = await make_link(admin, agenda)
    shown = await client.get(link)
    wrong = await client.post(link, data={"password": "wrong"})
    down = await client.post(link, data={"password": "down"})
    before = await gateway.services.credentials.read(agenda)
    right = await apart(client.post(link, data={"password": "new"}))
    after = await gateway.services.credentials.read(agenda)

    assert re.search(r'<input [^>]*type="password"', shown.text)
    assert (wrong.status_code, "refused the user name or the password" in wrong.text) == (400, True)
    assert (down.status_code, "could not be reached" in down.text) == (400, True)
    assert before["password"] == "old"
    assert right.status_code == 200
    assert (after["password"], after["username"]) == ("new", "ada@example.org")
    assert after["version"] == before["version"] + 1
    assert after["idKey"] == before["idKey"]
    assert await status_of(admin, agenda) == "active"
    assert (await client.post(link, data={"password": "new"})).status_code == 410
    assert len(calendar_server) == 3


async def test_a_link_is_no_way_to_guess_passwords(admin, client, agenda, calendar_server):
    link = await make_link(admin, agenda)
    answers = [await client.post(link, data={"password": f"guess {n}"}) for n in range(6)]
    right = await apart(client.post(link, data={"password": "new"}))

    assert [answer.status_code for answer in answers] == [400] * 5 + [410]
    assert right.status_code == 410
    assert len(calendar_server) == 5


@pytest.mark.parametrize("form", [{}, {"password": ""}, {"password": "x" * 1001}])
async def test_without_a_password_nothing_is_tried(admin, client, agenda, calendar_server, form):
    link = await make_link(admin, agenda)
    refused = await client.post(link, data=form)

    assert (refused.status_code, "Enter the password" in refused.text) == (400, True)
    assert calendar_server == []


async def test_an_own_server_that_takes_tokens_asks_for_no_password(admin, operator, resource):
    new = {
        "resourceId": resource,
        "operatorId": operator,
        "kind": "email",
        "provider": "IMAP",
        "accountEmail": "ada@example.org",
        "baseUrl": "imaps://127.0.0.1:9",
        "credentials": {"username": "ada@example.org", "accessToken": "token"},
    }
    mailbox = (await admin.post("/api/connections", json=new)).json()["id"]
    refused = await admin.post(f"/api/connections/{mailbox}/reconnect-link", json={})

    assert (refused.status_code, "operator" in refused.json()["message"]) == (400, True)
