"""
Builds the OpenAPI 3.1 description of the documented paths from table, documents and schema.

Parameters are a document's variables with the descriptions of the arguments they fill, responses
are its selection, and statuses follow from the row of the table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import graphql
import msgspec

from policy.vocabulary import Surface
from rest_compat.binding import INPUT
from rest_compat.documents import document
from rest_compat.openapi import graphql_paths, overview
from rest_compat.openapi.components import (
    BEARER,
    BYTES,
    COMMON_HEADERS,
    FILE_FORM,
    FORM_SCHEMA,
    HEADERS,
    OPTIONAL_IN_FORMS,
    PARAMETERS,
    UPLOAD_CONTENT,
    error_responses,
    error_schemas,
    error_statuses,
    header_ref,
    response_name,
)
from rest_compat.openapi.effects import DRY_RUN_MEMBERS, SCHEMAS, accepted_answer
from rest_compat.openapi.json_schemas import Components, parameter
from rest_compat.openapi.schema_values import JsonSchema, schema_ref
from rest_compat.table import Endpoint
from rest_compat.translation.to_graphql import EXPLORER
from rest_compat.uploads import FILE_NAME

_EXAMPLES = Path(__file__).with_name("examples.json")  # written by `./run examples`

TAGS: Mapping[Surface | None, tuple[str, str]] = MappingProxyType(
    {
        Surface.EMAIL: ("Email", "Search, read, send and organize mail over all mailboxes."),
        Surface.CALENDAR: ("Calendar", "Events and free/busy times."),
        Surface.TASKS: ("Tasks", "Boards, items and comments."),
        Surface.COLLAB: ("Collaboration content", "Sites, lists, files, labels and search."),
        None: ("Access token", "What a token may read about itself."),
    }
)


@dataclass(frozen=True, slots=True)
class Description:
    """
    A description, and what each part of it describes.

    Attributes:
        document: As OpenAPI has it.
        rows: The endpoint and the root field of each operation, by path and method.
        coordinates: Schema component -> member -> its coordinate in the GraphQL schema.
    """

    document: Mapping[str, Any]
    rows: Mapping[tuple[str, str], tuple[Endpoint, str]]
    coordinates: Mapping[str, Mapping[str, str]]


def build_openapi(
    endpoints: Sequence[Endpoint],
    schema: graphql.GraphQLSchema,
    *,
    flags: Mapping[str, Sequence[str]],
    version: str,
) -> Description:
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
    rows: dict[tuple[str, str], tuple[Endpoint, str]] = {}
    for endpoint in endpoints:
        tags[endpoint.surface] = None
        row = OperationDescription(endpoint, schema)
        method = endpoint.method.lower()
        paths.setdefault(endpoint.path, {})[method] = row.describe(components, flags)
        rows[endpoint.path, method] = (endpoint, row.root.name.value)
    paths |= graphql_paths.paths()
    tag_texts = [*(TAGS[tag] for tag in tags), graphql_paths.TAG]
    components.schemas.update(error_schemas(endpoints), **graphql_paths.SCHEMAS)
    components.schemas.update({**SCHEMAS, FILE_FORM: FORM_SCHEMA})
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "access-gateway",
            "version": version,
            "description": overview.TEXT,
            "contact": {"name": "The operator of this gateway"},
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "This gateway."}],
        "tags": [{"name": name, "description": text} for name, text in tag_texts],
        "security": [{"accessToken": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "accessToken": {"type": "http", "scheme": "bearer", "description": BEARER}
            },
            "headers": dict(HEADERS),
            "responses": dict(
                sorted({**error_responses(endpoints), **graphql_paths.RESPONSES}.items())
            ),
            "parameters": dict(PARAMETERS),
            "schemas": dict(sorted(components.schemas.items())),
        },
    }
    return Description(document, rows, components.coordinates)


class OperationDescription:
    """Describes one row of the table with its document."""

    def __init__(
        self, endpoint: Endpoint, schema: graphql.GraphQLSchema, text: str | None = None
    ) -> None:
        """*text* is the document of *endpoint*; None: that of the table."""
        self.endpoint = endpoint
        self.schema = schema
        text = document(endpoint.document) if text is None else text
        self.document: graphql.DocumentNode = graphql.parse(text)
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
            "tags": [self._tag()],
            **self._texts(field, flags.get(self.root.name.value, ())),
        }
        needed = flags.get(self.root.name.value, ())
        if needed:
            described["x-required-operations"] = list(needed)
        described["parameters"] = [
            *self._parameters(field, components),
            *self._headers(field),
            *self._preferences(),
        ]
        if INPUT in self.variables:
            described["requestBody"] = self._body(components)
        described["responses"] = {
            **self._dry_run(needed),
            **self._successes(field, components),
            **{
                str(status): {
                    "$ref": f"#/components/responses/{response_name(self.endpoint, status)}"
                }
                for status in self.error_statuses()
            },
        }
        return described

    @property
    def operation_name(self) -> str:
        """The name of the operation in its document."""
        return self.operation.name.value if self.operation.name else ""

    def translation(self) -> dict[str, Any]:
        """Return the document of the call, and the variables of its example."""
        values = self.example.get("parameters", {})
        variables = {name: values[name] for name in self.variables if name in values}
        if INPUT in self.variables and "body" in self.example:
            variables[INPUT] = self.example["body"]
        return {"document": document(self.endpoint.document), "variables": variables}

    def _texts(self, field: graphql.GraphQLField, needed: Sequence[str]) -> JsonSchema:
        """Return the first sentence of *field* as summary, and all that follows from the row."""
        text = " ".join((self.endpoint.summary or field.description or "").split())
        sentence, _, rest = text.partition(". ")
        required = " or ".join(f"`{operation}`" for operation in needed) or "no operation"
        facts = (
            f"Requires {required}. In GraphQL and in the decision log: `{self.root.name.value}`."
        )
        # Not `externalDocs`: its address must be absolute, and the document names no host.
        link = f"[Open in the explorer](..{EXPLORER}#operation={self.operation_name})"
        return {
            "summary": sentence.rstrip(".").replace("`", ""),
            "description": "\n\n".join([*filter(None, [rest]), facts, link]),
        }

    def _name(self) -> str:
        name = self.operation_name
        return name[:1].lower() + name[1:]

    def _tag(self) -> str:
        return TAGS[self.endpoint.surface][0]

    def error_statuses(self) -> list[int]:
        """Return the error statuses, in order."""
        return error_statuses(self.endpoint)

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

    def _parameters(self, field: graphql.GraphQLField, components: Components) -> list[JsonSchema]:
        parameters = []
        named_headers = set(self.endpoint.headers.values())
        for name, node in self.variables.items():
            if name == INPUT or name in named_headers:
                continue
            in_path = f"{{{name}}}" in self.endpoint.path
            description = self._argument_description(field, name)
            schema = self._parameter(node, description, components)
            parameters.append(
                {
                    "name": name,
                    "in": "path" if in_path else "query",
                    "required": in_path or name in self.endpoint.required or self._required(node),
                    "description": description,
                    **(OPTIONAL_IN_FORMS if self._may_be_in_form(name) else {}),
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
                "description": self._argument_description(field, name),
                "schema": {"type": "string"},
            }
            for header, name in self.endpoint.headers.items()
        ]

    def _argument_description(self, field: graphql.GraphQLField, variable: str) -> str:
        return field.args[variable].description or ""

    def _parameter(
        self, node: graphql.VariableDefinitionNode, description: str, components: Components
    ) -> JsonSchema:
        kind = graphql.type_from_ast(self.schema, node.type)
        default = graphql.value_from_ast_untyped(node.default_value) if node.default_value else None
        return parameter(components, kind, description, default)  # type: ignore[arg-type]  # a variable's type

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
        if self.endpoint.method != "GET":
            names.append("IfEffect")
        return [{"$ref": f"#/components/parameters/{name}"} for name in names]

    def _body(self, components: Components) -> JsonSchema:
        if self.endpoint.body == "upload":
            return {"required": True, "content": UPLOAD_CONTENT}
        kind = graphql.type_from_ast(self.schema, self.variables[INPUT].type)
        schema = components.input_schema(kind)  # type: ignore[arg-type]  # a variable's type
        content = {"schema": schema, **_example(self.example.get("body"))}
        return {"required": True, "content": {"application/json": content}}

    def _parameter_example(self, name: str) -> JsonSchema:
        return _example(self.example.get("parameters", {}).get(name))

    def _dry_run(self, needed: Sequence[str]) -> JsonSchema:
        """Describe the response of a dry run where that of the real call has no body."""
        if self.endpoint.status != 204 or not needed:
            return {}
        effect = {"allowedBy": {"operation": needed[0]}, "digest": "pT3…"}
        content = {
            "schema": schema_ref("DryRunAnswer"),
            "example": {"success": True, "dryRun": True, "effect": effect},
        }
        return {
            "200": {
                "description": "The response of a dry run.",
                "headers": dict(COMMON_HEADERS),
                "content": {"application/json": content},
            }
        }

    def _successes(self, field: graphql.GraphQLField, components: Components) -> JsonSchema:
        if not self.endpoint.streams:
            success = self._success(field, components)
            root, may_hold = self.root.name.value, self._may_hold()
            accepted = accepted_answer(success, self.endpoint, root, may_be_draft=may_hold)
            return {str(self.endpoint.status): success, **accepted}
        headers = {
            **COMMON_HEADERS,
            "Content-Disposition": header_ref("ContentDisposition"),
            "Accept-Ranges": header_ref("AcceptRanges"),
            "ETag": header_ref("ETag"),
        }
        content = {"application/octet-stream": {"schema": BYTES}, "*/*": {"schema": BYTES}}
        ranged = {**headers, "Content-Range": header_ref("ContentRange")}
        return {
            "200": {"description": "The file.", "headers": headers, "content": content},
            "206": {"description": "The range.", "headers": ranged, "content": content},
        }

    def _may_hold(self) -> bool:
        """Whether the result can be a draft that a person is to send."""
        selected = self.root.selection_set
        return selected is not None and any(
            isinstance(node, graphql.FieldNode) and node.name.value == "held"
            for node in selected.selections
        )

    def _takes_limit(self, _field: graphql.GraphQLField) -> bool:
        return "limit" in self.variables

    def _success(self, field: graphql.GraphQLField, components: Components) -> JsonSchema:
        headers = dict(COMMON_HEADERS)
        if self._takes_limit(field):
            headers["X-Applied-Limit"] = header_ref("AppliedLimit")
        if self.endpoint.method == "POST":
            headers["Idempotent-Replayed"] = header_ref("IdempotentReplayed")
        if self.endpoint.status == 204:
            return {"description": "Done; the body is empty.", "headers": headers}
        schema = components.response_schema(
            field.type,
            self.root.selection_set,
            document=self.document,
            path=self._name(),
            **({} if self.endpoint.method == "GET" else {"extra": DRY_RUN_MEMBERS}),
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


@cache
def examples() -> Mapping[str, Any]:
    """Return the example of each operation by its id: `parameters`, `body`, `answer`."""
    by_operation: Mapping[str, Any] = msgspec.json.decode(_EXAMPLES.read_bytes())
    return by_operation
