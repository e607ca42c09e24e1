"""Components that describe what a dry run returns (docs/spec/dry-run.md#effect)."""

from collections.abc import Mapping

from rest_compat.openapi.schema_values import JsonSchema, nullable, schema_ref

_STRING: JsonSchema = {"type": "string"}
_INTEGER: JsonSchema = {"type": "integer"}
_STRINGS: JsonSchema = {"type": "array", "items": _STRING}
_PEOPLE: JsonSchema = {"type": "array", "items": schema_ref("EffectPerson")}
_ANYTHING: JsonSchema = {}

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
