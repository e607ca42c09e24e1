"""
One pass over a document that counts depth, fields, aliases, directives, root fields and edges.

Each fragment is counted once, so the work is linear in the text however often a fragment is
spread; sums stop at a ceiling.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import graphql
import msgspec
from msgspec.structs import replace

from graph.documents.field_cost import Condition, FieldCost, conditions_of
from graph.edges import edge_of
from graph.masking.guards import Requirement, requirement_of

CEILING = 1_000_000
MAX_EDGES = 32  # that are kept below one field; documents with as many are refused

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


class FragmentSpread(msgspec.Struct, frozen=True):
    """A fragment spread among root fields; its fields run when all of *conditions* hold."""

    name: str
    conditions: tuple[Condition, ...]


# By fragment name; the operation's own selections are under "".
RootSelections = Mapping[str, tuple[FieldCost | FragmentSpread, ...]]


class SelectionCost(NamedTuple):
    """
    Counts of a selection set and everything below it; sums stop at the ceiling.

    A tuple, because each selection makes several of them.

    Attributes:
        upstream: The number of edges.
        edges: The first of the edges that are not below another one; see `FieldCost.edges`.
    """

    depth: int = 0
    nesting: int = 0
    fields: int = 0
    aliases: int = 0
    directives: int = 0
    introspected: int = 0
    single: int = 0
    listed: int = 0
    upstream: int = 0
    edges: tuple[FieldCost, ...] = ()

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
            min(self.upstream + other.upstream, CEILING),
            (*self.edges, *other.edges)[:MAX_EDGES] if other.edges else self.edges,
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
    ) -> Iterator[FieldCost | FragmentSpread]:
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
    ) -> FieldCost:
        field = owner.fields.get(node.name.value) if owner is not None else None
        below = SelectionCost()
        if node.selection_set is not None:
            below = self._set(node.selection_set, field and graphql.get_named_type(field.type))
        return replace(_cost(node.name.value, node, field, below), conditions=conditions)

    def _set(self, selections: graphql.SelectionSetNode, owner: Any) -> SelectionCost:
        total = SelectionCost()
        for node in selections.selections:
            self.visited += 1
            cost = self._selection(node, owner)
            if node.directives:
                edges = _under(cost.edges, conditions_of(node.directives))
                cost = cost._replace(edges=edges).plus(_own_cost(node))
            total = total.plus(cost)
        return total._replace(nesting=total.nesting + 1)

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
        field = self._defined(owner, name)
        type_ = field.type if field is not None else self._introspected(name)
        below = SelectionCost()
        if node.selection_set is not None:
            below = self._set(node.selection_set, type_ and graphql.get_named_type(type_))
        if name.startswith("__") or str(getattr(owner, "name", "")).startswith("__"):
            entries = self._entries(f"{getattr(owner, 'name', '')}.{name}")
            return below._replace(
                depth=0,
                fields=0,
                aliases=aliases if name == "__typename" else below.aliases,
                introspected=min(entries * (1 + below.introspected), CEILING * CEILING),
            )
        counted = below._replace(
            depth=below.depth + 1, fields=below.fields + 1, aliases=below.aliases + aliases
        )
        edge = edge_of(field) if field is not None else None
        if edge is not None:
            cost = _cost(edge.coordinate, node, field, below)
            upstream = min(below.upstream + bool(cost.surfaces), CEILING)
            return counted._replace(single=0, listed=0, upstream=upstream, edges=(cost,))
        objects = 1 + below.single + below.listed if node.selection_set is not None else 0
        in_list = type_ is not None and _is_list(type_)
        return counted._replace(
            single=0 if in_list else objects,
            listed=objects if in_list else 0,
            edges=_below(below.edges, _key(node), in_list=in_list),
        )

    def _defined(self, owner: Any, name: str) -> graphql.GraphQLField | None:
        if not (graphql.is_object_type(owner) or graphql.is_interface_type(owner)):
            return None
        field: graphql.GraphQLField | None = owner.fields.get(name)
        return field

    def _introspected(self, name: str) -> graphql.GraphQLOutputType | None:
        type_name = {"__schema": "__Schema", "__type": "__Type"}.get(name)
        if type_name is None:
            return None
        return self._schema.type_map[type_name]  # type: ignore[return-value]  # an object type

    def _entries(self, coordinate: str) -> int:
        if coordinate == "__Schema.types":
            return len(self._schema.type_map)
        return _INTROSPECTION_LISTS.get(coordinate, 1)

    def _root_type(
        self, operation: graphql.OperationDefinitionNode
    ) -> graphql.GraphQLObjectType | None:
        return self._schema.get_root_type(operation.operation)


def _cost(
    name: str, node: graphql.FieldNode, field: graphql.GraphQLField | None, below: SelectionCost
) -> FieldCost:
    """Return the cost of a root field or edge, without conditions."""
    limit = field.args.get("limit") if field is not None else None
    requirement = requirement_of(field) if field is not None else Requirement(None)
    return FieldCost(
        path=(_key(node),),
        name=name,
        surface=requirement.surface,
        reads=requirement.reads,
        conditions=(),
        limit=_limit(node),
        default_limit=limit.default_value if limit is not None else None,
        max_limit=requirement.max_limit,
        single=below.single,
        listed=below.listed,
        edges=below.edges,
    )


def _key(node: graphql.FieldNode) -> str:
    return node.alias.value if node.alias else node.name.value


def _below(edges: tuple[FieldCost, ...], key: str, *, in_list: bool) -> tuple[FieldCost, ...]:
    """Return *edges* of the objects in the field *key*."""
    return tuple(
        replace(edge, path=(key, *edge.path), in_list=edge.in_list or in_list) for edge in edges
    )


def _under(edges: tuple[FieldCost, ...], conditions: Iterable[Condition]) -> tuple[FieldCost, ...]:
    """Return *edges* that need *conditions* too."""
    needed = tuple(conditions)
    return tuple(replace(edge, conditions=(*needed, *edge.conditions)) for edge in edges)


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
