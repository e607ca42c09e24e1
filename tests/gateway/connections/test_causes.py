"""The next request says at every interface why a connection died; operators read the same."""

import pytest
import pytest_asyncio
from agent_client import modern, text_of

from gateway.cli.checkup import accounts as checkup
from gateway.connections import expiry
from gateway.connections import rows as connection_rows
from gateway.store import timestamps
from providers.catalogue.causes import WARNED_MS, Cause

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

DAY_MS = 24 * 60 * 60 * 1000
ADA = "ada@example.org"
SCOPES = ("https://www.googleapis.com/auth/gmail.modify", "Mail.ReadWrite", "Mail.Send")


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


@pytest_asyncio.fixture(loop_scope="module")
async def holder(admin, new_token):
    """The header of a token that may read mail."""
    settings = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"]}
    made = await admin.post("/api/access-tokens", json={**new_token, "settings": settings})
    return {"Authorization": f"Bearer {made.json()['token']}"}


@pytest.fixture
def account(admin, gateway, operator, resource, sandbox):
    """Connect an account with an expired access token; return the connection's id."""

    async def connected(provider, upstream, owner=ADA, **credentials):
        refresh = sandbox.state.tokens.issue_refresh(upstream, owner, SCOPES)
        new = {
            "resourceId": resource,
            "operatorId": operator,
            "kind": "email",
            "provider": provider,
            "accountEmail": owner,
            "credentials": {
                "accessToken": "old",
                "refreshToken": refresh,
                "expiresAt": timestamps.to_text(timestamps.now_ms() - 1000),
                **credentials,
            },
        }
        made = await admin.post("/api/connections", json=new)
        assert made.status_code == 201, made.text
        gateway.services.accounts.forget(made.json()["id"])
        sandbox.upstreams[upstream].calls.clear()
        return made.json()["id"]

    return connected


A, B = ("PROVIDER_A", "providerA"), ("PROVIDER_B", "providerB")
CAUSES = [
    (A, "withdrawn", Cause.CONSENT_WITHDRAWN),
    (A, "deleted", Cause.ACCOUNT_BLOCKED),
    (A, "sign-in", Cause.SIGN_IN_REQUIRED),
    (A, "policy", Cause.DENIED_BY_POLICY),
    (B, "withdrawn", Cause.CONSENT_WITHDRAWN),
    (B, "unused", Cause.CONSENT_UNUSED),
    (B, "limited", Cause.CONSENT_EXPIRED),
    (B, "password", Cause.PASSWORD_CHANGED),
    (B, "password-expired", Cause.PASSWORD_EXPIRED),
    (B, "sign-in", Cause.SIGN_IN_REQUIRED),
    (B, "policy", Cause.DENIED_BY_POLICY),
    (B, "disabled", Cause.ACCOUNT_BLOCKED),
]


@pytest.mark.parametrize(("upstream", "why", "cause"), CAUSES)
async def test_the_next_request_names_the_cause(  # noqa: PLR0917 - fixtures and a row
    admin, client, account, holder, sandbox, upstream, why, cause
):
    connection = await account(*upstream)
    sandbox.state.tokens.end(upstream[1], ADA, why)
    dying = await client.get("/api/access/email/messages", headers=holder)
    dead = await client.get("/api/access/email/messages", headers=holder)
    stored = (await admin.get(f"/api/connections/{connection}")).json()

    assert (dying.status_code, dead.status_code) == (502, 403), dead.text
    assert f"needs to be reconnected: {cause.reason}. {cause.remedy}".strip() in dying.text
    assert "Reconnect: http://gateway.test/oauth/reconnect/" in dying.text
    assert f"{ADA}: {cause.value}. Reconnect: http" in dead.json()["message"]
    assert (stored["status"], stored["statusCause"]) == ("needs_reauth", cause.value)
    assert stored["statusDetail"] == (
        f"The connection needs to be reconnected: {cause.reason}. {cause.remedy}".strip()
    )
    assert list(sandbox.upstreams[upstream[1]].calls) == []


@pytest_asyncio.fixture(loop_scope="module")
async def half_dead(account, sandbox, client, holder):
    """A token with a mailbox that works and one whose owner has changed the password."""
    works = await account(*A)
    dead = await account(*B)
    sandbox.state.tokens.end("providerB", ADA, "password")
    sentence = (
        f"Provider B ({ADA}): needs to be reconnected: {Cause.PASSWORD_CHANGED.reason}. Reconnect:"
    )
    return works, dead, sentence


async def test_every_interface_tells_the_same(admin, client, gateway, holder, half_dead):
    works, dead, sentence = half_dead
    by_rest = (await client.get("/api/access/email/messages", headers=holder)).json()
    again = (await client.get("/api/access/email/messages", headers=holder)).json()
    query = "{ emails { authWarnings } accessToken { connections { id status cause expiresAt } } }"
    answer = await client.post("/graphql", json={"query": query}, headers=holder)
    by_graphql = answer.json()["data"]
    own = (await client.get("/api/access/token", headers=holder)).json()["connections"]
    figures = (await admin.get("/metrics")).text
    found = await checkup.connections(gateway.services.database)

    for warnings in (
        by_rest["authWarnings"],
        again["authWarnings"],
        by_graphql["emails"]["authWarnings"],
    ):
        assert [warning.startswith(sentence) for warning in warnings] == [True]
    states = [
        {"id": works, "status": "active", "cause": None, "expiresAt": None},
        {"id": dead, "status": "needs_reauth", "cause": "PASSWORD_CHANGED", "expiresAt": None},
    ]
    assert by_graphql["accessToken"]["connections"] == states
    assert [{name: each[name] for name in states[0]} for each in own] == states
    assert 'agw_connections_dead{cause="PASSWORD_CHANGED",provider="PROVIDER_B"} 1.0' in figures
    assert f"{dead} (PASSWORD_CHANGED) need a person" in found.detail


async def test_agents_are_told(client, holder, half_dead):
    _, _, sentence = half_dead
    body, headers = modern("tools/call", {"name": "find_mail", "arguments": {}})
    answer = await client.post("/mcp", json=body, headers={**holder, **headers})

    assert sentence in text_of(answer.json()["result"])


@pytest.mark.parametrize(("number", "left"), [(2, 0), (9, 5)])
async def test_several_dead_accounts_are_named_shortly_or_counted(  # noqa: PLR0917 - fixtures
    client, account, holder, sandbox, number, left
):
    owners = [f"owner{each}@example.org" for each in range(number)]
    for owner in owners:
        await account(*A, owner=owner)
        sandbox.state.tokens.end("providerA", owner, "withdrawn")
    dying = await client.get("/api/access/email/messages", headers=holder)
    dead = await client.get("/api/access/email/messages", headers=holder)

    assert (dying.status_code, dead.status_code) == (502, 403), dead.text
    more = [f"and {left} more"] if left else []
    names = [f"Provider A ({owner}): CONSENT_WITHDRAWN" for owner in owners[: number - left]]
    assert dying.json()["message"] == (
        f"None of the connected mailboxes answered. {', '.join(names + more)}."
    )
    shown = dead.json()["message"].removesuffix(".").split(", ")
    count = int(shown.pop().split()[1]) if left else 0
    assert [each.split()[-2:] for each in shown] == [
        [f"{owner}:", "CONSENT_WITHDRAWN"] for owner in owners[: number - count]
    ]
    assert len(dead.json()["message"]) <= 300


async def test_a_token_that_may_not_use_the_account_is_told_nothing(
    admin, client, half_dead, new_token
):
    works, _, _ = half_dead
    settings = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"]}
    settings |= {"allowedConnectionIds": [works]}
    made = await admin.post("/api/access-tokens", json={**new_token, "settings": settings})
    narrow = {"Authorization": f"Bearer {made.json()['token']}"}
    answer = await client.get("/api/access/email/messages", headers=narrow)

    assert (answer.status_code, "authWarnings" in answer.json()) == (200, False)


async def test_a_reconnected_account_forgets_its_cause(admin, client, account, holder, sandbox):
    connection = await account(*B)
    sandbox.state.tokens.end("providerB", ADA, "password")
    await client.get("/api/access/email/messages", headers=holder)
    renewed = {"accessToken": sandbox.state.tokens.issue("providerB", ADA, ("Mail.ReadWrite",))}
    changed = await admin.patch(f"/api/connections/{connection}", json={"credentials": renewed})

    assert changed.json()["statusCause"] is changed.json()["statusDetail"] is None
    answer = await client.get("/api/access/email/messages", headers=holder)
    assert (answer.status_code, "authWarnings" in answer.json()) == (200, False)


async def test_the_time_tells_why_a_google_consent_ended(admin, client, account, holder, sandbox):
    """Google says "expired or revoked" of every cause; the age of the last use tells one."""
    old = timestamps.to_text(timestamps.now_ms() - 181 * DAY_MS)
    withdrawn = await account(*A)
    unused = await account(*A, owner="ben@example.org", expiresAt=old)
    for owner in (ADA, "ben@example.org"):
        sandbox.state.tokens.end("providerA", owner, "withdrawn")
    await client.get("/api/access/email/messages", headers=holder)

    causes = [
        (await admin.get(f"/api/connections/{each}")).json()["statusCause"]
        for each in (withdrawn, unused)
    ]
    assert causes == ["CONSENT_WITHDRAWN", "CONSENT_UNUSED"]


# -- ends


@pytest.fixture
def testing(sandbox):
    """The consents of a client whose consent screen is in testing: seven days."""
    sandbox.state.tokens.refresh_lifetime_seconds = 7 * 86_400
    yield
    sandbox.state.tokens.refresh_lifetime_seconds = None


async def shift(monkeypatch, gateway, milliseconds):
    """Let time pass for requests and for operators."""
    now = timestamps.now_ms
    ahead = now() + milliseconds
    monkeypatch.setattr(timestamps, "now_ms", lambda: ahead)
    monkeypatch.setattr(gateway.services.authenticator, "_clock", lambda: ahead)
    from datetime import UTC, datetime

    from graph import context

    class Later(datetime):
        @classmethod
        def now(cls, _zone=None):
            return datetime.fromtimestamp(ahead / 1000, UTC)

    monkeypatch.setattr(context, "datetime", Later)


@pytest.mark.usefixtures("testing")
async def test_a_test_consent_warns_before_its_end(  # noqa: PLR0917 - fixtures
    admin, client, gateway, account, holder, monkeypatch
):
    connection = await account(*A)
    before = await client.get("/api/access/email/messages", headers=holder)  # renews the token
    known = (await admin.get(f"/api/connections/{connection}")).json()
    ends = timestamps.parse(known["expiresAt"])
    await shift(monkeypatch, gateway, ends - timestamps.now_ms() - 48 * 60 * 60 * 1000)
    await gateway.services.accounts.test(await row_of(gateway, connection))
    due = await client.get("/api/access/email/messages", headers=holder)
    strict = {**holder, "Prefer": "partial=fail"}
    still = await client.get("/api/access/email/messages", headers=strict)
    found = await checkup.endings(gateway.services.database, gateway.services.keyring)
    figures = (await admin.get("/metrics")).text

    assert "authWarnings" not in before.json()
    assert abs(ends - timestamps.now_ms() - 48 * 60 * 60 * 1000) < 60_000
    [warning] = due.json()["authWarnings"]
    assert warning.startswith(f"Provider A ({ADA}): must be reconnected before ")
    assert "when its credentials end (EXPIRES_SOON). Reconnect: http://gateway.test/" in warning
    assert still.status_code == 200
    assert f"they end: {connection} on " in found.detail
    assert 'agw_connections_ending{provider="PROVIDER_A"} 1.0' in figures


async def test_a_test_consent_that_is_over_is_named(  # noqa: PLR0917 - fixtures
    admin, client, gateway, account, sandbox, holder
):
    connection = await account(*A)
    ended = timestamps.now_ms() - 1000
    await connection_rows.store_credentials(
        gateway.services.database,
        connection,
        {"refreshExpiresAt": ended},
        gateway.services.keyring,
        expected_version=1,
    )
    sandbox.state.tokens.end("providerA", ADA, "withdrawn")  # what Google says then
    answer = await client.get("/api/access/email/messages", headers=holder)

    assert Cause.CONSENT_EXPIRED.reason in answer.json()["message"]
    stored = (await admin.get(f"/api/connections/{connection}")).json()
    assert stored["statusCause"] == "CONSENT_EXPIRED"


async def row_of(gateway, connection):
    from gateway.store.tables import ConnectionRow

    async with gateway.services.database.reading() as session:
        return await session.get(ConnectionRow, connection)


async def test_an_access_token_alone_and_a_password_end_when_they_say(
    admin, operator, resource, client
):
    ends = timestamps.to_text(timestamps.now_ms() + 30 * DAY_MS)
    account = {"resourceId": resource, "operatorId": operator, "accountEmail": ADA}
    mail = {**account, "kind": "email"}
    forms = [
        {**mail, "provider": "PROVIDER_A", "credentials": {"accessToken": "t", "expiresAt": ends}},
        {
            **mail,
            "provider": "IMAP",
            "baseUrl": "imaps://127.0.0.1:9",
            "credentials": {"username": "ada", "password": "p", "expiresAt": ends},
        },
        {
            **account,
            "kind": "collab",
            "provider": "COLLAB",
            "mode": "selected_sites",
            "credentials": {
                "clientId": "c",
                "clientSecret": "s",
                "tenant": "t.example",
                "expiresAt": ends,
            },
        },
    ]
    made = [(await admin.post("/api/connections", json=form)).json() for form in forms]
    assert [each["expiresAt"] for each in made] == [ends] * 3
    gone = await admin.patch(f"/api/connections/{made[0]['id']}", json={"credentials": None})
    assert gone.json()["expiresAt"] is None


async def test_an_unused_consent_ends_and_a_use_of_it_moves_the_end(  # noqa: PLR0917 - fixtures
    admin, gateway, account, client, holder, monkeypatch
):
    connection = await account(*B)
    await client.get("/api/access/email/messages", headers=holder)
    shown = (await admin.get(f"/api/connections/{connection}")).json()
    await shift(monkeypatch, gateway, 87 * DAY_MS)
    async with gateway.services.database.reading() as session:
        ending = await expiry.ending(session, gateway.services.keyring)
    found = await checkup.endings(gateway.services.database, gateway.services.keyring)

    created = timestamps.parse(shown["createdAt"])
    assert timestamps.parse(shown["expiresAt"]) - created >= 88 * DAY_MS
    assert [(each.id, each.for_want_of_use) for each in ending] == [(connection, True)]
    assert f"`access-gateway connection test ID` is a use of {connection}." in found.remedy
    assert ending[0].expires_at - timestamps.now_ms() <= WARNED_MS
