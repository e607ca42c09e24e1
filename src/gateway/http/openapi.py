"""`/openapi.json`: the REST table and the management API as one OpenAPI document."""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.routing import BaseRoute

from gateway.http.middleware import API_VERSION
from gateway.management.schemas import Schemas
from gateway.operations import settings_views
from graph import schema
from graph.masking import guards
from rest_compat.openapi import document as rest_document
from rest_compat.openapi.components import describe_error_response
from rest_compat.openapi.json_schemas import JsonSchema
from rest_compat.table import ENDPOINTS

_ADMIN = {
    "type": "http",
    "scheme": "bearer",
    "description": "The deployment's admin token; access tokens are refused here.",
}
_REFUSALS = (400, 401, 403, 404, 409, 429, 500, 503)


@lru_cache(maxsize=4)
def document(app: FastAPI) -> bytes:
    """Return the document as JSON; built once per process."""
    return orjson.dumps(merged(access_document(), app.openapi(), _routes(app)))


def _routes(app: FastAPI) -> Iterator[BaseRoute]:
    return (context.original_route for context in iter_route_contexts(app.routes))


@cache
def access_document() -> dict[str, Any]:
    """Describe the documented paths of the four surfaces; the committed `openapi.json`."""
    built = schema.build()
    flags = {
        name: [operation.value for operation in requirement.operations]
        for name, requirement in guards.requirements(built).items()
    }
    return rest_document.build_openapi(ENDPOINTS, built, flags=flags, version=API_VERSION)


def merged(
    access: dict[str, Any], management: dict[str, Any], routes: Iterable[BaseRoute]
) -> dict[str, Any]:
    """
    Add the management API to the description of the surfaces.

    FastAPI describes its calls; their answers are what the functions of *routes* return.

    Raises:
        ValueError: Two different schemas would need one name.
    """
    schemas = Schemas()
    answers = _answers(routes)
    paths = {
        _camel_path(path): {
            method: _managed(operation, _success(answers[path, method], schemas))
            for method, operation in methods.items()
        }
        for path, methods in management.get("paths", {}).items()
    }
    change = settings_views.change_of(schemas.components["TokenSettings"])
    managed = {**schemas.components, "TokenSettingsChange": change}
    if taken := managed.keys() & access["components"]["schemas"].keys():
        raise ValueError(f"two schemas want the names {sorted(taken)}")
    schemes = {**access["components"]["securitySchemes"], "adminToken": _ADMIN}
    errors = {f"Error{status}": describe_error_response(status, "Error") for status in _REFUSALS}
    components = {
        **access["components"],
        "schemas": dict(sorted({**access["components"]["schemas"], **managed}.items())),
        "securitySchemes": schemes,
        "responses": {**errors, **access["components"]["responses"]},
    }
    return {**access, "paths": {**access["paths"], **paths}, "components": components}


def _answers(routes: Iterable[BaseRoute]) -> dict[tuple[str, str], Any]:
    """Return what each route's function returns, by path and method as OpenAPI writes them."""
    return {
        (route.path_format, method.lower()): route.endpoint.__annotations__["return"]
        for route in routes
        if isinstance(route, APIRoute) and route.include_in_schema
        for method in route.methods or ()
    }


def _success(answer: Any, schemas: Schemas) -> JsonSchema:
    if answer is None:
        return {"description": "Done; the body is empty."}
    content = {"application/json": {"schema": schemas.of(answer)}}
    return {"description": "Done.", "content": content}


def _managed(operation: dict[str, Any], success: JsonSchema) -> dict[str, Any]:
    """Describe a management call as it is: our answers, our credential, our spelling."""
    answers = {status: success for status in operation["responses"] if status != "422"}
    refusals = {
        str(status): {"$ref": f"#/components/responses/Error{status}"} for status in _REFUSALS
    }
    parameters = [
        {**parameter, "name": _camel(parameter["name"])}
        for parameter in operation.get("parameters", ())
    ]
    return {
        **operation,
        "operationId": _camel(operation["operationId"].split("_api_")[0]),
        "parameters": parameters,
        "security": [{"adminToken": []}],
        "responses": {**answers, **refusals},
    }


def _camel_path(path: str) -> str:
    return re.sub(r"{(\w+)}", lambda found: f"{{{_camel(found[1])}}}", path)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
