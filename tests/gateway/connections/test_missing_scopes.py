"""A call that fails because the consent lacks a scope names the scope."""

import pytest
import pytest_asyncio

from gateway.connections.oauth_servers import READ_SCOPES, WRITE_SCOPES
from sandbox.world.tasks import boards, projects

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

MESSAGES = "/api/access/email/messages"
CALENDARS = "/api/access/calendar/calendars"
BOARDS = "/api/access/tasks/boards"
UPSTREAMS = {
    "PROVIDER_A": "providerA",
    "PROVIDER_B": "providerB",
    "BOARDS": "tasks",
    "PROJECTS": "projects",
}
# The account of the sandbox's task providers.
ACCOUNT = "nora.lindqvist@harbourlight.example"
LACKS = "needs to be reconnected: its consent does not include"


@pytest.fixture(scope="module")
def sandbox(sandbox):
    boards.seed(sandbox.state.database)
    projects.seed(sandbox.state.database)
    return sandbox


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


@pytest_asyncio.fixture(loop_scope="module")
async def holder(admin, new_token):
    """The header of a token that may do everything with mail, calendars and tasks."""
    settings = {
        "emailAccessEnabled": True,
        "allowedEmailOperations": ["all"],
        "calendarAccessEnabled": True,
        "allowedTaskOperations": ["all"],
    }
    made = await admin.post("/api/access-tokens", json={**new_token, "settings": settings})
    return {"Authorization": f"Bearer {made.json()['token']}"}


@pytest.fixture
def grant(connect, gateway, sandbox):
    """Connect an account whose token has *scopes*, and whose record says *recorded*."""

    async def granted(kind, provider, scopes, *, recorded=None):
        token = sandbox.state.tokens.issue(UPSTREAMS[provider], ACCOUNT, scopes)
        record = list(scopes if recorded is None else recorded)
        connection = await connect(
            provider, ACCOUNT, kind=kind, credentials={"accessToken": token}, grantedScopes=record
        )
        gateway.services.accounts.forget(connection)  # ids begin anew after each test
        return connection

    return granted


@pytest.mark.parametrize(
    ("kind", "provider", "path", "status", "code", "scope"),
    [
        ("email", "PROVIDER_A", MESSAGES, 502, "PROVIDER_ERROR", "gmail.readonly"),
        ("email", "PROVIDER_B", MESSAGES, 502, "PROVIDER_ERROR", "Mail.Read"),
        ("calendar", "PROVIDER_A", CALENDARS, 502, "PROVIDER_ERROR", "calendar.readonly"),
        ("calendar", "PROVIDER_B", CALENDARS, 502, "PROVIDER_ERROR", "Calendars.Read"),
        ("tasks", "BOARDS", BOARDS, 403, "ACCESS_DENIED", "boards:read"),
        ("tasks", "PROJECTS", BOARDS, 403, "ACCESS_DENIED", "projects:read"),
    ],
)
async def test_a_read_names_the_missing_scope(  # noqa: PLR0917 - fixtures and a row
    client, grant, holder, kind, provider, path, status, code, scope
):
    scopes = [name for name in READ_SCOPES[kind, provider] if not name.endswith(scope)]
    connection = await grant(kind, provider, scopes)
    answer = await client.get(path, headers=holder)

    assert (answer.status_code, answer.json()["error"]) == (status, code)
    assert f"{LACKS} {scope}." in answer.json()["message"]
    assert (f"/oauth/reconnect/{connection}." in answer.text) is (kind != "tasks")


async def test_a_warning_names_the_missing_scope(client, grant, holder):
    await grant("email", "PROVIDER_A", READ_SCOPES["email", "PROVIDER_A"])
    await grant("email", "PROVIDER_B", ["User.Read"])
    answer = await client.get(MESSAGES, headers=holder)

    assert answer.status_code == 200
    (warning,) = answer.json()["authWarnings"]
    sentence, _, link = warning.partition(" Reconnect: ")
    assert sentence == f"Provider B ({ACCOUNT}): {LACKS} Mail.Read."
    consent = await client.get(link)
    assert (consent.status_code, "Mail.Read" in consent.headers["location"]) == (302, True)


async def test_a_send_names_the_missing_scope_and_sends_nothing(client, grant, holder, sandbox):
    await grant("email", "PROVIDER_B", ["Mail.ReadWrite", "User.Read"])
    message = {"to": [{"email": "kim@example.org"}], "subject": "Hello", "body": "Hello"}
    answer = await client.post(f"{MESSAGES}/send", json=message, headers=holder)

    assert answer.status_code == 502, answer.text
    assert f"The connection {LACKS} Mail.Send." == answer.json()["message"]
    mails = sandbox.state.mails.all("provider-b")
    assert [mail for mail in mails if mail.folder == "sent"] == []


@pytest.mark.parametrize(
    ("provider", "scope"), [("BOARDS", "boards:write"), ("PROJECTS", "tasks:write")]
)
async def test_a_change_names_the_missing_scope(client, grant, holder, provider, scope):
    scopes = [name for name in WRITE_SCOPES["tasks", provider] if name != scope]
    await grant("tasks", provider, scopes)
    listed = await client.get(BOARDS, headers=holder)
    board = listed.json()["boards"][0]["id"]
    answer = await client.post(f"{BOARDS}/{board}/items", json={"name": "New"}, headers=holder)

    assert (answer.status_code, answer.json()["error"]) == (502, "PROVIDER_ERROR")
    assert answer.json()["message"] == f"The connection {LACKS} {scope}."


async def test_a_refusal_of_a_complete_consent_is_one_by_policy(client, grant, holder):
    await grant("email", "PROVIDER_B", ["User.Read"], recorded=READ_SCOPES["email", "PROVIDER_B"])
    answer = await client.get(MESSAGES, headers=holder)

    assert answer.status_code == 502
    assert "is denied access by a policy of its administrators." in answer.json()["message"]
