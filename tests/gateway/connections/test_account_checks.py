"""Checks of an account: all are harmless, and each tells what it sees."""

import pytest
import seeded_sandbox

from providers.catalogue.descriptors import resolve
from providers.catalogue.tables import SERVICES
from providers.ports.checks import ByHand
from sandbox.world.people import STUDIO_ACCOUNT, YARD_ACCOUNT

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

GOOGLE = "https://www.googleapis.com/auth/"
# (kind, provider) -> upstream, account, scopes.
ACCOUNTS = {
    ("email", "PROVIDER_A"): ("providerA", YARD_ACCOUNT, [f"{GOOGLE}gmail.modify"]),
    ("calendar", "PROVIDER_A"): ("providerA", YARD_ACCOUNT, [f"{GOOGLE}calendar.readonly"]),
    ("email", "PROVIDER_B"): (
        *("providerB", STUDIO_ACCOUNT),
        ["Mail.ReadWrite", "Mail.Send", "User.Read"],
    ),
    ("calendar", "PROVIDER_B"): ("providerB", STUDIO_ACCOUNT, ["Calendars.Read", "User.Read"]),
    ("collab", "COLLAB"): (
        *("collab", STUDIO_ACCOUNT),
        ["Files.ReadWrite.All", "Sites.ReadWrite.All", "User.Read"],
    ),
    ("tasks", "BOARDS"): (
        *("tasks", YARD_ACCOUNT),
        [
            *("me:read", "boards:read", "boards:write", "updates:read", "updates:write"),
            *("users:read", "account:read", "workspaces:read", "assets:read"),
        ],
    ),
    ("tasks", "PROJECTS"): ("projects", STUDIO_ACCOUNT, ["default", "tasks:write"]),
}


@pytest.fixture(scope="module")
def sandbox(sandbox):
    return seeded_sandbox.fill(sandbox)


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


@pytest.fixture
def check(admin, operator, resource, sandbox, gateway):
    """Connect an account and check it; return the findings by item, and whether none failed."""

    async def run(kind, provider, *, scopes=None, **more):
        upstream, account, granted = ACCOUNTS[kind, provider]
        granted = granted if scopes is None else scopes
        token = sandbox.state.tokens.issue(upstream, account, granted)
        new = {
            "resourceId": resource,
            "operatorId": operator,
            "kind": kind,
            "provider": provider,
            "accountEmail": account,
            "grantedScopes": granted,
            "credentials": {"accessToken": token},
            **more,
        }
        connection = (await admin.post("/api/connections", json=new)).json()["id"]
        gateway.services.accounts.forget(connection)  # an id of an earlier test
        for each in sandbox.upstreams.values():
            each.calls.clear()
        answer = await admin.post(f"/api/connections/{connection}/check", json={})
        assert answer.status_code == 200, answer.text
        findings = {finding["item"]: finding for finding in answer.json()["findings"]}
        return findings, answer.json()["ok"]

    return run


@pytest.mark.parametrize(("kind", "provider"), ACCOUNTS)
async def test_an_ordinary_account_is_as_expected(check, sandbox, kind, provider):
    findings, ok = await check(kind, provider)
    checks = resolve(SERVICES[kind, provider].checks)
    by_hand = {each.item for each in checks if isinstance(each, ByHand)}

    assert ok, findings
    assert list(findings)[:2] == ["scopes", "credentials"]
    assert list(findings)[2:] == [each.item for each in checks]
    assert {item: finding["outcome"] for item, finding in findings.items()} == {
        item: "by-hand" if item in by_hand else "as-expected" for item in findings
    }
    calls = [call for each in sandbox.upstreams.values() for call in each.calls]
    writes = [call for call in calls if call["method"] not in {"GET", "HEAD", "POST"}]
    posts = {call["path"] for call in calls if call["method"] == "POST"}
    assert writes == []
    assert posts <= {"/batch/gmail/v1", "/v1.0/$batch", "/v2"}
    assert all("mutation" not in (call.get("document") or "") for call in calls)


async def test_a_missing_scope_is_named(check):
    findings, _ = await check("email", "PROVIDER_B", scopes=["Mail.ReadWrite", "User.Read"])

    assert findings["scopes"]["outcome"] == "differs"
    assert "does not include Mail.Send:" in findings["scopes"]["detail"]


async def test_asana_without_full_permissions_shows_what_is_missing(check):
    read = ["workspaces:read", "users:read", "projects:read", "custom_fields:read", "tasks:read"]
    scopes = [*read, "stories:read", "tags:read", "attachments:read"]
    findings, ok = await check("tasks", "PROJECTS", scopes=scopes)

    assert ok, findings
    outcomes = {item: findings[item]["outcome"] for item in ("teams", "sections", "memberships")}
    assert outcomes == dict.fromkeys(outcomes, "differs")
    assert "teams:read" in findings["teams"]["detail"]


async def test_a_large_mailbox_that_is_not_counted_says_so(check, admin):
    fault = {"kind": "504", "match": "$count"}
    await admin.put("/sandbox/faults/providerB", json=fault)
    try:
        findings, ok = await check("email", "PROVIDER_B")
    finally:
        await admin.delete("/sandbox/faults/providerB")

    assert (ok, findings["count"]["outcome"]) == (True, "differs")


async def test_a_foreign_address_differs(check):
    findings, _ = await check("email", "PROVIDER_B", accountEmail="somebody@else.example")
    assert findings["addresses"]["outcome"] == "differs"
    assert "somebody" not in findings["addresses"]["detail"]


@pytest.mark.parametrize("kind", ["429", "500", "timeout"])
async def test_an_account_that_fails_is_said(check, admin, kind):
    fault = {"kind": kind, "retryAfter": 30, "delay": 0.01, "match": "$batch"}
    await admin.put("/sandbox/faults/providerB", json=fault)
    try:
        findings, ok = await check("email", "PROVIDER_B")
    finally:
        await admin.delete("/sandbox/faults/providerB")

    assert (ok, findings["batch"]["outcome"]) == (False, "failed")


async def test_without_credentials_nothing_is_called(check, sandbox):
    findings, ok = await check("email", "PROVIDER_A", credentials=None)

    assert (ok, list(findings)) == (False, ["scopes", "credentials"])
    assert [call for each in sandbox.upstreams.values() for call in each.calls] == []
