"""Documents, schema, table and specification agree."""

import re

import pytest
from graphql import FieldNode, OperationDefinitionNode, parse, print_ast, validate
from graphql.execution.values import VariableValues
from spec_pages import first_table, section, words

from graph import schema
from graph.documents.operations import Graph
from graph.masking import guards
from rest_compat import documents
from rest_compat.table import ENDPOINTS, Endpoint

rows = pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")

# Query parameters without which a call is refused.


@pytest.fixture(scope="module")
def prepared_graph():
    return Graph(schema.build())


def operation(row: Endpoint) -> OperationDefinitionNode:
    definitions = parse(documents.document(row.document)).definitions
    (operation_node,) = [node for node in definitions if isinstance(node, OperationDefinitionNode)]
    return operation_node


def root_field(row: Endpoint) -> FieldNode:
    (field,) = operation(row).selection_set.selections
    assert isinstance(field, FieldNode)
    return field


def variables(row: Endpoint) -> list[str]:
    return [node.variable.name.value for node in operation(row).variable_definitions or ()]


def parameters(row: Endpoint) -> list[str]:
    return re.findall(r"{(\w+)}", row.path)


@rows
def test_a_document_is_valid(row):
    assert validate(schema.build(), parse(documents.document(row.document))) == []


@rows
def test_a_document_is_planned(row, prepared_graph):
    """A process prepares it for the first request of its row, which would be too late to fail."""
    program = prepared_graph.prepare_rest(documents.document(row.document)).program

    assert program.plan(VariableValues({}, {}), frozenset()) is not None


@rows
def test_a_document_starts_with_its_rest_call(row):
    first = documents.document(row.document).splitlines()[0]

    assert first == f"# {row.method} {row.path}"


@rows
def test_an_operation_is_named_like_its_file(row):
    file = row.document.rpartition("/")[2]

    assert operation(row).name.value == "".join(word.title() for word in file.split("_"))


@rows
def test_each_document_has_one_root_field_that_takes_its_variables_by_name(row):
    field = root_field(row)

    assert field.alias.value == "result"
    assert {
        argument.name.value: print_ast(argument.value) for argument in field.arguments or ()
    } == {name: f"${name}" for name in variables(row)}


@rows
def test_a_read_is_a_query_and_everything_else_a_mutation(row):
    kind = operation(row).operation.value

    assert kind == ("query" if row.method == "GET" else "mutation")


@rows
def test_every_path_parameter_fills_a_required_variable(row):
    required = [
        node.variable.name.value
        for node in operation(row).variable_definitions or ()
        if print_ast(node.type).endswith("!")
    ]

    assert set(parameters(row)) <= set(required)


def test_every_document_belongs_to_a_row():
    files = {
        f"{folder.name}/{file.name.removesuffix('.graphql')}"
        for folder in documents.operations().iterdir()
        for file in folder.iterdir()
        if not file.name.startswith("_")
    }

    assert files == {row.document for row in ENDPOINTS}


def test_no_route_shadows_a_later_route():
    taken = [(row.method, re.sub(r"{\w+}", "{}", row.path)) for row in ENDPOINTS]
    for at, (method, path) in enumerate(taken):
        hiding = re.compile(re.escape(path).replace(r"\{\}", "[^/]*"))
        hidden = [
            later
            for later_method, later in taken[at + 1 :]
            if later_method == method and hiding.fullmatch(later.replace("{}", "x"))
        ]
        assert hidden == []


@pytest.mark.parametrize(
    ("surface", "heading", "count"),
    [
        ("email", "Routes", 19),
        ("calendar", "Routes", 5),
        ("tasks", "Endpoints", 9),
        ("collab", "Endpoints", 26),
    ],
)
def test_the_routes_of_a_surface_match_the_specification(surface, heading, count):
    specified = [(method, *words(path)) for method, path, *_ in first_table(surface, heading)]

    rows = [
        (row.method, row.path.removeprefix(f"/api/access/{surface}"))
        for row in ENDPOINTS
        if row.surface == surface
    ]

    assert sorted(rows) == sorted(specified)
    assert len(rows) == count


@pytest.mark.parametrize(
    ("surface", "heading"), [("email", "Routes"), ("tasks", "Endpoints"), ("collab", "Endpoints")]
)
def test_the_rows_of_a_surface_require_the_specified_operations(surface, heading):
    requirements = guards.requirements(schema.build())
    specified = {
        (method, *words(path)): words(operations)
        for method, path, operations, *_ in first_table(surface, heading)
    }

    required = {
        (row.method, row.path.removeprefix(f"/api/access/{surface}")): [
            operation.value for operation in requirements[root_field(row).name.value].operations
        ]
        for row in ENDPOINTS
        if row.surface == surface
    }

    assert required == specified


def test_the_email_rows_have_the_specified_order():
    specified = [words(path)[0] for _, path, *_ in first_table("email", "Routes")]

    paths = [row.path for row in ENDPOINTS if row.surface == "email"]

    assert [path.removeprefix("/api/access/email") for path in paths] == specified


def test_the_query_parameters_of_the_email_list_are_specified_in_this_order():
    specified = [
        (words(name)[0], default)
        for name, _, default, _ in first_table("email", "Listing messages")
    ]

    variables = [
        (node.variable.name.value, print_ast(node.default_value) if node.default_value else "none")
        for node in operation(ENDPOINTS[0]).variable_definitions
    ]

    assert variables == specified
    assert len(variables) == 12


def test_an_email_has_the_specified_fields_in_this_order():
    specified = [
        name for names, *_ in first_table("email", "Email object") for name in words(names)
    ]

    fragment = parse(documents.document("email/list_emails")).definitions[1]
    fields = [field.name.value for field in fragment.selection_set.selections]

    assert fields == specified
    assert len(fields) == 18


def test_the_messages_of_a_thread_have_the_specified_core_fields_in_this_order():
    content = section("email", "Thread object")
    specified = words(re.search(r"exactly twelve fields(.*?)In GraphQL", content, re.DOTALL)[1])

    thread = next(row for row in ENDPOINTS if row.document == "email/get_email_thread")
    messages = next(
        field
        for field in root_field(thread).selection_set.selections
        if field.name.value == "messages"
    )
    fields = [field.name.value for field in messages.selection_set.selections]

    assert fields == specified
