"""The charges, gates and decision rows of a document match what graphql-core runs."""

import json
from collections import Counter as Multiset
from dataclasses import replace
from types import SimpleNamespace

import pytest
from graph_requests import Admitted
from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    build_schema,
    execute_sync,
    get_named_type,
    get_nullable_type,
    is_enum_type,
    is_leaf_type,
    is_list_type,
    parse,
    validate,
)
from hypothesis import HealthCheck, assume, given, reject, settings
from plan_cases.requests import CONDITIONS, MAIL, Request, requests

from gateway.audit.decision import EntryPoint
from gateway.audit.recorder import Recorder, begin
from gateway.http.graphql_call import GraphQLCall
from graph.documents.cost_limits import MAX_OBJECTS, QueryTooCostly
from graph.documents.cost_walker import CostWalker
from graph.documents.operations import CACHED_LENGTH, Graph
from graph.schema import build, sdl
from rest_compat.request import RestRequest

SCHEMA = build_schema(sdl())  # of graphql-core alone: no resolver, guard or plan of ours
NEEDS = Graph(build()).requirements
# The arguments that name a root field's resource, the narrowest first.
NAMES = ("itemId", "fileId", "listId", "emailId", "threadId", "boardId", "folderId", "siteId")
WRITES = SCHEMA.mutation_type.fields
LEAVES = {"String": "text", "Boolean": True, "Int": 1, "Long": 1, "Float": 1.5}


class Truth:
    """The result of graphql-core for a request, on values of every type."""

    def __init__(self, request):
        self.ran = {}
        self.objects = 0
        result = execute_sync(
            SCHEMA,
            parse(request.text),
            variable_values=request.variables,
            operation_name=request.operation,
            field_resolver=self._resolve,
        )
        self.failed = any(error.path is None for error in result.errors or ()) or (
            None in [request.variables.get(name, True) for name in CONDITIONS]
        )

    @property
    def roots(self):
        """The keys of the root fields that ran."""
        return [key for key in self.ran if "." not in key]

    @property
    def costs(self):
        """Root fields and edges by surface."""
        needs = [NEEDS[name].surface for name, _ in self.ran.values()]
        return Multiset(surface.value for surface in needs if surface) or {"graphql": 1}

    @property
    def rows(self):
        """Return the expected decision row of each root field, and of each edge with a surface."""
        multiset = Multiset()
        for key, (name, arguments) in self.ran.items():
            if "." in key and NEEDS[name].surface is None:
                continue
            named = [arguments.get(name) for name in NAMES]
            resource = next((value for value in named if isinstance(value, str)), None)
            multiset[name, NEEDS[name].surface, resource, name in WRITES] += 1
        return multiset or Multiset([(None, None, None, False)])

    @property
    def admitted(self):
        """Return the gates that a mutation passes before its key is read."""
        needs = [NEEDS[name] for name, _ in self.ran.values() if name in WRITES]
        return Multiset((need.surface, *need.operations) for need in needs)

    def _resolve(self, source, info, **arguments):
        """Return as many objects as *limit* lets through, and one in any other list."""
        at_root = info.path.prev is None
        name = info.field_name if at_root else f"{info.parent_type.name}.{info.field_name}"
        if name in NEEDS:
            keys = [key for key in info.path.as_list() if isinstance(key, str)]
            self.ran[".".join(keys)] = name, arguments
            source = min(arguments.get("limit") or 1, NEEDS[name].max_limit)
        listed = is_list_type(get_nullable_type(info.return_type))
        named = get_named_type(info.return_type)
        count = source if listed else 1
        if is_leaf_type(named):
            first = next(iter(named.values.values())).value if is_enum_type(named) else None
            value = LEAVES.get(named.name, first)
        else:
            self.objects += count
            value = 1 if listed else source
        return [value] * count if listed else value


def measured(graph, request):
    """Return what a request is found to cost; not of one that is beyond a limit."""
    try:
        _, cost = graph.choose_operation(graph.parse(request.text), request.operation)
    except QueryTooCostly:
        reject()
    assume(cost.estimate_objects(request.variables) <= MAX_OBJECTS)
    return cost


class Log:
    """Takes the rows that the recorder makes."""

    def __init__(self):
        self.rows = []

    def clock(self):
        return 0

    def write(self, row, *, change):
        self.rows.append(((row.operation, row.surface, row.resource_id, change), row.cost))


@pytest.fixture(scope="module")
def graph():
    """The graph, whose root fields only note that they ran."""
    ran = []

    async def note(_source, info, **_):
        ran.append(info.path.key)

    with pytest.MonkeyPatch.context() as patch:
        for root in (build().query_type, build().mutation_type):
            for field in root.fields.values():
                patch.setattr(field, "resolve", note)
        graph = Graph(build())
        graph.ran = ran
        yield graph


class _NotingCall(GraphQLCall):
    """A request that notes the gates of its mutation."""

    admitted = ()

    def read_terms(self, context):
        if self._operation.kind == "mutation":
            self.admitted = []
            noting = SimpleNamespace(admit=lambda *need: self.admitted.append(need))
            self._operation.admit(SimpleNamespace(caller=noting), context.request_log.variables)


class Served:
    """The effects of `POST /graphql`: what it ran, admitted, charged and logged."""

    def __init__(self, graph, world):
        graph.ran.clear()
        self.ran = graph.ran
        self.admitted = []
        self.context = world.context()
        self._graph = graph

    async def answer(self, request):
        body = {
            "query": request.text,
            "variables": request.variables,
            "operationName": request.operation,
        }
        request = RestRequest({"headers": []}, None)
        sent = json.dumps(body).encode()
        call = _NotingCall(request, self._graph, rows={}, sent=sent)
        reply = await Admitted(self._admit, "req-1").run(call)
        self.admitted = list(call.admitted)
        log = Log()
        Recorder(log).record_graphql(self.context, reply.status)
        self.rows, self.status = log.rows, reply.status
        self.told = json.loads(reply.body)
        return self

    async def _admit(self, costs):
        self.costs = costs
        self.context.request_log = begin(EntryPoint.GRAPHQL, sum(costs.values()))
        return self.context


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # `world` stays as it is
@given(request=requests(SCHEMA))
async def test_executed_root_fields_are_charged_admitted_and_logged(graph, world, request):
    assert validate(SCHEMA, parse(request.text)) == []
    measured(graph, request)
    truth = Truth(request)
    padded = replace(request, text=request.text + " " * CACHED_LENGTH)  # too long for a plan

    for sent in (request, request, padded):
        served = await Served(graph, world).answer(sent)

        assert sum(cost for _, cost in served.rows) == sum(served.costs.values())
        if truth.failed:
            assert (served.status, served.ran) == (400, [])
            continue
        if "mutation" in request.text and len(truth.roots) > 1:
            assert (served.status, served.ran, served.admitted) == (400, [], [])
            assert (
                served.told["errors"][0]["message"] == "A request may contain one mutation field."
            )
            assert served.rows == [((None, None, None, False), 1)]
            continue
        assert served.status == 200
        assert sorted(served.ran) == sorted(truth.roots)
        assert served.costs == truth.costs
        assert Multiset(row for row, _ in served.rows) == truth.rows
        assert Multiset(served.admitted) == truth.admitted


@given(request=requests(SCHEMA))
def test_a_document_costs_as_much_as_with_its_fragments_inlined(request):
    document = parse(request.text)
    fragments = {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }

    counted = CostWalker(SCHEMA, document).operations()

    for operation, tally in counted:
        written = Written(fragments)
        written.directives += len(operation.directives or ())
        written.go(operation.selection_set, 1)
        assert (tally.depth, tally.fields, tally.aliases, tally.directives) == (
            written.depth,
            written.fields,
            written.aliases,
            written.directives,
        )


class Written:
    """Counts with every fragment written out where it is spread; names of types are no fields."""

    def __init__(self, fragments):
        self.depth = self.fields = self.aliases = self.directives = 0
        self._fragments = fragments

    def go(self, selections, level):
        for node in selections.selections:
            self.directives += len(node.directives or ())
            if isinstance(node, FragmentSpreadNode):
                fragment = self._fragments[node.name.value]
                self.directives += len(fragment.directives or ())
                self.go(fragment.selection_set, level)
            elif isinstance(node, FieldNode):
                self.aliases += node.alias is not None
                if node.name.value == "__typename":
                    continue
                self.fields += 1
                self.depth = max(self.depth, level)
                if node.selection_set is not None:
                    self.go(node.selection_set, level + 1)
            else:
                self.go(node.selection_set, level)


@given(request=requests(SCHEMA))
def test_objects_and_upstream_fields_are_never_underestimated(request):
    cost = measured(Graph(build()), request)
    truth = Truth(request)

    assert truth.failed or cost.estimate_objects(request.variables) >= truth.objects
    asking = [field for field in (*cost.roots, *cost.edges) if field.surface]
    assert len(asking) >= sum(truth.costs.values()) - (truth.costs == {"graphql": 1})


SEND = """mutation ($mail: SendEmailInput!, $yes: Boolean = true) {
    sendEmail(input: $mail) { success @include(if: $yes) }
}"""


async def test_a_mutation_does_not_run_with_a_null_condition(ask, world):
    status, body = await ask(SEND, {"mail": MAIL, "yes": None})

    assert status == 400
    extensions = {
        "code": "INVALID_PARAMETER",
        "httpStatus": 400,
        "requestId": "req-1",
        "details": [{"field": "yes", "message": "It is required."}],
    }
    assert body == {"errors": [{"message": "yes: It is required.", "extensions": extensions}]}
    assert world.mailboxes[1].calls == world.mailboxes[2].calls == []


async def test_a_variable_may_be_of_another_type_in_another_operation(graph, world):
    text = """mutation Send($x: SendEmailInput!) { sendEmail(input: $x) { success } }
    query Look($x: Boolean!) { accessToken @include(if: $x) { id } }"""

    sent = await Served(graph, world).answer(Request(text, {"x": MAIL}, "Send"))

    assert (sent.status, sent.ran, sent.costs) == (200, ["sendEmail"], {"email": 1})
