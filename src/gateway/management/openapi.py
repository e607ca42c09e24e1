"""The OpenAPI document of the management API."""

import asyncio
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, get_args, get_origin

import orjson
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.routing import BaseRoute

from gateway.http import pages
from gateway.http.dispatch import MANAGEMENT_DESCRIPTION
from gateway.management.router import is_model
from gateway.management.schema_names import NamedSchemas
from gateway.operations import settings_views
from gateway.operations.json_schemas import SchemaComponents
from gateway.version import API_VERSION
from rest_compat.openapi.components import ERROR, HEADERS, describe_error_response, error_schemas
from rest_compat.openapi.schema_values import JsonSchema, nullable

_OVERVIEW = """\
Access tokens and their rules, the people whose accounts are connected, the connections, and the
decision log. Every call needs the deployment's admin token; an access token is refused. The calls
of access tokens have a [description of their own](../openapi.json).
"""
_ADMIN = {
    "type": "http",
    "scheme": "bearer",
    "description": "The deployment's admin token; access tokens are refused here.",
}
# Tag of the management API -> its description, in the order of the reference.
_TAGS = {
    "Access tokens": "Management: access tokens, their settings, and `explain`. Admin token.",
    "Collab rules": "Management: rules of a token for collaboration content. Admin token.",
    "Operators": "Management: people whose accounts are connected. Admin token.",
    "Resources": "Management: groups of connections that tokens reach. Admin token.",
    "Connections": "Management: connected accounts and their consents. Admin token.",
    "Saved documents": "Management: GraphQL documents that are calls of their own. Admin token.",
    "Decisions": "Management: the decision log. Admin token.",
}
# Names of constraints as FastAPI writes them for values that are read from text -> JSON Schema's.
_CONSTRAINTS = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum"}
_REFUSALS = (400, 401, 403, 404, 409, 429, 500, 503)
_BODY_REFUSALS = (408, 413)


router = APIRouter(include_in_schema=False)


@router.get(MANAGEMENT_DESCRIPTION)
async def openapi(request: Request) -> Response:
    """Return the description; it needs no credential, as that of the surfaces does not."""
    # Building it takes a while: in a thread, so that other requests go on.
    content = await asyncio.to_thread(document, request.app)
    body, headers = await pages.compressed(request.scope, content)
    return Response(body, media_type="application/json", headers=headers)


@lru_cache(maxsize=4)
def document(app: FastAPI) -> bytes:
    """Return the description of the management API as JSON; it is built once per application."""
    routes = [context.original_route for context in iter_route_contexts(app.routes)]
    return orjson.dumps(describe(app.openapi(), routes))


def describe(management: dict[str, Any], routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """
    Describe the management API.

    FastAPI describes the operations; the response schemas are the return types of *routes*.
    """
    schemas, naming = SchemaComponents(), NamedSchemas()
    return_types = _return_types(routes)
    paths = {
        re.sub(r"{(\w+)}", lambda match: f"{{{camel(match[1])}}}", path): {
            method: naming.enumerations(
                naming.body(
                    _describe_operation(
                        operation, _success(return_types[path, method], schemas, operation)
                    )
                )
            )
            for method, operation in methods.items()
        }
        for path, methods in management.get("paths", {}).items()
    }
    change = settings_views.change_of(schemas.components["TokenSettings"])
    responses = {
        f"{ERROR}{status}": describe_error_response(status, ERROR)
        for status in (*_REFUSALS, *_BODY_REFUSALS)
    }
    used = {tag for methods in paths.values() for row in methods.values() for tag in row["tags"]}
    models = _plain(management["components"]["schemas"])
    del models["HTTPValidationError"], models["ValidationError"]
    described = {**schemas.components, **models, "TokenSettingsChange": change, **error_schemas(())}
    named = {**naming.enumerations(described), **naming.schemas}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "access-gateway: management",
            "version": API_VERSION,
            "description": _OVERVIEW,
            "contact": {"name": "The operator of this gateway"},
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "This gateway."}],
        "tags": [{"name": name, "description": _TAGS[name]} for name in _TAGS if name in used],
        "security": [{"adminToken": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"adminToken": _ADMIN},
            "headers": dict(HEADERS),
            "responses": responses,
            "schemas": dict(sorted(named.items())),
        },
    }


def _return_types(routes: Iterable[BaseRoute]) -> dict[tuple[str, str], Any]:
    """Return the return type of each route by OpenAPI path and method."""
    return {
        (route.path_format, method.lower()): route.endpoint.__annotations__["return"]
        for route in routes
        if isinstance(route, APIRoute) and route.include_in_schema
        for method in route.methods or ()
    }


def _success(return_type: Any, schemas: SchemaComponents, operation: dict[str, Any]) -> JsonSchema:
    if return_type is None:
        return {"description": "Done; the body is empty."}
    if is_model(return_type):
        (success, *_) = operation["responses"].values()
        return {"description": "Done.", "content": success["content"]}
    if get_origin(return_type) in Response.__subclasses__():  # with its content as the argument
        (return_type,) = get_args(return_type)
    content = {"application/json": {"schema": schemas.schema_of(return_type)}}
    return {"description": "Done.", "content": content}


def _describe_operation(operation: dict[str, Any], success: JsonSchema) -> dict[str, Any]:
    """Replace what FastAPI assumes about responses, credentials and the spelling of names."""
    answers = {status: success for status in operation["responses"] if status != "422"}
    statuses = (*_REFUSALS, *_BODY_REFUSALS) if "requestBody" in operation else _REFUSALS
    refusals = {
        str(status): {"$ref": f"#/components/responses/{ERROR}{status}"}
        for status in sorted(statuses)
    }
    parameters = [
        {
            **parameter,
            "name": camel(parameter["name"]),
            "schema": _with_json_schema_constraints(parameter["schema"]),
        }
        for parameter in operation.get("parameters", ())
    ]
    return {
        **operation,
        "operationId": camel(operation["operationId"].split("_api_")[0]),
        "parameters": parameters,
        "security": [{"adminToken": []}],
        "responses": {**answers, **refusals},
    }


def _plain(schema: Any) -> Any:
    """Return a schema of pydantic without titles, which repeat names, and with short unions."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {
        name: _plain(value)
        for name, value in schema.items()
        if name != "title" or not isinstance(value, str)
    }
    match plain:
        case {"anyOf": [inner, {"type": "null"}], **others} if "$ref" not in inner:
            return {**nullable(inner), **others}
    return plain


def _with_json_schema_constraints(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            _CONSTRAINTS.get(name, name): _with_json_schema_constraints(value)
            for name, value in schema.items()
        }
    if isinstance(schema, list):
        return [_with_json_schema_constraints(item) for item in schema]
    return schema


def camel(name: str) -> str:
    """Return a name of the code as clients see it: `token_id` is `tokenId`."""
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
