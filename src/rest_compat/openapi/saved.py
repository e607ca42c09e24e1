"""
Describes saved documents like the documented paths (docs/spec/saved-documents.md#openapi).

Names and paths depend on the described documents alone, so the description of a token says nothing
about documents that the token may not run.
"""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import graphql
from msgspec.structs import replace

from policy.vocabulary import Surface
from rest_compat.binding import INPUT
from rest_compat.openapi.components import ERROR, describe_error_response, error_statuses
from rest_compat.openapi.document import Description, OperationDescription
from rest_compat.openapi.graphql_paths import REST_OF
from rest_compat.openapi.saved_schemas import SavedComponents, numbered, pascal_case
from rest_compat.openapi.schema_values import JsonSchema
from rest_compat.saved.document import IF_MATCH, PREFIX, SavedDocument, path_parameters
from rest_compat.saved.routes import shape_of_path
from rest_compat.table import Endpoint, RateBucket

TAG = "Saved documents", "Endpoints of the operator of this gateway."
HELD = "202"
_BUCKET = RateBucket(windows="management")  # no description tells it


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SavedRow:
    """
    A saved document to describe.

    Attributes:
        text: The document.
        surface: The first of its root field and edges, whose errors it may answer.
        description: The operator's.
    """

    document: SavedDocument
    text: str
    surface: Surface | None
    description: str | None


def only_documents(whole: Description) -> Description:
    """Return the part of *whole* that a token limited to saved documents may call."""
    rows = {key: row for key, row in whole.rows.items() if row[0].prefix == PREFIX}
    served = {REST_OF, *(path for path, _ in rows)}
    paths = {path: methods for path, methods in whole.document["paths"].items() if path in served}
    return dataclasses.replace(whole, document={**whole.document, "paths": paths}, rows=rows)


def with_saved(
    whole: Description,
    rows: Iterable[SavedRow],
    schema: graphql.GraphQLSchema,
    *,
    flags: Mapping[str, Sequence[str]],
) -> Description:
    """Return *whole* with *rows*, oldest first; *flags* as in `document.build_openapi`."""
    parts = whole.document["components"]
    components = SavedComponents(parts["schemas"], whole.coordinates)
    paths: dict[str, dict[str, Any]] = {}
    described: dict[tuple[str, str], tuple[Endpoint, str]] = {}
    operation_ids: set[str] = set()  # in lower case: generated files may be told apart by it
    templates: dict[str, str] = {}
    statuses: set[int] = set()
    held = {
        root
        for (path, method), (_, root) in whole.rows.items()
        if HELD in whole.document["paths"][path][method]["responses"]
    }
    for row in rows:
        operation_id = _operation_id(row.document.name, operation_ids)
        operation_ids.add(operation_id.lower())
        operation = _SavedDescription(row, schema, operation_id, held)
        components.begin(pascal_case(operation_id, "-"), operation.document)
        path = templates.setdefault(shape_of_path(row.document.path), row.document.path)
        method = row.document.method.lower()
        paths.setdefault(path, {})[method] = _at_path(
            operation.describe(components, flags), row.document.path, path
        )
        described[path, method] = (operation.endpoint, operation.root.name.value)
        statuses.update(operation.error_statuses())
    errors = {f"{ERROR}{status}": describe_error_response(status, ERROR) for status in statuses}
    document = {
        **whole.document,
        "tags": [*whole.document["tags"], {"name": TAG[0], "description": TAG[1]}],
        "paths": {**whole.document["paths"], **paths},
        "components": {
            **parts,
            "responses": dict(sorted({**parts["responses"], **errors}.items())),
            "schemas": dict(sorted(components.schemas.items())),
        },
    }
    return Description(document, {**whole.rows, **described}, components.coordinates)


def _operation_id(name: str, taken: Collection[str]) -> str:
    """Return "savedInBox" for "in-box"; no documented call is called "saved…"."""
    plain = f"saved{pascal_case(name, '-')}"
    names = chain([plain], numbered(plain))
    return next(candidate for candidate in names if candidate.lower() not in taken)


def _at_path(operation: JsonSchema, own: str, path: str) -> JsonSchema:
    """Name the path parameters of *operation* as in *path*: OpenAPI has one template per path."""
    names = dict(zip(path_parameters(own), path_parameters(path), strict=True))
    parameters = [
        {**parameter, "name": names[parameter["name"]]}
        if parameter.get("in") == "path"
        else parameter
        for parameter in operation["parameters"]
    ]
    return {**operation, "parameters": parameters}


class _SavedDescription(OperationDescription):
    """Describes one saved document."""

    def __init__(
        self, row: SavedRow, schema: graphql.GraphQLSchema, operation_id: str, held: Collection[str]
    ) -> None:
        """*held* are the root fields whose result may be a draft that a person is to send."""
        self._row = row
        self._held = held
        self._operation_id = operation_id
        document = row.document
        endpoint = Endpoint(
            method=document.method,
            path=document.path,
            prefix=PREFIX,
            document=document.name,
            surface=row.surface,
            bucket=_BUCKET,
            status=document.status,
        )
        super().__init__(endpoint, schema, row.text)
        if "ifMatch" in self.variables.keys() - path_parameters(document.path):
            self.endpoint = replace(endpoint, headers=IF_MATCH)
        self._descriptions = _argument_descriptions(schema, self.document)

    def _name(self) -> str:
        return self._operation_id

    def _tag(self) -> str:
        return TAG[0]

    def _texts(self, field: graphql.GraphQLField, needed: Sequence[str]) -> JsonSchema:
        """Return the operator's description, or that of *field*."""
        text = " ".join((self._row.description or field.description or "").split())
        sentence, _, rest = text.partition(". ")
        required = " or ".join(f"`{operation}`" for operation in needed) or "no operation"
        facts = (
            f"The saved document `{self._row.document.name}`. Requires {required}. "
            f"In GraphQL and in the decision log: `{self.root.name.value}`."
        )
        return {
            "summary": sentence.rstrip(".").replace("`", ""),
            "description": "\n\n".join([*filter(None, [rest]), facts]),
        }

    def error_statuses(self) -> list[int]:
        """Add 404, which a removed document answers, and those of a body."""
        statuses = {*error_statuses(self.endpoint), 404}
        return sorted(statuses | ({408, 413} if INPUT in self.variables else set()))

    def _argument_description(self, _field: graphql.GraphQLField, variable: str) -> str:
        texts = self._descriptions.get(variable, set())
        return next(iter(texts)) if len(texts) == 1 else ""

    def _may_hold(self) -> bool:
        return self.root.name.value in self._held

    def _takes_limit(self, field: graphql.GraphQLField) -> bool:
        return "limit" in field.args


class _VariableUses(graphql.Visitor):
    """Collects the descriptions of the arguments that each variable fills."""

    def __init__(self, types: graphql.TypeInfo) -> None:
        super().__init__()
        self._types = types
        self.descriptions: dict[str, set[str]] = {}

    def enter_variable_definition(self, *_: Any) -> Any:
        return self.SKIP

    def enter_variable(self, node: graphql.VariableNode, _key: Any, parent: Any, *_: Any) -> None:
        argument = self._types.get_argument()
        is_whole_value = isinstance(parent, graphql.ArgumentNode)
        text = argument.description if argument is not None and is_whole_value else None
        self.descriptions.setdefault(node.name.value, set()).add(text or "")


def _argument_descriptions(
    schema: graphql.GraphQLSchema, document: graphql.DocumentNode
) -> Mapping[str, set[str]]:
    types = graphql.TypeInfo(schema)
    uses = _VariableUses(types)
    graphql.visit(document, graphql.TypeInfoVisitor(types, uses))
    return uses.descriptions
