"""What an operation selects, as coordinates of the schema, whoever asks and whatever is hidden."""

from graphql import (
    FieldNode,
    OperationDefinitionNode,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    visit,
)

from graph.operation import Operation


def coordinates(operation: Operation) -> frozenset[str]:
    """Return the coordinates ("Email.body") that *operation* selects, in fragments too."""
    program = operation.program
    types = TypeInfo(program.schema)
    found = _Selected(types, program.node)
    visit(program.document, TypeInfoVisitor(types, found))
    return frozenset(found.found)


class _Selected(Visitor):
    """Collects the fields of one operation and of the document's fragments."""

    def __init__(self, types: TypeInfo, operation: OperationDefinitionNode) -> None:
        super().__init__()
        self.found: set[str] = set()
        self._types = types
        self._operation = operation

    def enter_operation_definition(self, node: OperationDefinitionNode, *_: object) -> object:
        """Leave the document's other operations out."""
        return None if node is self._operation else self.SKIP

    def enter_field(self, node: FieldNode, *_: object) -> None:
        """Note a field by its type and name."""
        owner = self._types.get_parent_type()
        if owner is not None:
            self.found.add(f"{owner.name}.{node.name.value}")
