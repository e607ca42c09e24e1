"""Gates of the email surface: layers before the parameters, connections after them."""

import pytest
from msgspec.structs import replace

DOCUMENTS = {
    "search_emails": "{ emails(limit: 0) { hasMore } }",
    "view_email": '{ email(emailId: "bad") { id } }',
    "view_thread": '{ emailThread(threadId: "bad") { id } }',
    "send_email": 'mutation { sendEmail(input: {to: [], subject: "", body: ""}) { success } }',
    "reply_to_email": 'mutation { replyToEmail(emailId: "x", input: {body: ""}) { success } }',
    "forward_email": 'mutation { forwardEmail(emailId: "x", input: {to: []}) { success } }',
    "send_email or reply_to_email or forward_email": (
        'mutation { uploadEmailAttachment(fileName: "", input: "YQ==") { handle } }'
    ),
    "delete_email": 'mutation { deleteEmail(emailId: "x") { success } }',
    "mark_as_read or apply_labels": (
        'mutation { modifyEmail(emailId: "x", input: {}) { success } }'
    ),
}


@pytest.mark.parametrize(("operation", "document"), DOCUMENTS.items())
async def test_a_missing_flag_is_reported_before_invalid_parameters(
    ask, world, operation, document
):
    world.settings["allowedEmailOperations"] = []

    _, body = await ask(document)

    (refused,) = body["errors"]
    assert refused["message"] == f"This token does not allow {operation}."
    assert refused["extensions"] == {
        "code": "OPERATION_NOT_ALLOWED",
        "httpStatus": 403,
        "requestId": "req-1",
        "requiredOperation": operation.split(" or ")[0],
        "requiredOperations": operation.split(" or "),
    }
    assert world.mailboxes[1].calls == world.mailboxes[2].calls == []


@pytest.mark.parametrize("document", DOCUMENTS.values())
async def test_a_disabled_surface_is_reported_first(ask, world, document):
    world.settings["emailAccessEnabled"] = False
    world.connections.clear()

    _, body = await ask(document)

    assert body["errors"][0]["extensions"]["code"] == "EMAIL_NOT_ENABLED"
    assert body["errors"][0]["extensions"]["httpStatus"] == 422


@pytest.mark.parametrize("document", DOCUMENTS.values())
async def test_a_token_without_connections_is_refused(ask, world, document):
    world.connections.clear()

    _, body = await ask(document)

    assert body["errors"][0]["extensions"]["code"] == "NO_EMAIL_PROVIDER"
    assert body["errors"][0]["extensions"]["httpStatus"] == 422


GOOD = {
    "emails": "{ emails { hasMore } }",
    "email": '{ email(emailId: "providerA:a1") { id } }',
    "thread": '{ emailThread(threadId: "providerA:talk-a1") { id } }',
    "send": """mutation {
        sendEmail(input: {to: {email: "a@b"}, subject: "", body: ""}) { success }
    }""",
    "reply": 'mutation { replyToEmail(emailId: "providerA:a1", input: {body: ""}) { success } }',
    "forward": """mutation {
        forwardEmail(emailId: "providerA:a1", input: {to: {email: "a@b"}}) { success }
    }""",
    "delete": 'mutation { deleteEmail(emailId: "providerA:a1") { success } }',
    "modify": """mutation {
        modifyEmail(emailId: "providerA:a1", input: {markAsRead: true}) { success }
    }""",
}


@pytest.mark.parametrize("document", GOOD.values(), ids=GOOD)
async def test_without_a_usable_connection_there_is_no_provider(ask, world, document):
    world.connections[0] = replace(world.connections[0], status="disabled")
    world.settings["allowedConnectionIds"] = [1]

    _, body = await ask(document)

    assert body["errors"][0]["extensions"]["code"] == "NO_PROVIDER"
    assert body["errors"][0]["extensions"]["httpStatus"] == 403


@pytest.mark.parametrize("document", GOOD.values(), ids=GOOD)
async def test_a_caller_with_all_permissions_passes(ask, document):
    _, body = await ask(document)

    assert "errors" not in body


@pytest.mark.parametrize("name", ["send", "reply", "forward"])
async def test_sending_needs_a_connection_that_may_write(ask, world, name):
    world.connections = [replace(connection, can_write=False) for connection in world.connections]

    _, body = await ask(GOOD[name])

    assert body["errors"][0]["extensions"]["code"] == "READ_ONLY"
    assert body["errors"][0]["extensions"]["httpStatus"] == 403


@pytest.mark.parametrize("name", ["delete", "modify"])
async def test_changing_a_read_only_mailbox_is_not_found(ask, world, name):
    world.connections = [replace(connection, can_write=False) for connection in world.connections]

    _, body = await ask(GOOD[name])

    assert body["errors"][0]["extensions"]["code"] == "NOT_FOUND"
    assert body["errors"][0]["message"] == "The mailbox of this email may only be read."
    assert [name for name, *_ in world.mailboxes[1].calls] == ["get"]
