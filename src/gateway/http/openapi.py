"""`/openapi.json`: the REST table and the management API as one OpenAPI document."""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, get_args, get_origin

import orjson
from fastapi import FastAPI, Response
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.routing import BaseRoute

from gateway.operations import settings_views
from gateway.operations.json_schemas import SchemaComponents
from gateway.version import API_VERSION
from graph import schema
from graph.masking import guards
from rest_compat.openapi import document as rest_document
from rest_compat.openapi.components import describe_error_response
from rest_compat.openapi.schema_values import JsonSchema
from rest_compat.table import ENDPOINTS

_ADMIN = {
    "type": "http",
    "scheme": "bearer",
    "description": "The deployment's admin token; access tokens are refused here.",
}
# Tag of the management API -> its description, in the order of the reference.
_TAGS = {
    "access tokens": "Management: access tokens, their settings, and `explain`. Admin token.",
    "collab rules": "Management: rules of a token for collaboration content. Admin token.",
    "operators": "Management: people whose accounts are connected. Admin token.",
    "resources": "Management: groups of connections that tokens reach. Admin token.",
    "connections": "Management: connected accounts and their consents. Admin token.",
    "decisions": "Management: the decision log. Admin token.",
}
# Names of constraints as FastAPI writes them for values that are read from text -> JSON Schema's.
_CONSTRAINTS = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum"}
_REFUSALS = (400, 401, 403, 404, 409, 429, 500, 503)
_BODY_REFUSALS = (408, 413)


@lru_cache(maxsize=4)
def document(app: FastAPI) -> bytes:
    """Return the whole document as JSON; it is built once per application."""
    routes = [context.original_route for context in iter_route_contexts(app.routes)]
    return orjson.dumps(merge(access_document(), app.openapi(), routes))


@cache
def access_document() -> dict[str, Any]:
    """Describe the documented paths of the four surfaces; the committed `openapi.json`."""
    built = schema.build()
    flags = {
        name: [operation.value for operation in requirement.operations]
        for name, requirement in guards.requirements(built).items()
    }
    return rest_document.build_openapi(ENDPOINTS, built, flags=flags, version=API_VERSION)


def merge(
    access: dict[str, Any], management: dict[str, Any], routes: Iterable[BaseRoute]
) -> dict[str, Any]:
    """
    Merge the management API into the description of the surfaces.

    FastAPI describes the operations; the response schemas are the return types of *routes*.

    Raises:
        ValueError: Two different schemas would need one name.
    """
    schemas = SchemaComponents()
    return_types = _return_types(routes)
    paths = {
        re.sub(r"{(\w+)}", lambda match: f"{{{_camel(match[1])}}}", path): {
            method: _describe_operation(operation, _success(return_types[path, method], schemas))
            for method, operation in methods.items()
        }
        for path, methods in management.get("paths", {}).items()
    }
    change = settings_views.change_of(schemas.components["TokenSettings"])
    management_schemas = {**schemas.components, "TokenSettingsChange": change}
    if taken := management_schemas.keys() & access["components"]["schemas"].keys():
        raise ValueError(f"two schemas want the names {sorted(taken)}")
    schemes = {**access["components"]["securitySchemes"], "adminToken": _ADMIN}
    errors = {
        f"Error{status}": describe_error_response(status, "Error")
        for status in (*_REFUSALS, *_BODY_REFUSALS)
    }
    used = {tag for methods in paths.values() for row in methods.values() for tag in row["tags"]}
    tags = [{"name": name, "description": _TAGS[name]} for name in _TAGS if name in used]
    components = {
        **access["components"],
        "schemas": dict(sorted({**access["components"]["schemas"], **management_schemas}.items())),
        "securitySchemes": schemes,
        "responses": {**errors, **access["components"]["responses"]},
    }
    return {
        **access,
        "tags": [*access["tags"], *tags],
        "paths": {**access["paths"], **paths},
        "components": components,
    }


def _return_types(routes: Iterable[BaseRoute]) -> dict[tuple[str, str], Any]:
    """Return the return type of each route by OpenAPI path and method."""
    return {
        (route.path_format, method.lower()): route.endpoint.__annotations__["return"]
        for route in routes
        if isinstance(route, APIRoute) and route.include_in_schema
        for method in route.methods or ()
    }


def _success(return_type: Any, schemas: SchemaComponents) -> JsonSchema:
    if return_type is None:
        return {"description": "Done; the body is empty."}
    if get_origin(return_type) in Response.__subclasses__():  # with its content as the argument
        (return_type,) = get_args(return_type)
    content = {"application/json": {"schema": schemas.schema_of(return_type)}}
    return {"description": "Done.", "content": content}


def _describe_operation(operation: dict[str, Any], success: JsonSchema) -> dict[str, Any]:
    """Replace what FastAPI assumes about responses, credentials and the spelling of names."""
    answers = {status: success for status in operation["responses"] if status != "422"}
    statuses = (*_REFUSALS, *_BODY_REFUSALS) if "requestBody" in operation else _REFUSALS
    refusals = {
        str(status): {"$ref": f"#/components/responses/Error{status}"}
        for status in sorted(statuses)
    }
    parameters = [
        {
            **parameter,
            "name": _camel(parameter["name"]),
            "schema": _with_json_schema_constraints(parameter["schema"]),
        }
        for parameter in operation.get("parameters", ())
    ]
    return {
        **operation,
        "operationId": _camel(operation["operationId"].split("_api_")[0]),
        "parameters": parameters,
        "security": [{"adminToken": []}],
        "responses": {**answers, **refusals},
    }


def _with_json_schema_constraints(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            _CONSTRAINTS.get(name, name): _with_json_schema_constraints(value)
            for name, value in schema.items()
        }
    if isinstance(schema, list):
        return [_with_json_schema_constraints(item) for item in schema]
    return schema


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
