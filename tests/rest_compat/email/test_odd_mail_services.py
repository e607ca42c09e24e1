"""
Answers of Gmail and Graph that public reports or the vendors' pages describe, by REST and GraphQL.

The source of each row is the place where the answer was reported.
"""

import pytest
import pytest_asyncio
from stub_upstream import stub_upstream, world_at

pytestmark = pytest.mark.asyncio(loop_scope="session")

MESSAGES = "/api/access/email/messages"
SCOPES = {
    "PROVIDER_A": ["https://www.googleapis.com/auth/gmail.modify"],
    "PROVIDER_B": ["Mail.ReadWrite", "Mail.Send", "User.Read"],
}


@pytest.fixture(scope="module")
def stub():
    with stub_upstream() as stub:
        yield stub


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def world(stub, world_template, tmp_path_factory):
    async with world_at(stub, world_template, tmp_path_factory.mktemp("odd")) as world:
        yield world


@pytest.fixture
def mailbox(world):
    """Return a function that connects an account of a provider, and lists its mail."""

    async def connect(provider, **changes):
        body = {
            "resourceId": 1,
            "operatorId": world.operator_id,
            "kind": "email",
            "provider": provider,
            "accountEmail": "me@here.example",
            "credentials": {"accessToken": "tok"},
            "grantedScopes": SCOPES[provider],
        }
        made = await world.admin.post("/api/connections", json=body | changes)
        assert made.status_code == 201, made.text
        return Mailbox(world, made.json()["id"])

    return connect


class Mailbox:
    def __init__(self, world, connection):
        self._world, self.connection = world, connection

    async def list(self):
        """List by REST and by GraphQL; return the REST response and the GraphQL body."""
        token = await self._world.token({"allowedConnectionIds": [self.connection]})
        async with self._world.client(token) as client:
            listed = await client.get(MESSAGES)
            body = {"query": "{ emails { emails { subject } } }"}
            return listed, (await client.post("/graphql", json=body)).json()

    async def status(self):
        answer = await self._world.admin.get(f"/api/connections/{self.connection}")
        return answer.json()["status"]


def google(status, message, reason, word=None):
    error = {"code": status, "message": message, "errors": [{"reason": reason}]}
    if word:
        error["details"] = [{"reason": word}]
    return {"match": "/messages", "status": status, "body": {"error": error}}


def graph(status, code, **headers):
    body = {"error": {"code": code, "message": "m"}}
    return {"match": "/me/m", "status": status, "body": body, "headers": headers}


ME = {"match": "/v1.0/me", "body": {"mail": "me@here.example"}}
NO_MAILBOX = "has no mailbox at the provider"
DENIED = "is denied access by a policy of its administrators"
OFF = "cannot be used: the provider's API is switched off for the gateway's OAuth client"
RECONNECT = "needs to be reconnected"


@pytest.mark.parametrize(
    ("provider", "rule", "reason"),
    [
        # googleapis/google-api-php-client#2558
        ("A", google(400, "Mail service not enabled", "failedPrecondition"), NO_MAILBOX),
        ("A", google(400, "Precondition check failed.", "failedPrecondition"), "failed"),
        # WPManageNinja/fluent-smtp#152
        ("A", google(403, "It is disabled.", "accessNotConfigured", "SERVICE_DISABLED"), OFF),
        ("A", google(403, "Administrators have disabled Gmail apps.", "domainPolicy"), DENIED),
        ("A", google(403, "Insufficient scopes.", "insufficientPermissions"), RECONNECT),
        ("A", google(500, "Backend Error", "backendError"), "failed"),
        ("B", graph(404, "MailboxNotEnabledForRESTAPI"), NO_MAILBOX),  # outlook-dev-docs#1031
        ("B", graph(403, "ErrorAccessDenied"), DENIED),  # kellylford/QuickMail#678
        ("B", graph(403, "Authorization_RequestDenied"), RECONNECT),
        ("B", graph(503, "ErrorServerBusy"), "failed"),
        ("B", graph(503, "ErrorMailboxMoveInProgress"), "failed"),
        ("B", {"match": "/me/m", "body": "<html>Sign in</html>"}, "failed"),
    ],
)
async def test_a_refusal_says_why(mailbox, stub, provider, rule, reason):
    stub.play(rule, ME)
    account = await mailbox(f"PROVIDER_{provider}")

    listed, queried = await account.list()

    sentence = f"None of the connected mailboxes answered. Provider {provider} (me@here.example): "
    assert (listed.status_code, listed.json()["error"]) == (502, "PROVIDER_ERROR")
    assert listed.json()["message"] == f"{sentence}{reason}."
    assert queried["errors"][0]["message"] == f"{sentence}{reason}."
    assert await account.status() == "active"


async def test_a_missing_scope_is_told_where_the_record_shows_it(mailbox, stub):
    stub.play(graph(403, "ErrorAccessDenied"), ME)
    account = await mailbox("PROVIDER_B", grantedScopes=["User.Read"])

    listed, _ = await account.list()

    assert "needs to be reconnected" in listed.json()["message"], listed.text


@pytest.mark.parametrize(
    ("provider", "rule", "seconds"),
    [
        # googleapis/google-api-python-client#170, GAM-team/got-your-back#309
        ("A", google(403, "Rate Limit Exceeded", "rateLimitExceeded"), 1),
        ("A", google(403, "User Rate Limit Exceeded", "userRateLimitExceeded"), 1),
        ("A", google(403, "Quota exceeded", "quotaExceeded"), 3600),
        ("A", google(429, "Too many concurrent requests for user.", "rateLimitExceeded"), 1),
        ("B", graph(429, "ApplicationThrottled"), 1),
        # microsoftgraph/microsoft-graph-docs#3877
        ("B", graph(429, "TooManyRequests", **{"Retry-After": "0.249"}), 1),
        ("B", graph(429, "TooManyRequests", **{"Retry-After": "2.5"}), 3),
        ("B", graph(429, "TooManyRequests", **{"Retry-After": "12"}), 12),
    ],
)
async def test_a_throttle_tells_the_wait(mailbox, stub, provider, rule, seconds):
    stub.play(rule, ME)
    account = await mailbox(f"PROVIDER_{provider}")

    listed, queried = await account.list()

    assert (listed.status_code, listed.headers["retry-after"]) == (429, str(seconds)), listed.text
    assert queried["errors"][0]["extensions"]["code"] == "RATE_LIMITED"
    assert await account.status() == "active"


async def test_chats_are_no_mail(mailbox, stub):
    """kenn-io/msgvault#691, rtCamp/frappe-gmail-thread#16."""

    def message(name, label):
        headers = [{"name": "Subject", "value": name}]
        payload = {"mimeType": "text/plain", "headers": headers, "body": {"size": 0}}
        made = {"id": name, "threadId": name, "labelIds": [label], "payload": payload}
        return {
            "match": rf"/messages/{name}\b",
            "body": made | {"internalDate": "1791360000000", "snippet": ""},
        }

    ids = {"messages": [{"id": name, "threadId": name} for name in ("a5", "a6")]}
    stub.play(
        message("a5", "INBOX"),
        message("a6", "CHAT"),
        {"match": r"/messages(\?|$)", "body": ids | {"resultSizeEstimate": 2}},
        {"match": "/labels", "body": {"labels": []}},
    )
    account = await mailbox("PROVIDER_A")

    listed, queried = await account.list()

    assert [email["subject"] for email in listed.json()["emails"]] == ["a5"], listed.text
    assert queried["data"]["emails"]["emails"] == [{"subject": "a5"}]


@pytest.mark.parametrize("failure", [{"status": 503}, {"status": 416}, {"drop": True}])
async def test_a_file_goes_on_behind_a_slice_that_was_taken(world, stub, mailbox, failure):
    """OneDrive/onedrive-api-docs#64, of the attachments of a draft."""
    size, piece = 5 * 1024 * 1024, 2 * 1024 * 1024
    box = await mailbox("PROVIDER_B")
    token = await world.token(
        {"allowedConnectionIds": [box.connection], "allowedEmailOperations": ["all"]}
    )
    slices = {"method": "PUT", "match": "/up/1", "times": 1}
    stub.play(
        {"method": "POST", "match": "createUploadSession", "body": {"uploadUrl": "{stub}/up/1"}},
        {**slices, "body": {"nextExpectedRanges": [str(piece)]}},
        {**slices, **failure},
        {**slices, "status": 201},
        {"match": "/up/1", "body": {"nextExpectedRanges": [f"{2 * piece}-"]}},
        {"method": "POST", "match": "/send$", "status": 202},
        {"method": "POST", "match": "/messages$", "status": 201, "body": {"id": "draft"}},
        {"match": "/messages/draft", "body": {"id": "draft", "isDraft": True}},
    )
    async with world.client(token) as client:
        uploaded = await client.post(
            "/api/access/email/attachments?fileName=a.bin", content=bytes(size)
        )
        message = {
            "to": [{"email": "ann@x.example"}],
            "subject": "s",
            "body": "b",
            "attachments": [{"handle": uploaded.json()["handle"]}],
        }
        sent = await client.post(f"{MESSAGES}/send", json=message)

    assert sent.status_code == 200, (sent.text, [call[:2] for call in stub.calls])
    sizes = [len(content) for method, _, content in stub.calls if method == "PUT"]
    assert sizes == [piece, piece, size - 2 * piece]
