"""Schema coordinates ("Email.body") and the fields at them."""

from inspect import iscoroutinefunction, unwrap
from typing import Any, cast

from graphql import GraphQLField, GraphQLObjectType, GraphQLSchema


def object_type(schema: GraphQLSchema, name: str) -> GraphQLObjectType:
    """Return the object type *name*; KeyError when the schema has none."""
    return cast("GraphQLObjectType", schema.type_map[name])


def field_at(schema: GraphQLSchema, coordinate: str) -> GraphQLField:
    """Return the field at *coordinate*; KeyError when there is none."""
    owner, _, name = coordinate.partition(".")
    field: GraphQLField = object_type(schema, owner).fields[name]
    return field


def strawberry_field(field: GraphQLField) -> Any:
    """Return the Strawberry field that *field* was made from."""
    return field.extensions["strawberry-definition"]


def record_attribute(field: GraphQLField) -> str | None:
    """Return the record attribute that *field* shows; None when a resolver makes its value."""
    source = strawberry_field(field)
    return None if source.base_resolver is not None else str(source.python_name)


def plain_attribute(field: GraphQLField) -> str | None:
    """Return the record attribute that *field* shows unchanged; None when it is computed."""
    source = field.extensions.get("strawberry-definition")
    if source is None or not source.is_basic_field or field.args:
        return None
    return str(source.python_name)


def is_asynchronous(field: GraphQLField) -> bool:
    """Return whether *field* has a resolver that is always awaited."""
    source = field.extensions.get("strawberry-definition")
    resolver = source.base_resolver if source is not None else None
    return resolver is not None and iscoroutinefunction(unwrap(resolver.wrapped_func))
