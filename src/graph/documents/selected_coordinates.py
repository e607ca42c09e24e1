"""What an operation selects, as coordinates of the schema, whoever asks and whatever is hidden."""

from collections.abc import Mapping
from typing import Any

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    Node,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    visit,
)

from graph.documents.cost_walker import conditions_of
from graph.documents.operation import Operation


def selected_coordinates(operation: Operation, given: Mapping[str, Any]) -> frozenset[str]:
    """
    Return the coordinates ("Email.body") that *operation* selects with the variables *given*.

    What a variable that is not known decides about is selected.
    """
    program = operation.program
    fragments = {
        one.name.value: one
        for one in program.document.definitions
        if isinstance(one, FragmentDefinitionNode)
    }
    values = {**operation.cost.defaults, **given}
    found = _Selected(TypeInfo(program.schema), fragments, values)
    found.look(program.node)
    return frozenset(found.found)


class _Selected(Visitor):
    """Collects fields, those of spread fragments too."""

    def __init__(
        self,
        types: TypeInfo,
        fragments: Mapping[str, FragmentDefinitionNode],
        values: Mapping[str, Any],
    ) -> None:
        super().__init__()
        self.found: set[str] = set()
        self._types = types
        self._left = dict(fragments)
        self._values = values

    def look(self, node: Node) -> None:
        """Go through *node*."""
        visit(node, TypeInfoVisitor(self._types, self))

    def enter(self, node: Node, *_: object) -> object:
        """Note a field by its type and name; enter each fragment once, where a spread holds."""
        conditions = conditions_of(getattr(node, "directives", ()))
        if not all(one.holds(self._values) for one in conditions):
            return self.SKIP
        if isinstance(node, FieldNode):
            owner = self._types.get_parent_type()
            if owner is not None:
                self.found.add(f"{owner.name}.{node.name.value}")
        elif isinstance(node, FragmentSpreadNode):
            fragment = self._left.pop(node.name.value, None)
            if fragment is not None:
                self.look(fragment)
        return None
