"""Sending, replying, forwarding, deleting and changing mail over REST."""

import pytest
from world import PREFIXES, api_id

from sandbox.mail.mime import parse

shared = pytest.mark.asyncio(loop_scope="session")  # for tests that change nothing
MESSAGES = "/api/access/email/messages"
SEND = f"{MESSAGES}/send"
ABSENT = [f"{prefix}:absent" for prefix in dict.fromkeys(PREFIXES.values())]


def message(**changes):
    fields = {"to": [{"email": "bo@work.example"}], "subject": "Hello", "body": "<p>Hi</p>"}
    return {**fields, **changes}


def result(**ids):
    return {
        "success": True,
        "emailId": None,
        "threadId": None,
        "errorCode": None,
        "errorMessage": None,
        **ids,
    }


def refused(response, error, message):
    """The whole body of a refused action."""
    return {
        "error": error,
        "message": message,
        "requestId": response.headers["x-request-id"],
        "success": False,
        "emailId": None,
        "threadId": None,
        "errorCode": error,
        "errorMessage": message,
    }


def writes(world):
    """The calls that could have changed something upstream."""
    return [call for call in world.calls() if call["method"] != "GET"]


# -- POST /messages/send -------------------------------------------------------------------------


async def test_a_message_is_sent_from_the_first_writable_mailbox(client, world):
    response = await client.post(SEND, json=message())

    (sent,) = world.sent("provider-a")
    assert response.status_code == 200
    assert response.json() == result(
        emailId=api_id("provider-a", sent.id), threadId=api_id("provider-a", sent.thread_id)
    )
    assert list(response.json()) == ["success", "emailId", "threadId", "errorCode", "errorMessage"]
    assert b"Subject: Hello" in sent.raw
    assert b"text/html" in sent.raw


async def test_provider_b_sends_without_telling_ids(client, world):
    body = message(connectionId=world.connections["PROVIDER_B"])
    response = await client.post(SEND, json=body)

    assert response.status_code == 200
    assert response.json() == result()
    assert len(world.sent("provider-b")) == 1
    assert world.sent("provider-a") == []


async def test_a_text_that_provider_b_sends_reads_back_as_html(client, world):
    """Provider B serves every body as HTML: docs/spec/email.md#email-object."""
    body = message(body="1 < 2", bodyType="text", connectionId=world.connections["PROVIDER_B"])
    response = await client.post(SEND, json=body)

    assert response.status_code == 200
    (sent,) = world.sent("provider-b")
    assert parse(sent.raw).body("html") is None
    read = (await client.get(f"{MESSAGES}/{api_id('provider-b', sent.immutable_id)}")).json()
    assert read["bodyType"] == "html"
    assert "1 &lt; 2" in read["body"]


async def test_every_member_of_a_message_reaches_the_mailbox(client, world):
    body = message(
        to=[{"email": "bo@work.example", "name": "Bø"}],
        cc=[{"email": "carla@work.example"}],
        bcc=[{"email": "dan@work.example", "name": None}],
        subject="Grüße",
        body="Hallo",
        bodyType="text",
        importance="high",
    )
    response = await client.post(SEND, json=body)

    assert response.status_code == 200
    read = await client.get(f"{MESSAGES}/{response.json()['emailId']}")
    sent = read.json()
    assert sent["to"] == [{"email": "bo@work.example", "name": "Bø"}]
    assert sent["cc"] == [{"email": "carla@work.example", "name": None}]
    assert sent["bcc"] == [{"email": "dan@work.example", "name": None}]
    assert sent["subject"] == "Grüße"
    assert sent["bodyType"] == "text"
    assert sent["body"].strip() == "Hallo"
    assert sent["importance"] == "high"


@shared
@pytest.mark.parametrize(
    ("body", "fields"),
    [
        pytest.param({}, ["to", "subject", "body"], id="nothing"),
        pytest.param(message(to=None), ["to"], id="to null"),
        pytest.param(message(to=[]), ["to"], id="nobody"),
        pytest.param(message(to=[{}]), ["to[0].email"], id="a recipient without address"),
        pytest.param(message(to=[{"email": "bo"}]), ["to[0].email"], id="no address"),
        pytest.param(message(cc=[{"email": "a b@x"}]), ["cc[0].email"], id="a blank in it"),
        pytest.param(
            message(bcc=[{"email": "a@b\r\nBcc: c@d"}]), ["bcc[0].email"], id="a line end in it"
        ),
        pytest.param(
            message(to=[{"email": f"a{n}@b.example"} for n in range(501)]), None, id="501 people"
        ),
        pytest.param(message(subject="x" * 999), ["subject"], id="a subject of 999 characters"),
        pytest.param(message(subject="a\r\nBcc: x@y"), ["subject"], id="a line end in it too"),
        pytest.param(message(subject=None), ["subject"], id="subject null"),
        pytest.param(message(body=1), ["body"], id="a body that is a number"),
        pytest.param(message(bodyType="rtf"), ["bodyType"], id="another body type"),
        pytest.param(message(importance="urgent"), ["importance"], id="another importance"),
        pytest.param(message(connectionId="1"), ["connectionId"], id="a connection in a text"),
        pytest.param(message(connectionId=1.5), ["connectionId"], id="half a connection"),
    ],
)
async def test_a_bad_message_is_400_and_nothing_is_sent(shared_client, shared_world, body, fields):
    response = await shared_client.post(SEND, json=body)

    assert response.status_code == 400
    error = response.json()
    assert error["error"] == error["errorCode"] == "VALIDATION_ERROR"
    assert error["success"] is False
    if fields is not None:
        assert list(dict.fromkeys(detail["field"] for detail in error["details"])) == fields
    assert writes(shared_world) == []


def people(*lengths):
    """Recipients whose names have these lengths, in characters."""
    return [
        {"email": f"a{number}@work.example", "name": "é" * length}
        for number, length in enumerate(lengths)
    ]


FULL = [998] * 100  # 200 characters less than the names of a message may have
TOO_LONG = "The names of all recipients together have at most 100,000 characters."
SEND_MUTATION = """mutation ($p: ParticipantInput!, $c: [ParticipantInput!]) {
    sendEmail(input: {to: [%s], cc: $c, subject: "s", body: "b"}) { success }
}"""


@shared
@pytest.mark.parametrize("action", ["send", "forward"])
@pytest.mark.parametrize(
    ("recipients", "field"),
    [
        pytest.param({"to": people(*FULL, 201)}, "to[100].name", id="in one list"),
        pytest.param({"to": people(*FULL), "cc": people(200, 1)}, "cc[1].name", id="in two lists"),
        pytest.param(
            {"to": people(*FULL, 201, 1), "cc": [{"email": "", "name": "\n"}]},
            "to[100].name",
            id="before anything else is looked at",
        ),
    ],
)
async def test_the_names_of_all_recipients_are_bounded(
    shared_client, shared_world, action, recipients, field
):
    path = SEND if action == "send" else f"{MESSAGES}/{shared_world.id('lease')}/forward"
    body = message(**recipients) if action == "send" else recipients
    response = await shared_client.post(path, json=body)

    assert response.status_code == 400
    assert response.json() == {
        **refused(response, "VALIDATION_ERROR", f"{field}: {TOO_LONG}"),
        "details": [{"field": field, "message": TOO_LONG}],
    }
    assert shared_world.calls() == []


@pytest.mark.slow
async def test_a_variable_that_is_used_again_counts_again(client, world):
    variables = {"p": people(998)[0], "c": people(201)}
    document = SEND_MUTATION % ("$p " * 100)
    response = await client.post("/graphql", json={"query": document, "variables": variables})

    (error,) = response.json()["errors"]
    assert error["message"] == f"cc[0].name: {TOO_LONG}"
    assert error["extensions"]["code"] == "VALIDATION_ERROR"
    assert world.calls() == []


@pytest.mark.slow
async def test_names_of_100_000_characters_are_sent(client, world):
    response = await client.post(SEND, json=message(to=people(*FULL), cc=people(200)))

    assert response.status_code == 200
    (sent,) = world.sent("provider-a")
    names = [person.name for field in ("to", "cc") for person in parse(sent.raw).addresses(field)]
    assert sum(map(len, names)) == 100_000


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(message(subject=""), id="an empty subject"),
        pytest.param(message(body=""), id="an empty body"),
        pytest.param(message(cc=None, bodyType=None, importance=None), id="nulls are absent"),
    ],
)
async def test_a_message_may_have(client, world, body):
    response = await client.post(SEND, json=body)

    assert response.status_code == 200, response.text
    assert len(world.sent("provider-a")) == 1


CANNOT_SEND = "The provider of this account cannot send to this address."
AMBIGUOUS = "It is not an e-mail address that every mail system reads alike."


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("ä@work.example", CANNOT_SEND),
        ("dan@ä..example", AMBIGUOUS),
        ("dan@straße.example", AMBIGUOUS),
        ("b\u037eo@work.example", AMBIGUOUS),
    ],
)
@pytest.mark.parametrize("action", ["send", "forward"])
async def test_a_recipient_that_cannot_be_addressed_is_named(
    client, world, action, address, problem
):
    recipients = {"to": [{"email": "bo@work.example"}], "cc": [{"email": address}]}
    path = SEND if action == "send" else f"{MESSAGES}/{world.id('lease')}/forward"
    body = message(**recipients) if action == "send" else recipients
    response = await client.post(path, json=body)

    assert response.status_code == 400
    assert response.json() == {
        **refused(response, "VALIDATION_ERROR", f"cc[0].email: {problem}"),
        "details": [{"field": "cc[0].email", "message": problem}],
    }
    assert writes(world) == []


async def test_provider_b_sends_to_international_addresses(client, world):
    body = message(to=[{"email": "ä@work.example"}], connectionId=world.connections["PROVIDER_B"])
    response = await client.post(SEND, json=body)

    assert response.status_code == 200
    (sent,) = world.sent("provider-b")
    assert [person.address for person in parse(sent.raw).addresses("to")] == ["ä@work.example"]


@pytest.mark.caller(allowedEmailOperations=["search_emails"])
async def test_sending_needs_its_operation(client, world):
    response = await client.post(SEND, json={})

    assert response.status_code == 403
    assert response.json() == {
        "error": "OPERATION_NOT_ALLOWED",
        "message": "This token does not allow send_email.",
        "requestId": response.headers["x-request-id"],
        "requiredOperation": "send_email",
        "requiredOperations": ["send_email"],
        "success": False,
        "emailId": None,
        "threadId": None,
        "errorCode": "OPERATION_NOT_ALLOWED",
        "errorMessage": "This token does not allow send_email.",
    }
    assert response.headers["x-required-operation"] == "send_email"
    assert world.calls() == []


async def test_a_connection_that_is_not_the_tokens_is_404(client, world):
    response = await client.post(SEND, json=message(connectionId=999))

    assert response.status_code == 404
    assert response.json()["error"] == "CONNECTION_NOT_FOUND"
    assert world.calls() == []


async def test_a_connection_that_the_settings_exclude_is_403(world):
    token = await world.token({"allowedConnectionIds": [world.connections["PROVIDER_A"]]})
    async with world.client(token) as client:
        body = message(connectionId=world.connections["PROVIDER_B"])
        response = await client.post(SEND, json=body)

    assert response.status_code == 403
    assert response.json()["error"] == "NO_PROVIDER"
    assert world.calls() == []


@pytest.mark.caller(resources=(2,))
@pytest.mark.parametrize("named", [False, True], ids=["the first", "by its id"])
async def test_a_connection_with_read_scopes_is_403(client, world, named):
    body = message()
    if named:
        own = (await client.get("/api/access/token")).json()["connections"]
        body["connectionId"] = own[0]["id"]
    response = await client.post(SEND, json=body)

    assert response.status_code == 403
    assert response.json()["error"] == response.json()["errorCode"] == "READ_ONLY"
    assert writes(world) == []


async def test_a_provider_that_rejects_a_message_is_502(client, world):
    await world.fail("provider-a", kind="400", method="POST")

    response = await client.post(SEND, json=message())

    assert response.status_code == 502
    assert response.json()["error"] == "PROVIDER_ERROR"
    assert response.json()["success"] is False
    assert world.sent("provider-a") == []


async def test_a_throttled_send_is_429_with_the_wait(client, world):
    await world.fail("provider-a", kind="429", retryAfter=4, method="POST")

    response = await client.post(SEND, json=message())

    assert response.status_code == 429
    assert response.json()["error"] is None
    assert response.json()["errorCode"] is None
    assert response.headers["retry-after"] == "4"


async def test_a_send_with_a_lost_response_is_looked_up_and_counted_once(client, world):
    await world.fail("provider-a", kind="lostAnswer", count=1, match="drafts/send")

    response = await client.post(SEND, json=message())

    assert len(world.sent("provider-a")) == 1
    assert response.status_code == 200
    assert response.json() == result()


# -- POST /messages/{emailId}/reply --------------------------------------------------------------


async def test_a_reply_goes_to_the_sender_in_the_thread(client, world):
    response = await client.post(f"{MESSAGES}/{world.id('lease')}/reply", json={"body": "Done."})

    (sent,) = world.sent("provider-a")
    assert response.status_code == 200
    assert response.json() == result(
        emailId=api_id("provider-a", sent.id), threadId=world.thread_id("lease")
    )
    head = parse(sent.raw)
    assert head.header("subject") == "Re: Lease for the flat"
    assert head.header("in-reply-to") == "<lease@world.example>"
    assert head.header("references") == "<lease@world.example>"
    assert [participant.address for participant in head.addresses("to")] == ["ana@home.example"]
    assert head.addresses("cc") == ()


async def test_a_reply_to_all_leaves_the_sending_account_out(client, world):
    body = {"body": "Done.", "bodyType": "text", "replyAll": True}
    response = await client.post(f"{MESSAGES}/{world.id('lease')}/reply", json=body)

    (sent,) = world.sent("provider-a")
    head = parse(sent.raw)
    people = [participant.address for name in ("to", "cc") for participant in head.addresses(name)]
    assert response.status_code == 200
    assert people == ["ana@home.example", "bo@work.example"]


async def test_provider_b_replies_without_telling_ids(client, world):
    response = await client.post(f"{MESSAGES}/{world.id('budget')}/reply", json={"body": "Ok."})

    assert response.status_code == 200
    assert response.json() == result()
    assert len(world.sent("provider-b")) == 1


# -- POST /messages/{emailId}/forward ------------------------------------------------------------


async def test_a_forward_carries_the_original_and_its_attachments(client, world):
    body = {"to": [{"email": "carla@work.example"}], "body": "See below.", "bodyType": "text"}
    response = await client.post(f"{MESSAGES}/{world.id('lease')}/forward", json=body)

    (sent,) = world.sent("provider-a")
    assert response.status_code == 200
    assert response.json()["emailId"] == api_id("provider-a", sent.id)
    read = (await client.get(f"{MESSAGES}/{api_id('provider-a', sent.id)}")).json()
    assert read["subject"] == "Fwd: Lease for the flat"
    assert [file["name"] for file in read["attachments"]] == ["lease.pdf"]
    assert read["body"].index("See below.") < read["body"].index("The lease is attached.")


async def test_provider_b_forwards_without_telling_ids(client, world):
    body = {"to": [{"email": "dan@work.example"}], "cc": [{"email": "bo@work.example"}]}
    response = await client.post(f"{MESSAGES}/{world.id('budget')}/forward", json=body)

    assert response.status_code == 200
    assert response.json() == result()
    assert len(world.sent("provider-b")) == 1


@pytest.mark.caller(visibleEmailFields=["subject", "from", "body"])
async def test_a_forward_would_reveal_what_is_hidden(client, world):
    body = {"to": [{"email": "dan@work.example"}]}
    response = await client.post(f"{MESSAGES}/{world.id('lease')}/forward", json=body)

    assert response.status_code == 403
    assert response.json()["error"] == response.json()["errorCode"] == "FIELD_NOT_VISIBLE"
    assert world.calls() == []


REPLY, FORWARD = {"body": "b"}, {"to": [{"email": "a@b.example"}]}


@shared
@pytest.mark.parametrize(
    ("action", "body", "fields"),
    [
        ("reply", {}, ["body"]),
        ("reply", {"body": "b", "bodyType": "rtf"}, ["bodyType"]),
        ("reply", {"body": "b", "replyAll": "yes"}, ["replyAll"]),
        ("forward", {}, ["to"]),
        ("forward", {"to": []}, ["to"]),
        ("forward", {"to": [{"email": "x"}]}, ["to[0].email"]),
        ("forward", {**FORWARD, "body": 7}, ["body"]),
    ],
)
async def test_a_bad_reply_or_forward_is_400(shared_client, shared_world, action, body, fields):
    response = await shared_client.post(
        f"{MESSAGES}/{shared_world.id('lease')}/{action}", json=body
    )

    assert response.status_code == 400
    assert response.json()["error"] == "VALIDATION_ERROR"
    assert [detail["field"] for detail in response.json()["details"]] == fields
    assert writes(shared_world) == []


@shared
@pytest.mark.parametrize(("action", "body"), [("reply", REPLY), ("forward", FORWARD)])
@pytest.mark.parametrize("email_id", [*ABSENT, "nonsense", ""])
async def test_replying_to_or_forwarding_an_unknown_message_is_404(
    shared_client, shared_world, action, body, email_id
):
    response = await shared_client.post(f"{MESSAGES}/{email_id}/{action}", json=body)

    assert response.status_code == 404
    assert response.json() == refused(response, "NOT_FOUND", "No email with this id.")
    assert shared_world.sent("provider-a") == shared_world.sent("provider-b") == []


@pytest.mark.caller(allowedEmailOperations=["send_email"])
@pytest.mark.parametrize(
    ("action", "operation"), [("reply", "reply_to_email"), ("forward", "forward_email")]
)
async def test_replying_and_forwarding_need_their_operations(client, world, action, operation):
    response = await client.post(f"{MESSAGES}/{world.id('lease')}/{action}", json={})

    assert response.status_code == 403
    assert response.json()["requiredOperation"] == operation
    assert response.json()["errorCode"] == "OPERATION_NOT_ALLOWED"
    assert world.calls() == []


# -- DELETE /messages/{emailId} ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lease", "budget"], ids=["provider A", "provider B"])
async def test_a_deleted_message_is_in_the_trash_and_can_still_be_read(client, world, name):
    url = f"{MESSAGES}/{world.id(name)}"
    response = await client.delete(url)

    assert response.status_code == 204
    assert response.content == b""
    assert world.stored(name).folder == "trash"
    assert (await client.get(url)).status_code == 200
    again = await client.delete(url)
    assert again.status_code == 404
    assert again.json() == {
        "error": "NOT_FOUND",
        "message": "The email is in the trash.",
        "requestId": again.headers["x-request-id"],
    }


@shared
@pytest.mark.parametrize("email_id", [*ABSENT, "nonsense", ""])
async def test_deleting_an_unknown_message_is_404(shared_client, email_id):
    response = await shared_client.delete(f"{MESSAGES}/{email_id}")

    assert response.status_code == 404
    assert response.json() == {
        "error": "NOT_FOUND",
        "message": "No email with this id.",
        "requestId": response.headers["x-request-id"],
    }


FAILED = "The provider failed."
UNREACHABLE = "The provider could not be reached."
INVALID = "The provider's response is not valid."
LOCKED = "The resource is locked by the provider."
CONSENT = (
    "The connection needs to be reconnected: its consent does not include a permission that this"
    " request needs."
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("lease", "500", FAILED),
        ("minutes", "reset", UNREACHABLE),
        ("lease", "403", CONSENT),
        ("minutes", "423", LOCKED),
        ("lease", "409", "The provider refused the request."),
        ("lease", "423", LOCKED),
        ("lease", "503", FAILED),
        ("lease", "reset", UNREACHABLE),
        ("lease", "malformed", INVALID),
        ("minutes", "403", "The connection is denied access by a policy of its administrators."),
        ("minutes", "409", "The resource has changed since it was read."),
        ("minutes", "500", FAILED),
        ("minutes", "503", FAILED),
        ("minutes", "malformed", INVALID),
    ],
)
@pytest.mark.parametrize("change", [None, {"markAsRead": True}], ids=["DELETE", "PATCH"])
async def test_a_change_that_could_not_be_done_is_404_and_says_why(  # noqa: PLR0917 - a table
    client, world, name, kind, reason, change
):
    before = world.stored(name)
    await world.fail("provider-a" if name == "lease" else "provider-b", kind=kind)
    url = f"{MESSAGES}/{world.id(name)}"

    response = await (client.patch(url, json=change) if change else client.delete(url))

    assert response.status_code == 404
    assert response.json()["error"] == "NOT_FOUND"
    assert response.json()["message"] == f"The email could not be changed. {reason}"
    assert world.stored(name) == before


async def test_a_throttled_deletion_is_429(client, world):
    await world.fail("provider-a", kind="429", retryAfter=2)

    response = await client.delete(f"{MESSAGES}/{world.id('lease')}")

    assert (response.status_code, response.headers["retry-after"]) == (429, "2")
    assert world.stored("lease").folder == "inbox"


@pytest.mark.caller(allowedEmailOperations=["view_email"])
async def test_deleting_needs_its_operation(client, world):
    response = await client.delete(f"{MESSAGES}/{world.id('lease')}")

    assert response.status_code == 403
    assert response.json()["requiredOperation"] == "delete_email"
    assert world.calls() == []


# -- PATCH /messages/{emailId} -------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change", "is_read", "labels"),
    [
        ("lease", {"markAsRead": True}, True, ("Home",)),
        ("lunch", {"markAsRead": False}, False, ()),
        ("lease", {"addLabels": ["Work"]}, False, ("Home", "Work")),
        ("lease", {"removeLabels": ["home"]}, False, ()),
        ("lease", {"removeLabels": ["absent"]}, False, ("Home",)),
        (
            "lease",
            {"markAsRead": True, "addLabels": ["Work"], "removeLabels": ["Home"]},
            True,
            ("Work",),
        ),
        ("lease", {"markAsRead": True, "addLabels": None}, True, ("Home",)),
        ("minutes", {"markAsRead": True}, True, ()),
        ("budget", {"addLabels": ["Work"]}, True, ("Finance", "Work")),
        ("budget", {"removeLabels": ["Finance"]}, True, ()),
    ],
)
async def test_a_change_is_made(client, world, name, change, *, is_read, labels):
    response = await client.patch(f"{MESSAGES}/{world.id(name)}", json=change)

    assert response.status_code == 200, response.text
    assert response.json() == result(emailId=world.id(name), threadId=world.thread_id(name))
    assert world.stored(name).is_read is is_read
    assert sorted(world.stored(name).labels) == sorted(labels)


@shared
@pytest.mark.parametrize(
    ("change", "fields"),
    [
        pytest.param({}, ["$"], id="no member"),
        pytest.param({"colour": "red"}, ["colour"], id="a member that is not known"),
        pytest.param({"markAsRead": None}, ["$"], id="only nulls"),
        pytest.param({"markAsRead": "true"}, ["markAsRead"], id="a text for a boolean"),
        pytest.param({"markAsRead": 1}, ["markAsRead"], id="a number for a boolean"),
        pytest.param({"addLabels": "Work"}, ["addLabels"], id="a text for a list"),
        pytest.param({"addLabels": [1]}, ["addLabels[0]"], id="a number for a label"),
        pytest.param({"addLabels": [""]}, ["addLabels[0]"], id="an empty label"),
        pytest.param({"removeLabels": ["x" * 226]}, ["removeLabels[0]"], id="226 characters"),
        pytest.param({"addLabels": ["x"] * 51}, ["addLabels"], id="51 labels"),
        pytest.param(
            {"addLabels": ["x"], "removeLabels": ["Ｘ"]}, ["removeLabels"], id="added and removed"
        ),
        pytest.param({"addLabels": [" \u200b"]}, ["addLabels[0]"], id="a label that is not shown"),
        pytest.param(
            {"addLabels": ["y"], "removeLabels": [" Y"]}, ["removeLabels"], id="with a blank"
        ),
    ],
)
async def test_a_bad_change_is_400_and_changes_nothing(shared_client, shared_world, change, fields):
    response = await shared_client.patch(f"{MESSAGES}/{shared_world.id('lease')}", json=change)

    assert response.status_code == 400
    assert response.json()["error"] == response.json()["errorCode"] == "VALIDATION_ERROR"
    assert [detail["field"] for detail in response.json()["details"]] == fields
    assert shared_world.calls() == []


@pytest.mark.caller(allowedEmailOperations=["mark_as_read"])
async def test_labels_need_their_own_permission(client, world):
    change = {"markAsRead": True, "addLabels": ["home"]}
    response = await client.patch(f"{MESSAGES}/{world.id('lease')}", json=change)

    assert response.status_code == 403
    assert response.json()["requiredOperation"] == "apply_labels"
    assert response.headers["x-required-operation"] == "apply_labels"
    assert world.stored("lease").is_read is False  # neither half was applied
    assert world.calls() == []


@shared
@pytest.mark.caller(allowedEmailOperations=["apply_labels"])
@pytest.mark.parametrize(
    "label",
    ["TRASH", "ＴＲＡＳＨ", "ＳＰＡＭ", "ＵＮＲＥＡＤ", "ſpam", "tr\u200bash", " Trash\u3000"],
)
async def test_labels_neither_trash_nor_report_nor_unread(shared_client, shared_world, label):
    """The flag `apply_labels` does not do the work of `delete_email` or `mark_as_read`."""
    before = shared_world.stored("lunch")
    response = await shared_client.patch(
        f"{MESSAGES}/{shared_world.id('lunch')}", json={"addLabels": [label]}
    )

    message = "The state or folder of an email is not a label that can be added or removed."
    assert response.status_code == 404
    assert response.json() == refused(response, "NOT_FOUND", message)
    assert shared_world.stored("lunch") == before
    assert writes(shared_world) == []


@pytest.mark.caller(allowedEmailOperations=["apply_labels"])
@pytest.mark.parametrize("label", ["UNREAD", "ＵＮＲＥＡＤ"])
async def test_removing_a_state_changes_nothing(client, world, label):
    url = f"{MESSAGES}/{world.id('lease')}"
    response = await client.patch(url, json={"removeLabels": [label]})

    assert response.status_code == 200
    assert world.stored("lease").is_read is False
    assert writes(world) == []


@pytest.mark.slow
@pytest.mark.caller(allowedEmailOperations=["apply_labels"])
async def test_the_read_state_needs_its_own_permission(client, world):
    url = f"{MESSAGES}/{world.id('lease')}"
    refusal = await client.patch(url, json={"markAsRead": True})
    labelled = await client.patch(url, json={"addLabels": ["Work"]})

    assert refusal.status_code == 403
    assert refusal.json()["requiredOperation"] == "mark_as_read"
    assert labelled.status_code == 200


@pytest.mark.caller(allowedEmailOperations=["view_email"])
@pytest.mark.parametrize(
    ("change", "needed"),
    [
        pytest.param({"markAsRead": True}, "mark_as_read", id="read state"),
        pytest.param({"addLabels": ["Work"]}, "apply_labels", id="labels"),
        pytest.param({"markAsRead": True, "addLabels": ["Work"]}, "mark_as_read", id="both"),
        pytest.param({"markAsRead": "x"}, "mark_as_read, apply_labels", id="a bad body"),
    ],
)
async def test_a_refused_change_names_the_operation_it_needs(client, world, change, needed):
    response = await client.patch(f"{MESSAGES}/{world.id('lease')}", json=change)

    assert response.status_code == 403
    assert response.json()["error"] == "OPERATION_NOT_ALLOWED"
    assert response.json()["requiredOperation"] == needed.split(", ")[0]
    assert response.headers["x-required-operation"] == needed
    assert world.calls() == []


@pytest.mark.caller(allowedEmailOperations=["view_email"])
async def test_changing_without_either_operation_names_both(client, world):
    response = await client.patch(f"{MESSAGES}/{world.id('lease')}", json={})

    assert response.status_code == 403
    assert response.json()["requiredOperation"] == "mark_as_read"
    assert response.json()["requiredOperations"] == ["mark_as_read", "apply_labels"]
    assert response.headers["x-required-operation"] == "mark_as_read, apply_labels"
    assert world.calls() == []


@pytest.mark.parametrize("email_id", [*ABSENT, "nonsense"])
async def test_changing_an_unknown_message_is_404(client, email_id):
    response = await client.patch(f"{MESSAGES}/{email_id}", json={"markAsRead": True})

    assert response.status_code == 404
    assert response.json() == refused(response, "NOT_FOUND", "No email with this id.")


async def test_a_trashed_message_cannot_be_changed(client, world):
    url = f"{MESSAGES}/{world.id('lease')}"
    await client.delete(url)

    response = await client.patch(url, json={"markAsRead": True})

    assert response.status_code == 404
    assert response.json() == refused(response, "NOT_FOUND", "The email is in the trash.")
    assert world.stored("lease").is_read is False
