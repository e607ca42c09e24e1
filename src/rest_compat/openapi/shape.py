"""
The part of the OpenAPI description that a token can use (docs/spec/graphql.md#shape).

It follows from the shape of the GraphQL schema alone: a path stays if its root field does, a
parameter if its argument does, a member of a body if its field does.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import graphql
import orjson

from rest_compat.openapi.document import Description
from rest_compat.openapi.schema_values import JsonSchema
from rest_compat.saved.document import PREFIX as SAVED_PREFIX
from rest_compat.table import Endpoint

MASKED_BY = "maskedBy"  # the extension of a masked field of the schema: the words that hide it
_REFERENCE = re.compile(rb'"#/components/(\w+)/(\w+)"')


def shape_openapi(whole: Description, schema: graphql.GraphQLSchema) -> dict[str, Any]:
    """Return the part of *whole* whose fields, arguments and types are in *schema*."""
    fields: dict[str, graphql.GraphQLField] = {}
    for root in (schema.query_type, schema.mutation_type):
        fields |= root.fields if root is not None else {}
    paths: dict[str, dict[str, Any]] = {}
    for (path, method), (endpoint, root_field) in whole.rows.items():
        field = fields.get(root_field)
        if field is not None:
            operation = whole.document["paths"][path][method]
            paths.setdefault(path, {})[method] = _operation(
                operation, endpoint, field, whole, schema
            )
    paths |= {  # those about documents, which every token may call
        path: methods
        for path, methods in whole.document["paths"].items()
        if not any((path, method) in whole.rows for method in methods)
    }
    components = _components(whole, schema, paths)
    tags = {tag for methods in paths.values() for row in methods.values() for tag in row["tags"]}
    return {
        **whole.document,
        "tags": [tag for tag in whole.document["tags"] if tag["name"] in tags],
        "paths": paths,
        "components": components,
    }


def _operation(
    operation: JsonSchema,
    endpoint: Endpoint,
    field: graphql.GraphQLField,
    whole: Description,
    schema: graphql.GraphQLSchema,
) -> JsonSchema:
    """Return *operation* without the parameters that *field* of the shape does not take."""
    shaped = {
        **operation,
        "parameters": [
            parameter
            for parameter in operation["parameters"]
            if "$ref" in parameter
            or endpoint.prefix == SAVED_PREFIX  # which fits the shape as a whole
            or _argument(parameter, endpoint) in field.args
        ],
    }
    words = field.extensions.get(MASKED_BY)
    if words is not None:
        sentence = (field.description or "").rpartition("\n\n")[2]
        shaped["description"] = f"{operation['description']}\n\n{sentence}"
        shaped["x-masked-by"] = words
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is not None and "example" in content:
        members = whole.coordinates[content["schema"]["$ref"].rpartition("/")[2]]
        example = {
            name: value
            for name, value in content["example"].items()
            if name not in members or _field(members[name], schema) is not None
        }
        shaped["requestBody"] = {
            **operation["requestBody"],
            "content": {"application/json": {**content, "example": example}},
        }
    shaped["responses"] = {
        status: _with_masked_example(response, whole, schema)
        for status, response in operation["responses"].items()
    }
    return shaped


def _with_masked_example(
    response: JsonSchema, whole: Description, schema: graphql.GraphQLSchema
) -> JsonSchema:
    """Return *response* with an example that shows what the token would see."""
    content = response.get("content", {}).get("application/json", {})
    if "example" not in content:
        return response
    example = _masked(content["example"], content["schema"], whole, schema)
    return {**response, "content": {"application/json": {**content, "example": example}}}


def _masked(
    value: Any, described: JsonSchema, whole: Description, schema: graphql.GraphQLSchema
) -> Any:
    """Return *value*, an example of *described*, with null for what *schema* marks as masked."""
    if isinstance(value, list):
        return [_masked(item, described["items"], whole, schema) for item in value]
    described = described.get("anyOf", [described])[0]  # the other is null
    name = described.get("$ref", "").rpartition("/")[2]
    coordinates = whole.coordinates.get(name)
    if coordinates is None or not isinstance(value, dict):
        return value
    members = whole.document["components"]["schemas"][name]["properties"]
    return {
        key: None
        if key in coordinates and _is_masked(coordinates[key], schema)
        else _masked(member, members[key], whole, schema)
        for key, member in value.items()
    }


def _is_masked(coordinate: str, schema: graphql.GraphQLSchema) -> bool:
    field = _field(coordinate, schema)
    return field is not None and MASKED_BY in field.extensions


def _argument(parameter: JsonSchema, endpoint: Endpoint) -> str:
    """Return the argument that *parameter* fills."""
    name: str = parameter["name"]
    if parameter["in"] == "header":
        return endpoint.headers[name.lower()]
    return endpoint.aliases.get(name, name)


def _components(
    whole: Description, schema: graphql.GraphQLSchema, paths: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the components that *paths* refer to, in the order of *whole*."""
    components = whole.document["components"]
    shaped: dict[tuple[str, str], JsonSchema] = {}
    pending = _references(paths)
    while pending:
        kind, name = pending.pop()
        if (kind, name) in shaped:
            continue
        component = components[kind][name]
        if kind == "schemas" and name in whole.coordinates:
            component = _with_shape(component, whole.coordinates[name], schema)
        shaped[kind, name] = component
        pending += _references(component)
    return {
        kind: {
            name: shaped.get((kind, name), value)
            for name, value in members.items()
            if kind == "securitySchemes" or (kind, name) in shaped
        }
        for kind, members in components.items()
    }


def _references(value: Any) -> list[tuple[str, str]]:
    references: Iterable[tuple[bytes, bytes]] = _REFERENCE.findall(orjson.dumps(value))
    return [(kind.decode(), name.decode()) for kind, name in references]


def _with_shape(
    component: JsonSchema, coordinates: Mapping[str, str], schema: graphql.GraphQLSchema
) -> JsonSchema:
    """Return an object schema with the members of the shape; masked ones are marked."""
    members: dict[str, JsonSchema] = {}
    for name, member in component["properties"].items():
        if name not in coordinates:  # of a dry run
            members[name] = member
            continue
        field = _field(coordinates[name], schema)
        if field is None:
            continue
        words = field.extensions.get(MASKED_BY)
        if words is None:
            members[name] = member
        else:
            members[name] = {**member, "description": field.description or "", "x-masked-by": words}
    required = [name for name in component["required"] if name in members]
    return {**component, "properties": members, "required": required}


def _field(
    coordinate: str, schema: graphql.GraphQLSchema
) -> graphql.GraphQLField | graphql.GraphQLInputField | None:
    """Return the field at *coordinate* of the shape; None when the shape lacks it."""
    owner, _, name = coordinate.partition(".")
    fields: Mapping[str, Any] = getattr(schema.type_map.get(owner), "fields", {})
    return fields.get(name)
