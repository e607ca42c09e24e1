"""Request bodies of the management API: strict models that refuse what they do not know."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, TypeVar

from fastapi import Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationError
from pydantic.alias_generators import to_camel

from gateway.management.validation_messages import details_of
from gateway.store import timestamps
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code
from rest_compat.body import parse, read_body
from rest_compat.openapi.json_schemas import JsonSchema

MAX_BODY = 4 * 1024 * 1024  # bytes; decisions 0


class Body(BaseModel):
    """Root of all bodies: camelCase, no conversions, unknown keys refused."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        hide_input_in_errors=True,
    )


def _without_defaults(schema: JsonSchema) -> None:
    for member in schema["properties"].values():
        member.pop("default", None)


class Change(Body):
    """Root of the bodies of PATCH: a member that is absent stays as it is, whatever its default."""

    model_config = ConfigDict(json_schema_extra=_without_defaults)


def _printable(text: str) -> str:
    if any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in text):
        raise ValueError("must not have control characters")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _time(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("must be a time")  # noqa: TRY004 - pydantic turns ValueError into a detail
    try:
        return timestamps.parse(value)
    except ValueError as problem:
        raise ValueError("must be a time") from problem


def _address(text: str) -> str:
    local, at, domain = text.rpartition("@")
    if not at or not local or not domain or any(char.isspace() for char in text):
        raise ValueError("must be an e-mail address")
    return text


Name = Annotated[
    str, Field(min_length=1, max_length=100), AfterValidator(_printable), AfterValidator(_not_blank)
]
DisplayName = Annotated[
    str, Field(min_length=1, max_length=200), AfterValidator(_printable), AfterValidator(_not_blank)
]
Text = Annotated[str, Field(max_length=500), AfterValidator(_printable)]
Address = Annotated[
    str, Field(max_length=320), AfterValidator(_printable), AfterValidator(_address)
]
Long = Annotated[int, Field(ge=1, le=2**63 - 1)]
Secret = Annotated[str, Field(min_length=1, max_length=16_384), AfterValidator(_printable)]
Time = Annotated[int, PlainValidator(_time, json_schema_input_type=str)]

Model = TypeVar("Model", bound=BaseModel)


def body(model: type[Model]) -> Callable[[Request], Coroutine[Any, Any, Model]]:
    """Make a dependency that reads the request's body as *model*."""

    async def read(request: Request) -> Model:
        raw = await read_body(
            request.receive, declared=request.headers.get("content-length"), limit=MAX_BODY
        )
        try:
            return model.model_validate(parse(raw))
        except ValidationError as problem:
            details = details_of(problem.errors(include_url=False, include_input=False))
            raise invalid(details[0].field, details[0].message, *details[1:]) from None

    return read


def invalid(field: str, why: str, *further: Detail) -> InvalidInput:
    """Refuse a body because of *field*."""
    subject = "The request body" if field == "$" else field
    return InvalidInput(
        f"{subject} {why}.",
        code=Code.VALIDATION_ERROR,
        details=[Detail(field, why), *further],
    )


def described(model: type[BaseModel], **members: JsonSchema) -> dict[str, Any]:
    """Return the `openapi_extra` that documents *model*, but for *members*, as the request body."""
    schema = model.model_json_schema(by_alias=True)
    parts = schema.pop("$defs", {})
    whole = inlined(schema, parts)
    whole["properties"] |= members
    content = {"application/json": {"schema": whole}}
    return {"requestBody": {"required": True, "content": content}}


def inlined(schema: Any, parts: Mapping[str, Any]) -> Any:
    """Put the *parts* (`$defs`) that a schema refers to in their places."""
    if isinstance(schema, list):
        return [inlined(one, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return inlined(parts[schema["$ref"].removeprefix("#/$defs/")], parts)
    return {
        key: inlined(value, parts)
        for key, value in schema.items()
        if key != "title" or not isinstance(value, str)  # a title is the name once more
    }
