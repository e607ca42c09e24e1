"""Documents, schema, table and contract say the same thing."""

import re

import pytest
from graphql import (
    FieldNode,
    OperationDefinitionNode,
    parse,
    print_ast,
    validate,
)
from paths import SHARED

from graph import schema
from graph.masking import guards
from rest_compat import documents
from rest_compat.table import ENDPOINTS, Endpoint

CONTRACT = SHARED / "spec" / "access-api.md"

rows = pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")

# Query parameters without which a call is refused.
REQUIRED = {"calendar/get_free_busy": ("from", "to")}


def operation(row: Endpoint) -> OperationDefinitionNode:
    definitions = parse(documents.document(row.document)).definitions
    (found,) = [node for node in definitions if isinstance(node, OperationDefinitionNode)]
    return found


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
def test_a_document_starts_with_its_rest_call(row):
    first = documents.document(row.document).splitlines()[0]

    assert first == f"# {row.method} {row.path}"


@rows
def test_an_operation_is_named_like_its_file(row):
    file = row.document.rpartition("/")[2]

    assert operation(row).name.value == "".join(word.title() for word in file.split("_"))


@rows
def test_the_root_field_is_the_result_and_takes_every_variable_under_its_own_name(row):
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


def test_no_row_hides_a_later_one():
    taken = [(row.method, re.sub(r"{\w+}", "{}", row.path)) for row in ENDPOINTS]
    for at, (method, path) in enumerate(taken):
        hiding = re.compile(re.escape(path).replace(r"\{\}", "[^/]*"))
        hidden = [
            later
            for later_method, later in taken[at + 1 :]
            if later_method == method and hiding.fullmatch(later.replace("{}", "x"))
        ]
        assert hidden == []


def contract() -> str:
    if not CONTRACT.exists():
        pytest.skip("the contract is not beside this checkout")
    return CONTRACT.read_text("utf-8")


def test_the_email_rows_are_the_contracts_in_its_order_and_demand_its_flags():
    section = contract().split("### Email surface")[1].split("###")[0]
    table = re.findall(r"^\| (GET|POST|DELETE|PATCH) \| `(\S+)` \| (.+) \|$", section, re.MULTILINE)
    promised = [(method, path, re.findall(r"`(\w+)`", flags)) for method, path, flags in table]

    built = [
        (
            row.method,
            row.path.removeprefix("/api/access/email"),
            [
                flag.value
                for flag in guards.requirements(schema.build())[
                    root_field(row).name.value
                ].operations
            ],
        )
        for row in ENDPOINTS
        if row.surface == "email"
    ]

    assert built == promised
    assert len(built) == 8


def test_the_query_parameters_of_the_email_list_are_the_contracts_in_its_order():
    section = contract().split("**GET /messages** query parameters")[1].split("Response 200")[0]
    promised = re.findall(r"^\| (\w+) \| \w+ \| ([\w ]+) \|", section, re.MULTILINE)

    definitions = operation(ENDPOINTS[0]).variable_definitions
    built = [
        (
            node.variable.name.value,
            print_ast(node.default_value) if node.default_value else "none",
        )
        for node in definitions
    ]

    assert built == promised[1:]  # without the head of the table
    assert len(built) == 12


def test_an_email_has_the_contracts_fields_in_its_order():
    section = contract().split("### Email object")[1].split("Participant:")[0]
    promised = re.findall(r"^\| (\w+) \| [\w?\[\]]+ \|", section, re.MULTILINE)

    fragment = parse(documents.document("email/list_emails")).definitions[1]
    built = [field.name.value for field in fragment.selection_set.selections]

    assert built == promised[1:]  # without the head of the table
    assert len(built) == 18


def test_the_messages_of_a_thread_have_the_contracts_core_fields_in_its_order():
    text = contract()
    promised = re.search(r"carry the core Email fields \(([^)]+)\)", text)[1].split(", ")

    thread = next(row for row in ENDPOINTS if row.document == "email/get_email_thread")
    messages = next(
        field
        for field in root_field(thread).selection_set.selections
        if field.name.value == "messages"
    )
    built = [field.name.value for field in messages.selection_set.selections]

    assert built == promised
