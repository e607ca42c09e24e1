"""A removed connection's consent is revoked at its provider, unless another connection needs it."""

import pytest

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

HEADER = "x-consent-revocation"
ACCOUNT = "ada@example.org"
UPSTREAMS = {
    "PROVIDER_A": ("email", "providerA", "/provider-a/revoke"),
    "PROVIDER_B": ("email", "providerB", None),
    "COLLAB": ("collab", "collab", None),
    "BOARDS": ("tasks", "tasks", "/tasks/revoke"),
    "PROJECTS": ("tasks", "projects", "/projects/revoke"),
}


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


@pytest.fixture
def connect(admin, operator, resource, sandbox):
    """Connect an account by a consent; return the connection's id and its refresh token."""

    async def made(provider="PROVIDER_A", account=ACCOUNT, **more):
        kind, upstream, _ = UPSTREAMS[provider]
        refresh = sandbox.state.tokens.issue_refresh(upstream, account, ("openid",))
        new = {
            "resourceId": resource,
            "operatorId": operator,
            "kind": kind,
            "provider": provider,
            "accountEmail": account,
            "credentials": {"accessToken": "x", "refreshToken": refresh},
            **more,
        }
        return (await admin.post("/api/connections", json=new)).json()["id"], refresh

    return made


@pytest.fixture
def revocations(sandbox):
    """Return the calls of revocation endpoints, from now on."""
    calls = sandbox.upstreams["oauth"].calls
    calls.clear()
    return lambda: [call["path"] for call in calls if call["path"].endswith("revoke")]


async def remove(admin, connection):
    answer = await admin.delete(f"/api/connections/{connection}")
    assert answer.status_code == 204
    assert (await admin.get(f"/api/connections/{connection}")).status_code == 404
    return answer.headers[HEADER]


@pytest.mark.parametrize("provider", UPSTREAMS)
async def test_a_consent_is_revoked_where_the_provider_can(
    admin, connect, sandbox, revocations, provider
):
    connection, refresh = await connect(provider)
    _, upstream, path = UPSTREAMS[provider]
    result = await remove(admin, connection)

    assert result == ("unsupported" if path is None else "revoked")
    assert revocations() == ([] if path is None else [path])
    assert (sandbox.state.tokens.read_refresh(upstream, refresh) is None) is (path is not None)


async def test_a_consent_that_another_connection_uses_is_kept(admin, connect, sandbox, revocations):
    mail, refresh = await connect()
    calendar, _ = await connect(kind="calendar", account=ACCOUNT.upper())
    other, _ = await connect(account="bob@example.org")

    assert await remove(admin, mail) == "shared"
    assert revocations() == []
    assert sandbox.state.tokens.read_refresh("providerA", refresh) is not None
    assert await remove(admin, calendar) == "revoked"
    assert await remove(admin, other) == "revoked"


@pytest.mark.parametrize(
    "credentials",
    [None, {"accessToken": "x"}, {"apiToken": "x"}],
    ids=["none", "no refresh token", "an API token"],
)
async def test_other_credentials_are_not_revoked(admin, connect, revocations, credentials):
    connection, _ = await connect("BOARDS", credentials=credentials)

    assert await remove(admin, connection) == "not-consented"
    assert revocations() == []


@pytest.mark.parametrize("kind", ["500", "reset", "400", "403"])
async def test_a_failure_removes_the_connection_all_the_same(admin, connect, sandbox, kind):
    connection, _ = await connect()
    fault = {"kind": kind, "match": "revoke"}
    await admin.put("/sandbox/faults/oauth", json=fault)
    try:
        assert await remove(admin, connection) == "failed"
    finally:
        await admin.delete("/sandbox/faults/oauth")


async def test_a_consent_that_ended_already_counts_as_revoked(admin, connect, sandbox):
    connection, refresh = await connect()
    sandbox.state.tokens.revoke(refresh)

    assert await remove(admin, connection) == "revoked"


@pytest.fixture(params=["operators", "resources"])
def owner(request, operator, resource):
    """Return the path of what a connection belongs to."""
    keys = {"operators": operator, "resources": resource}
    return f"/api/{request.param}/{keys[request.param]}"


async def test_connections_that_go_with_their_owner_are_revoked(admin, connect, revocations, owner):
    for kind in ("email", "calendar"):  # of one account: neither keeps the other's consent
        await connect(kind=kind)
    await connect("COLLAB")
    answer = await admin.delete(owner)

    assert (answer.status_code, answer.headers[HEADER]) == (204, "revoked, unsupported")
    assert revocations() == ["/provider-a/revoke"] * 2


async def test_an_owner_without_connections_has_no_header(admin, operator):
    assert HEADER not in (await admin.delete(f"/api/operators/{operator}")).headers
