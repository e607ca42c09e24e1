"""Each cause of a dead connection, provoked end to end, as every interface tells it."""

import socket
from contextlib import AsyncExitStack
from functools import partial

import pytest
import pytest_asyncio
from agent_client import modern, text_of
from scripted_mail_servers import certificates, mail_server

from gateway.cli.checkup import accounts as checkup
from gateway.connections.oauth_servers import SANDBOX_CLIENT
from gateway.demo.world import register_client
from gateway.store import timestamps
from providers.catalogue.causes import Cause
from providers.catalogue.tables import NAMES
from sandbox.oauth.clients import ClientRegistry

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

ADA, BOB = "ada@example.org", "bob@example.org"
UPSTREAMS = {"PROVIDER_A": "providerA", "PROVIDER_B": "providerB"}
SCOPES = ("https://www.googleapis.com/auth/gmail.modify", "Mail.ReadWrite", "Mail.Send")
MESSAGES = "/api/access/email/messages"
UNKNOWN_HOST = "imap.unknown.example"
GRAPHQL = """{
  emails { authWarnings }
  accessToken { connections { id status cause } }
}"""


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


class Accounts:
    """Connects accounts, and makes them die of each cause."""

    def __init__(self, admin, gateway, sandbox, stack, **owner):
        self._admin, self._gateway, self._sandbox = admin, gateway, sandbox
        self._tokens, self._stack, self._owner = sandbox.state.tokens, stack, owner

    async def connect(self, provider, account=ADA, **more):
        body = {"kind": "email", "provider": provider, "accountEmail": account}
        made = await self._admin.post("/api/connections", json={**self._owner, **body, **more})
        assert made.status_code == 201, made.text
        self._gateway.services.accounts.forget(made.json()["id"])  # ids begin anew in each test
        return made.json()["id"]

    async def with_token(self, provider, account=ADA, *, scopes=SCOPES):
        """Connect an account whose access token is good for an hour."""
        token = self._tokens.issue(UPSTREAMS[provider], account, scopes)
        return await self.connect(
            provider, account, credentials={"accessToken": token}, grantedScopes=scopes
        )

    async def due(self, provider):
        """Connect an account whose access token has to be renewed."""
        refresh = self._tokens.issue_refresh(UPSTREAMS[provider], ADA, SCOPES)
        expired = timestamps.to_text(timestamps.now_ms() - 1000)
        tokens = {"accessToken": "old", "refreshToken": refresh, "expiresAt": expired}
        return await self.connect(provider, credentials=tokens)

    async def ended(self, provider, why):
        """Connect an account whose grant the authorization server has ended."""
        connection = await self.due(provider)
        self._tokens.end(UPSTREAMS[provider], ADA, why)
        return connection

    async def refused_client(self, *, expired):
        connection = await self.due("PROVIDER_B")
        clients = ClientRegistry(self._sandbox.state.database)
        if expired:
            clients.expire_secret("provider-b", SANDBOX_CLIENT)
        else:
            clients.register("provider-b", SANDBOX_CLIENT, "another", ())
        return connection

    async def refused_token(self):
        return await self.connect("PROVIDER_B", credentials={"accessToken": "unknown"})

    async def narrow_consent(self):
        return await self.with_token("PROVIDER_B", scopes=("Calendars.Read",))

    async def own_server(self, url, password="right"):
        login = {"username": "ada", "password": password}
        return await self.connect("IMAP", baseUrl=url, credentials=login)

    async def refused_login(self):
        server = await self._stack.enter_async_context(mail_server("imap", users={"ada": "right"}))
        return await self.own_server(f"imap+plain://127.0.0.1:{server.port}", "wrong")

    async def invalid_certificate(self, *hosts, **certificate):
        return await self.own_server(f"imaps://{await self.tls_server(*hosts, **certificate)}")

    async def tls_server(self, *hosts, **certificate):
        """Start a server whose certificate is as told; return its host and port."""
        made = await self._stack.enter_async_context(certificates())
        tls = made.server(*hosts, **certificate)
        server = await self._stack.enter_async_context(
            mail_server("imap", tls=tls, users={"ada": "right"})
        )
        return f"127.0.0.1:{server.port}"

    async def unknown_name(self):
        self.let_no_resolver_know_the_host()
        return await self.own_server(f"imaps://{UNKNOWN_HOST}")

    def let_no_resolver_know_the_host(self):
        patch = self._stack.enter_context(pytest.MonkeyPatch.context())
        resolve = socket.getaddrinfo

        def resolver(host, *rest, **more):
            if host == UNKNOWN_HOST:  # NXDOMAIN, as the resolver of the system tells it
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            return resolve(host, *rest, **more)

        patch.setattr(socket, "getaddrinfo", resolver)


ENDED = "needs to be reconnected: {cause.reason}. {cause.remedy}"
UNREACHED = "could not be reached: {cause.reason}. {cause.remedy}"
REFUSED = "the provider refuses the OAuth client: its id or secret is wrong or expired."
CASES = [
    (Cause.CONSENT_WITHDRAWN, "A", ENDED, partial(Accounts.ended, why="withdrawn")),
    (Cause.CONSENT_EXPIRED, "B", ENDED, partial(Accounts.ended, why="limited")),
    (Cause.CONSENT_UNUSED, "B", ENDED, partial(Accounts.ended, why="unused")),
    (Cause.PASSWORD_CHANGED, "B", ENDED, partial(Accounts.ended, why="password")),
    (Cause.PASSWORD_EXPIRED, "B", ENDED, partial(Accounts.ended, why="password-expired")),
    (Cause.SIGN_IN_REQUIRED, "A", ENDED, partial(Accounts.ended, why="sign-in")),
    (Cause.DENIED_BY_POLICY, "B", ENDED, partial(Accounts.ended, why="policy")),
    (Cause.ACCOUNT_BLOCKED, "A", ENDED, partial(Accounts.ended, why="deleted")),
    (Cause.TOKEN_REFUSED, "B", ENDED, Accounts.refused_token),
    (
        Cause.SCOPE_MISSING,
        "B",
        "needs to be reconnected: its consent does not include Mail.Read.",
        Accounts.narrow_consent,
    ),
    (Cause.CLIENT_REFUSED, "B", REFUSED, partial(Accounts.refused_client, expired=False)),
    (
        Cause.CLIENT_SECRET_EXPIRED,
        "B",
        "the secret of the OAuth client has expired: store a new one.",
        partial(Accounts.refused_client, expired=True),
    ),
    (Cause.LOGIN_REFUSED, "IMAP", ENDED, Accounts.refused_login),
    (
        Cause.CERTIFICATE_INVALID,
        "IMAP",
        UNREACHED,
        lambda accounts: accounts.invalid_certificate("127.0.0.2"),
    ),
    (
        Cause.CERTIFICATE_INVALID,
        "IMAP",
        UNREACHED,
        lambda accounts: accounts.invalid_certificate("127.0.0.1", trusted=False),
    ),
    (
        Cause.CERTIFICATE_INVALID,
        "IMAP",
        UNREACHED,
        lambda accounts: accounts.invalid_certificate("127.0.0.1", expired=True),
    ),
    (Cause.SERVER_NOT_FOUND, "IMAP", UNREACHED, Accounts.unknown_name),
]
NOT_ENDED = {
    *(Cause.CLIENT_REFUSED, Cause.CLIENT_SECRET_EXPIRED),
    *(Cause.CERTIFICATE_INVALID, Cause.SERVER_NOT_FOUND),
}


async def test_every_cause_is_provoked():
    assert {cause for cause, *_ in CASES} == set(Cause)


@pytest_asyncio.fixture(loop_scope="module")
async def accounts(admin, gateway, sandbox, operator, resource):
    async with AsyncExitStack() as stack:
        owner = {"operatorId": operator, "resourceId": resource}
        yield Accounts(admin, gateway, sandbox, stack, **owner)
    register_client(sandbox, "http://gateway.test")


@pytest_asyncio.fixture(loop_scope="module")
async def holder(admin, new_token):
    settings = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"]}
    made = await admin.post("/api/access-tokens", json={**new_token, "settings": settings})
    return {"Authorization": f"Bearer {made.json()['token']}"}


@pytest.mark.slow
@pytest.mark.parametrize(("cause", "provider", "sentence", "die"), CASES)
async def test_every_interface_tells_every_cause(  # noqa: PLR0917 - fixtures and a row
    admin, client, gateway, accounts, holder, cause, provider, sentence, die
):
    """The next request tells it, and after a test of the connection whatever shows its state."""
    provider = {"A": "PROVIDER_A", "B": "PROVIDER_B"}.get(provider, provider)
    works = await accounts.with_token("PROVIDER_A", BOB)
    ends_by_name = isinstance(die, partial) and "why" in die.keywords
    dead = await (die(accounts, provider) if ends_by_name else die(accounts))
    told = f"{NAMES[provider]} ({ADA}): {sentence.format(cause=cause)}".strip()

    for _ in range(2):
        page = (await client.get(MESSAGES, headers=holder)).json()
        [warning] = page["authWarnings"]
        assert warning.startswith(told)
    answer = await client.post("/graphql", json={"query": GRAPHQL}, headers=holder)
    assert answer.json()["data"]["emails"]["authWarnings"] == [warning]
    body, headers = modern("tools/call", {"name": "find_mail", "arguments": {}})
    tool = await client.post("/mcp", json=body, headers={**holder, **headers})
    assert told in text_of(tool.json()["result"])

    await admin.post(f"/api/connections/{dead}/test", json={})
    status = "error" if cause in NOT_ENDED else "needs_reauth"
    states = [
        {"id": works, "status": "active", "cause": None},
        {"id": dead, "status": status, "cause": cause.value},
    ]
    answer = await client.post("/graphql", json={"query": GRAPHQL}, headers=holder)
    assert answer.json()["data"]["accessToken"]["connections"] == states
    own = (await client.get("/api/access/token", headers=holder)).json()["connections"]
    assert [{name: each[name] for name in states[0]} for each in own] == states
    stored = (await admin.get(f"/api/connections/{dead}")).json()
    assert (stored["status"], stored["statusCause"]) == (status, cause.value)
    page = (await client.get(MESSAGES, headers=holder)).json()
    assert [cause.value in warning for warning in page["authWarnings"]] == [True]
    figures = (await admin.get("/metrics")).text
    assert f'agw_connections_dead{{cause="{cause.value}",provider="{provider}"}} 1.0' in figures
    doctor = await checkup.connections(gateway.services.database)
    assert f"{dead} ({cause.value}) " in doctor.detail
    assert cause.remedy in doctor.remedy

    await admin.patch(f"/api/connections/{works}", json={"status": "disabled"})
    alone = await client.get(MESSAGES, headers=holder)
    assert (alone.status_code, f"{ADA}: {cause.value}." in alone.json()["message"]) == (403, True)


@pytest.mark.parametrize("cause", [Cause.CERTIFICATE_INVALID, Cause.SERVER_NOT_FOUND])
async def test_own_calendars_tell_it_too(admin, client, accounts, new_token, cause):
    settings = {"calendarAccessEnabled": True}
    made = await admin.post("/api/access-tokens", json={**new_token, "settings": settings})
    holder = {"Authorization": f"Bearer {made.json()['token']}"}
    if cause is Cause.SERVER_NOT_FOUND:
        accounts.let_no_resolver_know_the_host()
        host = UNKNOWN_HOST
    else:
        host = await accounts.tls_server("127.0.0.1", trusted=False)
    login = {"username": "ada", "password": "right"}
    connection = await accounts.connect(
        "CALDAV", kind="calendar", baseUrl=f"https://{host}", credentials=login
    )

    page = await client.get("/api/access/calendar/calendars", headers=holder)
    tested = await admin.post(f"/api/connections/{connection}/test", json={})
    stored = (await admin.get(f"/api/connections/{connection}")).json()

    reason = f"could not be reached: {cause.reason}. {cause.remedy}"
    assert (page.status_code, reason in page.json()["message"]) == (502, True), page.text
    assert tested.json()["detail"] == f"The provider {reason}"
    assert (stored["status"], stored["statusCause"]) == ("error", cause.value)
