"""`/openapi.json`: the REST table and the management API as one OpenAPI document."""

import re
from functools import cache, lru_cache
from typing import Any

import orjson
from fastapi import FastAPI

from gateway.edge import API_VERSION
from graph import guards, schema
from rest_compat import openapi
from rest_compat.openapi_components import error_response
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
    return orjson.dumps(merged(access_document(), app.openapi()))


@cache
def access_document() -> dict[str, Any]:
    """Describe the documented paths of the four surfaces; the committed `openapi.json`."""
    built = schema.build()
    flags = {
        name: [operation.value for operation in requirement.operations]
        for name, requirement in guards.requirements(built).items()
    }
    return openapi.describe(ENDPOINTS, built, flags=flags, version=API_VERSION)


def merged(access: dict[str, Any], management: dict[str, Any]) -> dict[str, Any]:
    """Add the management API, as FastAPI describes it, to the description of the surfaces."""
    paths = {
        _camel_path(path): {method: _managed(operation) for method, operation in methods.items()}
        for path, methods in management.get("paths", {}).items()
    }
    schemes = {**access["components"]["securitySchemes"], "adminToken": _ADMIN}
    errors = {f"Error{status}": error_response(status, "Error") for status in _REFUSALS}
    components = {
        **access["components"],
        "securitySchemes": schemes,
        "responses": {**errors, **access["components"]["responses"]},
    }
    return {**access, "paths": {**access["paths"], **paths}, "components": components}


def _managed(operation: dict[str, Any]) -> dict[str, Any]:
    """Describe a management call as it is: our errors, our credential, our spelling."""
    answers = {
        status: answer for status, answer in operation["responses"].items() if status != "422"
    }
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
