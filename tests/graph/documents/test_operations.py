"""Internal documents: prepared once, run for many callers."""

import pytest

from graph.documents.operations import InvalidDocument
from policy.refusals import OperationNotAllowed, SurfaceNotEnabled
from policy.vocabulary import EmailOp, Surface

LIST = """query ListEmails($q: String, $limit: Int = 20, $after: DateTime) {
    result: emails(q: $q, limit: $limit, after: $after) { emails { id } }
}"""


def test_an_operation_has_its_name_kind_and_variables(graph):
    operation = graph.prepare(LIST)

    assert operation.name == "ListEmails"
    assert operation.kind == "query"
    assert operation.surface is Surface.EMAIL
    assert operation.operations == (EmailOp.SEARCH_EMAILS,)
    assert [
        (variable.name, str(variable.type), variable.required, variable.default)
        for variable in operation.variables
    ] == [
        ("q", "String", False, None),
        ("limit", "Int", False, 20),
        ("after", "DateTime", False, None),
    ]


def test_a_mutation_has_alternative_operations_and_required_variables(graph):
    operation = graph.prepare(
        "mutation Modify($emailId: String!, $input: ModifyEmailInput!) {"
        " result: modifyEmail(emailId: $emailId, input: $input) { success } }"
    )

    assert operation.kind == "mutation"
    assert operation.operations == (EmailOp.MARK_AS_READ, EmailOp.APPLY_LABELS)
    assert [variable.required for variable in operation.variables] == [True, True]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{ emials { id } }",
        "query A { __typename } query B { __typename }",
        "fragment F on Email { id }",
    ],
)
def test_a_document_that_contradicts_the_schema_is_refused_at_start_up(graph, text):
    with pytest.raises(InvalidDocument):
        graph.prepare(text)


def test_the_gates_are_passed_before_any_parameter(graph, world):
    operation = graph.prepare(LIST)
    operation.admit(world.context())
    world.settings["allowedEmailOperations"] = ["view_email"]

    with pytest.raises(OperationNotAllowed):
        operation.admit(world.context())
    world.settings["emailAccessEnabled"] = False
    with pytest.raises(SurfaceNotEnabled):
        operation.admit(world.context())


def test_any_valid_token_passes_the_gates_of_its_own_settings(graph, world):
    world.settings = {}
    world.connections.clear()

    graph.prepare("{ result: accessToken { id } }").admit(world.context())


async def test_it_runs_with_rest_variables(graph, world):
    outcome = await graph.prepare(LIST).run({"limit": 1, "after": "2026-11-20"}, world.context())

    assert outcome.data == {"result": {"emails": [{"id": "providerA:a1"}]}}
    assert outcome.errors == ()


async def test_a_refusal_is_an_error_with_a_status(graph, world):
    outcome = await graph.prepare(LIST).run({"limit": -1}, world.context())

    assert outcome.data == {"result": None}
    assert outcome.errors[0]["message"] == "limit must be at least 1."
    assert outcome.errors[0]["extensions"]["httpStatus"] == 400


async def test_an_invalid_variable_is_named(graph, world):
    outcome = await graph.prepare(LIST).run({"limit": "many", "after": "x"}, world.context())

    assert outcome.data is None
    (error,) = outcome.errors
    assert error["extensions"]["code"] == "INVALID_PARAMETER"
    assert [detail["field"] for detail in error["extensions"]["details"]] == ["limit", "after"]


async def test_internal_documents_are_exempt_from_limits(graph, world):
    fields = " ".join(f"a{number}: totalCount" for number in range(40))

    outcome = await graph.prepare(f"{{ emails {{ {fields} }} }}").run({}, world.context())

    assert outcome.data["emails"]["a39"] == 3


async def test_an_explicit_null_for_a_required_argument_is_the_callers_fault(graph, world):
    operation = graph.prepare('query ($id: String = "x") { email(emailId: $id) { id } }')

    outcome = await operation.run({"id": None}, world.context())

    assert outcome.errors[0]["extensions"]["code"] == "INVALID_PARAMETER"
    assert outcome.errors[0]["extensions"]["httpStatus"] == 400
