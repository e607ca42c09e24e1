"""A shared mailbox allows what the person may do there, and names what is missing."""

import pytest

from sandbox.mail.ids import PROVIDER_B, SHARED_B
from sandbox.provider_b.mailbox_rights import grant

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

ACCESS = "/api/access/email"
PERSON, TEAM = "me@provider-b.example", "team@provider-b.example"
SCOPES = [
    *("Mail.ReadWrite", "Mail.Send", "User.Read"),
    *("Mail.ReadWrite.Shared", "Mail.Send.Shared"),
]
MAIL = {"to": [{"email": "bob@example.org"}], "subject": "Offer", "body": "Words."}
READS_ONLY = "The person whose rights the shared mailbox is opened with may only read it."
SENDS_NOT = "The person whose rights the shared mailbox is opened with may not send from it."
NOT_SHARED = f"Provider B ({TEAM}): is not shared with the person whose connection it uses."


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


@pytest.fixture
def emptied_mail(sandbox):
    yield sandbox.state.mails
    for mailbox in (PROVIDER_B, SHARED_B):
        for mail in sandbox.state.mails.all(mailbox):
            sandbox.state.mails.delete(mailbox, mail.id)
    grant(sandbox.state.database, SHARED_B, PERSON, [])


@pytest.fixture
def opened(  # noqa: PLR0917 - fixtures
    admin, client, connect, sandbox, gateway, emptied_mail, operator, resource
):
    """Connect a person's mailbox and the shared one; return what calls them with a token."""

    async def made(*rights, scopes=SCOPES):
        grant(sandbox.state.database, SHARED_B, PERSON, rights)
        secret = sandbox.state.tokens.issue("providerB", PERSON, scopes)
        owner = await connect(
            "PROVIDER_B", PERSON, credentials={"accessToken": secret}, grantedScopes=list(scopes)
        )
        shared = await admin.post(f"/api/connections/{owner}/shared", json={"accountEmail": TEAM})
        for connection in (owner, shared.json()["id"]):  # ids begin anew after each test
            gateway.services.accounts.forget(connection)
        settings = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"]}
        new = {"name": "t", "operatorId": operator, "resourceIds": [resource]}
        token = await admin.post("/api/access-tokens", json={**new, "settings": settings})
        header = {"Authorization": f"Bearer {token.json()['token']}"}
        sandbox.upstreams["providerB"].calls.clear()

        async def call(method, path, **body):
            return await client.request(method, f"{ACCESS}{path}", headers=header, **body)

        return call, owner, shared.json()["id"]

    return made


def receive(mails, mailbox, subject):
    raw = f"From: Ann <ann@north.example>\r\nTo: {TEAM}\r\nSubject: {subject}\r\n\r\nHello"
    return f"providerB:{mails.add(mailbox, raw.encode(), folder='inbox').immutable_id}"


def writes(sandbox):
    calls = sandbox.upstreams["providerB"].calls
    return [call["path"] for call in calls if call["method"] not in {"GET", "HEAD"}]


def subjects(answer):
    return [mail["subject"] for mail in answer.json()["emails"]]


@pytest.mark.parametrize(
    ("right", "sender"), [("send-as", None), ("send-on-behalf", PERSON)], ids=["as", "on behalf"]
)
async def test_mail_is_from_the_shared_mailbox(opened, emptied_mail, right, sender):
    call, _, team = await opened("full-access", right)
    sent = await call("POST", "/messages/send", json={**MAIL, "connectionId": team})

    assert (sent.status_code, sent.json()["success"]) == (200, True)
    (mail,) = emptied_mail.all(SHARED_B)
    assert mail.folder == "sent"
    head = mail.raw.partition(b"\r\n\r\n")[0].decode().splitlines()
    authors = [line.partition(": ")[2] for line in head if line.startswith("From: ")]
    agents = [line.partition(": ")[2] for line in head if line.startswith("Sender: ")]
    assert [TEAM in author for author in authors] == [True]
    assert [PERSON in agent for agent in agents] == [True] * (sender is not None)
    assert emptied_mail.all(PROVIDER_B) == ()


async def test_both_mailboxes_are_listed_and_each_answers_for_itself(opened, emptied_mail):
    call, _, _ = await opened("full-access", "send-as")
    own = receive(emptied_mail, PROVIDER_B, "own")
    team = receive(emptied_mail, SHARED_B, "team")
    reply = {"body": "Thanks."}
    answer = await call("POST", f"/messages/{team}/reply", json=reply)

    assert answer.status_code == 200
    assert sorted(subjects(await call("GET", "/messages"))) == ["RE: team", "own", "team"]
    assert [mail.folder for mail in emptied_mail.all(SHARED_B)].count("sent") == 1
    assert [mail.folder for mail in emptied_mail.all(PROVIDER_B)] == ["inbox"]
    for message, subject in ((own, "own"), (team, "team")):
        assert (await call("GET", f"/messages/{message}")).json()["subject"] == subject


async def test_a_person_who_may_only_read_writes_nothing(opened, emptied_mail, sandbox):
    call, _, team = await opened("read")
    message = receive(emptied_mail, SHARED_B, "team")
    assert subjects(await call("GET", "/messages")) == ["team"]
    send = {**MAIL, "connectionId": team}
    for method, path, body in (
        ("POST", "/messages/send", send),
        ("POST", "/drafts", send),
        ("POST", f"/messages/{message}/reply", {"body": "Thanks."}),
        ("POST", f"/messages/{message}/forward", {"to": MAIL["to"], "body": "See."}),
    ):
        answer = await call(method, path, json=body)
        assert (path, answer.status_code, answer.json()["error"]) == (path, 403, "READ_ONLY")
        assert READS_ONLY in answer.text
    changed = await call("PATCH", f"/messages/{message}", json={"markAsRead": True})
    assert changed.status_code == 404
    assert f"The email could not be changed. {READS_ONLY}" in changed.text
    (mail,) = emptied_mail.all(SHARED_B)
    assert (mail.folder, mail.is_read) == ("inbox", False)
    assert emptied_mail.all(PROVIDER_B) == ()


async def test_a_person_without_a_right_to_send_drafts_and_sends_nothing(opened, emptied_mail):
    call, _, team = await opened("full-access")
    answer = await call("POST", "/messages/send", json={**MAIL, "connectionId": team})

    assert (answer.status_code, answer.json()["error"]) == (403, "READ_ONLY")
    assert SENDS_NOT in answer.text
    assert emptied_mail.all(SHARED_B) == ()  # the draft went with the refusal
    drafted = await call("POST", "/drafts", json={**MAIL, "connectionId": team})
    assert drafted.status_code == 202
    sent = await call("POST", f"/drafts/{drafted.json()['emailId']}/send")
    assert (sent.status_code, sent.json()["error"]) == (403, "READ_ONLY")
    assert [mail.folder for mail in emptied_mail.all(SHARED_B)] == ["drafts"]


async def test_a_lost_right_is_named_and_the_own_mailbox_stays_well(
    opened, emptied_mail, admin, sandbox
):
    call, owner, team = await opened("full-access", "send-as")
    receive(emptied_mail, PROVIDER_B, "own")
    receive(emptied_mail, SHARED_B, "team")
    grant(sandbox.state.database, SHARED_B, PERSON, ["send-as"])

    listed = await call("GET", "/messages")
    assert (subjects(listed), listed.json()["authWarnings"]) == (["own"], [NOT_SHARED])
    tested = (await admin.post(f"/api/connections/{team}/test", json={})).json()
    assert (tested["ok"], tested["status"]) == (False, "error")
    assert tested["detail"] == (
        "The connection is not shared with the person whose connection it uses."
    )
    own = (await admin.post(f"/api/connections/{owner}/test", json={})).json()
    assert (own["ok"], own["status"]) == (True, "active")


async def test_a_missing_scope_is_named_with_the_link_of_the_person(opened, emptied_mail, admin):
    call, _, _ = await opened("full-access", "send-as", scopes=SCOPES[:3])
    receive(emptied_mail, PROVIDER_B, "own")
    listed = await call("GET", "/messages")

    assert subjects(listed) == ["own"]
    (warning,) = listed.json()["authWarnings"]
    assert warning.startswith(
        f"Provider B ({TEAM}): needs to be reconnected: its consent does not include "
        "Mail.ReadWrite.Shared, Mail.Send.Shared."
    )


async def test_a_mailbox_that_is_none_says_so(opened, emptied_mail, admin):
    _, _, team = await opened("full-access")
    await admin.patch(f"/api/connections/{team}", json={"accountEmail": "no@provider-b.example"})
    tested = (await admin.post(f"/api/connections/{team}/test", json={})).json()

    assert (tested["status"], tested["detail"]) == (
        "error",
        "The connection has no mailbox at the provider.",
    )


async def test_the_checks_are_of_the_shared_mailbox(opened, emptied_mail, admin, sandbox):
    _, _, team = await opened("full-access", "send-as")
    checked = (await admin.post(f"/api/connections/{team}/check", json={})).json()

    assert checked["ok"] is True
    paths = [call["path"] for call in sandbox.upstreams["providerB"].calls]
    assert not [path for path in paths if path.startswith("/v1.0/me")]
