"""Which leaf types a plan may complete: those with a type that accepts nothing but exact values."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal

from graphql import GRAPHQL_MAX_INT, GRAPHQL_MIN_INT, GraphQLEnumType, GraphQLNamedType
from msgspec import Meta

# Whole numbers below it are floats exactly; larger ones may not be, which the conversion would not
# tell. Infinity and not-a-number are not below it either.
_EXACT = 2**53

# A value of this type is its own output: written to JSON as GraphQL would write it. Everything
# else that the scalar may take (an int for a String) is graphql-core's to turn into one.
_SCALARS: Mapping[str, Any] = MappingProxyType(
    {
        "String": str,
        "ID": str,
        "Boolean": bool,
        "Int": Annotated[int, Meta(ge=GRAPHQL_MIN_INT, le=GRAPHQL_MAX_INT)],
        "Float": Annotated[float, Meta(gt=-_EXACT, lt=_EXACT)],
        "Long": Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)],
        "DateTime": Annotated[datetime, Meta(tz=True)],
    }
)


def exact_type(type_: GraphQLNamedType) -> Any | None:
    """Return the type of exact values of the scalar or enum *type_*; None when there is none."""
    if isinstance(type_, GraphQLEnumType):
        names = tuple(type_.values)
        own = all(value.value == name for name, value in type_.values.items())
        return Literal[names] if own else None
    return _SCALARS.get(type_.name)


def is_datetime(type_: GraphQLNamedType) -> bool:
    """Say whether its values are times, whose zone no type can check."""
    return type_.name == "DateTime"
