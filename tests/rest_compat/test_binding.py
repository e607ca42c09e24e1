"""Binding of path, query and headers to variables (docs/spec/requests.md#query-parameters)."""

from dataclasses import dataclass

import pytest
from graphql import GraphQLInputType, GraphQLNonNull, OperationDefinitionNode, parse, type_from_ast
from graphql import value_from_ast as value_of

from graph import schema
from graph.errors import extensions
from policy.refusals import Refusal
from rest_compat import request
from rest_compat.binding import bind, ignored_parameters
from rest_compat.documents import document
from rest_compat.request import RestRequest
from rest_compat.table import ENDPOINTS, Endpoint


@dataclass
class Variable:
    name: str
    type: GraphQLInputType
    required: bool
    default: object


@dataclass
class Document:
    """The variables of a document, as `graph.documents.operations` lists them."""

    name: str
    variables: list[Variable]


def document_of(text: str) -> Document:
    node = next(
        node for node in parse(text).definitions if isinstance(node, OperationDefinitionNode)
    )
    variables = []
    for definition in node.variable_definitions or ():
        kind = type_from_ast(schema.build(), definition.type)
        default = definition.default_value
        variables.append(
            Variable(
                name=definition.variable.name.value,
                type=kind,
                required=isinstance(kind, GraphQLNonNull) and default is None,
                default=value_of(default, kind) if default else None,
            )
        )
    return Document(node.name.value, variables)


def row(name: str) -> Endpoint:
    return next(row for row in ENDPOINTS if row.document == name)


def call(query: str = "", headers: list[tuple[bytes, bytes]] | None = None) -> RestRequest:
    scope = {
        "type": "http",
        "method": "GET",
        "raw_path": b"/",
        "path": "/",
        "query_string": query.encode(),
        "headers": headers or [],
    }
    return RestRequest(scope, None)


def read(query: str, *, strict: bool = False) -> dict[str, object]:
    endpoint = row("email/list_emails")
    return bind(endpoint, document_of(document(endpoint.document)), call(query), {}, strict=strict)


def refused(query: str, *, strict: bool = False) -> dict[str, object]:
    with pytest.raises(Refusal) as problem:
        read(query, strict=strict)
    described = extensions(problem.value, surface=None, request_id="r")
    del described["requestId"]
    return {"message": problem.value.message, **described}


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        pytest.param("", {}, id="nothing leaves the defaults to the document"),
        pytest.param("q=lease", {"q": "lease"}, id="a text"),
        pytest.param("q=caf%C3%A9+bar", {"q": "café bar"}, id="percent and plus"),
        pytest.param("from=", {}, id="an empty value is absent"),
        pytest.param("limit", {}, id="a name alone is absent"),
        pytest.param("unread=TRUE", {"unread": True}, id="true in any case"),
        pytest.param("unread=1", {"unread": True}, id="one is true"),
        pytest.param("unread=False", {"unread": False}, id="false in any case"),
        pytest.param("unread=0", {"unread": False}, id="zero is false"),
        pytest.param("limit=7", {"limit": 7}, id="an integer"),
        pytest.param("limit=007", {"limit": 7}, id="leading zeros"),
        pytest.param("limit=-3", {"limit": -3}, id="below the minimum is for the graph to refuse"),
        pytest.param("limit=99999999999", {"limit": 2**31 - 1}, id="beyond 32 bits"),
        pytest.param(
            "limit=" + "9" * 5000, {"limit": 2**31 - 1}, id="more digits than int() reads"
        ),
        pytest.param("after=2026-11-20", {"after": "2026-11-20"}, id="a date"),
        pytest.param(
            "after=2026-11-20T10:00:00Z", {"after": "2026-11-20T10:00:00Z"}, id="a time in UTC"
        ),
        pytest.param(
            "after=2026-11-20T10:00:00-06:00",
            {"after": "2026-11-20T10:00:00-06:00"},
            id="a time with an offset",
        ),
        pytest.param(
            "after=2026-11-20T10:00:00+02:00",
            {"after": "2026-11-20T10:00:00+02:00"},
            id="a plus that was not encoded",
        ),
        pytest.param(
            "after=2026-11-20T10:00:00%2B02:00",
            {"after": "2026-11-20T10:00:00+02:00"},
            id="a plus that was",
        ),
        pytest.param(
            "after=2026-11-20T10:00:00", {"after": "2026-11-20T10:00:00"}, id="a naive time"
        ),
        pytest.param("colour=red&q=x", {"q": "x"}, id="unknown names are ignored"),
    ],
)
def test_a_query_is_bound_to_variables(query, variables):
    assert read(query) == variables


@pytest.mark.parametrize(
    ("query", "field", "why"),
    [
        pytest.param("unread=yes", "unread", "must be true or false", id="no boolean"),
        pytest.param("unread=%20true", "unread", "must be true or false", id="blank boolean"),
        pytest.param("limit=ten", "limit", "must be an integer", id="no integer"),
        pytest.param("limit=1.0", "limit", "must be an integer", id="a fraction"),
        pytest.param("limit=1_0", "limit", "must be an integer", id="an underscore"),
        pytest.param("limit=%D9%A1", "limit", "must be an integer", id="a digit of another script"),
        pytest.param("limit=+5", "limit", "must be an integer", id="a blank before the digits"),
        pytest.param("after=yesterday", "after", "must be an ISO 8601 time", id="no time"),
        pytest.param("before=2026-02-30", "before", "must be an ISO 8601 time", id="no such day"),
        pytest.param("q=a&q=b", "q", "is given more than once", id="a repeated parameter"),
        pytest.param("q=a%00", "q", "must not contain the character U+0000", id="a NUL"),
    ],
)
def test_an_invalid_query_is_refused_by_field(query, field, why):
    assert refused(query) == {
        "message": f"{field} {why}.",
        "code": "INVALID_PARAMETER",
        "httpStatus": 400,
        "details": [{"field": field, "message": f"It {why}."}],
    }


def test_a_long_query_is_decoded_once(monkeypatch):
    decoded = []
    monkeypatch.setattr(
        request, "parse_qsl", lambda text, **_: decoded.append(text) or [("pageToken", "==")]
    )
    endpoint, long = row("email/list_emails"), call("pageToken=" + "%3D" * 4096)
    operation = document_of(document(endpoint.document))

    assert bind(endpoint, operation, long, {}, strict=False)["pageToken"] == "=="
    assert ignored_parameters(endpoint, operation, long, {}) is None
    assert len(decoded) == 1


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("q=%ff", id="bytes that are not UTF-8"),
        pytest.param("&".join(["a=1"] * 101), id="more than 100 parameters"),
    ],
)
def test_it_refuses_a_query_as_a_whole(query):
    assert refused(query)["code"] == "INVALID_PARAMETER"


def test_it_refuses_unknown_names_when_handling_is_strict():
    assert refused("colour=red", strict=True)["message"].startswith(
        "'colour' is not known (known: 'q', 'from', 'to', 'subject', 'label', "
    )


def test_a_required_parameter_that_is_missing_is_named():
    endpoint = row("email/get_email")
    free_busy = document_of(
        "query X($from: DateTime!) { result: emails(after: $from) { hasMore } }"
    )
    with pytest.raises(Refusal) as problem:
        bind(endpoint, free_busy, call(), {}, strict=False)

    assert problem.value.code == "MISSING_PARAMETER"
    assert problem.value.message == "from is required."


def test_a_path_parameter_is_not_read_from_the_query():
    endpoint = row("email/get_email")
    prepared = document_of(document(endpoint.document))

    variables = bind(
        endpoint, prepared, call("emailId=other"), {"emailId": "providerA:1"}, strict=False
    )

    assert variables == {"emailId": "providerA:1"}


def test_an_alias_and_a_header_fill_their_variables():
    endpoint = Endpoint(
        method="GET",
        path="/x",
        prefix="/x",
        document="",
        surface=None,
        bucket=row("email/get_email").bucket,
        aliases={"cursor": "pageToken"},
        headers={"if-match": "etag"},
    )
    prepared = document_of(
        "query X($pageToken: String, $etag: String) { result: emails { hasMore } }"
    )

    variables = bind(
        endpoint,
        prepared,
        call("cursor=c&etag=from-the-query", [(b"if-match", b'"1"')]),
        {},
        strict=False,
    )

    assert variables == {"pageToken": "c", "etag": '"1"'}


def test_an_alias_beside_its_parameter_is_a_repetition():
    endpoint = Endpoint(
        method="GET",
        path="/x",
        prefix="/x",
        document="",
        surface=None,
        bucket=row("email/get_email").bucket,
        aliases={"cursor": "pageToken"},
    )
    prepared = document_of("query X($pageToken: String) { result: emails { hasMore } }")
    with pytest.raises(Refusal) as problem:
        bind(endpoint, prepared, call("cursor=c&pageToken=p"), {}, strict=False)

    assert problem.value.message == "pageToken is given more than once."
