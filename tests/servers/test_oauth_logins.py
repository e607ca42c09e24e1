"""Logins by OAuth access token, at a Dovecot and a Postfix that ask the token's issuer."""

import imap_account
import pytest
from dovecot import dovecot_server
from postfix import postfix_server
from token_server import token_server

from providers.failures import NeedsReauth, SendingRefused, Unreachable
from providers.imap import sasl
from providers.imap.accounts import Account
from providers.imap.endpoints import Endpoint
from providers.imap.session import Session
from providers.imap.submission import Submission

ADA, MESSAGES = "ada@example.test", "/api/access/email/messages"

pytestmark = pytest.mark.slow  # two servers start


@pytest.fixture(scope="module")
def issuer():
    with token_server() as server:
        yield server


@pytest.fixture(scope="module")
def dovecot(issuer):
    with dovecot_server(introspection_url=f"{issuer.url}/introspect") as server:
        yield server


@pytest.fixture(scope="module")
def postfix(dovecot):
    with postfix_server(dovecot) as server:
        yield server


@pytest.fixture(autouse=True)
def _trusted(dovecot):
    patch = imap_account.trust(dovecot)
    yield
    patch.undo()


@pytest.fixture(params=["OAUTHBEARER", "XOAUTH2"])
def mechanism(request, monkeypatch):
    """The one mechanism that the client takes of those offered."""
    real = sasl.token_login

    def one(account, offered):
        return real(account, {word for word in offered if word == request.param})

    for client in ("session", "submission"):
        monkeypatch.setattr(f"providers.imap.{client}.token_login", one)
    return request.param


def account(server, token, protocol):
    return Account(Endpoint.parse(server.url(), protocol), ADA, token, has_token=True)


async def test_a_token_logs_in_at_both_servers(mechanism, issuer, dovecot, postfix):
    token, _ = issuer.grant(ADA)

    session = await Session.connect(account(dovecot, token, "imap"))
    opened = await session.command("EXAMINE INBOX")
    submission = await Submission.connect(account(postfix, token, "smtp"), ends=float("inf"))

    assert opened.status.startswith(b"OK")
    assert "UIDPLUS" in session.capabilities
    session.close()
    submission.close()


async def test_a_refused_token_is_told(mechanism, dovecot, postfix):
    with pytest.raises(NeedsReauth, match="The mail server refused the access token"):
        await Session.connect(account(dovecot, "unknown", "imap"))
    with pytest.raises(SendingRefused, match="The submission server refused the access token"):
        await Submission.connect(account(postfix, "unknown", "smtp"), ends=float("inf"))


async def test_a_server_without_such_logins_is_told(issuer, dovecot, monkeypatch):
    monkeypatch.setattr("providers.imap.session.token_login", lambda account, offered: None)

    with pytest.raises(Unreachable, match="no login by access token"):
        await Session.connect(account(dovecot, issuer.grant(ADA)[0], "imap"))


@pytest.fixture
def grant(issuer, dovecot, postfix):
    """Return the credentials of a new grant."""

    def make(**members):
        access, refresh = issuer.grant(ADA)
        return {
            "username": ADA,
            "accessToken": access,
            "refreshToken": refresh,
            "tokenUrl": f"{issuer.url}/token",
            "clientId": "gateway",
            "submissionUrl": postfix.url(),
            **members,
        }

    return make


@pytest.fixture
async def client(world):
    token = await world.token({"allowedEmailOperations": ["all"]})
    async with world.client(token) as client:
        yield client


async def status_of(world, connection):
    stored = (await world.admin.get(f"/api/connections/{connection['id']}")).json()
    return stored["status"], stored["statusDetail"]


async def test_an_expired_token_is_renewed_through_its_own_endpoint(world, connect, grant, issuer):
    credentials = grant()
    connection = (await connect(credentials=credentials)).json()
    assert connection["canWrite"] is True
    tested = await world.admin.post(f"/api/connections/{connection['id']}/test")
    assert (tested.json()["ok"], issuer.renewals) == (True, 0), tested.text

    issuer.active.pop(credentials["accessToken"])  # the sessions of the pool stay open
    world.gateway.services.accounts.forget(connection["id"])
    again = await world.admin.post(f"/api/connections/{connection['id']}/test")

    assert (again.json()["ok"], issuer.renewals) == (True, 1), again.text
    assert await status_of(world, connection) == ("active", None)


async def test_a_refused_renewal_needs_a_person(world, connect, grant, issuer):
    credentials = grant()
    connection = (await connect(credentials=credentials)).json()
    issuer.active.clear()
    issuer.refreshing.clear()

    tested = await world.admin.post(f"/api/connections/{connection['id']}/test")

    assert (tested.json()["ok"], tested.json()["status"]) == (False, "needs_reauth")


async def test_a_token_that_cannot_be_renewed_needs_a_person(world, connect, issuer, dovecot):
    access, _ = issuer.grant(ADA)
    connection = (await connect(credentials={"username": ADA, "accessToken": access})).json()
    issuer.active.clear()

    tested = await world.admin.post(f"/api/connections/{connection['id']}/test")

    assert (tested.json()["ok"], tested.json()["status"]) == (False, "needs_reauth")


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({"tokenUrl": "http://login.example.org/token"}, id="plain http"),
        pytest.param({"tokenUrl": "ftp://login.example.org"}, id="no web address"),
        pytest.param({"clientId": None}, id="no client"),
        pytest.param({"password": "x"}, id="a password beside"),
    ],
)
async def test_a_grant_must_be_complete(connect, grant, members):
    credentials = {name: value for name, value in grant(**members).items() if value is not None}

    refused = await connect(credentials=credentials)

    assert refused.status_code == 400
    assert refused.json()["details"][0]["field"].startswith("credentials")


async def test_mail_is_sent_with_a_renewed_token(client, connect, grant, issuer, postfix):
    credentials = grant()
    connection = (await connect(credentials=credentials)).json()
    issuer.active.clear()
    body = {"to": [{"email": "ben@example.test"}], "subject": "By token", "body": "x"}

    sent = await client.post(f"{MESSAGES}/send", json={**body, "connectionId": connection["id"]})

    assert sent.status_code == 200, sent.text
    assert await postfix.wait_for_delivery("By token", "ben@example.test") == 1


async def test_a_removed_grant_is_sent_to_no_other_server(world, connect, grant, issuer):
    connection = (await connect(credentials=grant())).json()

    removed = await world.admin.delete(f"/api/connections/{connection['id']}")

    assert removed.status_code == 204
    assert removed.headers["x-consent-revocation"] == "unsupported"


async def test_an_own_server_has_no_consent_page(world, connect, grant):
    connection = (await connect(credentials=grant())).json()

    refused = await world.admin.post(f"/api/connections/{connection['id']}/reconnect")

    assert (refused.status_code, refused.json()["message"]) == (
        400,
        "An own server has no consent page: change the credentials of the connection.",
    )
