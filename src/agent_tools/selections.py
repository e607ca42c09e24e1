"""The part of a selection that a token can see, and documents of one root field."""

from collections.abc import Callable, Iterable, Iterator

import graphql
from graphql import FieldNode, GraphQLField, GraphQLObjectType

from agent_tools.rows import ToolCall

IsMasked = Callable[[GraphQLField], bool]


def visible(selection: str, type_: GraphQLObjectType, is_masked: IsMasked) -> dict[str, str]:
    """
    Return the fields of *selection* that the type of a shape has and shows, by name.

    A field whose own selection has nothing left is left out.
    """
    document = graphql.parse(f"{{ {selection} }}", no_location=True)
    (operation,) = document.definitions
    if not isinstance(operation, graphql.OperationDefinitionNode):
        raise TypeError(selection)
    return dict(_visible(operation.selection_set.selections, type_, is_masked))


def _visible(
    nodes: Iterable[graphql.SelectionNode], type_: GraphQLObjectType, is_masked: IsMasked
) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if not isinstance(node, FieldNode):
            continue
        field = type_.fields.get(node.name.value)
        if field is None or is_masked(field):
            continue
        text = graphql.print_ast(FieldNode(name=node.name, arguments=node.arguments))
        if node.selection_set is not None:
            below = graphql.get_named_type(field.type)
            if not isinstance(below, GraphQLObjectType):
                continue
            inner = [each for _, each in _visible(node.selection_set.selections, below, is_masked)]
            if not inner:
                continue
            text = f"{text} {{ {' '.join(inner)} }}"
        yield node.name.value, text


def document(call: ToolCall, root: GraphQLField, *, name: str, kind: str, selection: str) -> str:
    """
    Return the document of *call*; every argument of *root* that it fills is a variable.

    *root* is a field of the whole schema or of a shape, *selection* that of the result.
    """
    paths = (*call.paths.values(), *call.constants)
    names = dict.fromkeys(path.partition(".")[0] for path in paths)
    filled = [argument for argument in names if argument in root.args]
    variables = ", ".join(f"${argument}: {root.args[argument].type}" for argument in filled)
    values = ", ".join(f"{argument}: ${argument}" for argument in filled)
    head = f"({variables})" if filled else ""
    arguments = f"({values})" if filled else ""
    return f"{kind} {name}{head} {{ result: {call.root}{arguments} {{ {selection} }} }}"
