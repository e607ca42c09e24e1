"""The executable schema: ``schema.graphql`` with a resolver for each field."""

from functools import cache
from importlib.resources import files
from typing import Any

from graphql import (
    GraphQLError,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    ValueNode,
    build_schema,
)
from graphql.language import StringValueNode

from sandbox.boards.board_mutations import BOARD_MUTATIONS
from sandbox.boards.column_values import GRAPHQL_TYPES, Cell
from sandbox.boards.field_resolvers import RESOLVERS
from sandbox.boards.item_mutations import ITEM_MUTATIONS
from sandbox.boards.queries import QUERIES
from sandbox.boards.resolver_helpers import Resolver


def sdl() -> str:
    """Return the schema in the schema definition language."""
    return files(__package__).joinpath("schema.graphql").read_text(encoding="utf-8")


@cache
def schema() -> GraphQLSchema:
    """Return the executable schema, built once per process."""
    graphql_schema = build_schema(sdl())
    _add_resolvers(graphql_schema, "Query", dict(QUERIES))
    _add_resolvers(graphql_schema, "Mutation", {**ITEM_MUTATIONS, **BOARD_MUTATIONS})
    for name, resolvers in RESOLVERS.items():
        _add_resolvers(graphql_schema, name, dict(resolvers))
    column_value = graphql_schema.type_map["ColumnValue"]
    if isinstance(column_value, GraphQLInterfaceType):
        column_value.resolve_type = _column_value_type
        for implementation in graphql_schema.get_implementations(column_value).objects:
            _add_cell_resolvers(implementation, set(column_value.fields))
    json_scalar = graphql_schema.type_map["JSON"]
    if isinstance(json_scalar, GraphQLScalarType):
        json_scalar.coerce_input_value = _coerce_json_value
        json_scalar.coerce_input_literal = _coerce_json_literal
    return graphql_schema


def _add_resolvers(
    graphql_schema: GraphQLSchema, name: str, resolvers: dict[str, Resolver]
) -> None:
    object_type = graphql_schema.type_map[name]
    if not isinstance(object_type, GraphQLObjectType):
        raise TypeError(name)
    for field_name, resolver in resolvers.items():
        object_type.fields[field_name].resolve = resolver


def _add_cell_resolvers(object_type: GraphQLObjectType, interface_fields: set[str]) -> None:
    for name, field in object_type.fields.items():
        if name not in interface_fields:
            field.resolve = _create_cell_resolver(name)


def _create_cell_resolver(name: str) -> Resolver:
    def resolve(cell: Cell, _: Any) -> Any:
        return cell.typed_field(name)

    return resolve


def _column_value_type(cell: Cell, *_: Any) -> str:
    return GRAPHQL_TYPES.get(cell.type, "UnsupportedValue")


def _coerce_json_value(value: Any) -> str:
    """Accept JSON only as a string that contains JSON, as the API does."""
    if not isinstance(value, str):
        raise GraphQLError("JSON arguments are JSON texts.")
    return value


def _coerce_json_literal(node: ValueNode) -> str:
    if not isinstance(node, StringValueNode):
        raise GraphQLError("JSON arguments are JSON texts.")
    return node.value
