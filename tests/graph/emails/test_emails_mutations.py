"""Send, reply, forward, delete, modify: whole bodies, and what reaches the mailbox."""

import pytest
from msgspec.structs import replace

from policy.vocabulary import EmailField
from providers.failures import (
    Broken,
    Missing,
    NeedsReauth,
    OutcomeUnknown,
    Refused,
    Throttled,
    TimedOut,
)
from providers.ports.mail import (
    Draft,
    Forward,
    MailChange,
    NoReplyRecipient,
    Reply,
    SendAttempt,
    UnsafeMessage,
)
from providers.records.mail import Participant

RESULT = "{ success emailId threadId errorCode errorMessage }"
SEND = f"mutation ($input: SendEmailInput!) {{ result: sendEmail(input: $input) {RESULT} }}"
REPLY = f"""mutation ($id: String!, $input: ReplyEmailInput!) {{
    result: replyToEmail(emailId: $id, input: $input) {RESULT}
}}"""
FORWARD = f"""mutation ($id: String!, $input: ForwardEmailInput!) {{
    result: forwardEmail(emailId: $id, input: $input) {RESULT}
}}"""
DELETE = f"mutation ($id: String!) {{ result: deleteEmail(emailId: $id) {RESULT} }}"
MODIFY = f"""mutation ($id: String!, $input: ModifyEmailInput!) {{
    result: modifyEmail(emailId: $id, input: $input) {RESULT}
}}"""

LETTER = {"to": [{"email": "x@y.example", "name": "X"}], "subject": "Hi", "body": "<p>Hi</p>"}
DONE = {
    "success": True,
    "emailId": "providerA:new",
    "threadId": "providerA:talk",
    "errorCode": None,
    "errorMessage": None,
}
DELIVERY = SendAttempt(message_id="abc@gateway.example", maybe_sent=True)


def refusal(body):
    (error,) = body["errors"]
    return error["extensions"]["code"], error["extensions"]["httpStatus"]


async def test_a_message_is_sent_once_from_the_first_writable_connection(ask, world):
    world.connections[0] = replace(world.connections[0], can_write=False)

    status, body = await ask(SEND, {"input": LETTER}, delivery=DELIVERY)

    assert status == 200
    assert body["data"]["result"] == {**DONE, "emailId": None, "threadId": None}
    assert world.mailboxes[1].calls == []
    assert world.mailboxes[2].calls == [
        (
            "send",
            Draft(
                to=(Participant(email="x@y.example", name="X"),),
                subject="Hi",
                body="<p>Hi</p>",
                body_type="html",
                importance="normal",
                attempt=DELIVERY,
            ),
        )
    ]


async def test_a_message_is_sent_from_the_named_connection(ask, world):
    letter = LETTER | {
        "connectionId": 2,
        "cc": [{"email": "c@y.example"}],
        "bcc": [{"email": "b@y.example"}],
        "bodyType": "text",
        "importance": "high",
    }

    await ask(SEND, {"input": letter})

    ((_, draft),) = world.mailboxes[2].calls
    assert draft.cc == (Participant(email="c@y.example"),)
    assert draft.bcc == (Participant(email="b@y.example"),)
    assert (draft.body_type, draft.importance) == ("text", "high")


async def test_every_send_without_a_key_has_a_message_id_of_its_own(ask, world):
    await ask(SEND, {"input": LETTER})
    await ask(SEND, {"input": LETTER})

    first, second = [draft.attempt.message_id for _, draft in world.mailboxes[1].calls]
    assert first != second
    assert [draft.attempt.maybe_sent for _, draft in world.mailboxes[1].calls] == [False, False]


@pytest.mark.parametrize(
    ("connection_id", "change", "expected"),
    [
        pytest.param(99, {}, ("CONNECTION_NOT_FOUND", 404), id="not the token's"),
        pytest.param(1, {"kind": "calendar"}, ("CONNECTION_NOT_FOUND", 404), id="no mailbox"),
        pytest.param(1, {"status": "needs_reauth"}, ("NO_PROVIDER", 403), id="not active"),
        pytest.param(1, {"can_write": False}, ("READ_ONLY", 403), id="read scopes only"),
    ],
)
async def test_sending_from_an_unusable_connection_is_refused(
    ask, world, connection_id, change, expected
):
    world.connections[0] = replace(world.connections[0], **change)

    _, body = await ask(SEND, {"input": LETTER | {"connectionId": connection_id}})

    assert refusal(body) == expected
    assert world.mailboxes[1].calls == world.mailboxes[2].calls == []


async def test_an_excluded_connection_cannot_send(ask, world):
    world.settings["allowedConnectionIds"] = [2]

    _, body = await ask(SEND, {"input": LETTER | {"connectionId": 1}})

    assert refusal(body) == ("NO_PROVIDER", 403)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"to": []}, "to", id="nobody"),
        pytest.param({"to": [{"email": "x@y.example"}] * 501}, "to", id="too many"),
        pytest.param({"to": [{"email": "nobody"}]}, "to[0].email", id="no at"),
        pytest.param({"to": [{"email": "a@b@c"}]}, "to[0].email", id="two ats"),
        pytest.param({"to": [{"email": "a b@c"}]}, "to[0].email", id="a blank"),
        pytest.param({"to": [{"email": "a\t@c"}]}, "to[0].email", id="a tab"),
        pytest.param({"to": [{"email": "(x)a@b"}]}, "to[0].email", id="a comment"),
        pytest.param({"to": [{"email": "a@b,"}]}, "to[0].email", id="a comma"),
        pytest.param({"to": [{"email": "a@[b"}]}, "to[0].email", id="half a number"),
        pytest.param({"cc": [{"email": "x" * 320 + "@y"}]}, "cc[0].email", id="too long"),
        pytest.param(
            {"bcc": [{"email": "a@b", "name": "A\r\nBcc: z@z"}]}, "bcc[0].name", id="a header"
        ),
        pytest.param({"to": [{"email": "a@b", "name": "\u2028"}]}, "to[0].name", id="U+2028"),
        pytest.param({"subject": "a\nb"}, "subject", id="a line break"),
        pytest.param({"subject": "a\u0085b"}, "subject", id="a C1 control"),
        pytest.param({"subject": "\x7f"}, "subject", id="DEL"),
        pytest.param({"subject": "s" * 999}, "subject", id="a long subject"),
        pytest.param({"to": [{"email": "a@b", "name": "n" * 999}]}, "to[0].name", id="a long name"),
    ],
)
async def test_an_unsafe_or_impossible_message_is_refused(ask, world, change, field):
    _, body = await ask(SEND, {"input": LETTER | change})

    assert refusal(body) == ("VALIDATION_ERROR", 400)
    assert body["errors"][0]["extensions"]["details"][0]["field"] == field
    assert world.mailboxes[1].calls == []


async def test_all_invalid_members_are_reported_together(ask):
    letter = {"to": [{"email": "a"}, {"email": "b@c", "name": "\n"}], "subject": "\r", "body": ""}

    _, body = await ask(SEND, {"input": letter})

    assert [detail["field"] for detail in body["errors"][0]["extensions"]["details"]] == [
        "to[0].email",
        "to[1].name",
        "subject",
    ]


async def test_empty_subject_and_body_and_encoded_words_are_fine(ask, world):
    letter = LETTER | {"subject": "=?utf-8?q?=0D=0ABcc:_x?=", "body": ""}

    _, body = await ask(SEND, {"input": letter})

    assert body["data"]["result"]["success"] is True
    assert world.mailboxes[1].calls[0][1].subject == "=?utf-8?q?=0D=0ABcc:_x?="


SEND_MEMBERS = (
    "'to', 'subject', 'body', 'cc', 'bcc', 'bodyType', 'importance', 'connectionId', 'attachments'"
)


@pytest.mark.parametrize(
    ("variables", "details"),
    [
        pytest.param({}, [("input", "It is required.")], id="no body"),
        pytest.param({"input": 5}, [("input", "It must be an object.")], id="no object"),
        pytest.param(
            {"input": {"to": [{"name": "X"}], "subject": 1, "more": 1}},
            [
                ("more", f"It is not known (known: {SEND_MEMBERS})."),
                ("to[0].email", "It is required."),
                ("subject", "It must be of type String."),
                ("body", "It is required."),
            ],
            id="wrong members",
        ),
        pytest.param(
            {"input": LETTER | {"bodyType": "markdown", "connectionId": "x"}},
            [
                ("bodyType", "It must be one of: html, text."),
                ("connectionId", "A Long is a whole number of 64 bits."),
            ],
            id="wrong values",
        ),
    ],
)
async def test_a_body_of_the_wrong_shape(ask, world, variables, details):
    status, body = await ask(SEND, variables)

    assert status == 400
    assert "data" not in body
    extensions = body["errors"][0]["extensions"]
    assert (extensions["code"], extensions["httpStatus"]) == ("VALIDATION_ERROR", 400)
    reported = sorted((detail["field"], detail["message"]) for detail in extensions["details"])
    assert reported == sorted(details)
    assert world.mailboxes[1].calls == []


async def test_a_reply_quotes_only_visible_fields(ask, world):
    answer = {"body": "Thanks", "bodyType": "text", "replyAll": True}

    _, body = await ask(REPLY, {"id": "providerA:a1", "input": answer}, delivery=DELIVERY)

    assert body["data"]["result"] == DONE
    assert world.mailboxes[1].calls == [
        (
            "reply",
            "a1",
            Reply(body="Thanks", body_type="text", reply_all=True, quote=True, attempt=DELIVERY),
        )
    ]


@pytest.mark.parametrize(("mode", "quote"), [("strict", False), ("basic", True)])
async def test_a_reply_does_not_quote_a_hidden_body(ask, world, mode, quote):
    world.settings |= {
        "visibleEmailFields": [field for field in EmailField if field is not EmailField.BODY],
        "maskMode": mode,
    }

    await ask(REPLY, {"id": "providerA:a1", "input": {"body": ""}})

    assert world.mailboxes[1].calls[0][2].quote is quote


async def test_a_message_is_forwarded(ask, world):
    passed = {"to": [{"email": "x@y.example"}], "body": "See below"}

    _, body = await ask(FORWARD, {"id": "providerB:b1", "input": passed}, delivery=DELIVERY)

    assert body["data"]["result"] == {**DONE, "emailId": None, "threadId": None}
    assert world.mailboxes[2].calls == [
        (
            "forward",
            "b1",
            Forward(to=(Participant(email="x@y.example"),), body="See below", attempt=DELIVERY),
        )
    ]


@pytest.mark.parametrize("word", ["body", "attachments"])
async def test_forwarding_hidden_fields_is_refused(ask, world, word):
    world.settings["visibleEmailFields"] = [field for field in EmailField if field != word]

    _, body = await ask(
        FORWARD, {"id": "providerA:a1", "input": {"to": [{"email": "x@y.example"}]}}
    )

    assert refusal(body) == ("FIELD_NOT_VISIBLE", 403)
    assert body["errors"][0]["message"] == (
        f"Forwarding would reveal a field that this token may not see: '{word}'."
    )
    assert world.mailboxes[1].calls == []


HIDEABLE = ("subject", "to", "cc", "bcc", "sent_at", "received_at", "importance")


@pytest.mark.parametrize(
    ("document", "word", "attribute"),
    [
        (FORWARD, "from", "from_"),
        *((document, word, word) for document in (FORWARD, REPLY) for word in HIDEABLE),
    ],
)
async def test_hidden_fields_are_left_out_of_replies_and_forwards(
    ask, world, document, word, attribute
):
    world.settings["visibleEmailFields"] = [field for field in EmailField if field != word]
    written = {"to": [{"email": "x@y.example"}]} if document is FORWARD else {"body": "Yes"}

    await ask(document, {"id": "providerA:a1", "input": written})

    (_, _, sent), *_ = world.mailboxes[1].calls
    assert sent.hidden == {attribute}


async def test_basic_masks_leave_forwarding_open(ask, world):
    world.settings |= {"visibleEmailFields": ["subject"], "maskMode": "basic"}

    _, body = await ask(
        FORWARD, {"id": "providerA:a1", "input": {"to": [{"email": "x@y.example"}]}}
    )

    assert body["data"]["result"] == DONE


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        pytest.param(Refused(), ("PROVIDER_ERROR", 502), id="the provider says no"),
        pytest.param(Broken(), ("PROVIDER_ERROR", 502), id="the provider breaks"),
        pytest.param(NeedsReauth(), ("PROVIDER_ERROR", 502), id="a dead credential, never 401"),
        pytest.param(Throttled(4), ("RATE_LIMITED", 429), id="throttled"),
        pytest.param(TimedOut(), ("PROVIDER_TIMEOUT", 504), id="slow"),
        pytest.param(OutcomeUnknown(), ("OUTCOME_UNKNOWN", 504), id="nobody knows"),
        pytest.param(Missing(), ("NOT_FOUND", 404), id="not there"),
        pytest.param(NoReplyRecipient(), ("VALIDATION_ERROR", 400), id="nobody to reply to"),
        pytest.param(UnsafeMessage(), ("VALIDATION_ERROR", 400), id="not safe to write down"),
    ],
)
async def test_errors_of_failed_replies(ask, world, failure, expected):
    world.mailboxes[1].failure = failure

    _, body = await ask(REPLY, {"id": "providerA:a1", "input": {"body": ""}})

    assert body["data"] == {"result": None}
    assert refusal(body) == expected


@pytest.mark.parametrize(
    ("document", "variables"),
    [
        pytest.param(REPLY, {"input": {"body": ""}}, id="reply"),
        pytest.param(FORWARD, {"input": {"to": [{"email": "a@b"}]}}, id="forward"),
        pytest.param(DELETE, {}, id="delete"),
        pytest.param(MODIFY, {"input": {"markAsRead": True}}, id="modify"),
    ],
)
@pytest.mark.parametrize("email_id", ["providerA:nope", "nope", "providerC:a1", "providerA:"])
async def test_an_unknown_message_is_not_found(ask, document, variables, email_id):
    _, body = await ask(document, {"id": email_id, **variables})

    assert body["errors"][0]["message"] == "No email with this id."
    assert refusal(body) == ("NOT_FOUND", 404)


async def test_a_message_is_trashed(ask, world):
    _, body = await ask(DELETE, {"id": "providerA:a1"})

    assert body["data"]["result"] == {**DONE, "emailId": "providerA:a1", "threadId": None}
    assert world.mailboxes[1].calls == [("trash", "a1")]


async def test_read_state_and_labels_are_changed(ask, world):
    change = {"markAsRead": False, "addLabels": ["Home", "Home"], "removeLabels": ["Work"]}

    _, body = await ask(MODIFY, {"id": "providerA:a1", "input": change})

    assert body["data"]["result"] == {
        **DONE,
        "emailId": "providerA:a1",
        "threadId": "providerA:talk-a1",
    }
    assert world.mailboxes[1].calls == [
        ("change", "a1", MailChange(read=False, add_labels=("Home",), remove_labels=("Work",)))
    ]


@pytest.mark.parametrize(
    ("granted", "change", "missing"),
    [
        ("mark_as_read", {"markAsRead": True, "addLabels": ["x"]}, "apply_labels"),
        ("mark_as_read", {"removeLabels": []}, "apply_labels"),
        ("apply_labels", {"markAsRead": False, "addLabels": ["x"]}, "mark_as_read"),
    ],
)
async def test_each_half_of_a_change_needs_its_own_flag(ask, world, granted, change, missing):
    world.settings["allowedEmailOperations"] = [granted]

    _, body = await ask(MODIFY, {"id": "providerA:a1", "input": change})

    assert refusal(body) == ("OPERATION_NOT_ALLOWED", 403)
    assert body["errors"][0]["extensions"]["requiredOperation"] == missing
    assert world.mailboxes[1].calls == []  # neither half was applied


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({}, "input", id="nothing"),
        pytest.param({"addLabels": ["x"] * 51}, "addLabels", id="too many"),
        pytest.param({"addLabels": [""]}, "addLabels[0]", id="empty"),
        pytest.param({"removeLabels": ["ok", "x" * 226]}, "removeLabels[1]", id="too long"),
        pytest.param({"addLabels": ["Home"], "removeLabels": ["home"]}, "removeLabels", id="both"),
    ],
)
async def test_a_contradictory_change_is_refused(ask, world, change, field):
    _, body = await ask(MODIFY, {"id": "providerA:a1", "input": change})

    assert refusal(body) == ("VALIDATION_ERROR", 400)
    assert body["errors"][0]["extensions"]["details"][0]["field"] == field
    assert world.mailboxes[1].calls == []


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        pytest.param(Refused(), ("NOT_FOUND", 404), id="refused"),
        pytest.param(Broken(), ("NOT_FOUND", 404), id="broken"),
        pytest.param(NeedsReauth(), ("NOT_FOUND", 404), id="a dead credential"),
        pytest.param(Throttled(4), ("RATE_LIMITED", 429), id="throttled"),
        pytest.param(TimedOut(), ("PROVIDER_TIMEOUT", 504), id="slow"),
    ],
)
@pytest.mark.parametrize("document", [DELETE, MODIFY])
async def test_errors_of_failed_changes(ask, world, document, failure, expected):
    world.mailboxes[1].failure = failure

    variables = {"id": "providerA:a1"}
    if document is MODIFY:
        variables["input"] = {"markAsRead": True}
    _, body = await ask(document, variables)

    assert refusal(body) == expected
