"""
The documented paths as OpenAPI 3.1, from the table, the documents and the schema.

Nothing is written twice: parameters are a document's variables with the descriptions of the
arguments they fill, answers are its selection, and the statuses follow from what a row is.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLField,
    GraphQLSchema,
    OperationDefinitionNode,
    VariableDefinitionNode,
    parse,
    type_from_ast,
    value_from_ast_untyped,
)

from policy.vocabulary import Surface
from rest_compat.binding import INPUT
from rest_compat.documents import document
from rest_compat.errors import RESULT_OBJECTS, ResultObject
from rest_compat.json_schemas import Components, JsonSchema, parameter
from rest_compat.table import Endpoint

OMITTED_WHEN_EMPTY = frozenset({"accessInfo", "authWarnings"})  # decisions 0

TAGS: Mapping[Surface | None, tuple[str, str]] = MappingProxyType(
    {
        Surface.EMAIL: ("Email", "Search, read, send and organise mail over all mailboxes."),
        Surface.CALENDAR: ("Calendar", "Events and free/busy times."),
        Surface.TASKS: ("Tasks", "Boards, items and comments."),
        Surface.COLLAB: ("Collaboration content", "Sites, lists, files, labels and search."),
        None: ("Access token", "What a token may read about itself."),
    }
)

_MEANINGS: Mapping[int, str] = MappingProxyType(
    {
        400: "A parameter or the body is wrong; `details` names each field.",
        401: "The bearer token is missing, malformed, unknown, revoked or expired.",
        403: "The token does not allow this, or the connection cannot do it.",
        404: "There is nothing there for this token.",
        408: "The request body did not arrive in time.",
        409: "The idempotency key is in use or was used with another request.",
        413: "The body is too large.",
        422: "The surface is closed to the token, or no account of this kind is connected.",
        429: "A rate limit is reached, here or at the provider.",
        500: "An unexpected error here.",
        502: "The provider failed.",
        503: "The service is overloaded.",
        504: "The provider did not answer in time, or the outcome is unknown.",
    }
)


def describe(
    endpoints: Iterable[Endpoint],
    schema: GraphQLSchema,
    *,
    flags: Mapping[str, Sequence[str]],
    version: str,
) -> dict[str, Any]:
    """
    Describe *endpoints*.

    *flags* says which operations a root field demands, one of which suffices; *version* is the
    date of the contract.

    Raises:
        ValueError: Two different schemas would need one name.
    """
    components = Components()
    paths: dict[str, dict[str, Any]] = {}
    tags: dict[Surface | None, None] = {}
    for endpoint in endpoints:
        tags[endpoint.surface] = None
        row = Row(endpoint, schema)
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = row.describe(
            components, flags
        )
    _add_errors(components, endpoints)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "access-gateway",
            "version": version,
            "description": "Mail, calendars, tasks and collaboration content behind one token.",
        },
        "tags": [{"name": TAGS[tag][0], "description": TAGS[tag][1]} for tag in tags],
        "security": [{"accessToken": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "accessToken": {"type": "http", "scheme": "bearer", "description": _BEARER}
            },
            "headers": _HEADERS,
            "parameters": _PARAMETERS,
            "schemas": dict(sorted(components.schemas.items())),
        },
    }


class Row:
    """One row of the table with its document, read for description."""

    def __init__(self, endpoint: Endpoint, schema: GraphQLSchema) -> None:
        self.endpoint = endpoint
        self.schema = schema
        self.document: DocumentNode = parse(document(endpoint.document))
        self.operation = next(
            node for node in self.document.definitions if isinstance(node, OperationDefinitionNode)
        )
        root = self.operation.selection_set.selections[0]
        if not isinstance(root, FieldNode):
            raise TypeError(f"{endpoint.document} does not select a root field")
        self.root = root
        self.variables = {
            node.variable.name.value: node for node in self.operation.variable_definitions or ()
        }

    def describe(self, components: Components, flags: Mapping[str, Sequence[str]]) -> JsonSchema:
        """Describe the row as an OpenAPI operation."""
        field = self._field()
        described: dict[str, Any] = {
            "operationId": self._name(),
            "tags": [TAGS[self.endpoint.surface][0]],
            "summary": (field.description or "").split(". ")[0].rstrip("."),
            "description": field.description or "",
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
            str(self.endpoint.status): self._success(field, components),
            **{str(status): self._error(status) for status in statuses(self.endpoint)},
        }
        return described

    def _name(self) -> str:
        name = self.operation.name.value if self.operation.name else ""
        return name[:1].lower() + name[1:]

    def _field(self) -> GraphQLField:
        root = (
            self.schema.query_type
            if self.operation.operation.value == "query"
            else self.schema.mutation_type
        )
        if root is None:
            raise TypeError(f"{self.endpoint.document} has no root in the schema")
        field: GraphQLField = root.fields[self.root.name.value]
        return field

    def _parameters(self, field: GraphQLField) -> list[JsonSchema]:
        found = []
        named_headers = set(self.endpoint.headers.values())
        for name, node in self.variables.items():
            if name == INPUT or name in named_headers:
                continue
            in_path = f"{{{name}}}" in self.endpoint.path
            argument = field.args[name]
            found.append(
                {
                    "name": name,
                    "in": "path" if in_path else "query",
                    "required": in_path or self._required(node),
                    "description": argument.description or "",
                    "schema": self._parameter(node, argument.description),
                }
            )
        return found

    def _headers(self, field: GraphQLField) -> list[JsonSchema]:
        return [
            {
                "name": header.title(),
                "in": "header",
                "description": field.args[name].description or "",
                "schema": {"type": "string"},
            }
            for header, name in self.endpoint.headers.items()
        ]

    def _parameter(self, node: VariableDefinitionNode, description: str | None) -> JsonSchema:
        kind = type_from_ast(self.schema, node.type)
        default = value_from_ast_untyped(node.default_value) if node.default_value else None
        return parameter(kind, description, default)  # type: ignore[arg-type]  # a variable's type

    def _required(self, node: VariableDefinitionNode) -> bool:
        return node.type.kind == "non_null_type" and node.default_value is None

    def _preferences(self) -> list[JsonSchema]:
        names = ["Prefer", "RequestId"]
        if self.endpoint.method == "POST":
            names.append("IdempotencyKey")
        return [{"$ref": f"#/components/parameters/{name}"} for name in names]

    def _body(self, components: Components) -> JsonSchema:
        kind = type_from_ast(self.schema, self.variables[INPUT].type)
        schema = components.taken(kind)  # type: ignore[arg-type]  # a variable's type
        return {"required": True, "content": {"application/json": {"schema": schema}}}

    def _success(self, field: GraphQLField, components: Components) -> JsonSchema:
        headers = dict(_COMMON)
        if "limit" in self.variables:
            headers["X-Applied-Limit"] = _header("AppliedLimit")
        if self.endpoint.method == "POST":
            headers["Idempotent-Replayed"] = _header("IdempotentReplayed")
        if self.endpoint.status == 204:
            return {"description": "Done; the body is empty.", "headers": headers}
        name = self._name()
        schema = components.answer(
            field.type,
            self.root.selection_set,
            document=self.document,
            place=f"{name[:1].upper()}{name[1:]}Response",
            optional=OMITTED_WHEN_EMPTY,
        )
        schema = schema.get("anyOf", [schema])[0]  # a success is never null
        return {
            "description": "Done.",
            "headers": headers,
            "content": {"application/json": {"schema": schema}},
        }

    def _error(self, status: int) -> JsonSchema:
        headers = dict(_COMMON)
        for name in _ERROR_HEADERS.get(status, ()):
            headers[name] = _header(name.replace("-", "").removeprefix("X"))
        schema = {"$ref": f"#/components/schemas/{error_name(self.endpoint)}"}
        return {
            "description": _MEANINGS[status],
            "headers": headers,
            "content": {"application/json": {"schema": schema}},
        }


def statuses(endpoint: Endpoint) -> list[int]:
    """Return the statuses of the errors that *endpoint* may answer."""
    found = {400, 401, 429, 500, 503}
    if endpoint.surface is not None:
        found |= {403, 422, 502, 504}
    if "{" in endpoint.path or (endpoint.surface is not None and endpoint.method == "POST"):
        found.add(404)
    if endpoint.method == "POST":
        found.add(409)
    if endpoint.method in {"POST", "PATCH"}:
        found |= {408, 413}
    return sorted(found)


def error_name(endpoint: Endpoint) -> str:
    """Return the component that describes the endpoint's error bodies."""
    return f"{endpoint.result}Error" if endpoint.result else "Error"


def _add_errors(components: Components, endpoints: Iterable[Endpoint]) -> None:
    components.schemas["Error"] = _ERROR
    for name in sorted({endpoint.result for endpoint in endpoints if endpoint.result}):
        components.schemas[f"{name}Error"] = _union(name, RESULT_OBJECTS[name])


def _union(name: str, result: ResultObject) -> JsonSchema:
    members: dict[str, Any] = {
        "success": {"const": False},
        "errorCode": {"type": ["string", "null"]},
        "errorMessage": {"type": "string"},
    }
    if not result.has_code:
        del members["errorCode"]
    elif result.closed is not None:
        members["errorCode"]["enum"] = [*sorted(result.closed), None]
    own = {"type": "object", "properties": members, "required": list(members)}
    return {
        "description": f"An error that can be read as an Error and as a {name}.",
        "allOf": [{"$ref": "#/components/schemas/Error"}, own],
    }


def _header(name: str) -> JsonSchema:
    return {"$ref": f"#/components/headers/{name}"}


_BEARER = "An access token: `Authorization: Bearer agw_…`."

_ERROR: JsonSchema = {
    "type": "object",
    "description": "Why a request was not answered.",
    "properties": {
        "error": {
            "type": ["string", "null"],
            "description": "A code word; null on 401 and 429, and on 404 and 5xx of collab.",
        },
        "message": {"type": "string", "description": "The reason in words."},
        "requestId": {"type": "string", "description": "Names this request in our logs."},
        "details": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "field": {
                        "type": "string",
                        "description": "The parameter or the member: `to[0].email`; `$` the body.",
                    },
                    "message": {"type": "string"},
                },
                "required": ["field", "message"],
            },
        },
        "requiredOperation": {"type": "string", "description": "The flag that is missing."},
        "reason": {
            "type": "string",
            "enum": ["MISSING_HEADER", "MALFORMED_HEADER", "UNKNOWN_TOKEN", "REVOKED", "EXPIRED"],
            "description": "Why the credential was refused (401 only).",
        },
        "connectedProviders": {"type": "array", "items": {"type": "string"}},
        "accessInfo": {"type": "string", "description": "The token's restrictions in words."},
    },
    "required": ["error", "message", "requestId"],
}

_INTEGER: JsonSchema = {"type": "integer"}
_STRING: JsonSchema = {"type": "string"}

_HEADERS: Mapping[str, JsonSchema] = {
    "RequestId": {"description": "The request's id.", "schema": _STRING},
    "ApiVersion": {"description": "The date of the contract.", "schema": _STRING},
    "RateLimitLimit": {
        "description": "Requests allowed in the window with the fewest left.",
        "schema": _INTEGER,
    },
    "RateLimitRemaining": {"description": "Requests left in that window.", "schema": _INTEGER},
    "RateLimitReset": {
        "description": "When that window next frees a slot, in Unix seconds.",
        "schema": _INTEGER,
    },
    "RetryAfter": {"description": "Whole seconds to wait.", "schema": _INTEGER},
    "WWWAuthenticate": {"description": 'Bearer error="invalid_token"', "schema": _STRING},
    "RequiredOperation": {"description": "The flag that is missing.", "schema": _STRING},
    "AppliedLimit": {
        "description": "The `limit` used, when the one asked for was above the maximum.",
        "schema": _INTEGER,
    },
    "IdempotentReplayed": {
        "description": "`true` when this answer was given before under the same key.",
        "schema": _STRING,
    },
    "PreferenceApplied": {"description": "The preferences that were applied.", "schema": _STRING},
}
_COMMON: Mapping[str, JsonSchema] = {
    "X-Request-Id": _header("RequestId"),
    "X-Api-Version": _header("ApiVersion"),
    "X-RateLimit-Limit": _header("RateLimitLimit"),
    "X-RateLimit-Remaining": _header("RateLimitRemaining"),
    "X-RateLimit-Reset": _header("RateLimitReset"),
    "Preference-Applied": _header("PreferenceApplied"),
}
_ERROR_HEADERS: Mapping[int, tuple[str, ...]] = {
    401: ("WWW-Authenticate",),
    403: ("X-Required-Operation",),
    422: ("X-Required-Operation",),
    429: ("Retry-After",),
}
_PARAMETERS: Mapping[str, JsonSchema] = {
    "Prefer": {
        "name": "Prefer",
        "in": "header",
        "description": "`handling=strict`: unknown parameters and members are refused. "
        "`partial=fail`: no answer with some providers missing.",
        "schema": _STRING,
    },
    "RequestId": {
        "name": "X-Request-Id",
        "in": "header",
        "description": "The id this request is to have; made here when absent or malformed.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$"},
    },
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The same key and request within 24 hours is carried out once.",
        "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    },
}
