"""Documents that would cost too much: refused early, by work that is linear in their text."""

import json
import sys

import pytest
from graph_requests import respond
from graphql import GraphQLError, SelectionNode, Visitor, get_introspection_query, parse, visit

from graph.documents import cost_limits
from graph.documents.cost_limits import CostLimits
from graph.documents.cost_walker import CostWalker
from graph.documents.operations import Graph
from graph.schema import build
from policy.refusals import InvalidInput


def fan(levels, leaf="emails { hasMore }"):
    """Each fragment spreads the next one twice: 2**levels fields when expanded."""
    spreads = " ".join(
        f"fragment F{level} on Query {{ ...F{level + 1} ...F{level + 1} }}"
        for level in range(levels)
    )
    return f"{{ ...F0 }} {spreads} fragment F{levels} on Query {{ {leaf} }}"


def chain(levels):
    links = " ".join(f"fragment F{level} on Query {{ ...F{level + 1} }}" for level in range(levels))
    return f"{{ ...F0 }} {links} fragment F{levels} on Query {{ emails {{ hasMore }} }}"


def circle(levels):
    """Each fragment spreads the one before it, and twice the next one, under variables."""
    links = " ".join(
        f"fragment F{level} on Query {{ ...F{level - 1} "
        f"...F{level + 1} @skip(if: $a{level}) ...F{level + 1} @skip(if: $b{level}) }}"
        for level in range(1, levels)
    )
    ends = f"fragment F0 on Query {{ ...F1 }} fragment F{levels} on Query {{ ...F{levels - 1} }}"
    return f"{{ ...F{levels} ...F0 }} {links} {ends}"


def many(count, text):
    return " ".join(text.replace("#", str(number)) for number in range(count))


ROOT = 'a#: email(emailId: "x") { id }'


def two_introspections():
    query = get_introspection_query()
    schema = query[query.index("__schema") : query.index("fragment FullType")].rstrip()
    return query.replace("__schema", f"again: {schema.removesuffix('}')} __schema", 1)


BOMBS = {
    "braces": "{" * 700,
    "nested fields": "{" + "emails{" * 400 + "id" + "}" * 401,
    "nested inline fragments": "{" + "...{" * 300 + "emails{hasMore}" + "}" * 301,
    "nested lists": "{emails(q:" + "[" * 900 + "]" * 900 + "){hasMore}}",
    "nested objects": "{emails(q:" + "{a:" * 400 + "1" + "}" * 400 + "){hasMore}}",
    "a fan of 24 levels": fan(24),
    "a fan of 100 levels": fan(100),
    "a chain of 240 fragments": chain(240),
    "fragments in a circle": "{...A} fragment A on Query{...B} fragment B on Query{...A}",
    "a circle of 20 fragments with 2**20 ways through": circle(20),
    "a fragment in itself": "{...A} fragment A on Query{...A ...A}",
    "13 levels": "{" + "emails{" * 12 + "id" + "}" * 13,
    "31 aliases": f"{{ emails {{ {many(31, 'a#: hasMore')} }} }}",
    "31 aliases in a fragment": (
        f"{{ emails {{ ...A }} }} fragment A on EmailPage {{ {many(31, 'a#: hasMore')} }}"
    ),
    "21 root fields": f"{{ {many(21, ROOT)} }}",
    "300 root fields": f"{{ {many(300, ROOT)} }}",
    "1,001 fields": fan(10, leaf="emails { totalCount hasMore }"),
    "1,900 times the same field": f"{{ emails {{ {'hasMore ' * 1900} }} }}",
    "990 times the same field": f"{{ emails {{ {'hasMore ' * 990} }} }}",
    "480 inline fragments": f"{{ emails {{ {'...{hasMore} ' * 480} }} }}",
    "180 overlapping selections": (
        f"{{ emails {{ emails {{ {'... on Email { from { name email } } ' * 180} }} }} }}"
    ),
    "100 overlapping fragments": (
        f"{{ emails {{ emails {{ {many(100, '...F#')} }} }} }} "
        + many(100, "fragment F# on Email { from { name } to { name } }")
    ),
    "218 fragments side by side": (
        f"{{ emails {{ emails {{ {many(218, '...F#')} }} }} }} "
        + many(218, "fragment F# on Email { id }")
    ),
    "140 times the same list": f"{{ emails {{ {'emails { id } ' * 140} }} }}",
    "5,001 lines": "{ emails { hasMore } }" + "\n" * 5001,
    "an error on the last of 30,000 lines": "\n" * 30_000 + "query ($a: Int, $a: Int) { a }",
    "51 directives": f"{{ {many(51, 'emails @include(if: true) { hasMore }')} }}",
    "900 unknown directives": f"{{ emails {{ hasMore {'@x ' * 900} }} }}",
    "2,001 tokens": "{ emails { hasMore } }" + " a" * 2000,
    "30,000 tokens": "{" + " a" * 30_000 + "}",
    "15,000 comments": "{ emails { hasMore } }" + "#a\n" * 15_000,
    "deep introspection": (
        "{ __schema { types { fields { type"
        + "{ fields { type" * 60
        + "{ name }"
        + "}}" * 60
        + "}}}}"
    ),
    "two whole introspections": two_introspections(),
    "three whole introspections": get_introspection_query().replace(
        "__schema {",
        "...S } } fragment S on Query { a: __schema { ...T } b: __schema { ...T } "
        "c: __schema { ...T } } fragment T on __Schema { x: description } query Q { __schema {",
        1,
    ),
    "60 introspections": (
        "{" + many(60, "a#: __schema { types { fields { args { type { name } } } } }") + "}"
    ),
    "600 type names": f"{{ {many(600, 'a#: __typename')} }}",
    "200 operations": many(200, "query Q# { emails { hasMore } }"),
    "300 unused variables": f"query ({many(300, '$v#: Int = 1')}) {{ emails {{ hasMore }} }}",
    "200 unused fragments": "{ emails { hasMore } }" + many(200, "fragment F# on Email { id }"),
    "500 times the same argument": f"{{ emails({'limit: 1 ' * 500}) {{ hasMore }} }}",
}

REFUSED = {"QUERY_TOO_COSTLY", "GRAPHQL_PARSE_FAILED", "GRAPHQL_VALIDATION_FAILED"}


@pytest.mark.slow
@pytest.mark.parametrize("document", BOMBS.values(), ids=BOMBS)
async def test_a_document_bomb_is_refused_without_upstream_calls(graph, world, document):
    async def admit(_):
        return world.context()

    body = json.dumps({"query": document}).encode()
    reply = await respond(graph, body, admit=admit, request_id="req-1")

    assert reply.status == 400
    assert json.loads(reply.body)["errors"][0]["extensions"]["code"] in REFUSED
    assert world.mailboxes[1].calls == []


def counted_calls(work):
    """Count the calls of Python functions that *work* makes; return the count."""
    count = 0

    def add(_frame, event, _argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(add)
    try:
        work()
    except (GraphQLError, InvalidInput):
        pass
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
@pytest.mark.parametrize(
    "document", [pytest.param(document, id=name) for name, document in BOMBS.items()]
)
def test_refusing_a_document_is_bounded_work(document):
    graph = Graph(build())

    def prepare():
        graph.validate(document, graph.parse(document))

    assert counted_calls(prepare) <= 250_000


class _Selections(Visitor):
    def __init__(self):
        super().__init__()
        self.count = 0

    def enter(self, node, *_):
        self.count += isinstance(node, SelectionNode)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(fan(8), id="256 fields"),
        pytest.param(fan(24), id="16 million fields"),
        pytest.param(fan(100), id="more fields than atoms"),
        pytest.param(chain(200), id="a long chain"),
        pytest.param("{" + "...{" * 50 + "emails{hasMore}" + "}" * 51, id="inline"),
    ],
)
def test_counting_looks_at_every_selection_once(document):
    node = parse(document)
    selections = _Selections()
    visit(node, selections)
    counter = CostWalker(build(), node)

    counter.operations()

    assert counter.visited == selections.count


FITS = {
    "12 levels, as far as the schema goes": "{ emails { emails { from { email } } } }",
    "30 aliases": f"{{ emails {{ {many(30, 'a#: hasMore')} }} }}",
    "20 root fields": f"{{ {many(20, ROOT)} }}",
    "50 directives": f"{{ emails {{ {many(50, 'hasMore @include(if: true)')} }} }}",
    "40 fragments side by side": (
        f"{{ emails {{ emails {{ {many(40, '...F#')} }} }} }} "
        + many(40, "fragment F# on Email { id }")
    ),
    "40 times the same list": f"{{ emails {{ {'emails { id } ' * 40} }} }}",
    "4,999 lines": "{ emails { hasMore } }" + "\n" * 4999,
    "the standard introspection": get_introspection_query(),
    "the richest introspection": get_introspection_query(
        specified_by_url=True, directive_is_repeatable=True, input_value_deprecation=True
    ),
}


@pytest.mark.parametrize("document", FITS.values(), ids=FITS)
async def test_an_honest_document_passes(ask, document):
    status, _ = await ask(document)

    assert status == 200


@pytest.mark.parametrize(
    ("document", "objects"),
    [
        ("{ emails { hasMore } }", 1),
        ("{ emails { emails { id } } }", 21),
        ("{ emails(limit: 50) { emails { id from { email } to { email } } } }", 151),
        ("{ emails(limit: 5000) { emails { id } } }", 51),
        ("query ($n: Int = 7) { emails(limit: $n) { emails { id } } }", 8),
        ("{ a: emails { ...P } b: emails { ...P } } fragment P on EmailPage { emails { id } }", 42),
        ("{ emails { emails { id } } emails { hasMore } }", 22),
        ("{ emails { emails { thread { id } } } }", 1 + 20 + 20),
        ("{ emails(limit: 7) { emails { thread { messages { id } } } } }", 1 + 7 + 7 * 2),
        ("{ emails { emails { thread { messages { thread { id } } } } } }", 1 + 20 + 20 * 3),
        ("{ emails { emails { id thread @skip(if: true) { id } } } }", 1 + 20),
        ("{ emails { emails { ...E } } } fragment E on Email { thread { id } }", 1 + 20 + 20),
        ('{ email(emailId: "x") { thread { id } } }', 2),
    ],
)
def test_objects_are_estimated_with_the_limits_given(document, objects):
    (cost,) = CostLimits(build()).measure(parse(document)).values()

    assert cost.estimate_objects({}) == objects


def test_a_limit_may_be_written_as_a_decimal_number():
    document = parse("query ($n: Int) { emails(limit: $n) { emails { id } } }")
    (cost,) = CostLimits(build()).measure(document).values()

    assert [cost.estimate_objects({"n": limit}) for limit in (50, 50.0, 1e300)] == [51, 51, 51]


async def test_more_objects_than_allowed_are_refused_before_anything_runs(ask, world, monkeypatch):
    monkeypatch.setattr(cost_limits, "MAX_OBJECTS", 40)

    status, body = await ask("{ a: emails { emails { id } } b: emails { emails { id } } }")

    assert status == 400
    assert body["errors"][0]["extensions"]["code"] == "QUERY_TOO_COSTLY"
    assert world.mailboxes[1].calls == []


async def test_the_object_budget_is_enforced_during_execution(ask, world, email):
    world.mailboxes[1].emails = [email(f"m{n}", n, thread_id="t", labels=()) for n in range(9)]

    status, body = await ask(
        '{ emailThread(threadId: "providerA:t") { messages { id } } }', budget=8
    )

    assert status == 200
    assert body["data"] is None
    (error,) = body["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_COSTLY"
    assert error["message"] == "The query returns more than 25000 objects."


async def test_edges_count_among_the_fields_that_ask_a_provider(ask, world):
    edges = many(20, "a#: thread { id }")

    status, body = await ask(f"{{ emails {{ emails {{ {edges} }} }} }}")

    assert status == 400
    assert body["errors"][0]["extensions"]["code"] == "QUERY_TOO_COSTLY"
    assert body["errors"][0]["message"] == (
        "The query has more than 20 fields that call a provider; Email.thread exceeds it."
    )
    assert world.mailboxes[1].calls == []


async def test_the_edge_that_returns_most_objects_is_named(ask, world, monkeypatch):
    monkeypatch.setattr(cost_limits, "MAX_OBJECTS", 150)

    status, body = await ask("{ emails(limit: 50) { emails { id thread { messages { id } } } } }")

    assert status == 400
    assert body["errors"][0]["message"] == (
        "The query could return more than 150 objects, 100 of them by Email.thread."
    )
    assert world.mailboxes[1].calls == []


TWO = """mutation ($no: Boolean = false) { a: %s ...F @include(if: $no) ...F }
fragment F on Mutation { b: %s }"""


async def test_a_second_mutation_field_in_an_inapplicable_spread_is_counted(ask, world):
    delete = 'deleteEmail(emailId: "providerA:a1") { success }'

    status, body = await ask(TWO % (delete, delete))

    assert status == 400
    (error,) = body["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_COSTLY"
    assert error["message"] == "A request may contain one mutation field."
    assert world.mailboxes[1].calls == []
