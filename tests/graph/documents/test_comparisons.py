"""Repeated fields: counted by pairs, and refused before validation compares them."""

import json

import pytest
from graph_requests import respond
from graphql import parse, specified_rules, validate

from graph.documents import cost_limits
from graph.documents.cost_limits import MAX_COMPARISONS, CostLimits
from graph.documents.cost_walker import CostWalker
from graph.execution.counting_executor import QueryTooCostly
from graph.schema import build

INTROSPECTION = "__schema { types { name } } "


def repeated(count, field):
    """A document that repeats *field* below the root."""
    return f"{{ emails {{ emails {{ {field * count} }} }} }}"


@pytest.mark.parametrize(
    ("document", "steps"),
    [
        pytest.param("{ emails { hasMore totalCount } }", 0, id="different fields"),
        pytest.param("{ emails { hasMore hasMore } }", 2, id="a pair"),
        pytest.param("{ emails { hasMore hasMore hasMore } }", 6, id="three pairs"),
        pytest.param("{ emails { a: hasMore a: hasMore hasMore } }", 2, id="one alias"),
        pytest.param("{ emails { hasMore: totalCount hasMore } }", 2, id="an alias as a name"),
        pytest.param("{ emails { hasMore ... { hasMore } } }", 2, id="an inline fragment"),
        pytest.param("{ emails { ... { ... { id } } ... { id } } }", 2, id="nested ones"),
        pytest.param("{ a { id id } b { id id } }", 4, id="two selection sets"),
        pytest.param("{ a { id } a { id } }", 2, id="a pair with fields below"),
        pytest.param("{ ...F ...F } fragment F on Query { a a }", 2, id="a fragment, once"),
        pytest.param("query A { a a } query B { a a }", 4, id="two operations"),
        pytest.param(repeated(200, INTROSPECTION), 39_800, id="200 introspections"),
    ],
)
def test_the_pairs_of_repeated_fields_are_counted(document, steps):
    assert cost_limits.count_comparisons(parse(document)) == steps


@pytest.mark.parametrize("field", [INTROSPECTION, '__type(name: "Email") { name } ', "id "])
@pytest.mark.parametrize("text", ["{ %s }", "{ emails { emails { ... { %s } } } }"])
async def test_they_are_refused_before_validation(graph, world, monkeypatch, field, text):
    async def admit(_):
        return world.context()

    monkeypatch.setattr(graph, "validate", None)
    monkeypatch.setattr(CostWalker, "operations", None)
    body = json.dumps({"query": text.replace("%s", field * 180)}).encode()
    reply = await respond(graph, body, admit=admit, request_id="req-1")

    assert reply.status == 400
    assert json.loads(reply.body)["errors"] == [
        {
            "message": "The query repeats the same fields too often.",
            "extensions": {"code": "QUERY_TOO_COSTLY", "httpStatus": 400, "requestId": "req-1"},
        }
    ]
    assert world.mailboxes[1].calls == []


def test_what_is_refused_would_not_pass_validation_either():
    schema = build()
    limits = CostLimits(schema)
    passing, refused = (parse(repeated(count, "id ")) for count in (110, 111))

    assert cost_limits.count_comparisons(passing) == MAX_COMPARISONS - 10
    limits.measure(passing)
    assert validate(schema, passing, specified_rules) == []
    with pytest.raises(QueryTooCostly):
        limits.measure(refused)
    (error,) = validate(schema, refused, specified_rules)
    assert "abort" in error.message


def test_a_document_of_the_gateway_has_no_limit():
    document = parse(repeated(111, "id "))

    assert len(CostLimits(build()).measure(document, exempt=True)) == 1
    assert cost_limits.count_comparisons(document) > cost_limits.MAX_COMPARISONS
