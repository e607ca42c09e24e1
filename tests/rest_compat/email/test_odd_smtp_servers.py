"""
Submission servers that behave as public reports of mail programs tell, by REST and by GraphQL.

The source of each row is the place where the behaviour was reported, or the RFC that asks for it.
"""

import pytest
import pytest_asyncio
from odd_imap import odd_imap
from odd_smtp import odd_smtp

from providers.connectors.imap import submitting

pytestmark = pytest.mark.asyncio(loop_scope="session")

SEND = "/api/access/email/messages/send"
MUTATION = """mutation($input: SendEmailInput!) { sendEmail(input: $input) { success } }"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mailboxes():
    async with odd_imap() as server:
        yield server


@pytest.fixture
def sender(shared_world, mailboxes, monkeypatch):
    """Return a function that connects an account; it returns what sends by it."""
    monkeypatch.setattr(submitting, "COPY_DELAYS_SECONDS", (0.0,))

    async def connect(server):
        name = f"{server.behaviour}@here.example"
        made = await shared_world.admin.post(
            "/api/connections",
            json={
                "resourceId": 1,
                "operatorId": shared_world.operator_id,
                "kind": "email",
                "provider": "IMAP",
                "accountEmail": name,
                "baseUrl": f"imap+plain://127.0.0.1:{mailboxes.port}",
                "credentials": {
                    "username": name,
                    "password": "right",
                    "submissionUrl": f"smtp+plain://127.0.0.1:{server.port}",
                },
            },
        )
        assert made.status_code == 201, made.text
        connection = made.json()["id"]
        token = await shared_world.token({"allowedConnectionIds": [connection]})
        return Sender(shared_world, connection, token)

    return connect


class Sender:
    """Sends from one account."""

    def __init__(self, world, connection, token):
        self._world, self._connection, self._token = world, connection, token

    async def send(self, *to, graphql=False):
        message = {
            "to": [{"email": address} for address in to or ("ben@there.example",)],
            "subject": "s",
            "body": "b",
            "connectionId": self._connection,
        }
        async with self._world.client(self._token) as client:
            if not graphql:
                return await client.post(SEND, json=message)
            body = {"query": MUTATION, "variables": {"input": message}}
            return (await client.post("/graphql", json=body)).json()

    async def status(self):
        path = f"/api/connections/{self._connection}"
        return (await self._world.admin.get(path)).json()["status"]


@pytest.mark.parametrize(
    "behaviour",
    [
        "plain",
        "plain502",  # qq.com: yc-software/qm#808; RFC 4954, 6
        "plain504",
        "plain334",
        "autheq",  # bluetiger9/SmtpClient-for-Qt#165
        "authboth",
        "authlower",
        "authloginonly",
        "multi250",  # RFC 5321, 4.2.1
    ],
)
async def test_a_message_is_sent_once(sender, behaviour):
    async with odd_smtp(behaviour) as server:
        account = await sender(server)
        sent = await account.send()
        queried = await account.send(graphql=True)

    assert sent.status_code == 200, sent.text
    assert queried["data"]["sendEmail"]["success"] is True
    assert server.sent == [["ben@there.example", f"{behaviour}@here.example"]] * 2


LATER = (429, "RATE_LIMITED")
REFUSED = (502, "PROVIDER_ERROR")


@pytest.mark.parametrize(
    ("behaviour", "answer"),
    [
        ("greet421", LATER),  # letsencrypt/boulder#2249
        ("greet450", LATER),
        ("greet554", REFUSED),
        ("auth421", LATER),
        ("auth454", LATER),  # RFC 4954, 6; chatmail/core#6065
        ("authmany", LATER),
        ("auth535later", LATER),
        ("auth535", (502, "SENDING_REFUSED")),
        ("authreason", (502, "SENDING_REFUSED")),  # Postfix's words
        ("auth534", (502, "SENDING_REFUSED")),
        ("authtenant", (502, "SENDING_REFUSED")),
        ("noauth", REFUSED),
        ("mail421", LATER),  # RFC 5321, 4.2.1; jstedfast/MailKit#1106
        ("rcpt421", LATER),
        ("rcptgone", REFUSED),
        ("rcptgrey", LATER),
        ("rcptfull", REFUSED),
        ("rcptfull552", REFUSED),
        ("rcptstorage", (502, "QUOTA_EXCEEDED")),
        ("toomany", REFUSED),  # RFC 5321, 4.5.3.1.10; foxcpp/maddy#149
        ("toomany552", REFUSED),
        ("toomany550", REFUSED),
        ("dailylimit", REFUSED),
        ("spam", REFUSED),
        ("greydata", LATER),
        ("data421", LATER),
        ("full", (502, "QUOTA_EXCEEDED")),
        ("full552", (502, "QUOTA_EXCEEDED")),
        ("toolarge", (413, "PAYLOAD_TOO_LARGE")),
    ],
)
async def test_a_refusal_means_what_it_says(sender, behaviour, answer):
    people = ["refused@there.example", *(f"u{number}@there.example" for number in range(49))]
    status, code = answer
    async with odd_smtp(behaviour) as server:
        account = await sender(server)
        sent = await account.send(*people)
        queried = await account.send(*people, graphql=True)

    body = sent.json()
    assert (sent.status_code, body.get("errorCode") or code) == answer, sent.text
    assert sent.headers.get("retry-after") == ("60" if status == 429 else None)
    assert queried["errors"][0]["extensions"]["code"] == code
    assert server.sent == []
    assert await account.status() == "active"
    assert body["message"] == SENTENCES.get(behaviour, body["message"])


_TOO_MANY = "The mail server takes at most 20 recipients in one message. Nothing was sent."
_FULL = (
    "The mail server does not accept recipient 1 of 50, counted over to, cc and bcc: "
    "the mailbox is full. Nothing was sent."
)
SENTENCES = {
    **dict.fromkeys(("toomany", "toomany552", "toomany550"), _TOO_MANY),
    **dict.fromkeys(("rcptfull", "rcptfull552"), _FULL),
}
