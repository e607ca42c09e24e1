"""A call whose OAuth client the provider refuses is told so, and reaches no account."""

import pytest
import pytest_asyncio

from gateway.connections.oauth_servers import SANDBOX_CLIENT
from gateway.demo.world import register_client
from sandbox.oauth.clients import ClientRegistry
from sandbox.world.tasks import boards

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

REFUSED = "the provider refuses the OAuth client: its id or secret is wrong or expired"
EXPIRED = "the secret of the OAuth client has expired: store a new one"
READS = {
    "email": "/api/access/email/messages",
    "calendar": "/api/access/calendar/calendars",
    "collab": "/api/access/collab/sites",
    "tasks": "/api/access/tasks/boards?provider={}",
}
MESSAGE = {"to": [{"email": "kim@example.org"}], "subject": "Hello", "body": "Hello"}
# Provider -> kind, upstream, authorization server, and the reason when the secret has expired.
PROVIDERS = {
    "PROVIDER_A": ("email", "providerA", "provider-a", REFUSED),
    "PROVIDER_B": ("calendar", "providerB", "provider-b", EXPIRED),
    "COLLAB": ("collab", "collab", "provider-b", EXPIRED),
    "BOARDS": ("tasks", "tasks", "tasks", REFUSED),
    "PROJECTS": ("tasks", "projects", "projects", REFUSED),
}


@pytest.fixture(scope="module")
def sandbox(sandbox):
    boards.seed(sandbox.state.database)
    return sandbox


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


@pytest.fixture
def clients(sandbox):
    """The clients of the authorization servers; the gateway is registered again afterwards."""
    yield ClientRegistry(sandbox.state.database)
    register_client(sandbox, "http://gateway.test")


@pytest_asyncio.fixture(loop_scope="module")
async def holder(admin, new_token):
    """The header of a token that may read and send."""
    settings = {f"{kind}AccessEnabled": True for kind in ("email", "calendar", "collab")}
    settings |= {"allowedEmailOperations": ["all"], "allowedTaskOperations": ["all"]}
    made = await admin.post("/api/access-tokens", json={**new_token, "settings": settings})
    assert made.status_code == 201, made.text
    return {"Authorization": f"Bearer {made.json()['token']}"}


@pytest.fixture
def connect(admin, gateway, operator, resource, sandbox):
    """Connect an account whose access token has to be renewed; return the connection's id."""

    async def connected(kind, provider, upstream, **more):
        refresh = sandbox.state.tokens.issue_refresh(upstream, "ada@example.org", ("openid",))
        new = {
            "resourceId": resource,
            "operatorId": operator,
            "kind": kind,
            "provider": provider,
            "accountEmail": "ada@example.org",
            "credentials": {
                "accessToken": "old",
                "refreshToken": refresh,
                "expiresAt": "2026-01-01T00:00:00Z",
            },
            **more,
        }
        made = await admin.post("/api/connections", json=new)
        assert made.status_code == 201, made.text
        gateway.services.accounts.forget(made.json()["id"])  # ids begin anew after each test
        sandbox.upstreams[upstream].calls.clear()
        return made.json()["id"]

    return connected


@pytest.mark.slow
@pytest.mark.parametrize("case", ["expired", "another secret"])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_refused_client_is_reported_at_an_ordinary_call(  # noqa: PLR0917 - fixtures and a row
    admin, client, clients, connect, holder, sandbox, provider, case
):
    kind, upstream, server, when_expired = PROVIDERS[provider]
    connection = await connect(kind, provider, upstream)
    if case == "expired":
        clients.expire_secret(server, SANDBOX_CLIENT)
    else:
        clients.register(server, SANDBOX_CLIENT, "another", ())
    answer = await client.get(READS[kind].format(provider), headers=holder)
    tested = (await admin.post(f"/api/connections/{connection}/test", json={})).json()

    reason = when_expired if case == "expired" else REFUSED
    code = None if kind == "collab" else "PROVIDER_ERROR"
    assert (answer.status_code, answer.json()["error"]) == (502, code)
    assert reason.casefold() in answer.text.casefold()
    assert "could not be reached" not in answer.text
    assert tested["status"] == "error"
    assert tested["detail"] == f"{reason[0].upper()}{reason[1:]}."
    assert list(sandbox.upstreams[upstream].calls) == []


async def test_a_send_with_a_refused_client_sends_nothing(
    client, clients, connect, holder, sandbox
):
    await connect("email", "PROVIDER_B", "providerB", grantedScopes=["Mail.ReadWrite", "Mail.Send"])
    clients.expire_secret("provider-b", SANDBOX_CLIENT)
    refused = await client.post("/api/access/email/messages/send", headers=holder, json=MESSAGE)
    register_client(sandbox, "http://gateway.test")  # a new secret is stored

    assert refused.status_code == 502, refused.text
    assert (
        refused.json()["message"] == "The secret of the OAuth client has expired: store a new one."
    )
    assert list(sandbox.upstreams["providerB"].calls) == []
