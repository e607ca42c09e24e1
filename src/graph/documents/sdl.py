"""
Prints a schema, or a shape of it (`graph.shape`), as SDL: the bytes of Strawberry's printer.

Strawberry's takes 22 ms of CPU for the whole schema, because it converts the definition of each
applied directive anew and prints each description by way of a syntax tree. Here both are printed
once per process. Unlike Strawberry's, this printer describes the arguments of an edge only at the
root field that the edge calls, which is in the schema wherever the edge is.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import strawberry
from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    Undefined,
    is_introspection_type,
    is_specified_directive,
    is_specified_scalar_type,
    print_ast,
    print_directive,
    print_type,
)
from graphql.utilities.print_schema import print_block, print_deprecated, print_description
from strawberry.printer.ast_from_value import ast_from_value
from strawberry.printer.printer import PrintExtras, print_schema_directive

from graph.edges import edge_of

_CACHED = 2048  # descriptions, of which the schema has 1,000; 200 bytes each
_DEFINITION = "strawberry-definition"


class SdlPrinter:
    """Prints shapes of the schema of *base*, whose converter knows the applied directives."""

    def __init__(self, base: strawberry.Schema) -> None:
        self._base = base
        self._applied: dict[str, tuple[str, frozenset[str]]] = {}

    def print(self, schema: GraphQLSchema) -> str:
        """Return definitions of directives, then types by name."""
        types = [
            self._type(type_)
            for _, type_ in sorted(schema.type_map.items())
            if not (is_specified_scalar_type(type_) or is_introspection_type(type_))
        ]
        return "\n\n".join([*self._directives(schema), *types]) + "\n"

    def _directives(self, schema: GraphQLSchema) -> Iterator[str]:
        """Yield the definitions of the directives that *schema* knows or applies."""
        known = {
            print_directive(directive)
            for directive in schema.directives
            if not is_specified_directive(directive)
        }
        applied = (
            definition
            for type_ in schema.type_map.values()
            for field in _fields(type_).values()
            for directive in _applied_directives(field)
            for definition in self._directive(directive)[1]
        )
        yield from sorted({*known, *applied})

    def _type(self, type_: GraphQLNamedType) -> str:
        if isinstance(type_, GraphQLObjectType):
            kind, fields = "type", self._object_fields(type_)
        elif isinstance(type_, GraphQLInputObjectType):
            kind, fields = "input", self._members(type_)
        else:
            return print_type(type_)
        return f"{_description(type_)}{kind} {type_.name}{print_block(list(fields))}"

    def _object_fields(self, type_: GraphQLObjectType) -> Iterator[str]:
        for at, (name, field) in enumerate(type_.fields.items()):
            yield (
                f"{_description(field, '  ', is_first=at == 0)}  {name}{_arguments(field)}: "
                f"{field.type}{print_deprecated(field.deprecation_reason)}{self._suffix(field)}"
            )

    def _members(self, type_: GraphQLInputObjectType) -> Iterator[str]:
        for at, (name, member) in enumerate(type_.fields.items()):
            description = _description(member, "  ", is_first=at == 0)
            yield f"{description}  {_input_value(name, member)}{self._suffix(member)}"

    def _suffix(self, field: GraphQLField | GraphQLInputField) -> str:
        return "".join([self._directive(applied)[0] for applied in _applied_directives(field)])

    def _directive(self, applied: Any) -> tuple[str, frozenset[str]]:
        """Return how a directive is applied, and the text of its definition."""
        key = repr(applied)  # a dataclass: its class and values
        if key not in self._applied:
            extras = PrintExtras()
            text = print_schema_directive(applied, self._base, extras=extras)
            self._applied[key] = text, frozenset(extras.directives)
        return self._applied[key]


def _fields(type_: GraphQLNamedType) -> Mapping[str, GraphQLField | GraphQLInputField]:
    fields: Mapping[str, GraphQLField | GraphQLInputField] = getattr(type_, "fields", {})
    return fields


def _applied_directives(field: GraphQLField | GraphQLInputField) -> list[Any]:
    definition = field.extensions.get(_DEFINITION)
    return [] if definition is None else list(definition.directives)


def _arguments(field: GraphQLField) -> str:
    values = field.args.items()
    if not values:
        return ""
    if edge_of(field) is not None or not any(value.description for _, value in values):
        return f"({', '.join([_input_value(name, value) for name, value in values])})"
    lines = [
        f"{_description(value, '    ', is_first=at == 0)}    {_input_value(name, value)}"
        for at, (name, value) in enumerate(values)
    ]
    return "(\n" + "\n".join(lines) + "\n  )"


def _input_value(name: str, value: GraphQLArgument | GraphQLInputField) -> str:
    deprecated = print_deprecated(value.deprecation_reason)
    default = "" if value.default_value is Undefined else _default(value)
    return f"{name}: {value.type}{default}{deprecated}"


def _default(value: GraphQLArgument | GraphQLInputField) -> str:
    literal = ast_from_value(value.default_value, value.type)
    return "" if literal is None else f" = {print_ast(literal)}"


def _description(described: Any, indentation: str = "", *, is_first: bool = True) -> str:
    if described.description is None:
        return ""
    return _printed_description(described.description, indentation, is_first=is_first)


@lru_cache(maxsize=_CACHED)
def _printed_description(text: str, indentation: str, *, is_first: bool) -> str:
    described: Any = SimpleNamespace(description=text)
    return print_description(described, indentation, is_first)
