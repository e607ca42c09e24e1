"""Reads request bodies as models, and describes them for OpenAPI."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from gateway.operations.validation import details, invalid
from rest_compat.body import parse, read_body
from rest_compat.openapi.json_schemas import JsonSchema

MAX_BODY = 4 * 1024 * 1024  # bytes

Model = TypeVar("Model", bound=BaseModel)


def body(model: type[Model]) -> Callable[[Request], Coroutine[Any, Any, Model]]:
    """Make a dependency that reads the request's body as *model*."""

    async def read(request: Request) -> Model:
        raw = await read_body(
            request.receive, declared=request.headers.get("content-length"), limit=MAX_BODY
        )
        try:
            return model.model_validate(parse(raw))
        except ValidationError as error:
            first, *others = details(error)
            raise invalid(first.field, first.message, *others) from None

    return read


def described(model: type[BaseModel], **members: JsonSchema) -> dict[str, Any]:
    """Return the `openapi_extra` with *model* as the request body; *members* are replaced."""
    schema = model.model_json_schema(by_alias=True)
    definitions = schema.pop("$defs", {})
    inlined_schema = inlined(schema, definitions)
    inlined_schema["properties"] |= members
    content = {"application/json": {"schema": inlined_schema}}
    return {"requestBody": {"required": True, "content": content}}


def inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Replace the references of a schema by the *definitions* (`$defs`), and drop titles."""
    if isinstance(schema, list):
        return [inlined(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return inlined(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    return {
        key: inlined(value, definitions)
        for key, value in schema.items()
        if key != "title" or not isinstance(value, str)  # a title only repeats the name
    }
