"""
The shape of a token: the part of the schema that it can use (docs/spec/graphql.md#shape).

A shape follows from what the guards and the masks read: the requirements of root fields, the table
of edges and the table of masks. It depends on `Capabilities` alone, so it tells nothing about
rules, resources, accounts or other tokens. A shape describes; documents are still validated and
executed against the whole schema.
"""

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

import msgspec
import strawberry
from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    get_named_type,
    is_leaf_type,
)
from strawberry.schema_directive import Location

from graph.coordinates import strawberry_field
from graph.edge_table import Edge
from graph.edges import edge_of
from graph.masking import masks
from graph.masking.guards import Requirement, requirements
from policy.caller import Caller
from policy.refusals import Refusal
from policy.vocabulary import Field

CACHED = 32  # shapes; about 1 MB each
MASKED_BY = "maskedBy"  # the extension of a masked field: the words that hide it

_DEFINITION = "strawberry-definition"


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    description="The mask word that hides the field from this token; `, ` between several.",
)
class Masked:
    by: str


class Capabilities(msgspec.Struct, frozen=True):
    """
    All of a token that its shape depends on, as coordinates of the schema.

    Attributes:
        root_fields: The root fields whose gates admit the token.
        masked: Fields that the token may not see, and the words that hide them: "Email.body".
        unusable: Arguments of root fields, and members of inputs, that are always refused, and the
            words that are hidden if they are why: "emails(from:)", "ModifyEmailInput.addLabels".
    """

    root_fields: frozenset[str]
    masked: frozenset[tuple[str, str]]
    unusable: frozenset[tuple[str, str]]


def shape_of(schema: GraphQLSchema, caller: Caller) -> GraphQLSchema:
    """Return the part of *schema* that *caller* can use; it describes and cannot be executed."""
    return build_shape(schema, capabilities_of(schema, caller))


def capabilities_of(schema: GraphQLSchema, caller: Caller) -> Capabilities:
    """Ask the guards and the masks of *schema* for all that *caller* can use."""
    needs = requirements(schema)
    hidden = masks.hidden(caller.grant)
    masked = {(coordinate, masks.words_hiding(coordinate)) for coordinate in hidden}
    unusable: set[tuple[str, str]] = set()
    for name, requirement in needs.items():
        words = _hidden_words(requirement.reveals, caller) or _joined(
            filter(caller.hides, requirement.shows)
        )
        if words:
            masked.add((f"{_owner(schema, name)}.{name}", words))
        unusable.update(_unusable_arguments(schema, name, requirement, caller))
        unusable.update(_unusable_members(schema, name, requirement, caller))
    return Capabilities(
        frozenset(name for name, requirement in needs.items() if _admits(requirement, caller)),
        frozenset(masked),
        frozenset(unusable),
    )


@lru_cache(maxsize=CACHED)
def build_shape(schema: GraphQLSchema, capabilities: Capabilities) -> GraphQLSchema:
    """Build the part of *schema* that a token with *capabilities* can use."""
    return _Builder(schema, capabilities).build()


def masked_by(field: GraphQLField) -> str | None:
    """Return the mask words that hide *field* of a shape; None for a visible field."""
    return cast("str | None", field.extensions.get(MASKED_BY))


def _admits(requirement: Requirement, caller: Caller) -> bool:
    try:
        requirement.admit(caller)
    except Refusal:
        return False
    return True


def _owner(schema: GraphQLSchema, root_field: str) -> str:
    """Return the root type of *root_field*."""
    query = cast("GraphQLObjectType", schema.query_type)
    return query.name if root_field in query.fields else "Mutation"


def _hidden_words(revealed: Iterable[Field], caller: Caller) -> str:
    """Return the words of *revealed* for which *caller* is refused; empty when it is not."""
    return _joined(word for word in revealed if caller.strict and caller.hides(word))


def _joined(words: Iterable[Field]) -> str:
    return ", ".join(words)


def _unusable_arguments(
    schema: GraphQLSchema, name: str, requirement: Requirement, caller: Caller
) -> Iterator[tuple[str, str]]:
    for argument, revealed in requirement.revealing.items():
        words = _hidden_words(revealed, caller)
        if words:
            yield _coordinate(schema, name, argument), words
    for argument, searched in requirement.searching.items():
        words = _hidden_words(searched, caller)
        if words == _joined(searched) and not any(map(caller.allows, requirement.searching_beyond)):
            yield _coordinate(schema, name, argument), words


def _coordinate(schema: GraphQLSchema, root_field: str, name: str) -> str:
    """Return the coordinate of an argument of *root_field*, or of a member of its input object."""
    root_type = cast("GraphQLObjectType", schema.type_map[_owner(schema, root_field)])
    arguments = root_type.fields[root_field].args
    if name in arguments:
        return _argument(root_field, name)
    inputs = (get_named_type(argument.type) for argument in arguments.values())
    return next(f"{kind.name}.{name}" for kind in inputs if name in getattr(kind, "fields", ()))


def _argument(root_field: str, argument: str) -> str:
    return f"{root_field}({argument}:)"


def _unusable_members(
    schema: GraphQLSchema, name: str, requirement: Requirement, caller: Caller
) -> Iterator[tuple[str, str]]:
    needed = {**requirement.member_operations, **requirement.further_operations}
    for member, operation in needed.items():
        if not caller.allows(operation):
            yield _coordinate(schema, name, member), ""


class _Builder:
    """Copies the types of a schema that can be reached in a shape."""

    def __init__(self, schema: GraphQLSchema, capabilities: Capabilities) -> None:
        self._schema = schema
        self._capabilities = capabilities
        self._masked = dict(capabilities.masked)
        self._unusable = dict(capabilities.unusable)
        self._types: dict[str, GraphQLNamedType] = {}

    def build(self) -> GraphQLSchema:
        """Return the schema; without mutations when none is admitted."""
        query, mutation = self._schema.query_type, self._schema.mutation_type
        admitted = self._capabilities.root_fields
        return GraphQLSchema(
            query=self._object(cast("GraphQLObjectType", query), admitted),
            mutation=self._object(mutation, admitted)
            if mutation is not None and not admitted.isdisjoint(mutation.fields)
            else None,
            directives=self._schema.directives,
            description=self._schema.description,
            assume_valid=True,
        )

    def _named(self, type_: GraphQLNamedType) -> GraphQLNamedType:
        """
        Return the copy of *type_*.

        Raises:
            TypeError: The kind of type is not known here, so nothing of it is shown.
        """
        if is_leaf_type(type_):
            return type_
        known = self._types.get(type_.name)
        if known is not None:
            return known
        if isinstance(type_, GraphQLObjectType):
            return self._object(type_, None)
        if isinstance(type_, GraphQLInputObjectType):
            return self._input(type_)
        raise TypeError(f"{type_.name} is neither an object, an input nor a leaf")

    def _copy(self, type_: Any) -> Any:
        """Return *type_* with the copy of the type that it wraps."""
        if isinstance(type_, GraphQLNonNull):
            return GraphQLNonNull(self._copy(type_.of_type))
        if isinstance(type_, GraphQLList):
            return GraphQLList(self._copy(type_.of_type))
        return self._named(type_)

    def _object(self, type_: GraphQLObjectType, names: Collection[str] | None) -> GraphQLObjectType:
        """Copy *type_*; *names* are those of its fields that stay, None: all that can be used."""

        def fields() -> Mapping[str, GraphQLField]:
            return {
                name: self._field(f"{type_.name}.{name}", name, field)
                for name, field in type_.fields.items()
                if (name in names if names is not None else self._is_usable(field))
            }

        copied = GraphQLObjectType(
            type_.name, fields, description=type_.description, extensions=type_.extensions
        )
        self._types[type_.name] = copied
        return copied

    def _is_usable(self, field: GraphQLField) -> bool:
        edge = edge_of(field)
        return edge is None or edge.root in self._capabilities.root_fields

    def _field(self, coordinate: str, name: str, field: GraphQLField) -> GraphQLField:
        edge = edge_of(field)
        words = self._masked.get(coordinate) or (self._words_of_edge(edge) if edge else None)
        root = edge.root if edge is not None else name
        arguments = {
            argument: GraphQLArgument(self._copy(value.type), **_details(value))
            for argument, value in field.args.items()
            if _argument(root, argument) not in self._unusable
        }
        description, extensions = field.description, field.extensions
        if words is not None:
            description = f"{(description or '').strip()}\n\n{_sentence(words)}".strip()
            extensions = {**extensions, MASKED_BY: words, _DEFINITION: _marked(field, words)}
        return GraphQLField(
            self._copy(field.type),
            arguments,
            description=description,
            deprecation_reason=field.deprecation_reason,
            extensions=extensions,
        )

    def _words_of_edge(self, edge: Edge) -> str | None:
        """Return the words that make every call of *edge* refused; None: no word does."""
        words = [
            self._unusable[call]
            for argument in (*edge.arguments, *edge.fixed)
            if (call := _argument(edge.root, argument)) in self._unusable
        ]
        return ", ".join(words) or self._masked.get(f"Query.{edge.root}")

    def _input(self, type_: GraphQLInputObjectType) -> GraphQLInputObjectType:
        def members() -> Mapping[str, GraphQLInputField]:
            return {
                name: GraphQLInputField(self._copy(member.type), **_details(member))
                for name, member in type_.fields.items()
                if f"{type_.name}.{name}" not in self._unusable
            }

        copied = GraphQLInputObjectType(
            type_.name, members, description=type_.description, extensions=type_.extensions
        )
        self._types[type_.name] = copied
        return copied


def _details(value: GraphQLArgument | GraphQLInputField) -> dict[str, Any]:
    """Return what describes an argument or a member of an input, besides its type."""
    return {
        "default_value": value.default_value,
        "description": value.description,
        "deprecation_reason": value.deprecation_reason,
        "extensions": value.extensions,
    }


def _sentence(words: str) -> str:
    return f"Hidden from this token by the mask word {' and '.join(_quoted(words))}."


def _quoted(words: str) -> list[str]:
    return [f"`{word}`" for word in words.split(", ")]


def _marked(field: GraphQLField, words: str) -> Any:
    """Return the definition of *field* with the directive `@masked`, which the SDL shows."""
    definition = copy.copy(strawberry_field(field))
    definition.directives = [*definition.directives, Masked(by=words)]
    return definition
