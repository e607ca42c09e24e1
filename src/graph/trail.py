"""What a request leaves behind for the operator's side: what was asked, and what stopped it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    StringValueNode,
    VariableNode,
)

from graph.guards import Requirement
from policy.vocabulary import Code, Layer, Surface

# The arguments that name the one resource that a root field is about, the narrowest first.
_NAMES = (
    "itemId",
    "fileId",
    "listId",
    "emailId",
    "threadId",
    "eventId",
    "boardId",
    "folderId",
    "siteId",
)
WHOLE = ""  # the key of a ruling about the request as a whole; no response key is empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """
    What stopped a root field, or the whole request.

    Attributes:
        rule_id: Of the collab rule that decided; callers never see it.
    """

    layer: Layer
    code: Code
    status: int
    rule_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """
    One root field of an operation.

    Attributes:
        key: Its name in the response.
        variable: The variable that names its resource; None when none does.
        literal: The id of its resource where the document itself holds it.
    """

    key: str
    name: str
    surface: Surface | None
    writes: bool
    variable: str | None = None
    literal: str | None = None

    def resource(self, given: Mapping[str, Any]) -> str | None:
        """Return the id that the caller named, as it was given; None without one."""
        found = self.literal if self.variable is None else given.get(self.variable)
        return found if isinstance(found, str) else None


@dataclass(slots=True)
class Trail:
    """
    One request's; what is not known yet is empty.

    Attributes:
        given: The variables.
        rulings: By response key, the first of each; or under `WHOLE`.
        problems: What the rulings are about, under the same keys; None: nobody wants to know.
    """

    askings: tuple[Asking, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    rulings: dict[str, Ruling] = field(default_factory=dict)
    problems: dict[str, BaseException] | None = None


def askings(
    operation: OperationDefinitionNode,
    document: DocumentNode,
    requirements: Mapping[str, Requirement],
) -> tuple[Asking, ...]:
    """
    Return what *operation* of *document* asks, one per response key.

    Introspection asks nothing.
    """
    fragments = {
        one.name.value: one
        for one in document.definitions
        if isinstance(one, FragmentDefinitionNode)
    }
    writes = operation.operation is OperationType.MUTATION
    found: dict[str, Asking] = {}
    for node in _fields(operation.selection_set, fragments, set()):
        name = node.name.value
        if name in requirements:
            key = node.alias.value if node.alias else name
            variable, literal = _resource(node)
            found.setdefault(
                key,
                Asking(
                    key=key,
                    name=name,
                    surface=requirements[name].surface,
                    writes=writes,
                    variable=variable,
                    literal=literal,
                ),
            )
    return tuple(found.values())


def _fields(
    selections: SelectionSetNode,
    fragments: Mapping[str, FragmentDefinitionNode],
    entered: set[str],
) -> Iterator[FieldNode]:
    for node in selections.selections:
        if isinstance(node, FieldNode):
            yield node
        elif isinstance(node, InlineFragmentNode):
            yield from _fields(node.selection_set, fragments, entered)
        elif isinstance(node, FragmentSpreadNode) and node.name.value not in entered:
            entered.add(node.name.value)
            yield from _fields(fragments[node.name.value].selection_set, fragments, entered)


def _resource(node: FieldNode) -> tuple[str | None, str | None]:
    """Return (variable, literal) of the argument that names the resource."""
    given = {argument.name.value: argument.value for argument in node.arguments or ()}
    for name in _NAMES:
        value = given.get(name)
        if isinstance(value, VariableNode):
            return value.name.value, None
        if isinstance(value, StringValueNode):
            return None, value.value
    return None, None
