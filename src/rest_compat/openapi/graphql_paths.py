"""Describes the calls about GraphQL documents; no row of the table answers them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from rest_compat.openapi.components import COMMON_HEADERS, ERROR, describe_error_response
from rest_compat.openapi.schema_values import JsonSchema

TAG = "GraphQL", "Questions about GraphQL documents."
REST_OF = "/graphql/rest-of"  # answers tokens that are limited to saved documents too
_STATUSES = (400, 401, 408, 413, 415, 429, 500, 503)
_STATUSES_OF_ID = (403, 404)  # a `documentId` that the token may not run, or of no document
RESPONSES: Mapping[str, JsonSchema] = MappingProxyType(
    {
        f"{ERROR}{status}": describe_error_response(status, ERROR)
        for status in (*_STATUSES, *_STATUSES_OF_ID)
    }
)
_TEXT: JsonSchema = {"type": "string"}
_TEXT_OR_NULL: JsonSchema = {"type": ["string", "null"]}


def _closed(description: str, **members: JsonSchema) -> JsonSchema:
    """Describe an object with exactly *members*."""
    return {
        "description": description,
        "type": "object",
        "properties": members,
        "required": [*members],
        "additionalProperties": False,
    }


_REST_CALL = _closed(
    "A REST call.",
    method=_TEXT,
    path={**_TEXT, "description": "With its query."},
    headers={"type": "object", "additionalProperties": _TEXT},
    body={"description": "The JSON body; null without one."},
    contentBase64={**_TEXT_OR_NULL, "description": "The bytes of an upload."},
    status={"type": "integer", "description": "That of a success."},
    curl={**_TEXT, "description": "The call as a command, which reads the token from `$TOKEN`."},
)
_LAYER = _closed(
    "How a layer of the order of checks decided.",
    layer=_TEXT,
    outcome={"$ref": "#/components/schemas/ExplainedLayerOutcome"},
)
_FIELD = _closed(
    "How one root field or edge would go.",
    key={**_TEXT, "description": "Its path in the response; empty for the whole document."},
    field={**_TEXT_OR_NULL, "description": "Its name in the schema."},
    outcome={"$ref": "#/components/schemas/FieldOutcome"},
    code=_TEXT_OR_NULL,
    message=_TEXT_OR_NULL,
    layers={"type": "array", "items": {"$ref": "#/components/schemas/ExplainedLayer"}},
    remedy={**_TEXT_OR_NULL, "description": "What would let it pass, in general words."},
)
SCHEMAS: Mapping[str, JsonSchema] = MappingProxyType(
    {
        "GraphqlDocument": {
            "type": "object",
            "properties": {
                "query": {**_TEXT, "description": "The document; required without `documentId`."},
                "documentId": {
                    **_TEXT_OR_NULL,
                    "description": (
                        "SHA-256 of the text of a saved document in 64 hexadecimal digits, in "
                        "place of `query`."
                    ),
                },
                "variables": {"type": ["object", "null"]},
                "operationName": _TEXT_OR_NULL,
                "extensions": {"type": ["object", "null"]},
            },
        },
        "RestCall": _REST_CALL,
        "RestOfDocument": _closed(
            "The REST call of a document, or what prevents it.",
            call={"anyOf": [{"$ref": "#/components/schemas/RestCall"}, {"type": "null"}]},
            also={
                "type": "array",
                "items": _TEXT,
                "description": "Fields that the call returns besides, by their paths.",
            },
            preventedBy={**_TEXT_OR_NULL, "description": "The field or argument."},
            message=_TEXT_OR_NULL,
        ),
        "ExplainedLayerOutcome": {"type": "string", "enum": ["passed", "refused", "not_reached"]},
        "FieldOutcome": {
            "type": "string",
            "enum": ["allowed", "held", "refused", "failed", "unknown"],
            "description": (
                "`held`: it is allowed, and its message is left as a draft. `failed`: no layer "
                "refuses it, and it does not work. `unknown`: its gates let it pass, and it cannot "
                "be run dry."
            ),
        },
        "ExplainedLayer": _LAYER,
        "ExplainedField": _FIELD,
        "ExplainedDocument": _closed(
            "How a document would go.",
            fields={"type": "array", "items": {"$ref": "#/components/schemas/ExplainedField"}},
        ),
    }
)
_REFUSED = {"query": '{ emails(from: "ana") { totalCount } }'}
_LAYERS = (
    *("address_limit", "token", "quota", "document", "surface", "connections", "operation"),
    *("input", "usable_connection", "scope", "upstream", "mask"),
)
_PATHS: tuple[tuple[str, str, str, str, str, Any, Any], ...] = (
    (
        REST_OF,
        "translateDocument",
        "Name the REST call of a GraphQL document",
        (
            "A document that selects what a call of this reference returns, or less, is that call; "
            "`also` names what the call returns besides. Of another document the first field that "
            "prevents it is named. Nothing is run."
        ),
        "RestOfDocument",
        {"query": "{ taskProviders { providerCode providerDisplayName connectionId status } }"},
        {
            "call": {
                "method": "GET",
                "path": "/api/access/tasks/providers",
                "headers": {},
                "body": None,
                "contentBase64": None,
                "status": 200,
                "curl": 'curl -H "Authorization: Bearer $TOKEN" '
                "https://gateway.example/api/access/tasks/providers",
            },
            "also": [],
            "preventedBy": None,
            "message": None,
        },
    ),
    (
        "/graphql/explain",
        "explainDocument",
        "Explain why a GraphQL document is refused",
        (
            "The document is run as a dry run with the token as it is, and charged like it; its "
            "data is dropped."
        ),
        "ExplainedDocument",
        _REFUSED,
        {
            "fields": [
                {
                    "key": "emails",
                    "field": "emails",
                    "outcome": "refused",
                    "code": "OPERATION_NOT_ALLOWED",
                    "message": "This token does not allow search_emails.",
                    "layers": [
                        {
                            "layer": layer,
                            "outcome": "refused"
                            if layer == "operation"
                            else "passed"
                            if index < _LAYERS.index("operation")
                            else "not_reached",
                        }
                        for index, layer in enumerate(_LAYERS)
                    ],
                    "remedy": "An operator can add search_emails to the token's operations.",
                }
            ]
        },
    ),
)


def paths() -> dict[str, dict[str, JsonSchema]]:
    """Describe the calls, by path and method."""
    return {
        path: {
            "post": {
                "operationId": operation_id,
                "tags": [TAG[0]],
                "summary": summary,
                "description": description,
                "parameters": [{"$ref": "#/components/parameters/RequestId"}],
                "requestBody": {"required": True, "content": _content("GraphqlDocument", request)},
                "responses": {
                    "200": {
                        "description": "Done.",
                        "headers": dict(COMMON_HEADERS),
                        "content": _content(answer, example),
                    },
                    **{
                        str(status): {"$ref": f"#/components/responses/{ERROR}{status}"}
                        for status in (*_STATUSES, *(_STATUSES_OF_ID if path == REST_OF else ()))
                    },
                },
            }
        }
        for path, operation_id, summary, description, answer, request, example in _PATHS
    }


def _content(schema: str, example: Any) -> JsonSchema:
    content = {"schema": {"$ref": f"#/components/schemas/{schema}"}, "example": example}
    return {"application/json": content}
