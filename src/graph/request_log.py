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
    ValueNode,
    VariableNode,
)

from graph.masking.guards import Requirement
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
WHOLE_REQUEST = ""  # the key of a ruling about the request as a whole; no response key is empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
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
class RootField:
    """
    One root field of an operation.

    Attributes:
        key: Its name in the response.
        resources: What may name its resource, the narrowest first: the variable, or None where
            the document itself holds the id; and that id, or the variable's default.
    """

    key: str
    name: str
    surface: Surface | None
    writes: bool
    resources: tuple[tuple[str | None, str | None], ...] = ()

    def resource(self, given: Mapping[str, Any]) -> str | None:
        """Return the id that the caller named, as it was given; None without one."""
        for variable, written in self.resources:
            found = written if variable is None else given.get(variable, written)
            if isinstance(found, str):
                return found
        return None


@dataclass(slots=True)
class RequestLog:
    """
    One request's; what is not known yet is empty.

    Attributes:
        given: The variables.
        rulings: By response key, the first of each; or under `WHOLE_REQUEST`.
        problems: What the rulings are about, under the same keys; None: nobody wants to know.
    """

    root_fields: tuple[RootField, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    denials: dict[str, Denial] = field(default_factory=dict)
    causes: dict[str, BaseException] | None = None


def root_fields(
    operation: OperationDefinitionNode,
    document: DocumentNode,
    requirements: Mapping[str, Requirement],
) -> tuple[RootField, ...]:
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
    defaults = {
        one.variable.name.value: _text(one.default_value)
        for one in operation.variable_definitions or ()
    }
    found: dict[str, RootField] = {}
    for node in _fields(operation.selection_set, fragments, set()):
        name = node.name.value
        if name in requirements:
            key = node.alias.value if node.alias else name
            found.setdefault(
                key,
                RootField(
                    key=key,
                    name=name,
                    surface=requirements[name].surface,
                    writes=writes,
                    resources=tuple(_resources(node, defaults)),
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


def _resources(
    node: FieldNode, defaults: Mapping[str, str | None]
) -> Iterator[tuple[str | None, str | None]]:
    """Return (variable, text) of each argument that may name the resource."""
    given = {argument.name.value: argument.value for argument in node.arguments or ()}
    for value in map(given.get, _NAMES):
        if isinstance(value, VariableNode):
            yield value.name.value, defaults.get(value.name.value)
        elif isinstance(value, StringValueNode):
            yield None, value.value


def _text(value: ValueNode | None) -> str | None:
    return value.value if isinstance(value, StringValueNode) else None
