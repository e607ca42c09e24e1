"""
Document limits, checked right after parsing (docs/spec/graphql.md#document-limits).

Introspection fields do not count towards depth and fields; they have a budget of their own, one
and a half times the need of the standard introspection query.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import graphql
import msgspec

from graph.documents import cost_walker
from graph.documents.field_cost import Condition, FieldCost
from graph.execution.counting_executor import MAX_OBJECTS, QueryTooCostly

MAX_BYTES = 64 * 1024  # of a request body, without the bytes of attachments
MAX_BYTES_WITH_FILES = 4 * 1024 * 1024  # as a REST body with a mail
MAX_TOKENS = 2_000
MAX_LINES = 5_000  # an error counts the lines before it
MAX_DEPTH = 12  # levels of fields
MAX_NESTING = 64  # levels of selection sets, fragments included; bounds recursion
MAX_ALIASES = 30
MAX_FIELDS = 1_000
MAX_DIRECTIVES = 50
MAX_UPSTREAM = 20  # root fields and edges that call a provider
MAX_COMPARISONS = 12_000  # steps of validation that compare repeated fields and fragments


class OperationCost(msgspec.Struct, frozen=True, kw_only=True):
    """
    The cost of one operation of a document.

    Attributes:
        roots_by_fragment: Its root fields, and the spreads of fragments among them.
        defaults: The defaults of its boolean and integer variables.
        visited: How many selections were visited to measure it.
    """

    kind: graphql.OperationType
    roots_by_fragment: cost_walker.RootSelections
    defaults: Mapping[str, object]
    visited: int

    @property
    def roots(self) -> tuple[FieldCost, ...]:
        """Every root field in the text, whatever its conditions are."""
        return tuple(self._walk("", lambda _: True, set()))

    @property
    def edges(self) -> tuple[FieldCost, ...]:
        """Every edge in the text that may run, with its whole path."""
        return tuple(edge for root in self.roots for edge in root.every_edge({}))

    def running_roots(self, variables: Mapping[str, Any]) -> tuple[FieldCost, ...]:
        """Return the root fields that run with *variables*, one per response key."""
        return tuple({root.key: root for root in self._selected(variables)}.values())

    def running_edges(self, variables: Mapping[str, Any]) -> tuple[FieldCost, ...]:
        """Return the edges that may run with *variables*, one per path, with their whole paths."""
        values = {**self.defaults, **variables}
        edges = (edge for root in self._selected(variables) for edge in root.every_edge(values))
        return tuple({edge.key: edge for edge in edges}.values())

    def estimate_objects(self, variables: Mapping[str, Any]) -> int:
        """Estimate the number of returned objects; merged fields count separately."""
        values = {**self.defaults, **variables}
        return sum(root.estimate_objects(values) for root in self._selected(variables))

    def _selected(self, variables: Mapping[str, Any]) -> Iterator[FieldCost]:
        values = {**self.defaults, **variables}
        return self._walk("", lambda condition: condition.holds(values), set())

    def _walk(
        self, fragment: str, holds: Callable[[Condition], bool], entered: set[str]
    ) -> Iterator[FieldCost]:
        """Yield root fields; each fragment is entered once, at its first spread that holds."""
        for selection in self.roots_by_fragment.get(fragment, ()):
            if not all(map(holds, selection.conditions)):
                continue
            if isinstance(selection, FieldCost):
                yield selection
            elif selection.name not in entered:
                entered.add(selection.name)
                yield from self._walk(selection.name, holds, entered)

    def check(self, variables: Mapping[str, Any]) -> None:
        """
        Check the limits that depend on variables.

        Raises:
            QueryTooCostly: Too many objects, or more than one mutation field.
        """
        if self.kind is graphql.OperationType.MUTATION and len(self.running_roots(variables)) > 1:
            raise QueryTooCostly("A request may contain one mutation field.")
        if self.estimate_objects(variables) > MAX_OBJECTS:
            raise QueryTooCostly(
                f"The query could return more than {MAX_OBJECTS} objects"
                f"{self._largest_edge(variables)}."
            )

    def _largest_edge(self, variables: Mapping[str, Any]) -> str:
        """Name the edge right below a root field that returns most objects, if there is one."""
        values = {**self.defaults, **variables}
        objects = {
            edge.name: root.estimate_edge(edge, values)
            for root in self._selected(variables)
            for edge in root.running_edges(values)
        }
        if not objects:
            return ""
        name = max(objects, key=objects.__getitem__)
        return f", {objects[name]} of them by {name}"

    def charges(self, variables: Mapping[str, Any]) -> dict[str, int]:
        """Count root fields and edges per rate bucket; none of a surface: 1 in `graphql`."""
        charges: dict[str, int] = {}
        for field in (*self.running_roots(variables), *self.running_edges(variables)):
            for surface in field.surfaces:
                charges[surface.value] = charges.get(surface.value, 0) + 1
        return charges or {"graphql": 1}


class CostLimits:
    """Measures documents against one schema."""

    def __init__(self, schema: graphql.GraphQLSchema) -> None:
        self._schema = schema
        standard = graphql.parse(graphql.get_introspection_query())
        needed = cost_walker.CostWalker(schema, standard).operations()[0][1].introspected
        self._max_introspected = needed * 3 // 2

    def measure(
        self, document: graphql.DocumentNode, *, exempt: bool = False
    ) -> Mapping[str | None, OperationCost]:
        """
        Measure every operation of *document*, by name; an *exempt* document has no limits.

        Raises:
            QueryTooCostly: An operation exceeds a limit that does not depend on variables.
        """
        if not exempt and count_comparisons(document) > MAX_COMPARISONS:
            raise QueryTooCostly("The query repeats the same fields too often.")
        walker = cost_walker.CostWalker(self._schema, document)
        operations = walker.operations()
        for _, selections in operations:
            if not exempt:
                self._check(selections)
                if selections.upstream > MAX_UPSTREAM:
                    raise _too_many_reads(_last_read(selections.edges))
        costs = {
            operation.name.value if operation.name else None: OperationCost(
                kind=operation.operation,
                roots_by_fragment=walker.roots_by_fragment(operation),
                defaults=_defaults(operation),
                visited=walker.visited,
            )
            for operation, _ in operations
        }
        for cost in costs.values():
            if exempt:
                continue
            roots = [root for root in cost.roots if root.surfaces]
            if len(roots) > MAX_UPSTREAM:
                raise QueryTooCostly(f"The query has more than {MAX_UPSTREAM} root fields.")
            edges = [edge for edge in cost.edges if edge.surfaces]
            if len(roots) + len(edges) > MAX_UPSTREAM:
                raise _too_many_reads(edges[MAX_UPSTREAM - len(roots)].name)
        return costs

    def _check(self, cost: cost_walker.SelectionCost) -> None:
        for count, limit, unit in (
            (cost.depth, MAX_DEPTH, "levels of fields"),
            (cost.nesting, MAX_NESTING, "levels of fragments and fields"),
            (cost.fields, MAX_FIELDS, "fields"),
            (cost.aliases, MAX_ALIASES, "aliases"),
            (cost.directives, MAX_DIRECTIVES, "directives"),
        ):
            if count > limit:
                raise QueryTooCostly(f"The query has more than {limit} {unit}, fragments expanded.")
        if cost.introspected > self._max_introspected:
            raise QueryTooCostly("The introspection query is too large.")


def _too_many_reads(edge: str) -> QueryTooCostly:
    return QueryTooCostly(
        f"The query has more than {MAX_UPSTREAM} fields that call a provider; {edge} exceeds it."
    )


def _last_read(edges: Sequence[FieldCost]) -> str:
    """Name the last of *edges* that asks a provider, or an edge below it."""
    below = [edge for parent in edges for edge in (parent, *parent.every_edge({}))]
    return [edge.name for edge in below if edge.surfaces][-1]


def _defaults(operation: graphql.OperationDefinitionNode) -> dict[str, object]:
    defaults: dict[str, object] = {}
    for definition in operation.variable_definitions or ():
        value, name = definition.default_value, definition.variable.name.value
        if isinstance(value, graphql.BooleanValueNode):
            defaults[name] = value.value
        elif isinstance(value, graphql.IntValueNode):
            defaults[name] = int(value.value[:12])
    return defaults


STEPS_PER_PAIR = 2  # of validation, at least; arguments and fields below take more


def count_comparisons(document: graphql.DocumentNode) -> int:
    """
    Count the steps that validation needs at least to compare the repeated fields of *document*.

    The fields of a selection set and of its inline fragments are compared with each other when
    they have the same response key. Each field is visited once.
    """
    steps = 0
    selection_sets = [
        definition.selection_set
        for definition in document.definitions
        if isinstance(definition, graphql.ExecutableDefinitionNode)
    ]
    for selection_set in selection_sets:  # which grows
        keys: Counter[str] = Counter()
        merged_sets = [selection_set]
        for merged_set in merged_sets:  # which grows, too
            for node in merged_set.selections:
                if isinstance(node, graphql.InlineFragmentNode):
                    merged_sets.append(node.selection_set)
                elif isinstance(node, graphql.FieldNode):
                    keys[(node.alias or node.name).value] += 1
                    if node.selection_set is not None:
                        selection_sets.append(node.selection_set)
        pairs = sum(count * (count - 1) // 2 for count in keys.values())
        steps += STEPS_PER_PAIR * pairs
    return steps
