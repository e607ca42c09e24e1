"""Reads request bodies as models, and describes them for OpenAPI."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from gateway.operations.inputs import REQUEST_BODY
from gateway.operations.validation import details, invalid
from policy.refusals import Detail
from policy.vocabulary import UNKNOWN_NAME, not_known
from rest_compat.body import MAX_VALUES, parse, read_body
from rest_compat.openapi.schema_values import JsonSchema
from rest_compat.readers import MAX_SHORT_BODY

# Bytes above which a body is parsed in a thread, or other requests would wait for it.
_LARGE_BODY = 100_000

Model = TypeVar("Model", bound=BaseModel)


def body(
    model: type[Model], *, limit: int = MAX_SHORT_BODY, max_values: int = MAX_VALUES
) -> Callable[[Request], Coroutine[Any, Any, Model]]:
    """Make a dependency that reads the request's body, of at most *limit* bytes, as *model*."""

    def validate(raw: bytes) -> Model:
        return model.model_validate(parse(raw, max_values=max_values), context=REQUEST_BODY)

    async def read(request: Request) -> Model:
        declared = request.headers.get("content-length")
        raw = await read_body(request.receive, declared=declared, limit=limit)
        try:
            if len(raw) > _LARGE_BODY:
                return await asyncio.to_thread(validate, raw)
            return validate(raw)
        except ValidationError as error:
            first, *others = [_with_known_names(detail, model) for detail in details(error)]
            raise invalid(first.field, first.message, *others) from None

    return read


def _with_known_names(detail: Detail, model: type[BaseModel]) -> Detail:
    """Name the known members beside an unknown one at the top of a body."""
    if detail.message != UNKNOWN_NAME or "." in detail.field or "[" in detail.field:
        return detail
    known = [field.alias or name for name, field in model.model_fields.items()]
    return Detail(detail.field, not_known(known))


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
