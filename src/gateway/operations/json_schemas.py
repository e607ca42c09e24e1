"""The root of views, and what their members say to JSON Schema beside the type."""

from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, PlainSerializer
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

from gateway.operations.inputs import without_defaults
from gateway.store import timestamps
from rest_compat.openapi.schema_values import JsonSchema


class View(BaseModel):
    """Root of the objects: camelCase members, which are given by their names in Python."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        serialize_by_alias=True,
        defer_build=True,
        json_schema_extra=without_defaults,
    )

    @classmethod
    def of(cls, row: object, **members: Any) -> Self:
        """Return the object of a row; *members* are those that it has not."""
        names = cls.model_fields.keys() - members.keys()
        return cls(**{name: getattr(row, name) for name in names}, **members)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object, without the members that were left out."""
        return self.model_dump(mode="json", exclude_unset=True)


class Keywords:
    """JSON Schema keywords: a range, a format, an enumeration."""

    def __init__(self, **schema: Any) -> None:
        self.schema: JsonSchema = schema

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchema:
        """Add the keywords to the schema of a member."""
        return {**handler(core_schema), **self.schema}


def about(description: str) -> Any:
    """Describe a member."""
    return Field(description=description)


def enum_of(*vocabularies: Iterable[str]) -> Keywords:
    """Allow exactly the words of the *vocabularies*."""
    return Keywords(enum=[str(word) for words in vocabularies for word in words])


Long = Annotated[int, Keywords(format="int64")]
# Milliseconds since the epoch, which JSON has as a text.
Moment = Annotated[
    int, PlainSerializer(timestamps.to_text, return_type=str), Keywords(format="date-time")
]
