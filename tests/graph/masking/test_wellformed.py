"""Texts with U+0000 and values nested without end are refused, as REST refuses them."""

import pytest

from graph.collab.inputs import CreateListItemInput
from graph.file_content import InlineBody
from graph.masking import wellformed
from policy.refusals import InvalidInput

NUL = "a\0b"
SEND = "mutation ($i: SendEmailInput!) { sendEmail(input: $i) { success } }"
MAIL = {"to": [{"email": "ann@example.com"}], "subject": "s", "body": "b"}


def nested(depth):
    """*depth* lists within each other, with a 1 inside."""
    return [nested(depth - 1)] if depth else 1


@pytest.mark.parametrize(
    ("query", "variables", "name"),
    [
        pytest.param("query ($q: String) { emails(q: $q) { hasMore } }", {"q": NUL}, "q"),
        pytest.param("query ($q: String) { emails(from: $q) { hasMore } }", {"q": NUL}, "from"),
        pytest.param('{ emails(q: "\\u0000") { hasMore } }', None, "q", id="written in it"),
        pytest.param('{ emails(q: "\\u{0}") { hasMore } }', None, "q", id="written otherwise"),
    ],
)
async def test_an_argument_with_a_nul_is_named(ask, world, query, variables, name):
    status, body = await ask(query, variables)

    (error,) = body["errors"]
    assert status == 200
    assert error["message"] == f"{name} must not contain the character U+0000."
    assert error["extensions"] == {
        "code": "INVALID_PARAMETER",
        "httpStatus": 400,
        "requestId": "req-1",
        "details": [{"field": name, "message": "It must not contain the character U+0000."}],
    }
    assert world.mailboxes[1].calls == world.mailboxes[2].calls == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"body": NUL}, id="in a member"),
        pytest.param({"to": [{"email": "ann@example.com", "name": NUL}]}, id="further below"),
    ],
)
async def test_an_input_with_a_nul_character_is_not_sent(ask, world, change):
    status, body = await ask(SEND, {"i": {**MAIL, **change}})

    (error,) = body["errors"]
    assert (status, body["data"]) == (200, {"sendEmail": None})
    assert error["message"] == "input has a string with the character U+0000."
    assert error["extensions"]["code"] == "VALIDATION_ERROR"
    assert error["extensions"]["details"] == [
        {"field": "input", "message": "It has a string with the character U+0000."}
    ]
    assert world.mailboxes[1].calls == world.mailboxes[2].calls == []


async def test_an_id_with_a_nul_is_none(ask, world):
    _, body = await ask('{ email(emailId: "\\u0000") { id } }')

    assert body["errors"][0]["extensions"]["code"] == "NOT_FOUND"
    assert world.mailboxes[1].calls == world.mailboxes[2].calls == []


async def test_a_missing_flag_comes_before_a_nul(ask, world):
    world.settings["allowedEmailOperations"] = []

    _, body = await ask(SEND, {"i": {**MAIL, "body": NUL}})

    assert body["errors"][0]["extensions"]["code"] == "OPERATION_NOT_ALLOWED"


def test_values_may_be_nested_as_deep_as_in_a_body_of_rest():
    wellformed.check(
        {"input": CreateListItemInput(fields={"a": nested(62)})}, root="createListItem", called=str
    )

    with pytest.raises(InvalidInput) as refused:
        wellformed.check(
            {"input": CreateListItemInput(fields={"a": nested(63)})},
            root="createListItem",
            called=str,
        )
    assert refused.value.message == "input is nested deeper than 64 levels."
    assert refused.value.code == "VALIDATION_ERROR"


@pytest.mark.parametrize("fields", [{"a\0": 1}, {"a": {"b": [1, "\0"]}}])
def test_names_and_values_of_any_json_are_looked_at(fields):
    with pytest.raises(InvalidInput):
        wellformed.check(
            {"input": CreateListItemInput(fields=fields)}, root="createListItem", called=str
        )


def test_bytes_of_a_file_may_be_anything():
    wellformed.check(
        {"input": InlineBody(b"\0"), "page_token": "\0", "limit": 3, "info": object()},
        root="emails",
        called={"page_token": "pageToken"}.__getitem__,
    )
