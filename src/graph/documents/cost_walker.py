"""
One pass over a document that counts depth, fields, aliases, directives and root fields.

Each fragment is counted once, so the work is linear in the text however often a fragment is
spread; sums stop at a ceiling.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import graphql

from graph.masking.guards import Requirement, requirement_of
from policy.vocabulary import Surface

CEILING = 1_000_000

# Introspection list -> assumed entries per parent; `types` has its real length.
_INTROSPECTION_LISTS: Mapping[str, int] = MappingProxyType(
    {
        "__Schema.directives": 8,
        "__Type.fields": 12,
        "__Type.inputFields": 6,
        "__Type.enumValues": 6,
        "__Type.interfaces": 1,
        "__Type.possibleTypes": 1,
        "__Field.args": 4,
        "__Directive.args": 2,
        "__Directive.locations": 4,
    }
)


@dataclass(frozen=True, slots=True)
class Condition:
    """
    A @skip or @include: holds when *value* is *expected*.

    Attributes:
        value: A literal, or the name of a variable.
    """

    expected: bool
    value: bool | str

    def holds(self, variables: Mapping[str, object]) -> bool:
        """Say whether the condition holds with *variables*; a missing variable holds."""
        value = variables.get(self.value) if isinstance(self.value, str) else self.value
        return value is self.expected if isinstance(value, bool) else True


def conditions_of(directives: Iterable[graphql.DirectiveNode] | None) -> Iterator[Condition]:
    """Yield the conditions of @skip and @include among *directives*."""
    for directive in directives or ():
        expected = {"include": True, "skip": False}.get(directive.name.value)
        for argument in directive.arguments or ():
            if expected is None or argument.name.value != "if":
                continue
            if isinstance(argument.value, graphql.BooleanValueNode):
                yield Condition(expected, argument.value.value)
            elif isinstance(argument.value, graphql.VariableNode):
                yield Condition(expected, argument.value.name.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class RootCost:
    """
    The cost of one root field.

    Attributes:
        key: Its name in the response.
        surface: None when it calls no provider.
        conditions: All must hold for it to run.
        limit: The argument `limit`: a number, a variable's name, or None for the default.
        default_limit: The default of `limit`; None when the field takes no `limit`.
        max_limit: A higher `limit` is lowered to it.
        single, listed: Objects below it: outside and inside the lists that `limit` bounds.
    """

    key: str
    name: str
    surface: Surface | None
    conditions: tuple[Condition, ...]
    limit: int | str | None
    default_limit: int | None
    max_limit: int
    single: int
    listed: int

    def estimate_objects(self, variables: Mapping[str, object]) -> int:
        """Estimate the number of returned objects."""
        limit = variables.get(self.limit) if isinstance(self.limit, str) else self.limit
        if not isinstance(limit, int | float) or limit < 1:  # an Int may be written as 50.0
            limit = self.default_limit or 1
        return 1 + self.single + int(min(limit, self.max_limit)) * self.listed


@dataclass(frozen=True, slots=True)
class FragmentSpread:
    """A fragment spread among root fields; its fields run when all of *conditions* hold."""

    name: str
    conditions: tuple[Condition, ...]


# By fragment name; the operation's own selections are under "".
RootSelections = Mapping[str, tuple[RootCost | FragmentSpread, ...]]


@dataclass(frozen=True, slots=True)
class SelectionCost:
    """Counts of a selection set and everything below it; sums stop at the ceiling."""

    depth: int = 0
    nesting: int = 0
    fields: int = 0
    aliases: int = 0
    directives: int = 0
    introspected: int = 0
    single: int = 0
    listed: int = 0

    def plus(self, other: "SelectionCost") -> "SelectionCost":
        return SelectionCost(
            max(self.depth, other.depth),
            max(self.nesting, other.nesting),
            min(self.fields + other.fields, CEILING),
            min(self.aliases + other.aliases, CEILING),
            min(self.directives + other.directives, CEILING),
            min(self.introspected + other.introspected, CEILING * CEILING),
            min(self.single + other.single, CEILING),
            min(self.listed + other.listed, CEILING),
        )


class CostWalker:
    """Counts the selections of one document in one pass."""

    def __init__(self, schema: graphql.GraphQLSchema, document: graphql.DocumentNode) -> None:
        self.visited = 0
        self._schema = schema
        self._document = document
        self._fragments = {
            node.name.value: node
            for node in document.definitions
            if isinstance(node, graphql.FragmentDefinitionNode)
        }
        self._fragment_costs: dict[str, SelectionCost] = {}

    def operations(self) -> list[tuple[graphql.OperationDefinitionNode, SelectionCost]]:
        """Return the operations in document order, with the counts of each."""
        return [
            (node, self._set(node.selection_set, self._root_type(node)).plus(_own_cost(node)))
            for node in self._document.definitions
            if isinstance(node, graphql.OperationDefinitionNode)
        ]

    def roots_by_fragment(self, operation: graphql.OperationDefinitionNode) -> RootSelections:
        """Return the root fields and fragment spreads; each fragment is visited once."""
        root_type = self._root_type(operation)
        selections = {"": tuple(self._root_selections(operation.selection_set, root_type, ()))}
        queue = [*selections[""]]
        for selection in queue:
            name, fragment = selection.name, self._fragments.get(selection.name)
            if isinstance(selection, FragmentSpread) and fragment and name not in selections:
                fields = tuple(self._root_selections(fragment.selection_set, root_type, ()))
                selections[name] = fields
                queue += fields
        return selections

    def _root_selections(
        self,
        selections: graphql.SelectionSetNode,
        owner: graphql.GraphQLObjectType | None,
        conditions: tuple[Condition, ...],
    ) -> Iterator[RootCost | FragmentSpread]:
        for node in selections.selections:
            combined = (*conditions, *conditions_of(node.directives))
            if isinstance(node, graphql.FieldNode):
                if not node.name.value.startswith("__"):
                    yield self._root(node, owner, combined)
            elif isinstance(node, graphql.InlineFragmentNode):
                yield from self._root_selections(node.selection_set, owner, combined)
            elif isinstance(node, graphql.FragmentSpreadNode):
                yield FragmentSpread(node.name.value, combined)

    def _root(
        self,
        node: graphql.FieldNode,
        owner: graphql.GraphQLObjectType | None,
        conditions: tuple[Condition, ...],
    ) -> RootCost:
        field = owner.fields.get(node.name.value) if owner is not None else None
        below = SelectionCost()
        if node.selection_set is not None:
            below = self._set(node.selection_set, field and graphql.get_named_type(field.type))
        limit = field.args.get("limit") if field is not None else None
        requirement = requirement_of(field) if field is not None else Requirement(None)
        return RootCost(
            key=node.alias.value if node.alias else node.name.value,
            name=node.name.value,
            surface=requirement.surface,
            conditions=conditions,
            limit=_limit(node),
            default_limit=limit.default_value if limit is not None else None,
            max_limit=requirement.max_limit,
            single=below.single,
            listed=below.listed,
        )

    def _set(self, selections: graphql.SelectionSetNode, owner: Any) -> SelectionCost:
        total = SelectionCost()
        for node in selections.selections:
            self.visited += 1
            total = total.plus(self._selection(node, owner)).plus(_own_cost(node))
        return replace(total, nesting=total.nesting + 1)

    def _selection(self, node: graphql.SelectionNode, owner: Any) -> SelectionCost:
        if isinstance(node, graphql.FieldNode):
            return self._field(node, owner)
        if isinstance(node, graphql.InlineFragmentNode):
            named = node.type_condition
            inner = self._schema.type_map.get(named.name.value) if named else owner
            return self._set(node.selection_set, inner)
        if isinstance(node, graphql.FragmentSpreadNode):
            return self._fragment(node.name.value)
        return SelectionCost()

    def _fragment(self, name: str) -> SelectionCost:
        costs = self._fragment_costs
        if name not in costs:
            fragment = self._fragments.get(name)
            costs[name] = SelectionCost()  # a cycle counts nothing; validation refuses it
            if fragment is not None:
                inner = self._schema.type_map.get(fragment.type_condition.name.value)
                cost = self._set(fragment.selection_set, inner)
                costs[name] = cost.plus(_own_cost(fragment))
        return costs[name]

    def _field(self, node: graphql.FieldNode, owner: Any) -> SelectionCost:
        name = node.name.value
        aliases = 1 if node.alias else 0
        type_ = self._type(owner, name)
        below = SelectionCost()
        if node.selection_set is not None:
            below = self._set(node.selection_set, type_ and graphql.get_named_type(type_))
        if name.startswith("__") or str(getattr(owner, "name", "")).startswith("__"):
            entries = self._entries(f"{getattr(owner, 'name', '')}.{name}")
            return replace(
                below,
                depth=0,
                fields=0,
                aliases=aliases if name == "__typename" else below.aliases,
                introspected=min(entries * (1 + below.introspected), CEILING * CEILING),
            )
        objects = 1 + below.single + below.listed if node.selection_set is not None else 0
        in_list = type_ is not None and _is_list(type_)
        return replace(
            below,
            depth=below.depth + 1,
            fields=below.fields + 1,
            aliases=below.aliases + aliases,
            single=0 if in_list else objects,
            listed=objects if in_list else 0,
        )

    def _type(self, owner: Any, name: str) -> graphql.GraphQLOutputType | None:
        if name == "__schema":
            return self._schema.type_map["__Schema"]  # type: ignore[return-value]  # an object type
        if name == "__type":
            return self._schema.type_map["__Type"]  # type: ignore[return-value]  # an object type
        if not (graphql.is_object_type(owner) or graphql.is_interface_type(owner)):
            return None
        field = owner.fields.get(name)
        return None if field is None else field.type

    def _entries(self, coordinate: str) -> int:
        if coordinate == "__Schema.types":
            return len(self._schema.type_map)
        return _INTROSPECTION_LISTS.get(coordinate, 1)

    def _root_type(
        self, operation: graphql.OperationDefinitionNode
    ) -> graphql.GraphQLObjectType | None:
        return self._schema.get_root_type(operation.operation)


def _own_cost(
    node: graphql.OperationDefinitionNode | graphql.FragmentDefinitionNode | graphql.SelectionNode,
) -> SelectionCost:
    return SelectionCost(directives=len(node.directives or ()))


def _is_list(type_: graphql.GraphQLOutputType) -> bool:
    return graphql.is_list_type(type_.of_type if graphql.is_non_null_type(type_) else type_)


def _limit(node: graphql.FieldNode) -> int | str | None:
    for argument in node.arguments or ():
        if argument.name.value == "limit":
            if isinstance(argument.value, graphql.IntValueNode):
                return min(int(argument.value.value[:12]), CEILING)
            if isinstance(argument.value, graphql.VariableNode):
                return argument.value.name.value
    return None
