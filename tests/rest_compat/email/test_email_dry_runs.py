"""Dry runs of mail writes: nothing is written, and the real call does what the effect says."""

from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import getaddresses

import pytest
from world import CODES, MAILBOXES, ME_A, ME_B, api_id

MESSAGES = "/api/access/email/messages"
SEND = f"{MESSAGES}/send"
ME = {"PROVIDER_A": ME_A, "PROVIDER_B": ME_B}
DRY = {"prefer": "dry-run"}
TO = {"to": [{"email": "bo@work.example", "name": "Bo"}]}
NEW = {
    **TO,
    "cc": [{"email": "ana@home.example"}],
    "bcc": [{"email": "x@else.example"}],
    "subject": "Hello",
    "body": "Hi",
    "attachments": [{"name": "a.txt", "contentType": "text/plain", "contentBase64": "aGVsbG8="}],
}


def writes(world):
    return [call for call in world.calls() if call["method"] != "GET"]


def account(world, provider):
    email = f"me@{provider.lower().replace('_', '-')}.example"
    return {
        "connectionId": world.connections[provider],
        "provider": CODES[provider],
        "email": email,
    }


def addresses(message, header):
    values = [str(value) for value in message.get_all(header, ())]
    return sorted(address for _, address in getaddresses(values))


def sent_as_effect(mail):
    """Return recipients, subject and attachments of a sent message in the form of an effect."""
    message = message_from_bytes(mail.raw, policy=policy.default)
    recipients = {
        name.lower(): addresses(message, name)
        for name in ("To", "Cc", "Bcc")
        if addresses(message, name)
    }
    names = sorted(part.get_filename() for part in message.iter_attachments())
    return recipients, str(message["Subject"]), names


def told(effect):
    recipients = {
        name: sorted(person["email"] for person in people)
        for name, people in effect["recipients"].items()
    }
    return (
        recipients,
        effect["subject"],
        sorted(file["name"] for file in effect.get("attachments", ())),
    )


@pytest.fixture
async def token(world):
    return await world.token({})


@pytest.fixture
async def client(world, token):
    async with world.client(token) as client:
        world.forget_calls()
        yield client


async def test_a_send_is_described_and_nothing_is_written(client, world):
    response = await client.post(SEND, json=NEW, headers=DRY)

    assert response.status_code == 200
    assert response.headers["preference-applied"] == "dry-run"
    answer = response.json()
    digest = answer["effect"].pop("digest")
    assert len(digest) > 20
    assert answer == {
        "success": True,
        "emailId": None,
        "threadId": None,
        "errorCode": None,
        "errorMessage": None,
        "dryRun": True,
        "effect": {
            "account": account(world, "PROVIDER_A"),
            "recipients": {
                "to": [{"email": "bo@work.example", "name": "Bo"}],
                "cc": [{"email": "ana@home.example", "name": None}],
                "bcc": [{"email": "x@else.example", "name": None}],
            },
            "subject": "Hello",
            "attachments": [{"name": "a.txt", "size": 5}],
            "allowedBy": {"operation": "send_email"},
        },
    }
    assert writes(world) == []
    assert world.sent("provider-a") == []


CALLS = [
    (SEND, {**NEW, "connectionId": "PROVIDER_A"}, "send from A"),
    (SEND, {**NEW, "connectionId": "PROVIDER_B"}, "send from B"),
    ("{A}/reply", {"body": "Yes"}, "reply on A"),
    ("{A}/reply", {"body": "Yes", "replyAll": True}, "reply to all on A"),
    ("{B}/reply", {"body": "Yes"}, "reply on B"),
    ("{B}/reply", {"body": "Yes", "replyAll": True}, "reply to all on B"),
    ("{A}/forward", {**TO, "attachments": NEW["attachments"]}, "forward on A"),
    ("{B}/forward", {**TO, "attachments": NEW["attachments"]}, "forward on B"),
]
CHANGE = {"markAsRead": True, "addLabels": ["Home", "New one"], "removeLabels": ["finance"]}


def receive(world, provider):
    """Store a message with an attachment to the account; return its id."""
    message = EmailMessage()
    message["Message-ID"] = f"<original-{provider}@effects.example>"
    message["Subject"] = "The secret lease"
    message["From"] = "Ana <ana@home.example>"
    message["Reply-To"] = "Office <office@home.example>, ana@home.example"
    message["To"] = f"{ME[provider]}, Dora <dora@else.example>"
    message["Cc"] = f"carla@work.example, DORA@else.example, {ME[provider].upper()}"
    message.set_content("Words.")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="lease.pdf")
    mailbox = MAILBOXES[provider]
    mail = world.sandbox.state.mails.add(
        mailbox, message.as_bytes(), folder="inbox", labels=(), received_ms=1_700_000_000_000
    )
    return api_id(mailbox, mail.immutable_id)


def filled(world, path, body):
    """Fill in the ids of a call of `CALLS`."""
    for provider in ("PROVIDER_A", "PROVIDER_B"):
        name = f"{{{provider[-1]}}}"
        if name in path:
            path = path.replace(name, f"{MESSAGES}/{receive(world, provider)}")
    if "connectionId" in body:
        body = {**body, "connectionId": world.connections[body["connectionId"]]}
    return path, body


def by_graphql(path, body):
    """Return the GraphQL document and variables of a REST call of `CALLS`."""
    body = {name: value.upper() if name == "bodyType" else value for name, value in body.items()}
    action = path.rpartition("/")[2]
    root, kind = {
        "send": ("sendEmail", "SendEmailInput"),
        "reply": ("replyToEmail", "ReplyEmailInput"),
        "forward": ("forwardEmail", "ForwardEmailInput"),
    }[action]
    variables = {"input": body}
    if action == "send":
        document = f"mutation($input: {kind}!) {{ {root}(input: $input) {{ success }} }}"
    else:
        variables["id"] = path.split("/")[-2]
        document = (
            f"mutation($id: String!, $input: {kind}!) "
            f"{{ {root}(emailId: $id, input: $input) {{ success }} }}"
        )
    return {"query": document, "variables": variables}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "body", "label"), [pytest.param(*row, id=row[2]) for row in CALLS]
)
async def test_the_real_send_does_what_its_effect_says(client, world, path, body, label):
    path, body = filled(world, path, body)
    dry = await client.post(path, json=body, headers=DRY)
    assert dry.status_code == 200, dry.text
    effect = dry.json()["effect"]
    assert writes(world) == []

    graph = await client.post(
        "/graphql", json={**by_graphql(path, body), "extensions": {"dryRun": True}}
    )
    assert graph.json()["extensions"]["effect"] == effect
    assert graph.json()["extensions"]["dryRun"] is True
    assert writes(world) == []

    headers = {"if-effect": effect["digest"]}
    real = await client.post(path, json=body, headers=headers)
    assert real.status_code == dry.status_code
    assert list(dry.json())[: len(real.json())] == list(real.json())
    mailbox = "provider-b" if label.endswith("B") else "provider-a"
    (mail,) = world.sent(mailbox)
    assert sent_as_effect(mail) == told(effect)


@pytest.mark.parametrize("name", ["lease", "budget"])
async def test_the_real_change_does_what_its_effect_says(client, world, name):
    path = f"{MESSAGES}/{world.id(name)}"
    dry = await client.patch(path, json=CHANGE, headers=DRY)
    assert dry.status_code == 200, dry.text
    assert writes(world) == []
    answer = dry.json()
    effect = answer["effect"]
    assert (answer["success"], answer["emailId"]) == (True, world.id(name))
    assert effect["target"] == {"kind": "message", "id": world.id(name)}
    assert effect["allowedBy"] == {"operation": "mark_as_read"}

    shown = (await client.get(path)).json()
    assert {change["field"]: change["from"] for change in effect["changes"]} == {
        "isRead": shown["isRead"],
        "labels": shown["labels"],
    }
    real = await client.patch(path, json=CHANGE, headers={"if-effect": effect["digest"]})
    assert real.status_code == 200, real.text
    shown = (await client.get(path)).json()
    assert {change["field"]: sorted_if_list(change["to"]) for change in effect["changes"]} == {
        "isRead": shown["isRead"],
        "labels": sorted_if_list(shown["labels"]),
    }


def sorted_if_list(value):
    return sorted(value) if isinstance(value, list) else value


@pytest.mark.parametrize("name", ["lease", "budget"])
async def test_a_dry_deletion_answers_200_with_the_effect(client, world, name):
    path = f"{MESSAGES}/{world.id(name)}"
    dry = await client.delete(path, headers=DRY)
    effect = dry.json()["effect"]

    assert dry.status_code == 200
    assert dry.json() == {"success": True, "dryRun": True, "effect": effect}
    assert effect["destination"] == {"kind": "trash"}
    assert writes(world) == []
    real = await client.delete(path, headers={"if-effect": effect["digest"]})
    assert real.status_code == 204
    assert world.stored(name).folder == "trash"


async def test_a_call_whose_effect_has_changed_writes_nothing(client, world):
    path = f"{MESSAGES}/{world.id('lease')}"
    change = {"markAsRead": True}
    effect = (await client.patch(path, json=change, headers=DRY)).json()["effect"]
    assert (await client.patch(path, json=change)).status_code == 200
    world.forget_calls()

    response = await client.patch(path, json=change, headers={"if-effect": effect["digest"]})

    assert response.status_code == 412
    assert response.json()["error"] == "EFFECT_CHANGED"
    assert response.json()["errorCode"] == "EFFECT_CHANGED"
    assert writes(world) == []
    graph = await client.post(
        "/graphql",
        json={
            "query": "mutation($id: String!) "
            "{ modifyEmail(emailId: $id, input: {markAsRead: true}) { success } }",
            "variables": {"id": world.id("lease")},
            "extensions": {"ifEffect": effect["digest"]},
        },
    )
    assert graph.json()["errors"][0]["extensions"]["code"] == "EFFECT_CHANGED"
    assert graph.json()["errors"][0]["extensions"]["httpStatus"] == 412
    assert writes(world) == []


@pytest.mark.parametrize("change", [{"body": "Other"}, {"subject": "Other"}, {"bcc": []}])
async def test_another_message_has_another_effect(client, world, change):
    effect = (await client.post(SEND, json=NEW, headers=DRY)).json()["effect"]

    headers = {"if-effect": effect["digest"]}
    response = await client.post(SEND, json={**NEW, **change}, headers=headers)

    assert response.status_code == 412
    assert writes(world) == []


async def test_a_dry_run_does_not_use_up_its_key(client, world):
    keyed = {"idempotency-key": "one"}
    dry = await client.post(SEND, json=NEW, headers={**DRY, **keyed})
    real = await client.post(SEND, json={**NEW, "subject": "Real"}, headers=keyed)
    replayed = await client.post(SEND, json={**NEW, "subject": "Real"}, headers=keyed)

    assert (dry.status_code, real.status_code, replayed.status_code) == (200, 200, 200)
    assert "idempotent-replayed" not in real.headers
    assert replayed.headers["idempotent-replayed"] == "true"
    assert len(world.sent("provider-a")) == 1


async def test_one_key_with_another_expected_effect_is_another_request(client, world):
    effect = (await client.post(SEND, json=NEW, headers=DRY)).json()["effect"]
    keyed = {"idempotency-key": "one", "if-effect": effect["digest"]}

    assert (await client.post(SEND, json=NEW, headers=keyed)).status_code == 200
    again = await client.post(SEND, json=NEW, headers=keyed)
    assert again.headers["idempotent-replayed"] == "true"
    other = await client.post(SEND, json=NEW, headers={**keyed, "if-effect": "other"})
    assert (other.status_code, other.json()["error"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert len(world.sent("provider-a")) == 1


async def test_reads_ignore_the_preference(client):
    response = await client.get(MESSAGES, headers=DRY)
    graph = await client.post(
        "/graphql",
        json={"query": "{ emails(limit: 1) { totalCount } }", "extensions": {"dryRun": True}},
        headers=DRY,
    )

    assert response.status_code == graph.status_code == 200
    assert "preference-applied" not in response.headers
    assert "preference-applied" not in graph.headers
    assert "dryRun" not in response.json()
    assert "dryRun" not in graph.json()["extensions"]


@pytest.mark.parametrize("extensions", [[], {"dryRun": "yes"}, {"ifEffect": 7}])
async def test_malformed_extensions_are_refused(client, world, extensions):
    some = api_id("provider-a", "1")
    query = f'mutation {{ deleteEmail(emailId: "{some}") {{ success }} }}'
    response = await client.post("/graphql", json={"query": query, "extensions": extensions})

    assert response.status_code == 400
    assert response.json()["errors"][0]["extensions"]["code"] == "VALIDATION_ERROR"
    assert world.calls() == []


async def test_two_expected_effects_are_refused(client, world):
    headers = [("if-effect", "a"), ("if-effect", "b")]
    response = await client.post(SEND, json=NEW, headers=headers)

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_PARAMETER")
    assert world.calls() == []


async def test_a_dry_run_is_charged_and_logged(client, world):
    await client.post(SEND, json=NEW, headers=DRY)
    await client.post(SEND, json=NEW)

    listing = (await world.admin.get("/api/decisions", params={"operation": "sendEmail"})).json()
    rows = [(row["dryRun"], row["outcome"], row["cost"]) for row in listing["decisions"]]
    assert rows == [(False, "allowed", 1), (True, "allowed", 1)]


@pytest.mark.parametrize("provider", ["PROVIDER_A", "PROVIDER_B"])
@pytest.mark.parametrize("action", ["reply", "forward"])
async def test_what_is_masked_stays_masked_in_the_effect(world, provider, action):
    settings = {"visibleEmailFields": ["body", "to"], "maskMode": "basic"}
    token = await world.token(settings)
    body = {"reply": {"body": "Yes", "replyAll": True}, "forward": TO}[action]
    path = f"{MESSAGES}/{receive(world, provider)}/{action}"
    async with world.client(token) as client:
        response = await client.post(path, json=body, headers=DRY)

    assert response.status_code == 200, response.text
    effect = response.json()["effect"]
    if action == "reply":  # Office, Ana, Dora and Carla
        assert effect["recipients"] == {"hidden": 4}
    assert "subject" not in effect
    assert "attachments" not in effect
    for secret in ("ana@", "office@", "dora@", "carla@", "secret", "lease"):
        assert secret not in response.text


@pytest.mark.slow
async def test_hidden_labels_are_not_read(world):
    token = await world.token({"visibleEmailFields": ["subject"], "maskMode": "basic"})
    async with world.client(token) as client:
        for name in ("lease", "budget"):
            path = f"{MESSAGES}/{world.id(name)}"
            response = await client.patch(path, json=CHANGE, headers=DRY)
            (_, labels) = response.json()["effect"]["changes"]
            assert labels == {"field": "labels", "from": None, "to": None}
            assert "INBOX" not in response.text


async def test_a_refusal_is_that_of_the_real_call(client, world):
    body = {**NEW, "to": [{"email": "no address"}]}
    dry = await client.post(SEND, json=body, headers=DRY)
    real = await client.post(SEND, json=body)

    assert dry.status_code == real.status_code == 400
    assert {**dry.json(), "requestId": None} == {**real.json(), "requestId": None}
    assert world.calls() == []
