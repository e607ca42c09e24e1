"""Ids and schema names of the description, as generated clients show them."""

import json
import re

import graphql
import pytest

from gateway.http.api_descriptions import access_document, operation_documents
from graph import schema
from graph.masking.guards import requirements
from rest_compat.documents import document
from rest_compat.openapi.document import build_openapi
from rest_compat.openapi.saved import SavedRow, with_saved
from rest_compat.saved.document import SavedDocument
from rest_compat.table import ENDPOINTS

DOCUMENT = json.loads(json.dumps(access_document()))
SCHEMAS = DOCUMENT["components"]["schemas"]
OPERATIONS = [
    (operation["operationId"], method)
    for methods in DOCUMENT["paths"].values()
    for method, operation in methods.items()
]
VERBS = {
    "get": {"get", "list", "search"},
    "post": {"add", "create", "forward", "reply", "send", "share", "upload"}
    | {"translate", "explain", "rotate"},
    "patch": {"modify", "move", "rename", "update"},
    "delete": {"delete", "revoke"},
}
# Nouns of more than one surface.
GENERAL = {"Item", "Items", "List", "Lists", "Board", "Boards", "Provider", "Providers", "Comment"}
# Parts of names that generators make up.
MADE_UP = re.compile(r"\d|_|^Body|Response$|Type$|Items$|Input.|Request.")
ENUMS = {"BodyType", "ShareType", "CollabEntityType", "AttendeeResponse"}  # of the GraphQL schema


def words(name):
    return re.findall(r"[A-Z]?[a-z]+", name)


def test_an_operation_id_is_a_verb_and_a_noun_of_one_surface():
    wrong = [
        name
        for name, method in OPERATIONS
        if not re.fullmatch(r"([a-z]+)([A-Z][a-z]+)+", name)
        or words(name)[0] not in VERBS[method]
        or "".join(words(name)[1:]) in GENERAL
    ]

    assert wrong == []
    assert len({name for name, _ in OPERATIONS}) == len(OPERATIONS) == 71


def test_a_write_has_one_name_in_rest_and_in_graphql():
    documents = operation_documents()
    fields = {}
    for name, translation in documents.items():
        operation, *_ = graphql.parse(translation["document"]).definitions
        if operation.operation.value == "mutation":
            fields[name[0].lower() + name[1:]] = operation.selection_set.selections[0].name.value

    assert len(fields) == 31
    assert {name: field for name, field in fields.items() if name != field} == {}


def test_no_schema_has_a_name_that_a_generator_made_up():
    assert [name for name in SCHEMAS if MADE_UP.search(name) and name not in ENUMS] == []
    assert [name for name in SCHEMAS if not re.fullmatch(r"([A-Z][a-z]+)+", name)] == []
    assert len({name.lower() for name in SCHEMAS}) == len(SCHEMAS)


def anonymous(value, path):
    """Yield where *value* has an object or an enumeration that a generator must name."""
    if isinstance(value, list):
        for index, part in enumerate(value):
            yield from anonymous(part, f"{path}/{index}")
    if isinstance(value, dict):
        if "enum" in value or "properties" in value:
            yield path
        for name, part in value.items():
            if name not in {"example", "properties"}:
                yield from anonymous(part, f"{path}/{name}")
        for name, part in value.get("properties", {}).items():
            yield from anonymous(part, f"{path}/{name}")


def test_every_object_and_enumeration_is_a_named_schema():
    inner = {
        place
        for name, schema in SCHEMAS.items()
        for place in anonymous(schema, name)
        if place != name and not re.fullmatch(r"\w+Error/allOf/1", place)
    }
    inner |= set(anonymous(DOCUMENT["paths"], ""))
    inner |= set(anonymous(DOCUMENT["components"]["responses"], ""))

    assert inner == set()
    assert {"BodyType", "Importance", "EventStatus", "TaskErrorCode"} <= SCHEMAS.keys()
    assert list(anonymous({"properties": {"a": {"enum": ["b"]}}}, "X")) == ["X", "X/a"]


@pytest.mark.parametrize(
    ("holder", "member", "schema"),
    [
        ("TaskItemPage", "items", "TaskItem"),
        ("TaskItem", "subItems", "TaskSubItem"),
        ("Thread", "messages", "ThreadMessage"),
        ("ContactEventList", "events", "EventSummary"),
    ],
)
def test_another_selection_of_a_type_has_a_name_of_its_own(holder, member, schema):
    described = json.dumps(SCHEMAS[holder]["properties"][member])

    assert f'"#/components/schemas/{schema}"' in described


def test_no_optional_member_is_a_constant():
    """Generated Python of an optional constant is no Python."""
    assert [
        (name, member)
        for name, schema in SCHEMAS.items()
        for member, value in schema.get("properties", {}).items()
        if "const" in value and member not in schema["required"]
    ] == []


@pytest.fixture(scope="module")
def saved():
    """The description with the document of every documented call saved under its name."""
    built, rows = schema.build(), []
    for number, row in enumerate(ENDPOINTS):
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", operation_id(row)).lower()
        stored = SavedDocument(
            id=number,
            name=name,
            method=row.method,
            path=row.path.replace("/api/access", "/api/saved"),
            status=row.status,
            digest="",
        )
        text = document(row.document)
        rows.append(SavedRow(document=stored, text=text, surface=row.surface, description=None))
    flags = {name: each.operations for name, each in requirements(built).items()}
    whole = build_openapi(ENDPOINTS, built, flags=flags, version="2026-11-01")
    return json.loads(json.dumps(with_saved(whole, rows, built, flags=flags).document))


def operation_id(row):
    return DOCUMENT["paths"][row.path][row.method.lower()]["operationId"]


@pytest.mark.slow
def test_saved_documents_are_named_by_the_same_rules(saved):
    names = [
        operation["operationId"]
        for path, methods in saved["paths"].items()
        for operation in methods.values()
        if path.startswith("/api/saved/")
    ]
    schemas = saved["components"]["schemas"]
    own = schemas.keys() - SCHEMAS.keys()

    assert sorted(names) == sorted(
        f"saved{operation_id(row)[0].upper()}{operation_id(row)[1:]}" for row in ENDPOINTS
    )
    assert {name: schemas[name] for name in SCHEMAS} == SCHEMAS
    assert [name for name in own if MADE_UP.search(name)] == []
    assert [name for name in own if not re.fullmatch(r"Saved([A-Z][a-z]+)+", name)] == []
    assert len({name.lower() for name in schemas}) == len(schemas)
    assert set(anonymous(saved["paths"], "")) == set()
    assert {
        place for name in own for place in anonymous(schemas[name], name) if place != name
    } == set()


def test_a_saved_document_is_described_as_the_documented_call_with_its_text(saved):
    """Besides names, texts, aliases and what any saved document may answer."""
    for row in ENDPOINTS:
        if row.streams or row.body == "upload":
            continue
        documented = DOCUMENT["paths"][row.path][row.method.lower()]
        path = row.path.replace("/api/access", "/api/saved")
        own = saved["paths"][path][row.method.lower()]
        parameters = [
            {name: value for name, value in each.items() if name not in {"example", "required"}}
            for each in documented["parameters"]
            if not each.get("deprecated")
        ]
        assert [
            {name: value for name, value in each.items() if name != "required"}
            for each in own["parameters"]
        ] == parameters
        assert own["responses"].keys() - {"404"} == documented["responses"].keys() - {"404"}
        success = str(row.status)
        mine, theirs = own["responses"][success], documented["responses"][success]
        assert mine["headers"] == theirs["headers"]
        assert inlined(mine, saved) == inlined(theirs, saved)
        assert inlined(own.get("requestBody"), saved) == inlined(
            documented.get("requestBody"), saved
        )


def test_the_path_and_the_body_of_a_saved_document_are_described_by_their_variables():
    text = """mutation Name($fileId: String!, $input: FileContent!, $ifMatch: String) {
      renameFile(fileId: $fileId, input: {name: "a"}, ifMatch: $ifMatch) { success }
      upload: uploadEmailAttachment(fileName: "a", input: $input) { handle } }"""
    stored = SavedDocument(
        id=1,
        name="name",
        method="PATCH",
        path="/api/saved/{fileId}/{ifMatch}",
        status=200,
        digest="",
    )
    row = SavedRow(document=stored, text=text, surface=None, description=None)
    built = schema.build()
    whole = build_openapi(ENDPOINTS, built, flags={}, version="2026-11-01")
    described = with_saved(whole, [row], built, flags={}).document
    operation = described["paths"][stored.path]["patch"]

    names = [(each["in"], each["name"]) for each in operation["parameters"] if "in" in each]
    assert names == [("path", "fileId"), ("path", "ifMatch")]
    content = operation["requestBody"]["content"]["application/json"]
    assert content == {"schema": {"type": "string", "contentEncoding": "base64"}}
    assert {"404", "408", "413"} <= operation["responses"].keys()


def inlined(value, description):
    """Return *value* without examples, its references to schemas replaced by the schemas."""
    if isinstance(value, list):
        return [inlined(each, description) for each in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref", "")
    if reference.startswith("#/components/schemas/"):
        value = {**description["components"]["schemas"][reference.rpartition("/")[2]], **value}
        del value["$ref"]
    return {name: inlined(each, description) for name, each in value.items() if name != "example"}
