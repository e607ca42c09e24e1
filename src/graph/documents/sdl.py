"""
Prints a schema, or a shape of it (`graph.shape`), as SDL, by Strawberry's printer.

It takes 15 to 20 ms of CPU for the whole schema; callers keep the text. The arguments of an edge
are described only at the root field that the edge calls, which is in the schema wherever the edge
is.
"""

from copy import copy

import strawberry
from graphql import GraphQLArgument, GraphQLField, GraphQLNamedType, GraphQLSchema, is_object_type

from graph.edges import edge_of


def print_sdl(shape: GraphQLSchema, base: strawberry.Schema) -> str:
    """Print *shape*, a part of *base*: definitions of directives, then types by name."""
    printed, schema = copy(base), copy(shape)
    schema.type_map = {name: _as_printed(type_) for name, type_ in shape.type_map.items()}
    printed._schema = schema  # noqa: SLF001 - strawberry has no public way to it
    return printed.as_str() + "\n"


def _as_printed(type_: GraphQLNamedType) -> GraphQLNamedType:
    if not is_object_type(type_) or not any(map(edge_of, type_.fields.values())):
        return type_
    printed = copy(type_)
    printed.fields = {name: _undescribed(field) for name, field in type_.fields.items()}
    return printed


def _undescribed(field: GraphQLField) -> GraphQLField:
    """Return an edge without the descriptions of its arguments, any other field as it is."""
    if edge_of(field) is None:
        return field
    printed = copy(field)
    printed.args = {
        name: GraphQLArgument(argument.type, argument.default_value)
        for name, argument in field.args.items()
    }
    return printed
