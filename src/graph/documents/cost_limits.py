"""
What a document may cost, measured right after parsing and before anything else looks at it.

Introspection is free of depth and fields; it has a budget of its own, twice what the standard
introspection query needs. Source: decisions 13 and 16.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    BooleanValueNode,
    DocumentNode,
    GraphQLSchema,
    IntValueNode,
    OperationDefinitionNode,
    OperationType,
    get_introspection_query,
    parse,
)

from graph.documents.cost_walker import (
    Condition,
    CostWalker,
    RootCost,
    RootSelections,
    SelectionCost,
)
from policy.refusals import InvalidInput
from policy.vocabulary import Code

MAX_BYTES = 64 * 1024  # of a request body
MAX_TOKENS = 2_000
MAX_DEPTH = 12  # levels of fields
MAX_NESTING = 64  # levels of selection sets, fragments included; keeps recursion far from its limit
MAX_ALIASES = 30
MAX_FIELDS = 1_000
MAX_DIRECTIVES = 50
MAX_UPSTREAM = 20  # root fields that ask a provider
MAX_OBJECTS = 25_000  # returned
MAX_PAIRS = 20_000  # fields that repeat each other; keeps validation within 100 ms of CPU


class QueryTooCostly(InvalidInput):
    code = Code.QUERY_TOO_COSTLY


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationCost:
    """
    What one operation of a document costs.

    Attributes:
        parts: Its root fields, and the fragments among them.
        defaults: The defaults of its boolean and integer variables.
        visited: Selections looked at to find this out.
    """

    kind: OperationType
    parts: RootSelections
    defaults: Mapping[str, object]
    visited: int

    @property
    def roots(self) -> tuple[RootCost, ...]:
        """Every root field that is written, whatever its conditions are."""
        return tuple(self._reached("", lambda _: True, set()))

    def running(self, variables: Mapping[str, Any]) -> tuple[RootCost, ...]:
        """Return the root fields that run with *variables*, one per response key."""
        return tuple({root.key: root for root in self._found(variables)}.values())

    def estimate_objects(self, variables: Mapping[str, Any]) -> int:
        """Estimate how many objects it returns; each of the fields that are merged adds its own."""
        values = {**self.defaults, **variables}
        return sum(root.objects(values) for root in self._found(variables))

    def _found(self, variables: Mapping[str, Any]) -> Iterator[RootCost]:
        values = {**self.defaults, **variables}
        return self._reached("", lambda condition: condition.holds(values), set())

    def _reached(
        self, fragment: str, holds: Callable[[Condition], bool], entered: set[str]
    ) -> Iterator[RootCost]:
        """Enter each fragment once, and not before a spread of it holds: another one may."""
        for part in self.parts.get(fragment, ()):
            if not all(map(holds, part.conditions)):
                continue
            if isinstance(part, RootCost):
                yield part
            elif part.name not in entered:
                entered.add(part.name)
                yield from self._reached(part.name, holds, entered)

    def check(self, variables: Mapping[str, Any]) -> None:
        """
        Check what depends on variables.

        Raises:
            TooCostly: Too many objects, or more than one mutation field.
        """
        if self.kind is OperationType.MUTATION and len(self.running(variables)) > 1:
            raise QueryTooCostly("A request may hold one mutation field.")
        if self.estimate_objects(variables) > MAX_OBJECTS:
            raise QueryTooCostly(f"The query could return more than {MAX_OBJECTS} objects.")

    def charges(self, variables: Mapping[str, Any]) -> dict[str, int]:
        """Count root fields per rate bucket; what touches no surface costs 1 in `graphql`."""
        costs: dict[str, int] = {}
        for root in self.running(variables):
            if root.surface is not None:
                costs[root.surface.value] = costs.get(root.surface.value, 0) + 1
        return costs or {"graphql": 1}


class CostLimits:
    """Measures documents against one schema."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self._schema = schema
        standard = parse(get_introspection_query())
        self._introspection = 2 * CostWalker(schema, standard).operations()[0][1].introspected

    def measure(
        self, document: DocumentNode, *, exempt: bool = False
    ) -> Mapping[str | None, OperationCost]:
        """
        Measure every operation of *document*, by name; *exempt* refuses none.

        Raises:
            TooCostly: One of them exceeds a limit that no variable can change.
        """
        counter = CostWalker(self._schema, document)
        counted = counter.operations()
        if counter.pairs() > MAX_PAIRS and not exempt:
            raise QueryTooCostly("The query repeats the same fields too often.")
        for _, tally in counted:
            if not exempt:
                self._check(tally)
        measures = {
            operation.name.value if operation.name else None: OperationCost(
                kind=operation.operation,
                parts=counter.parts(operation),
                defaults=_defaults(operation),
                visited=counter.visited,
            )
            for operation, _ in counted
        }
        for cost in measures.values():
            if not exempt and sum(root.surface is not None for root in cost.roots) > MAX_UPSTREAM:
                raise QueryTooCostly(f"The query has more than {MAX_UPSTREAM} root fields.")
        return measures

    def _check(self, tally: SelectionCost) -> None:
        for counted, most, what in (
            (tally.depth, MAX_DEPTH, "levels of fields"),
            (tally.nesting, MAX_NESTING, "levels of fragments and fields"),
            (tally.fields, MAX_FIELDS, "fields"),
            (tally.aliases, MAX_ALIASES, "aliases"),
            (tally.directives, MAX_DIRECTIVES, "directives"),
        ):
            if counted > most:
                raise QueryTooCostly(f"The query has more than {most} {what}, fragments expanded.")
        if tally.introspected > self._introspection:
            raise QueryTooCostly("The introspection asks for too much at once.")


def _defaults(operation: OperationDefinitionNode) -> dict[str, object]:
    found: dict[str, object] = {}
    for definition in operation.variable_definitions or ():
        default, name = definition.default_value, definition.variable.name.value
        if isinstance(default, BooleanValueNode):
            found[name] = default.value
        elif isinstance(default, IntValueNode):
            found[name] = int(default.value[:12])
    return found
