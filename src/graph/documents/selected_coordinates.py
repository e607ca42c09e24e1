"""The schema coordinates that an operation selects, whatever the caller may see."""

from collections.abc import Mapping
from typing import Any

import graphql

from graph.documents.field_cost import conditions_of
from graph.documents.operation import Operation


def selected_coordinates(operation: Operation, given: Mapping[str, Any]) -> frozenset[str]:
    """
    Return the coordinates ("Email.body") that *operation* selects with the variables *given*.

    A selection whose condition depends on a missing variable counts as selected.
    """
    program = operation.program
    fragments = {
        definition.name.value: definition
        for definition in program.document.definitions
        if isinstance(definition, graphql.FragmentDefinitionNode)
    }
    values = {**operation.cost.defaults, **given}
    collector = _CoordinateCollector(graphql.TypeInfo(program.schema), fragments, values)
    collector.walk(program.node)
    return frozenset(collector.coordinates)


class _CoordinateCollector(graphql.Visitor):
    """Collects the coordinates of fields, also within spread fragments."""

    def __init__(
        self,
        types: graphql.TypeInfo,
        fragments: Mapping[str, graphql.FragmentDefinitionNode],
        values: Mapping[str, Any],
    ) -> None:
        super().__init__()
        self.coordinates: set[str] = set()
        self._types = types
        self._unvisited = dict(fragments)
        self._values = values

    def walk(self, node: graphql.Node) -> None:
        """Visit *node* and everything below it."""
        graphql.visit(node, graphql.TypeInfoVisitor(self._types, self))

    def enter(self, node: graphql.Node, *_: object) -> object:
        """Add a field's coordinate; visit a fragment at its first spread that holds."""
        conditions = conditions_of(getattr(node, "directives", ()))
        if not all(condition.holds(self._values) for condition in conditions):
            return self.SKIP
        if isinstance(node, graphql.FieldNode):
            owner = self._types.get_parent_type()
            if owner is not None:
                self.coordinates.add(f"{owner.name}.{node.name.value}")
        elif isinstance(node, graphql.FragmentSpreadNode):
            fragment = self._unvisited.pop(node.name.value, None)
            if fragment is not None:
                self.walk(fragment)
        return None
