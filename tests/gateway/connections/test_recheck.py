"""Accounts that stopped working are noticed when they work again, without anybody asking."""

import asyncio

import pytest
import pytest_asyncio
from sqlalchemy import text

from gateway.connections import rows as connection_rows
from gateway.connections.accounts import ConnectionTestResult
from gateway.connections.recheck import _CONCURRENT_TESTS, PAUSE_SECONDS, ConnectionRecheck
from gateway.store.leases import Leases
from gateway.store.tables import ConnectionRow

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

MESSAGES = "/api/access/email/messages"
ACCOUNT = "me@provider-a.example"
SCOPES = ["https://www.googleapis.com/auth/gmail.modify"]


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


class Mailbox:
    """One connected account, its upstream, and clients of the admin and of a token."""

    def __init__(self, number, *, admin, client, holder):
        self.number = number
        self._url = f"/api/connections/{number}"
        self._admin = admin
        self._client = client
        self._holder = holder

    async def status(self):
        return (await self._admin.get(self._url)).json()["status"]

    async def test(self):
        return (await self._admin.post(f"{self._url}/test", json={})).json()["status"]

    async def change(self, **change):
        assert (await self._admin.patch(self._url, json=change)).status_code == 200

    async def read(self):
        return (await self._client.get(MESSAGES, headers=self._holder)).status_code

    async def break_(self, upstream, **kind):
        answer = await self._client.put(f"/sandbox/faults/{upstream}", json=kind)
        assert answer.status_code == 200

    async def mend(self, upstream):
        assert (await self._client.delete(f"/sandbox/faults/{upstream}")).status_code == 204


@pytest_asyncio.fixture(loop_scope="module")
async def renewing(sandbox, operator, resource):
    """The body of a connection whose access token has ended, and is renewed."""
    yield {
        "resourceId": resource,
        "operatorId": operator,
        "kind": "email",
        "provider": "PROVIDER_A",
        "accountEmail": ACCOUNT,
        "grantedScopes": SCOPES,
        "credentials": {
            "accessToken": "ended",
            "refreshToken": sandbox.state.tokens.issue_refresh("providerA", ACCOUNT, SCOPES),
            "expiresAt": "2026-01-01T00:00:00Z",
        },
    }
    for upstream in sandbox.upstreams.values():
        upstream.faults.clear()
        upstream.calls.clear()


@pytest_asyncio.fixture(loop_scope="module")
async def mailbox(admin, client, new_token, renewing):
    number = (await admin.post("/api/connections", json=renewing)).json()["id"]
    flags = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"]}
    made = await admin.post("/api/access-tokens", json={**new_token, "settings": flags})
    holder = {"Authorization": f"Bearer {made.json()['token']}"}
    return Mailbox(number, admin=admin, client=client, holder=holder)


@pytest.fixture
def recovery(gateway, time):
    return of(gateway, time)


def of(gateway, time):
    database = gateway.services.database
    return ConnectionRecheck(database, Leases(database, clock=time), gateway.services.accounts.test)


async def test_a_recovered_upstream_is_noticed(mailbox, recovery, time):
    await mailbox.break_("provider-a", kind="403", reason="forbidden")
    assert await mailbox.test() == "error"
    assert await mailbox.read() == 403
    assert await recovery.recheck_due() == 0
    await mailbox.mend("provider-a")
    assert await recovery.recheck_due() == 0  # it was tried just now

    time.wait(PAUSE_SECONDS["error"])
    assert await recovery.recheck_due() == 1
    assert await mailbox.status() == "active"
    assert await mailbox.read() == 200


async def test_a_refresh_token_accepted_again_is_noticed(mailbox, recovery):
    """It was refused once, which a process remembers, so as not to offer it in a loop."""
    await mailbox.break_("oauth", kind="401", reason="invalid_grant")
    assert await mailbox.test() == "needs_reauth"
    await mailbox.mend("oauth")

    assert await recovery.recheck_due() == 1
    assert await mailbox.status() == "active"
    assert await mailbox.read() == 200


@pytest.mark.slow
async def test_a_dead_refresh_token_is_offered_rarely(sandbox, gateway, mailbox, recovery, time):
    await mailbox.break_("oauth", kind="401", reason="invalid_grant")
    assert await mailbox.test() == "needs_reauth"
    sandbox.upstreams["oauth"].calls.clear()
    other = of(gateway, time)
    for _ in range(60):  # an hour of looks of two processes
        assert await recovery.recheck_due() == await other.recheck_due() == 0
        time.wait(60)

    assert len(sandbox.upstreams["oauth"].calls) == 4
    assert await mailbox.status() == "needs_reauth"


async def test_a_disabled_connection_is_not_rechecked(sandbox, mailbox, recovery):
    await mailbox.change(status="disabled")

    assert await recovery.recheck_due() == 0
    assert not sandbox.upstreams["oauth"].calls


async def test_a_recheck_does_not_overwrite_a_concurrent_reconnect(gateway, mailbox):
    database = gateway.services.database
    async with database.reading() as session:
        seen = (await session.get(ConnectionRow, mailbox.number)).updated_at
    await mailbox.change(credentials={"accessToken": "new"})
    await connection_rows.set_status(
        database, mailbox.number, "needs_reauth", "dead", seen=seen - 1
    )

    assert await mailbox.status() == "active"


async def test_expired_leases_are_deleted(gateway, time):
    leases = Leases(gateway.services.database, clock=time)
    assert await leases.take_turn("recovery:1", 60) is True
    assert await leases.take_turn("recovery:1", 60) is False
    time.wait(24 * 3600 + 61)
    assert await leases.take_turn("recovery:2", 60) is True
    await leases.sweep()

    async with gateway.services.database.reading() as session:
        query = text("SELECT name FROM leases WHERE name LIKE 'recovery:%'")
        remaining = (await session.exec(query)).all()
    assert [row[0] for row in remaining] == ["recovery:2"]


@pytest.mark.slow
async def test_accounts_are_tested_side_by_side_up_to_a_bound(admin, gateway, renewing, time):
    """An upstream that hangs delays no account of another one by more than its share."""
    for number in range(20):
        new = {**renewing, "accountEmail": f"{number}@provider-a.example"}
        assert (await admin.post("/api/connections", json=new)).status_code == 201
    async with gateway.services.database.writing() as session:
        await (await session.connection()).execute(text("UPDATE connections SET status = 'error'"))
    running, most, all_busy = 0, 0, asyncio.Event()

    async def test(row):
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == _CONCURRENT_TESTS:
            all_busy.set()
        await all_busy.wait()
        running -= 1
        return ConnectionTestResult(status="active", detail="", latency_ms=1)

    database = gateway.services.database
    recheck = ConnectionRecheck(database, Leases(database, clock=time), test)
    async with asyncio.timeout(60):
        recovered = await recheck.recheck_due()

    assert (recovered, most) == (20, _CONCURRENT_TESTS)
