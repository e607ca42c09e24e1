"""`/openapi.json`: the REST table and the management API as one OpenAPI document."""

from functools import cache, lru_cache
from typing import Any

import orjson
from fastapi import FastAPI

from gateway.edge import API_VERSION
from graph import guards, schema
from rest_compat import openapi
from rest_compat.table import ENDPOINTS


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
    """Add the management API's paths and components to those of the surfaces."""
    components = {
        kind: {**management.get("components", {}).get(kind, {}), **named}
        for kind, named in access["components"].items()
    }
    return {
        **access,
        "paths": {**access["paths"], **management.get("paths", {})},
        "components": components,
    }
