"""Root models and field types of what operations take: strict, and unknown members are refused."""

from functools import cache
from types import NoneType
from typing import Annotated, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    model_validator,
)
from pydantic.alias_generators import to_camel

from gateway.store import timestamps
from rest_compat.openapi.schema_values import JsonSchema


class Input(BaseModel):
    """Root of all inputs: camelCase members, no conversions, unknown members refused."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        hide_input_in_errors=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _leave_out_nulls(cls, members: object, info: ValidationInfo) -> object:
        """Read null as absent in a request body (docs/spec/requests.md#json-bodies)."""
        if info.context is not REQUEST_BODY or not isinstance(members, dict):
            return members
        if None not in members.values():
            return members
        absent = _absent_if_null(cls)
        return {
            name: value
            for name, value in members.items()
            if value is not None or name not in absent
        }


# The context of `model_validate` for request bodies. Files of policy are read without it: a null in
# a file that replaces what is stored is more likely a mistake than a member that is left out.
REQUEST_BODY = {"source": "request body"}


@cache
def _absent_if_null(model: type[BaseModel]) -> frozenset[str]:
    """Return the API names of the members that are not required and give null no meaning."""
    return frozenset(
        field.alias or name
        for name, field in model.model_fields.items()
        if not field.is_required() and NoneType not in get_args(field.annotation)
    )


# Words of a login service for several tenants: client credentials have none of these.
_SHARED_TENANTS = frozenset({"common", "organizations", "consumers"})


def without_defaults(schema: JsonSchema) -> None:
    """Remove the defaults of members, which say nothing to a caller, from the schema of a model."""
    for member in schema["properties"].values():
        member.pop("default", None)


class Patch(Input):
    """Root of changes: a member that is absent keeps its value, whatever the default here."""

    model_config = ConfigDict(json_schema_extra=without_defaults)


def _printable(text: str) -> str:
    if any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in text):
        raise ValueError("must not have control characters")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def parse_time(value: object) -> int:
    """
    Read a time as milliseconds since the epoch.

    Raises:
        ValueError: *value* is not a text, or not a time.
    """
    if not isinstance(value, str):
        raise ValueError("must be a time, such as 2026-11-20T12:00:00Z")  # noqa: TRY004 - pydantic turns ValueError into a detail
    try:
        return timestamps.parse(value)
    except ValueError as problem:
        raise ValueError("must be a time, such as 2026-11-20T12:00:00Z") from problem


def _address(text: str) -> str:
    local, at, domain = text.rpartition("@")
    if not at or not local or not domain or any(char.isspace() for char in text):
        raise ValueError("must be an e-mail address")
    return text


def _concrete_tenant(text: str) -> str:
    if text.strip().casefold() in _SHARED_TENANTS:
        raise ValueError("must be the id or a domain of one tenant, not a word for all of them")
    return text


Name = Annotated[
    str, Field(min_length=1, max_length=100), AfterValidator(_printable), AfterValidator(_not_blank)
]
DisplayName = Annotated[
    str, Field(min_length=1, max_length=200), AfterValidator(_printable), AfterValidator(_not_blank)
]
ShortText = Annotated[str, Field(max_length=500), AfterValidator(_printable)]
EmailAddress = Annotated[
    str, Field(max_length=320), AfterValidator(_printable), AfterValidator(_address)
]
RowId = Annotated[int, Field(ge=1, le=2**63 - 1)]
Secret = Annotated[str, Field(min_length=1, max_length=16_384), AfterValidator(_printable)]
Pem = Annotated[str, Field(min_length=1, max_length=16_384)]  # lines of base64
Tenant = Annotated[Secret, AfterValidator(_concrete_tenant)]
Time = Annotated[int, PlainValidator(parse_time, json_schema_input_type=str)]  # milliseconds


def _in_future(time: int) -> int:
    if time <= timestamps.now_ms():
        raise ValueError("must be in the future")
    return time


# The end of a new token: one that has passed is a mistake, and the token's text would be of no use.
# A change may set an end that has passed, which ends the token; a file may hold ended tokens.
FutureTime = Annotated[Time, AfterValidator(_in_future)]


def _whole_number(text: object) -> object:
    if isinstance(text, str) and not text.removeprefix("-").isdecimal():
        raise ValueError("must be a whole number")
    return text


class Query(BaseModel):
    """Root of filters, which come as texts: camelCase names, unknown ones refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)


WholeNumberText = Annotated[int, BeforeValidator(_whole_number)]
TimeText = Annotated[int, BeforeValidator(parse_time, json_schema_input_type=str)]  # milliseconds
