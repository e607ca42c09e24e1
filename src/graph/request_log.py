"""Notes on a request for the decision log: its root fields and edges, and what denied them."""

from collections.abc import Iterator, Mapping
from typing import Any

import graphql
import msgspec

from graph.masking.guards import Requirement
from policy.vocabulary import Code, Layer, Surface

# Arguments that hold the id of a root field's resource, the narrowest resource first.
_RESOURCE_ARGUMENTS = (
    "itemId",
    "fileId",
    "listId",
    "emailId",
    "threadId",
    "eventId",
    "boardId",
    "folderId",
    "driveId",
    "siteId",
)
WHOLE_REQUEST = ""  # the key of a denial of the whole request; no response key is empty


class Denial(msgspec.Struct, frozen=True, kw_only=True):
    """
    The refusal or failure of a root field, or of the whole request.

    Attributes:
        rule_id: The id of the collab rule that decided; callers never see it.
    """

    layer: Layer
    code: Code
    status: int
    rule_id: int | None = None


class OperationField(msgspec.Struct, frozen=True, kw_only=True):
    """
    One root field or edge of an operation.

    Attributes:
        key: Its name in the response; of an edge the names on its path, joined by dots.
        name: Of an edge its coordinate, like "Email.thread".
        resources: Candidates for the id of its resource, the narrowest first: the variable's
            name, or None for a literal; and the literal, or the variable's default.
    """

    key: str
    name: str
    surface: Surface | None
    writes: bool
    resources: tuple[tuple[str | None, str | None], ...] = ()

    def resource(self, variables: Mapping[str, Any]) -> str | None:
        """Return the resource id in the request, unchanged; None without one."""
        for variable, default in self.resources:
            value = default if variable is None else variables.get(variable, default)
            if isinstance(value, str):
                return value
        return None


class RequestLog(msgspec.Struct):
    """
    The notes on one request; empty where nothing is known yet.

    Attributes:
        denials: The first denial of each key of `fields`, or of `WHOLE_REQUEST`.
        noted: The denial that a setting which only logs would have made.
    """

    fields: tuple[OperationField, ...] = ()
    variables: Mapping[str, Any] = msgspec.field(default_factory=dict)
    denials: dict[str, Denial] = msgspec.field(default_factory=dict)
    noted: Denial | None = None

    def __repr__(self) -> str:
        """Name the type alone: variables and responses hold content, which no log may show."""
        return f"<{type(self).__name__}>"


def root_fields(
    operation: graphql.OperationDefinitionNode,
    document: graphql.DocumentNode,
    requirements: Mapping[str, Requirement],
) -> tuple[OperationField, ...]:
    """
    Return the root fields of *operation* in *document*, one per response key.

    Introspection fields are left out.
    """
    fragments = {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, graphql.FragmentDefinitionNode)
    }
    writes = operation.operation is graphql.OperationType.MUTATION
    defaults = {
        definition.variable.name.value: _string(definition.default_value)
        for definition in operation.variable_definitions or ()
    }
    fields: dict[str, OperationField] = {}
    for node in field_nodes(operation.selection_set, fragments):
        name = node.name.value
        if name in requirements:
            key = node.alias.value if node.alias else name
            fields.setdefault(
                key,
                OperationField(
                    key=key,
                    name=name,
                    surface=requirements[name].surface,
                    writes=writes,
                    resources=tuple(_resources(node, defaults)),
                ),
            )
    return tuple(fields.values())


def field_nodes(
    selections: graphql.SelectionSetNode,
    fragments: Mapping[str, graphql.FragmentDefinitionNode],
    entered: set[str] | None = None,
) -> Iterator[graphql.FieldNode]:
    """Yield the fields of *selections*, also those of its fragments; each fragment once."""
    entered = set() if entered is None else entered
    for node in selections.selections:
        if isinstance(node, graphql.FieldNode):
            yield node
        elif isinstance(node, graphql.InlineFragmentNode):
            yield from field_nodes(node.selection_set, fragments, entered)
        elif isinstance(node, graphql.FragmentSpreadNode) and node.name.value not in entered:
            entered.add(node.name.value)
            yield from field_nodes(fragments[node.name.value].selection_set, fragments, entered)


def _resources(
    node: graphql.FieldNode, defaults: Mapping[str, str | None]
) -> Iterator[tuple[str | None, str | None]]:
    """Yield (variable, literal or default) of each argument that may hold the resource's id."""
    arguments = {argument.name.value: argument.value for argument in node.arguments or ()}
    for value in map(arguments.get, _RESOURCE_ARGUMENTS):
        if isinstance(value, graphql.VariableNode):
            yield value.name.value, defaults.get(value.name.value)
        elif isinstance(value, graphql.StringValueNode):
            yield None, value.value


def _string(value: graphql.ValueNode | None) -> str | None:
    return value.value if isinstance(value, graphql.StringValueNode) else None
