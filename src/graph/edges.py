"""Edges in the schema: the fields that `graph.edge_table` lists."""

from collections.abc import Iterator
from typing import Any, cast

from graphql import GraphQLField, GraphQLSchema, get_named_type, get_nullable_type

from graph.coordinates import object_type
from graph.edge_table import EDGES, Edge

_EXTENSION = "edge"


def add(schema: GraphQLSchema) -> None:
    """Add the edges to *schema*, without resolvers."""
    for edge in EDGES:
        root, settled = root_field(schema, edge), {*edge.arguments, *edge.fixed, *edge.omitted}
        object_type(schema, edge.owner).fields[edge.name] = GraphQLField(
            _type(root, edge),
            {name: value for name, value in root.args.items() if name not in settled},
            description=edge.shown.description,
            extensions={**root.extensions, _EXTENSION: edge},
        )


def edge_of(field: GraphQLField) -> Edge | None:
    """Return the edge that *field* is; None for any other field."""
    return cast("Edge | None", field.extensions.get(_EXTENSION))


def edge_fields(schema: GraphQLSchema) -> Iterator[tuple[Edge, GraphQLField]]:
    """Return the edges of *schema* with their fields."""
    for edge in EDGES:
        yield edge, object_type(schema, edge.owner).fields[edge.name]


def root_field(schema: GraphQLSchema, edge: Edge) -> GraphQLField:
    """Return the root field that *edge* calls."""
    field: GraphQLField = object_type(schema, "Query").fields[edge.root]
    return field


def _type(root: GraphQLField, edge: Edge) -> Any:
    """Return the type of the edge, which is nullable like that of every root field."""
    if edge.member is None:
        return root.type
    answer = cast("Any", root.type)
    member = get_nullable_type(answer.fields[edge.member].type)
    if is_first_entry(edge):
        return get_named_type(member)
    return member


def is_first_entry(edge: Edge) -> bool:
    """Return whether *edge* leads to the first entry of a list."""
    return "limit" in edge.fixed
