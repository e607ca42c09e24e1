"""Accounts whose sign-in name is not their address, and accounts with aliases."""

from email import message_from_bytes, policy

import pytest
from consents import consent

from sandbox.mail.store import Account

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

UPSTREAMS = {"PROVIDER_A": ("provider-a", "providerA"), "PROVIDER_B": ("provider-b", "providerB")}
MESSAGES = "/api/access/email/messages"
OWNER = Account(
    "nora@studio.example",
    "Nora",
    "n.lindqvist@studio.onmicrosoft.example",
    ("office@nora.example",),
)


# It is addressed to the account by its address, its alias and one name more.
QUESTION = f"""From: Ann <ann@north.example>\r
To: Nora <{OWNER.email}>, Bob <bob@south.example>, {{}}\r
Cc: {OWNER.aliases[0]}, carl@east.example\r
Subject: Plan\r
Message-ID: <plan@north.example>\r
Date: Mon, 23 Nov 2026 09:00:00 +0000\r
\r
Shall we?\r
"""


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


@pytest.fixture
def owner(sandbox):
    """An account of each mail provider with a primary address, aliases and a sign-in name."""
    mails = sandbox.state.mails
    before = {mailbox: mails.account(mailbox) for mailbox in ("provider-a", "provider-b")}
    mails.set_account("provider-a", Account(OWNER.email, OWNER.name, aliases=OWNER.aliases))
    mails.set_account("provider-b", OWNER)
    yield OWNER
    for mailbox, account in before.items():
        mails.set_account(mailbox, account)
        for mail in mails.all(mailbox):
            mails.delete(mailbox, mail.immutable_id)


@pytest.fixture
def holder(admin, new_token):
    """Make a token that may read and send; return its header."""

    async def made():
        settings = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"]}
        answer = await admin.post("/api/access-tokens", json={**new_token, "settings": settings})
        return {"Authorization": f"Bearer {answer.json()['token']}"}

    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("PROVIDER_B", OWNER.sign_in_name),
        ("PROVIDER_B", OWNER.email),
        ("PROVIDER_B", OWNER.aliases[0]),
        ("PROVIDER_A", OWNER.email),
        ("PROVIDER_A", OWNER.aliases[0]),
    ],
)
@pytest.mark.usefixtures("owner")
async def test_a_reply_to_all_is_not_sent_to_the_account_itself(  # noqa: PLR0917 - fixtures and a row
    admin, client, connect, holder, sandbox, provider, name
):
    mailbox, _ = UPSTREAMS[provider]
    mails = sandbox.state.mails
    own = {"PROVIDER_A": OWNER.email, "PROVIDER_B": OWNER.sign_in_name.upper()}
    question = QUESTION.format(own[provider])
    mails.add(mailbox, question.encode(), folder="inbox")
    connection = await connect(provider, name)
    page = await consent(admin, client, connection, login_hint=OWNER.email)
    header = await holder()
    (listed,) = (await client.get(MESSAGES, headers=header)).json()["emails"]
    body = {"body": "Fine.", "replyAll": True}
    answer = await client.post(f"{MESSAGES}/{listed['id']}/reply", json=body, headers=header)

    assert (page.status_code, answer.status_code) == (200, 200), answer.text
    (sent,) = [mail for mail in mails.all(mailbox) if mail.folder == "sent"]
    message = message_from_bytes(sent.raw, policy=policy.default)
    recipients = [address.addr_spec for name in ("To", "Cc") for address in message[name].addresses]
    assert recipients == ["ann@north.example", "bob@south.example", "carl@east.example"]
    assert message["Bcc"] is None


@pytest.mark.parametrize("name", [OWNER.email, OWNER.sign_in_name, OWNER.aliases[0].upper()])
@pytest.mark.parametrize("provider", ["PROVIDER_A", "PROVIDER_B"])
@pytest.mark.usefixtures("owner")
async def test_every_address_of_the_account_connects_it(admin, client, connect, provider, name):
    if (provider, name) == ("PROVIDER_A", OWNER.sign_in_name):
        pytest.skip("its accounts have no sign-in name")
    connection = await connect(provider, name)
    page = await consent(admin, client, connection, login_hint=OWNER.email)

    assert page.status_code == 200
    stored = (await admin.get(f"/api/connections/{connection}")).json()
    assert stored["status"] == "active"


@pytest.mark.usefixtures("owner")
@pytest.mark.parametrize("provider", ["PROVIDER_A", "PROVIDER_B"])
async def test_a_connected_account_stays_the_same_under_another_name(
    admin, client, connect, sandbox, provider
):
    connection = await connect(provider, OWNER.aliases[0])
    await consent(admin, client, connection, login_hint=OWNER.email)
    mailbox, upstream_name = UPSTREAMS[provider]
    sandbox.state.mails.set_account(mailbox, Account(OWNER.email, "Nora"))
    upstream = sandbox.upstreams[upstream_name]
    upstream.calls.clear()
    again = await consent(admin, client, connection, login_hint=OWNER.email)
    other = await consent(admin, client, connection, login_hint=OWNER.aliases[0])

    assert again.status_code == 200  # the alias is gone, the account is the same
    assert (other.status_code, "another account" in other.text) == (403, True)
    assert list(upstream.calls) == []  # the token names the account
