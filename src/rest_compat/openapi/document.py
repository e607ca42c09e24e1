"""
Builds the OpenAPI 3.1 description of the documented paths from table, documents and schema.

Parameters are a document's variables with the descriptions of the arguments they fill, responses
are its selection, and statuses follow from the row of the table.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import graphql
import msgspec

from policy.vocabulary import Surface
from rest_compat.binding import INPUT
from rest_compat.documents import document
from rest_compat.endpoint import OMITTED_WHEN_EMPTY
from rest_compat.multipart import FORM
from rest_compat.openapi import overview
from rest_compat.openapi.components import (
    BEARER,
    COMMON_HEADERS,
    HEADERS,
    PARAMETERS,
    error_responses,
    error_schemas,
    error_statuses,
    header_ref,
    response_name,
)
from rest_compat.openapi.json_schemas import Components, parameter
from rest_compat.openapi.schema_values import JsonSchema
from rest_compat.table import Endpoint
from rest_compat.uploads import FILE_NAME

_EXAMPLES = Path(__file__).with_name("examples.json")  # written by `./run examples`

TAGS: Mapping[Surface | None, tuple[str, str]] = MappingProxyType(
    {
        Surface.EMAIL: ("Email", "Search, read, send and organise mail over all mailboxes."),
        Surface.CALENDAR: ("Calendar", "Events and free/busy times."),
        Surface.TASKS: ("Tasks", "Boards, items and comments."),
        Surface.COLLAB: ("Collaboration content", "Sites, lists, files, labels and search."),
        None: ("Access token", "What a token may read about itself."),
    }
)


def build_openapi(
    endpoints: Sequence[Endpoint],
    schema: graphql.GraphQLSchema,
    *,
    flags: Mapping[str, Sequence[str]],
    version: str,
) -> dict[str, Any]:
    """
    Describe *endpoints*.

    *flags* maps a root field to the operations that it requires, one of which suffices; *version*
    is the date of the API version.

    Raises:
        ValueError: Two different schemas would need one name.
    """
    components = Components()
    paths: dict[str, dict[str, Any]] = {}
    tags: dict[Surface | None, None] = {}
    for endpoint in endpoints:
        tags[endpoint.surface] = None
        row = OperationDescription(endpoint, schema)
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = row.describe(
            components, flags
        )
    components.schemas.update(error_schemas(endpoints))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "access-gateway",
            "version": version,
            "description": overview.TEXT,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "This gateway."}],
        "tags": [{"name": TAGS[tag][0], "description": TAGS[tag][1]} for tag in tags],
        "security": [{"accessToken": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "accessToken": {"type": "http", "scheme": "bearer", "description": BEARER}
            },
            "headers": dict(HEADERS),
            "responses": dict(sorted(error_responses(endpoints).items())),
            "parameters": dict(PARAMETERS),
            "schemas": dict(sorted(components.schemas.items())),
        },
    }


_BYTES: JsonSchema = {"type": "string", "format": "binary"}
_UPLOAD_CONTENT: JsonSchema = {
    "application/octet-stream": {"schema": _BYTES},
    FORM: {
        "schema": {
            "description": "One file part, of any name, and nothing else.",
            "type": "object",
            "properties": {"file": _BYTES},
            "required": ["file"],
            "additionalProperties": False,
        }
    },
}
_OPTIONAL_IN_FORMS: JsonSchema = {
    "required": False,
    "description": "1 to 255 characters; required unless the file part of a form has a file name.",
}


class OperationDescription:
    """Describes one row of the table with its document."""

    def __init__(self, endpoint: Endpoint, schema: graphql.GraphQLSchema) -> None:
        self.endpoint = endpoint
        self.schema = schema
        self.document: graphql.DocumentNode = graphql.parse(document(endpoint.document))
        self.operation = next(
            node
            for node in self.document.definitions
            if isinstance(node, graphql.OperationDefinitionNode)
        )
        root = self.operation.selection_set.selections[0]
        if not isinstance(root, graphql.FieldNode):
            raise TypeError(f"{endpoint.document} does not select a root field")
        self.root = root
        self.example = examples().get(self._name(), {})
        self.variables = {
            node.variable.name.value: node for node in self.operation.variable_definitions or ()
        }

    def describe(self, components: Components, flags: Mapping[str, Sequence[str]]) -> JsonSchema:
        """Describe the row as an OpenAPI operation."""
        field = self._field()
        described: dict[str, Any] = {
            "operationId": self._name(),
            "tags": [TAGS[self.endpoint.surface][0]],
            **_summary(field.description or ""),
        }
        needed = flags.get(self.root.name.value, ())
        if needed:
            described["x-required-operations"] = list(needed)
        described["parameters"] = [
            *self._parameters(field),
            *self._headers(field),
            *self._preferences(),
        ]
        if INPUT in self.variables:
            described["requestBody"] = self._body(components)
        described["responses"] = {
            **self._successes(field, components),
            **{
                str(status): {
                    "$ref": f"#/components/responses/{response_name(self.endpoint, status)}"
                }
                for status in error_statuses(self.endpoint)
            },
        }
        return described

    def _name(self) -> str:
        name = self.operation.name.value if self.operation.name else ""
        return name[:1].lower() + name[1:]

    def _field(self) -> graphql.GraphQLField:
        root = (
            self.schema.query_type
            if self.operation.operation.value == "query"
            else self.schema.mutation_type
        )
        if root is None:
            raise TypeError(f"{self.endpoint.document} has no root in the schema")
        field: graphql.GraphQLField = root.fields[self.root.name.value]
        return field

    def _parameters(self, field: graphql.GraphQLField) -> list[JsonSchema]:
        parameters = []
        named_headers = set(self.endpoint.headers.values())
        for name, node in self.variables.items():
            if name == INPUT or name in named_headers:
                continue
            in_path = f"{{{name}}}" in self.endpoint.path
            argument = field.args[name]
            schema = self._parameter(node, argument.description)
            parameters.append(
                {
                    "name": name,
                    "in": "path" if in_path else "query",
                    "required": in_path or name in self.endpoint.required or self._required(node),
                    "description": argument.description or "",
                    **(_OPTIONAL_IN_FORMS if self._may_be_in_form(name) else {}),
                    "schema": schema,
                    **self._parameter_example(name),
                }
            )
            parameters += [
                {
                    "name": alias,
                    "in": "query",
                    "required": False,
                    "deprecated": True,
                    "description": f"Another name of `{name}`.",
                    "schema": {key: schema[key] for key in schema if key != "default"},
                }
                for alias, variable in self.endpoint.aliases.items()
                if variable == name
            ]
        return parameters

    def _headers(self, field: graphql.GraphQLField) -> list[JsonSchema]:
        return [
            {
                "name": header.title(),
                "in": "header",
                "description": field.args[name].description or "",
                "schema": {"type": "string"},
            }
            for header, name in self.endpoint.headers.items()
        ]

    def _parameter(
        self, node: graphql.VariableDefinitionNode, description: str | None
    ) -> JsonSchema:
        kind = graphql.type_from_ast(self.schema, node.type)
        default = graphql.value_from_ast_untyped(node.default_value) if node.default_value else None
        return parameter(kind, description, default)  # type: ignore[arg-type]  # a variable's type

    def _required(self, node: graphql.VariableDefinitionNode) -> bool:
        return node.type.kind == "non_null_type" and node.default_value is None

    def _may_be_in_form(self, name: str) -> bool:
        return self.endpoint.body == "upload" and name == FILE_NAME

    def _preferences(self) -> list[JsonSchema]:
        names = ["Prefer", "RequestId"]
        if self.endpoint.streams:
            names = ["Range", "IfRange", *names]
        if self.endpoint.method == "POST":
            names.append("IdempotencyKey")
        return [{"$ref": f"#/components/parameters/{name}"} for name in names]

    def _body(self, components: Components) -> JsonSchema:
        if self.endpoint.body == "upload":
            return {"required": True, "content": _UPLOAD_CONTENT}
        kind = graphql.type_from_ast(self.schema, self.variables[INPUT].type)
        schema = components.input_schema(kind)  # type: ignore[arg-type]  # a variable's type
        content = {"schema": schema, **_example(self.example.get("body"))}
        return {"required": True, "content": {"application/json": content}}

    def _parameter_example(self, name: str) -> JsonSchema:
        return _example(self.example.get("parameters", {}).get(name))

    def _successes(self, field: graphql.GraphQLField, components: Components) -> JsonSchema:
        if not self.endpoint.streams:
            return {str(self.endpoint.status): self._success(field, components)}
        headers = {
            **COMMON_HEADERS,
            "Content-Disposition": header_ref("ContentDisposition"),
            "Accept-Ranges": header_ref("AcceptRanges"),
            "ETag": header_ref("ETag"),
        }
        content = {"*/*": {"schema": _BYTES}}
        ranged = {**headers, "Content-Range": header_ref("ContentRange")}
        return {
            "200": {"description": "The file.", "headers": headers, "content": content},
            "206": {"description": "The range.", "headers": ranged, "content": content},
        }

    def _success(self, field: graphql.GraphQLField, components: Components) -> JsonSchema:
        headers = dict(COMMON_HEADERS)
        if "limit" in self.variables:
            headers["X-Applied-Limit"] = header_ref("AppliedLimit")
        if self.endpoint.method == "POST":
            headers["Idempotent-Replayed"] = header_ref("IdempotentReplayed")
        if self.endpoint.status == 204:
            return {"description": "Done; the body is empty.", "headers": headers}
        name = self._name()
        schema = components.response_schema(
            field.type,
            self.root.selection_set,
            document=self.document,
            name=f"{name[:1].upper()}{name[1:]}Response",
            optional=frozenset(OMITTED_WHEN_EMPTY),
        )
        schema = schema.get("anyOf", [schema])[0]  # a success body is never null
        return {
            "description": "Done.",
            "headers": headers,
            "content": {
                "application/json": {"schema": schema, **_example(self.example.get("answer"))}
            },
        }


def _example(value: Any) -> JsonSchema:
    return {} if value is None else {"example": value}


def _summary(description: str) -> JsonSchema:
    """Return the first sentence as summary, and the description where it has more."""
    text = " ".join(description.split())
    sentence = text.partition(". ")[0].rstrip(".")
    texts = {"summary": sentence.replace("`", "")}
    return texts if text.rstrip(".") == sentence else {**texts, "description": text}


@cache
def examples() -> Mapping[str, Any]:
    """Return the example of each operation by its id: `parameters`, `body`, `answer`."""
    by_operation: Mapping[str, Any] = msgspec.json.decode(_EXAMPLES.read_bytes())
    return by_operation
