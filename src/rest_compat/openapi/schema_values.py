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
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    return {"anyOf": [schema, {"type": "null"}]}


def schema_ref(name: str) -> JsonSchema:
    """Refer to the schema component *name*."""
    return {"$ref": f"#/components/schemas/{name}"}
