"""
JSON Schemas of TypedDicts: what a function is annotated to return is what OpenAPI describes.

The metadata of an `Annotated` member is its description (a text) or further `Keywords`.
"""

import inspect
import typing
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType, UnionType

from pydantic import GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema

from rest_compat.openapi.schema_values import JsonSchema, nullable

_LEAVES: Mapping[typing.Any, JsonSchema] = MappingProxyType(
    {
        str: {"type": "string"},
        bool: {"type": "boolean"},
        int: {"type": "integer"},
        float: {"type": "number"},
        typing.Any: {},
    }
)


class Keywords:
    """JSON Schema keywords beside the type: a range, a format, an enumeration."""

    def __init__(self, **schema: typing.Any) -> None:
        self.schema: JsonSchema = schema

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchema:
        """Add the keywords to the schema of a member of a model."""
        return {**handler(core_schema), **self.schema}


def enum_of(*vocabularies: Iterable[str]) -> Keywords:
    """Allow exactly the words of the *vocabularies*."""
    return Keywords(enum=[str(word) for words in vocabularies for word in words])


class SchemaComponents:
    """The OpenAPI components of responses; each TypedDict has its own name."""

    def __init__(self) -> None:
        self.components: dict[str, JsonSchema] = {}

    def schema_of(self, kind: typing.Any) -> JsonSchema:
        """
        Return the schema of *kind*; a TypedDict becomes a component and is referred to.

        Raises:
            TypeError: *kind* is no type of JSON values.
        """
        if typing.is_typeddict(kind):
            return self._named(kind)
        if kind in _LEAVES:
            return dict(_LEAVES[kind])
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin is None and issubclass(kind, StrEnum):
            return {"type": "string", "enum": [*kind]}
        if origin is typing.Annotated:
            return self._annotated(inner[0], kind.__metadata__)
        if origin is typing.NotRequired:
            return self.schema_of(inner[0])
        if origin in {UnionType, typing.Union}:  # of annotated types it is the latter
            return nullable(self.schema_of(inner[0]))
        if origin in {list, Sequence}:
            return {"type": "array", "items": self.schema_of(inner[0])}
        if origin is Mapping:
            names, values = map(self.schema_of, inner)
            return {"type": "object", "propertyNames": names, "additionalProperties": values}
        raise TypeError(f"{kind} cannot be described")

    def _annotated(self, kind: typing.Any, metadata: Sequence[typing.Any]) -> JsonSchema:
        schema = self.schema_of(kind)
        for item in metadata:
            match item:
                case str():
                    schema["description"] = item
                case FieldInfo():
                    schema["description"] = item.description
                case _:
                    schema |= item.schema
        return schema

    def _named(self, kind: typing.Any) -> JsonSchema:
        component = kind.__name__
        if component not in self.components:
            members = typing.get_type_hints(kind, include_extras=True)
            self.components[component] = {
                "type": "object",
                "description": inspect.getdoc(kind) or "",
                "properties": {name: self.schema_of(member) for name, member in members.items()},
                "required": [name for name in members if name in kind.__required_keys__],
                "additionalProperties": False,
            }
        return {"$ref": f"#/components/schemas/{component}"}
