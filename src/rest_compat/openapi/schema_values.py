"""JSON Schemas as values; importing them needs no GraphQL library."""

from typing import Any

JsonSchema = dict[str, Any]


def nullable(schema: JsonSchema) -> JsonSchema:
    """Return a schema of *schema* or null."""
    if not schema:
        return schema
    if "enum" in schema:
        return {**schema, "type": [schema["type"], "null"], "enum": [*schema["enum"], None]}
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}
