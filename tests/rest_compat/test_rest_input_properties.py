"""Any input is refused by the REST layer or fits the schema."""

from functools import cache

import orjson
import pytest
from graphql import GraphQLError, GraphQLInputObjectType, OperationDefinitionNode, parse
from graphql.execution.values import get_variable_values
from hypothesis import given
from hypothesis import strategies as st

from graph import schema
from graph.documents.operations import Graph
from graph.errors import extensions
from policy.refusals import Refusal
from rest_compat.binding import INPUT, bind
from rest_compat.body import parse as parse_body
from rest_compat.documents import document
from rest_compat.inputs import coerce_input
from rest_compat.request import RestRequest
from rest_compat.table import ENDPOINTS

GRAPH = Graph(schema.build())
WITH_BODY = [
    row for row in ENDPOINTS if row.body == "json" and f"${INPUT}:" in document(row.document)
]
WITH_QUERY = [row for row in ENDPOINTS if row.method == "GET" and "$" in document(row.document)]

texts = st.text(max_size=12)
words = st.sampled_from(
    ["true", "0", "-1", "99999999999", "2026-11-20", "2026-11-20T1:00Z", "", " "]
)
members = {
    name
    for kind in GRAPH.schema.type_map.values()
    if isinstance(kind, GraphQLInputObjectType)
    for name in kind.fields
}
names = st.sampled_from(sorted({*members, "colour"}))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | st.sampled_from(["html", "low", "a@b.example"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5),
    max_leaves=12,
)


@cache
def operation(name):
    """Prepare a document, when the first test needs it."""
    return GRAPH.prepare(document(name))


def fits(row, variables):
    """Whether graphql-core itself takes *variables* for the row's operation."""
    definition = next(
        node
        for node in parse(document(row.document)).definitions
        if isinstance(node, OperationDefinitionNode)
    )
    coerced = get_variable_values(GRAPH.schema, definition.variable_definitions, variables)
    return not isinstance(coerced, list) and not isinstance(coerced, GraphQLError)


def path_of(row):
    return {
        variable.name: "providerA:1"
        for variable in operation(row.document).variables
        if f"{{{variable.name}}}" in row.path
    }


def refused(read):
    """Return the refusal of what *read* reads, and what it read otherwise."""
    try:
        return None, read()
    except Refusal as problem:
        return extensions(problem, surface=None, request_id="r"), None


@pytest.mark.slow
@pytest.mark.parametrize("row", WITH_BODY, ids=lambda row: row.document)
@given(body=values)
def test_a_body_is_refused_or_fits(row, body):
    kind = next(v.type for v in operation(row.document).variables if v.name == INPUT)
    refusal, taken = refused(lambda: coerce_input(parse_body(orjson.dumps(body)), kind))

    if refusal is None:
        assert fits(row, {**path_of(row), INPUT: taken})
    else:
        assert refusal["httpStatus"] == 400
        assert refusal["details"]


@pytest.mark.parametrize("row", WITH_BODY, ids=lambda row: row.document)
@given(body=st.binary(max_size=60))
def test_any_bytes_are_refused_or_parsed(row, body):
    kind = next(v.type for v in operation(row.document).variables if v.name == INPUT)
    refusal, _ = refused(lambda: coerce_input(parse_body(body), kind))

    assert refusal is None or refusal["httpStatus"] == 400


@pytest.mark.parametrize("row", WITH_QUERY, ids=lambda row: row.document)
@given(data=st.data())
def test_a_query_is_refused_or_fits(row, data):
    prepared = operation(row.document)
    known = [variable.name for variable in prepared.variables]
    pairs = data.draw(
        st.lists(st.tuples(st.sampled_from([*known, "colour"]), texts | words), max_size=4)
    )
    query = "&".join(f"{name}={value}" for name, value in pairs)
    call = RestRequest({"query_string": query.encode("utf-8", "replace"), "headers": []}, None)
    refusal, taken = refused(lambda: bind(row, prepared, call, path_of(row), strict=False))

    if refusal is None:
        assert fits(row, taken)
    else:
        assert refusal["httpStatus"] == 400
