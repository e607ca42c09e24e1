"""Components that describe what a dry run returns (docs/spec/dry-run.md#effect)."""

from collections.abc import Mapping

from policy.vocabulary import HeldState
from rest_compat.openapi.schema_values import JsonSchema, nullable, schema_ref
from rest_compat.table import Endpoint

_STRING: JsonSchema = {"type": "string"}
_INTEGER: JsonSchema = {"type": "integer"}
_STRINGS: JsonSchema = {"type": "array", "items": _STRING}
_PEOPLE: JsonSchema = {"type": "array", "items": schema_ref("EffectPerson")}
_ANYTHING: JsonSchema = {}
_TIME: JsonSchema = {"type": "string", "format": "date-time"}

# The members that a dry run adds to a response.
DRY_RUN_MEMBERS: Mapping[str, JsonSchema] = {
    # Not a constant: Python generators write an invalid comparison of an optional one.
    "dryRun": {"type": "boolean", "description": "True; only in the response of a dry run."},
    "effect": schema_ref("Effect"),
}
SCHEMAS: Mapping[str, JsonSchema] = {
    "DryRunAnswer": {
        "type": "object",
        "description": "The response of a dry run whose real call answers with 204.",
        "properties": {"success": {"const": True}, **DRY_RUN_MEMBERS},
        "required": ["success", "dryRun", "effect"],
    },
    "Effect": {
        "type": "object",
        "description": "What a write would do. Members that do not apply or are hidden are left "
        "out.",
        "properties": {
            "account": schema_ref("EffectAccount"),
            "recipients": schema_ref("EffectRecipients"),
            "subject": _STRING,
            "attachments": {"type": "array", "items": schema_ref("EffectAttachment")},
            "target": schema_ref("EffectResource"),
            "destination": schema_ref("EffectResource"),
            "changes": {"type": "array", "items": schema_ref("EffectChange")},
            "takenNames": _STRINGS,
            "allowedBy": schema_ref("EffectPermission"),
            "digest": {**_STRING, "description": "For `If-Effect`."},
        },
        "required": ["allowedBy", "digest"],
    },
    "HeldWriteState": {
        "type": "string",
        "enum": [state.value for state in HeldState],
        "description": "It waits, runs, or has ended; `unknown`: it may have been done.",
    },
    "HeldWrite": {
        "type": "object",
        "description": "A write of a token with `writes: approve`, which waits for a person.",
        "properties": {
            "id": {**_STRING, "description": "For `GET /api/access/writes/{id}`."},
            "operation": {**_STRING, "description": "The mutation."},
            "state": schema_ref("HeldWriteState"),
            "createdAt": _TIME,
            "expiresAt": {**_TIME, "description": "Until when it can be released."},
            "endedAt": nullable(_TIME),
            "reason": nullable(_STRING),
            "effect": nullable(schema_ref("Effect")),
            "status": nullable(_INTEGER),
            "result": nullable({"type": "object"}),
        },
        "required": ["id", "operation", "state", "createdAt", "expiresAt"],
    },
    "EffectAccount": {
        "type": "object",
        "description": "The account that would write.",
        "properties": {"connectionId": _INTEGER, "provider": _STRING, "email": _STRING},
        "required": ["connectionId", "provider", "email"],
    },
    "EffectAttachment": {
        "type": "object",
        "properties": {"name": _STRING, "size": _INTEGER},
        "required": ["name", "size"],
    },
    "EffectChange": {
        "type": "object",
        "properties": {"field": _STRING, "from": _ANYTHING, "to": _ANYTHING},
        "required": ["field", "from", "to"],
    },
    "EffectPermission": {
        "type": "object",
        "description": "What allows the write.",
        "properties": {
            "operation": {**_STRING, "description": "The flag of the token."},
            "recipientPatterns": _STRINGS,
        },
        "required": ["operation"],
    },
    "EffectPerson": {
        "type": "object",
        "properties": {"email": _STRING, "name": nullable(_STRING)},
        "required": ["email", "name"],
    },
    "EffectRecipients": {
        "type": "object",
        "description": "The recipients after derivation.",
        "properties": {
            "to": _PEOPLE,
            "cc": _PEOPLE,
            "bcc": _PEOPLE,
            "hidden": {**_INTEGER, "description": "Their number, where they are hidden."},
        },
    },
    "EffectResource": {
        "type": "object",
        "properties": {
            "kind": {**_STRING, "description": "`message`, `file`, `board`, `trash`, …"},
            "id": _STRING,
            "name": _STRING,
        },
        "required": ["kind"],
    },
}

# Mutations that stay in the gateway, and never wait for a person.
_AT_ONCE = ("uploadEmailAttachment", "deleteUploadedAttachment")


def accepted_answer(
    success: JsonSchema, endpoint: Endpoint, root: str, *, may_be_draft: bool
) -> Mapping[str, JsonSchema]:
    """
    Return the 202 of a write: it waits for a person, or its message does, as a draft.

    *root* is the root field, *success* the response of its success; a read, and a write that stays
    in the gateway, has no 202.
    """
    writes = endpoint.method != "GET" and endpoint.surface is not None
    held = writes and root not in _AT_ONCE
    if not held:
        return {"202": {**success, "description": _DRAFT}} if may_be_draft else {}
    is_result = may_be_draft or endpoint.status == 202
    content = success.get("content", {}).get("application/json", {}) if is_result else {}
    schema = schema_ref("HeldWrite")
    if content:
        schema = {"anyOf": [content["schema"], schema]}
    answer = {
        **success,
        "description": f"{_DRAFT} Or: {_HELD}" if is_result else _HELD,
        "content": {"application/json": {**content, "schema": schema}},
    }
    return {"202": answer}


_DRAFT = "Left as a draft for a person to send."
_HELD = "The write waits until a person releases it (`writes: approve`)."
