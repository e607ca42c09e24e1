"""A service account acts for a person of a domain that delegates to it; the sandbox is strict."""

import base64
import json
import time
from functools import cache

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from providers.oauth.delegation import NOT_DELEGATED
from sandbox.oauth.service_accounts import GRANT_TYPE, ServiceAccounts

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

ROBOT = "robot@project.iam.gserviceaccount.com"
SCOPE = "https://www.googleapis.com/auth/gmail.modify"
TOKEN_URL = "http://gateway.test/sandbox/oauth/provider-a/token"


@cache
def key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(private=None):
    return (
        (private or key())
        .private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        .decode()
    )


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


@pytest.fixture
def person(sandbox):
    """The address of the mailbox at provider A."""
    return sandbox.state.mails.account("provider-a").email


@pytest.fixture
def accounts(sandbox):
    """The service accounts of provider A, one to which the domain delegates `SCOPE`."""
    made = ServiceAccounts(sandbox.state.database)
    public = (
        key()
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    made.register(ROBOT, public.decode(), [SCOPE])
    made.public = public.decode()
    return made


@pytest.fixture
def new(operator, resource, person):
    """The body of a connection by delegation."""
    return {
        "resourceId": resource,
        "operatorId": operator,
        "kind": "email",
        "provider": "PROVIDER_A",
        "accountEmail": person,
        "grantedScopes": ["openid", "email", SCOPE],
        "credentials": {
            "clientEmail": ROBOT,
            "privateKey": pem(),
            "privateKeyId": "k1",
            "subject": person,
        },
    }


@pytest.fixture
def connect(admin, gateway):
    """Make a connection, whose id may be that of an earlier test."""

    async def connected(new):
        made = await admin.post("/api/connections", json=new)
        assert made.status_code == 201, made.text
        gateway.services.accounts.forget(made.json()["id"])
        return made

    return connected


async def test_a_service_account_reads_the_mail_of_its_person(admin, accounts, connect, new):
    made = await connect(new)
    tested = await admin.post(f"/api/connections/{made.json()['id']}/test")
    checked = await admin.post(f"/api/connections/{made.json()['id']}/check")

    assert (made.json()["canWrite"], "PRIVATE" in made.text) == (True, False)
    assert tested.json()["ok"] is True, tested.text
    assert checked.json()["ok"] is True, checked.text


async def test_a_domain_that_does_not_delegate_is_named_with_its_remedy(
    admin, accounts, connect, new, sandbox
):
    accounts.register(ROBOT, accounts.public, [])
    made = (await connect(new)).json()
    sandbox.upstreams["providerA"].calls.clear()
    tested = (await admin.post(f"/api/connections/{made['id']}/test")).json()

    assert (tested["status"], tested["detail"]) == ("error", NOT_DELEGATED)
    assert list(sandbox.upstreams["providerA"].calls) == []


async def test_a_deleted_key_needs_a_person(admin, accounts, connect, new):
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    new["credentials"]["privateKey"] = pem(other)
    made = (await connect(new)).json()
    tested = (await admin.post(f"/api/connections/{made['id']}/test")).json()
    stored = (await admin.get(f"/api/connections/{made['id']}")).json()

    assert tested["status"] == "needs_reauth"
    assert stored["statusCause"] == "TOKEN_REFUSED"


SMALL = rsa.generate_private_key(public_exponent=65537, key_size=1024)
CURVE = ec.generate_private_key(ec.SECP256R1())
WRONG = [
    ({"provider": "PROVIDER_B"}, {}, "credentials.subject"),
    ({}, {"subject": "ben@example.org"}, "credentials.subject"),
    ({"grantedScopes": ["openid"]}, {}, "grantedScopes"),
    ({}, {"privateKey": "no key"}, "credentials.privateKey"),
    ({}, {"privateKey": pem(SMALL)}, "credentials.privateKey"),
    ({}, {"privateKey": pem(CURVE)}, "credentials.privateKey"),
    ({}, {"apiToken": "also a token"}, "credentials"),
]


@pytest.mark.parametrize(("members", "credentials", "field"), WRONG)
async def test_wrong_delegations_are_refused(admin, new, members, credentials, field):
    body = {**new, **members, "credentials": {**new["credentials"], **credentials}}
    refused = await admin.post("/api/connections", json=body)

    assert refused.status_code == 400
    assert [detail["field"] for detail in refused.json()["details"]] == [field]
    assert (await admin.get("/api/connections")).json()["connections"] == []


# -- the sandbox is as strict as Google


def encoded(part):
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def signed(header, claims):
    text = f"{encoded(header)}.{encoded(claims)}"
    signature = key().sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


NOW = int(time.time())
GOOD = {"iss": ROBOT, "scope": SCOPE, "aud": TOKEN_URL, "iat": NOW, "exp": NOW + 3600}
REFUSED = [
    ({"alg": "none"}, {}, "invalid_grant"),
    ({"alg": "HS256"}, {}, "invalid_grant"),
    ({}, {"iss": "another@project.iam.gserviceaccount.com"}, "invalid_grant"),
    ({}, {"aud": "https://oauth2.googleapis.com/token"}, "invalid_grant"),
    ({}, {"exp": NOW + 3601}, "invalid_grant"),
    ({}, {"exp": NOW - 4000, "iat": NOW - 5000}, "invalid_grant"),
    ({}, {"iat": NOW + 4000, "exp": NOW + 5000}, "invalid_grant"),
    ({}, {"exp": str(NOW + 60)}, "invalid_grant"),
    ({}, {"scope": ""}, "invalid_scope"),
    ({}, {"scope": f"{SCOPE} https://mail.google.com/"}, "unauthorized_client"),
    ({}, {"sub": "stranger@example.org"}, "invalid_grant"),
]


@pytest.mark.parametrize(("header", "claims", "error"), REFUSED)
async def test_the_sandbox_refuses_an_assertion(  # noqa: PLR0917 - fixtures and a row
    client, accounts, person, header, claims, error
):
    assertion = signed({"alg": "RS256", **header}, {**GOOD, "sub": person, **claims})
    answer = await client.post(TOKEN_URL, data={"grant_type": GRANT_TYPE, "assertion": assertion})

    assert (answer.status_code, answer.json()["error"]) == (400, error)


@pytest.mark.parametrize("spoilt", ["", "a.b", "a.b.c", "e30.e30.e30", "W10.W10.W10"])
async def test_the_sandbox_refuses_what_is_no_assertion(client, accounts, spoilt):
    answer = await client.post(TOKEN_URL, data={"grant_type": GRANT_TYPE, "assertion": spoilt})

    assert answer.status_code == 400


async def test_the_sandbox_takes_a_right_assertion(client, accounts, person):
    assertion = signed({"alg": "RS256"}, {**GOOD, "sub": person})
    answer = await client.post(TOKEN_URL, data={"grant_type": GRANT_TYPE, "assertion": assertion})

    assert answer.status_code == 200
    assert answer.json().keys() == {"access_token", "expires_in", "token_type"}
