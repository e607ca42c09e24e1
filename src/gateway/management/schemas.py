"""
JSON Schemas of TypedDicts: what a function is annotated to return is what is described.

The metadata of an `Annotated` member is its description (a text) or more of its schema (a `Form`).
"""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType, UnionType
from typing import (
    Annotated,
    Any,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from rest_compat.openapi.json_schemas import JsonSchema, nullable

_LEAVES: Mapping[Any, JsonSchema] = MappingProxyType(
    {
        str: {"type": "string"},
        bool: {"type": "boolean"},
        int: {"type": "integer"},
        float: {"type": "number"},
        Any: {},
    }
)


class Form:
    """What a schema says beside the type: a range, a format, words."""

    def __init__(self, **schema: Any) -> None:
        self.schema: JsonSchema = schema


def words(*known: Iterable[str]) -> Form:
    """Allow the words of each of *known*, and no others."""
    return Form(enum=[str(word) for some in known for word in some])


class Schemas:
    """The components that answers are described with, each TypedDict under its own name."""

    def __init__(self) -> None:
        self.components: dict[str, JsonSchema] = {}

    def of(self, kind: Any) -> JsonSchema:
        """Describe values of *kind*; a TypedDict is referred to, and has no members besides."""
        if is_typeddict(kind):
            return self._named(kind)
        if kind in _LEAVES:
            return dict(_LEAVES[kind])
        origin, inner = get_origin(kind), get_args(kind)
        if origin is None and issubclass(kind, StrEnum):
            return {"type": "string", "enum": [*kind]}
        if origin is Annotated:
            return self._annotated(inner[0], kind.__metadata__)
        if origin is NotRequired:
            return self.of(inner[0])
        if origin in {UnionType, Union}:  # of annotated types it is the latter
            return nullable(self.of(inner[0]))
        if origin in {list, Sequence}:
            return {"type": "array", "items": self.of(inner[0])}
        if origin is Mapping:
            names, values = (self.of(one) for one in inner)
            return {"type": "object", "propertyNames": names, "additionalProperties": values}
        raise TypeError(f"{kind} cannot be described")

    def _annotated(self, kind: Any, told: Sequence[str | Form]) -> JsonSchema:
        schema = self.of(kind)
        for one in told:
            schema |= {"description": one} if isinstance(one, str) else one.schema
        return schema

    def _named(self, kind: Any) -> JsonSchema:
        name = kind.__name__
        if name not in self.components:
            members = get_type_hints(kind, include_extras=True)
            self.components[name] = {
                "type": "object",
                "description": inspect.getdoc(kind) or "",
                "properties": {member: self.of(one) for member, one in members.items()},
                "required": [member for member in members if member in kind.__required_keys__],
                "additionalProperties": False,
            }
        return {"$ref": f"#/components/schemas/{name}"}
