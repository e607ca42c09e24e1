"""Request bodies are strict JSON; errors name their members as REST does."""

import pytest

from graph import schema
from graph.errors import extensions
from policy.refusals import Refusal
from rest_compat import body as bodies
from rest_compat.body import MAX_BODY, MAX_VALUES, ClientGone, parse, read_body
from rest_compat.errors import refuse
from rest_compat.inputs import coerce_input
from rest_compat.table import ENDPOINTS


def kind(name: str):
    return schema.build().type_map[name]


def arriving(*chunks: bytes):
    messages = [
        {"type": "http.request", "body": chunk, "more_body": at < len(chunks) - 1}
        for at, chunk in enumerate(chunks)
    ]

    async def receive():
        return messages.pop(0)

    return receive, messages


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param(b"{", "is not valid JSON", id="cut off"),
        pytest.param(b"{'a': 1}", "is not valid JSON", id="single quotes"),
        pytest.param(b'{"a": NaN}', "is not valid JSON", id="NaN"),
        pytest.param(b'{"a": Infinity}', "is not valid JSON", id="Infinity"),
        pytest.param(b'"\\ud800"', "is not valid JSON", id="a lone surrogate"),
        pytest.param(b'{"a": "\xff"}', "is not valid JSON", id="not UTF-8"),
        pytest.param(b"\xef\xbb\xbf{}", "is not valid JSON", id="a byte order mark"),
        pytest.param(b"[" * 5000 + b"]" * 5000, "is not valid JSON", id="deeper than any parser"),
        pytest.param(
            b"[" * 100 + b"]" * 100, "is nested deeper than 64 levels", id="deeper than ours"
        ),
        pytest.param(b'{"a": 1, "a": 2}', "has a member more than once", id="a member given twice"),
        pytest.param(
            b'{"a": [{"b": 1, "b": 1}]}', "has a member more than once", id="twice, deep down"
        ),
        pytest.param(
            b'{"a": "x\\u0000"}', "has a string with the character U+0000", id="a NUL in a text"
        ),
        pytest.param(
            b'{"a\\u0000": 1}', "has a string with the character U+0000", id="a NUL in a name"
        ),
    ],
)
def test_a_body_is_refused(body, why):
    with pytest.raises(Refusal) as problem:
        parse(body)

    assert problem.value.message == f"The request body {why}."
    assert extensions(problem.value, surface=None, request_id="r") == {
        "code": "VALIDATION_ERROR",
        "httpStatus": 400,
        "requestId": "r",
        "details": [{"field": "$", "message": f"It {why}."}],
    }


@pytest.mark.parametrize(
    ("body", "value"),
    [
        pytest.param(b"", {}, id="an empty body is an empty object"),
        pytest.param(b" \n", {}, id="blanks too"),
        pytest.param(b'{"a": "\\ud83d\\ude00"}', {"a": "\U0001f600"}, id="a surrogate pair"),
        pytest.param(b"[" * 64 + b"]" * 64, None, id="64 levels"),
        pytest.param(b'{"a": 1' + b"0" * 100 + b"}", {"a": 1e100}, id="a number of 100 digits"),
    ],
)
def test_a_body_is_read(body, value):
    parsed = parse(body)

    assert value is None or parsed == value


MANY = MAX_VALUES * 5


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" + b"0," * MAX_VALUES + b"0]", id="numbers"),
        pytest.param(b"[" + b'"a",' * MANY + b'"a"]', id="texts"),
        pytest.param(b"[" + b'"\\"",' * MANY + b'"a"]', id="texts of a quote"),
        pytest.param(b"[" + b'"\\\\",' * MANY + b'"a"]', id="texts of a backslash"),
        pytest.param(b"[" + b"{}," * MANY + b"{}]", id="objects"),
        pytest.param(b"[" + b"[]," * MANY + b"[]]", id="lists"),
        pytest.param(b"[" * MANY, id="lists in lists"),
        pytest.param(
            b"{" + b",".join(b'"%d":1' % number for number in range(MANY)) + b"}", id="members"
        ),
        pytest.param(b'{"to":[' + b'{"email":"a"},' * MAX_VALUES + b"{}]}", id="recipients"),
        pytest.param(b'"a"' * MANY + b"," * MAX_VALUES, id="no JSON at all"),
    ],
)
def test_a_body_of_too_many_values_is_refused_before_one_is_made(body, monkeypatch):
    monkeypatch.setattr(bodies.orjson, "loads", lambda _: pytest.fail("it was parsed"))
    with pytest.raises(Refusal) as problem:
        parse(body)

    assert problem.value.message == "The request body has more than 20000 values."
    assert extensions(problem.value, surface=None, request_id="r")["details"] == [
        {"field": "$", "message": "It has more than 20000 values."}
    ]


@pytest.mark.parametrize(
    "text",
    ["," * 3_000_000, "[{,:" * 700_000, '","' * 300_000, "\\" * 900_000, '\\",' * 300_000, "," * 9],
    ids=["commas", "brackets", "quotes", "backslashes", "all of them", "few commas"],
)
def test_what_stands_in_a_text_is_no_value(text):
    body = bodies.orjson.dumps({"to": [{"email": "a@b"}], text[:9]: text, "body": text})

    assert parse(body)["body"] == text


def test_a_body_may_have_exactly_as_many_values():
    assert len(parse(b"[" + b"0," * (MAX_VALUES - 2) + b"0]")) == MAX_VALUES - 1
    with pytest.raises(Refusal):
        parse(b"[" + b"0," * (MAX_VALUES - 1) + b"0]")


def test_members_are_counted_whatever_their_names_hold():
    assert parse(rb'{":": {"\":\\": 1, "a": ":"}}') == {":": {'":\\': 1, "a": ":"}}
    with pytest.raises(Refusal):
        parse(rb'{"a": {"\u0062": 1, "b": 2}}')  # the same name, written in two ways


@pytest.mark.parametrize("items", [[{}], [None], ["x"], [{"email": 1}], [{"email": "a@b"}]])
def test_a_long_list_is_refused_before_an_item_is_looked_at(items):
    with pytest.raises(Refusal) as problem:
        coerce_input({"to": items * 501, "cc": [1]}, kind("SendEmailInput"))

    assert extensions(problem.value, surface=None, request_id="r")["details"] == [
        {"field": "to", "message": "It may have at most 500 entries."},
        {"field": "subject", "message": "It is required."},
        {"field": "body", "message": "It is required."},
        {"field": "cc[0]", "message": "It must be an object."},
    ]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"to": [{}] * 500, "cc": [7] * 500}, id="many bad items"),
        pytest.param(
            {f"{number}" + "\U0001f600" * 9000: 1 for number in range(90)}, id="long names"
        ),
        pytest.param({"to": [{"x" * 99_000: 1, f"{at}" * 99: 2} for at in range(500)]}, id="below"),
        pytest.param([], id="a list"),
    ],
)
def test_a_refusal_has_20_details_and_16_kilobytes_at_most(body):
    with pytest.raises(Refusal) as problem:
        coerce_input(body, kind("SendEmailInput"))
    response = refuse(problem.value, request_id="r" * 128)

    assert 1 <= len(extensions(problem.value, surface=None, request_id="r")["details"]) <= 20
    assert len(response.body) <= 16 * 1024


def test_only_the_rows_that_take_the_text_of_a_mail_take_4_mib():
    assert [row.document for row in ENDPOINTS if row.body == "mail"] == [
        "email/send_email",
        "email/reply_to_email",
        "email/forward_email",
        "email/create_draft",
        "email/update_draft",
    ]


async def test_a_body_of_exactly_the_limit_passes():
    receive, _ = arriving(b"x" * (MAX_BODY - 1), b"x")

    assert len(await read_body(receive, declared=None)) == MAX_BODY


@pytest.mark.parametrize("declared", [None, "5"], ids=["chunked", "with a length that lies"])
async def test_a_body_over_the_limit_is_refused_while_it_is_counted(declared):
    receive, rest = arriving(b"x" * MAX_BODY, b"x", b"never read")
    with pytest.raises(Refusal) as problem:
        await read_body(receive, declared=declared)

    assert problem.value.code == "PAYLOAD_TOO_LARGE"
    assert len(rest) == 1


async def test_a_body_announced_over_the_limit_is_not_read_at_all():
    receive, rest = arriving(b"never read")
    with pytest.raises(Refusal):
        await read_body(receive, declared=str(MAX_BODY + 1))

    assert len(rest) == 1


async def test_a_client_that_hangs_up_is_not_answered():
    async def receive():
        return {"type": "http.disconnect"}

    with pytest.raises(ClientGone):
        await read_body(receive, declared=None)


@pytest.mark.parametrize(
    ("body", "details"),
    [
        pytest.param([], {"$": "must be an object"}, id="a list instead of an object"),
        pytest.param("text", {"$": "must be an object"}, id="a text instead of an object"),
        pytest.param(
            {},
            {"to": "is required", "subject": "is required", "body": "is required"},
            id="every missing member is named",
        ),
        pytest.param(
            {"to": None, "subject": "s", "body": "b"}, {"to": "is required"}, id="null is missing"
        ),
        pytest.param(
            {"to": [{"email": 7}, {"name": "N"}, None, "x"], "subject": "s", "body": "b"},
            {
                "to[0].email": "must be a string",
                "to[1].email": "is required",
                "to[2]": "is required",
                "to[3]": "must be an object",
            },
            id="members of list items",
        ),
        pytest.param(
            {"to": {"email": "a@b"}, "subject": "s", "body": "b"},
            {"to": "must be a list"},
            id="no list",
        ),
        pytest.param(
            {"to": [], "subject": True, "body": 1},
            {"subject": "must be a string", "body": "must be a string"},
            id="wrong scalars",
        ),
        pytest.param(
            {"to": [], "subject": "s", "body": "b", "bodyType": "rtf", "importance": 1},
            {
                "bodyType": "must be one of html, text",
                "importance": "must be one of low, normal, high",
            },
            id="outside a closed set",
        ),
        pytest.param(
            {"to": [], "subject": "s", "body": "b", "connectionId": "1"},
            {"connectionId": "must be an integer"},
            id="digits in a text",
        ),
        pytest.param(
            {"to": [], "subject": "s", "body": "b", "connectionId": True},
            {"connectionId": "must be an integer"},
            id="true is no integer",
        ),
        pytest.param(
            {"to": [], "subject": "s", "body": "b", "connectionId": 2**63},
            {"connectionId": "must be a 64-bit integer"},
            id="beyond 64 bits",
        ),
    ],
)
def test_a_member_is_refused_by_its_rest_name(body, details):
    with pytest.raises(Refusal) as problem:
        coerce_input(body, kind("SendEmailInput"))

    assert problem.value.code == "VALIDATION_ERROR"
    assert extensions(problem.value, surface=None, request_id="r")["details"] == [
        {"field": field, "message": f"It {why}."} for field, why in details.items()
    ]


def test_members_that_are_null_are_left_out():
    body = {"to": [{"email": "a@b", "name": None}], "subject": "", "body": "", "bodyType": None}

    assert coerce_input(body, kind("SendEmailInput")) == {
        "to": [{"email": "a@b"}],
        "subject": "",
        "body": "",
    }


def test_unknown_members_are_refused_at_every_level_and_the_known_ones_named():
    body = {"to": [{"email": "a@b", "phone": "1"}], "subject": "", "body": "", "colour": "red"}
    with pytest.raises(Refusal) as problem:
        coerce_input(body, kind("SendEmailInput"))

    assert extensions(problem.value, surface=None, request_id="r")["details"] == [
        {
            "field": "colour",
            "message": "It is not known (known: 'to', 'subject', 'body', 'cc', 'bcc', 'bodyType', "
            "'importance', 'connectionId', 'attachments').",
        },
        {"field": "to[0].phone", "message": "It is not known (known: 'email', 'name')."},
    ]
