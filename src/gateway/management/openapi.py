"""The OpenAPI document of the management API."""

import asyncio
import re
from copy import deepcopy
from functools import lru_cache
from typing import Any

import orjson
from fastapi import APIRouter, FastAPI, Request, Response

from gateway.http import pages
from gateway.http.dispatch import MANAGEMENT_DESCRIPTION
from gateway.management.schema_names import NamedSchemas
from gateway.operations import settings_views
from gateway.version import API_VERSION
from rest_compat.openapi.components import ERROR, HEADERS, describe_error_response, error_schemas

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
    "Clients": "Management: applications that people sign in, and one-time links. Admin token.",
    "Held writes": "Management: writes that wait for a person. Admin token or approver.",
    "Decisions": "Management: the decision log. Admin token.",
}
_EMPTY = "Done; the body is empty."
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
    return orjson.dumps(describe(deepcopy(app.openapi())))


def describe(management: dict[str, Any]) -> dict[str, Any]:
    """Describe the management API; *management* is what FastAPI says of it, which is changed."""
    schemas, naming = management["components"]["schemas"], NamedSchemas()
    del schemas["HTTPValidationError"], schemas["ValidationError"]
    schemas["TokenSettingsChange"] = settings_views.change_of(schemas["TokenSettings"])
    schemas["TokenChange"]["properties"]["settings"] |= settings_views.CHANGE
    paths = {
        re.sub(r"{(\w+)}", lambda match: f"{{{camel(match[1])}}}", path): {
            method: naming.plain(naming.body(_describe_operation(operation)))
            for method, operation in methods.items()
        }
        for path, methods in management["paths"].items()
    }
    responses = {
        f"{ERROR}{status}": describe_error_response(status, ERROR)
        for status in (*_REFUSALS, *_BODY_REFUSALS)
    }
    used = {tag for methods in paths.values() for row in methods.values() for tag in row["tags"]}
    named = {**naming.plain({**schemas, **error_schemas(())}), **naming.schemas}
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


def _describe_operation(operation: dict[str, Any]) -> dict[str, Any]:
    """Replace what FastAPI assumes about responses, credentials and the spelling of names."""
    answers = {
        status: {**answer, "description": "Done." if "content" in answer else _EMPTY}
        for status, answer in operation["responses"].items()
        if status != "422"
    }
    statuses = (*_REFUSALS, *_BODY_REFUSALS) if "requestBody" in operation else _REFUSALS
    refusals = {
        str(status): {"$ref": f"#/components/responses/{ERROR}{status}"}
        for status in sorted(statuses)
    }
    parameters = [
        {**parameter, "name": camel(parameter["name"])}
        for parameter in operation.get("parameters", ())
    ]
    summary, _, further = operation.pop("description").partition("\n\n")
    return {
        **operation,
        "summary": summary.removesuffix("."),
        **({"description": further} if further else {}),
        "operationId": camel(operation["operationId"].split("_api_")[0]),
        "parameters": parameters,
        "security": [{"adminToken": []}],
        "responses": {**answers, **refusals},
    }


def camel(name: str) -> str:
    """Return a name of the code as clients see it: `token_id` is `tokenId`."""
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)
