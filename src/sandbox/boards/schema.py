"""The schema that the board provider executes: its SDL with a resolver at each field."""

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
from sandbox.boards.column_values import TYPES, Cell
from sandbox.boards.field_resolvers import RESOLVERS
from sandbox.boards.item_mutations import ITEM_MUTATIONS
from sandbox.boards.queries import QUERIES
from sandbox.boards.resolver_helpers import Resolver


def sdl() -> str:
    """Return the text of the schema."""
    return files(__package__).joinpath("schema.graphql").read_text(encoding="utf-8")


@cache
def schema() -> GraphQLSchema:
    """Return the schema, built once a process."""
    built = build_schema(sdl())
    _resolve(built, "Query", dict(QUERIES))
    _resolve(built, "Mutation", {**ITEM_MUTATIONS, **BOARD_MUTATIONS})
    for name, resolvers in RESOLVERS.items():
        _resolve(built, name, dict(resolvers))
    values = built.type_map["ColumnValue"]
    if isinstance(values, GraphQLInterfaceType):
        values.resolve_type = _value_type
        for implementation in built.get_implementations(values).objects:
            _resolve_cell(implementation, set(values.fields))
    text = built.type_map["JSON"]
    if isinstance(text, GraphQLScalarType):
        text.coerce_input_value = _json_text
        text.coerce_input_literal = _json_literal
    return built


def _resolve(built: GraphQLSchema, name: str, resolvers: dict[str, Resolver]) -> None:
    kind = built.type_map[name]
    if not isinstance(kind, GraphQLObjectType):
        raise TypeError(name)
    for field_name, resolver in resolvers.items():
        kind.fields[field_name].resolve = resolver


def _resolve_cell(kind: GraphQLObjectType, shared: set[str]) -> None:
    for name, field in kind.fields.items():
        if name not in shared:
            field.resolve = _typed(name)


def _typed(name: str) -> Resolver:
    def resolve(cell: Cell, _: Any) -> Any:
        return cell.typed(name)

    return resolve


def _value_type(cell: Cell, *_: Any) -> str:
    return TYPES.get(cell.type, "UnsupportedValue")


def _json_text(value: Any) -> str:
    """Take JSON as the wire does: written into a text, not as it is."""
    if not isinstance(value, str):
        raise GraphQLError("JSON arguments are JSON texts.")
    return value


def _json_literal(node: ValueNode) -> str:
    if not isinstance(node, StringValueNode):
        raise GraphQLError("JSON arguments are JSON texts.")
    return node.value
