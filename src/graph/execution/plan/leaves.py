"""Leaf types that a plan may complete: those with a Python type for their exact values."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal

from graphql import GRAPHQL_MAX_INT, GRAPHQL_MIN_INT, GraphQLEnumType, GraphQLNamedType
from msgspec import Meta

from providers.records.base import Long

# Whole numbers below it are exact as floats; larger ones may be rounded without an error of the
# conversion. Infinity and NaN are not below it either.
_EXACT = 2**53

# A value of this type is written to JSON as GraphQL would write it. Other values that the scalar
# accepts (an int for a String) are left to graphql-core.
_SCALARS: Mapping[str, Any] = MappingProxyType(
    {
        "String": str,
        "ID": str,
        "Boolean": bool,
        "Int": Annotated[int, Meta(ge=GRAPHQL_MIN_INT, le=GRAPHQL_MAX_INT)],
        "Float": Annotated[float, Meta(gt=-_EXACT, lt=_EXACT)],
        "Long": Long,
        "DateTime": Annotated[datetime, Meta(tz=True)],
        "JSON": dict[str, Any] | list[Any] | str | bool | int | float,
    }
)


def exact_type(type_: GraphQLNamedType) -> Any | None:
    """Return the Python type of exact values of a scalar or enum; None when there is none."""
    if isinstance(type_, GraphQLEnumType):
        names = tuple(type_.values)
        are_names = all(value.value == name for name, value in type_.values.items())
        return Literal[names] if are_names else None
    return _SCALARS.get(type_.name)


def is_datetime(type_: GraphQLNamedType) -> bool:
    """Return whether the values are times, whose zone no type can check."""
    return type_.name == "DateTime"
