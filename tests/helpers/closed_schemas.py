"""An OpenAPI description in which responses have no member that it does not describe."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

Schema = Any
_SUFFIX = "Closed"


def closed_responses(description: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return *description* with all objects in responses closed.

    Requests keep their schemas: the components of responses are copies under names of their own.
    """
    document: dict[str, Any] = deepcopy(dict(description))
    components = document["components"]
    originals = components["schemas"]
    copies = {f"{name}{_SUFFIX}": _close(schema, use=False) for name, schema in originals.items()}
    for response in _responses(document):
        for media in response.get("content", {}).values():
            media["schema"] = _close(media["schema"])
    components["schemas"] = {**originals, **copies}
    return document


def _responses(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    operations = [
        operation
        for path in document["paths"].values()
        for operation in path.values()
        if isinstance(operation, dict)
    ]
    return [
        *document["components"]["responses"].values(),
        *(answer for operation in operations for answer in operation["responses"].values()),
    ]


def _close(schema: Schema, *, use: bool = True) -> Schema:
    """
    Close the objects in *schema*.

    *use* is False for what other members may add to: a component, and a branch of `allOf`.
    """
    if not isinstance(schema, dict):
        return schema
    closed = dict(schema)
    if "$ref" in schema:
        closed["$ref"] = f"{schema['$ref']}{_SUFFIX}"
    for key in ("properties", "patternProperties"):
        if key in schema:
            closed[key] = {name: _close(member) for name, member in schema[key].items()}
    for key in ("items", "additionalProperties"):
        if key in schema:
            closed[key] = _close(schema[key])
    for key, branch_use in (("allOf", False), ("anyOf", True), ("oneOf", True)):
        if key in schema:
            closed[key] = [_close(branch, use=branch_use and use) for branch in schema[key]]
    is_object = "properties" in schema or "allOf" in schema or "$ref" in schema
    if use and is_object and "additionalProperties" not in schema:
        closed["unevaluatedProperties"] = False
    return closed
