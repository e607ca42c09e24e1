"""
A GraphQL document as the REST call that returns what it selects, and what the call returns besides.

A row of the table answers a document that calls the row's root field and selects no more than the
row's document, whatever the names of operation and variables, aliases and the order of fields are.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import graphql
import msgspec
import orjson
from msgspec.structs import replace

from rest_compat.binding import INPUT
from rest_compat.documents import document
from rest_compat.table import Endpoint

Fragments = Mapping[str, graphql.FragmentDefinitionNode]
JSON_TYPE, BYTES_TYPE = "application/json", "application/octet-stream"


class NoRestCall(Exception):
    """
    No row of the table returns what the document selects.

    Attributes:
        field: The field or argument that prevents it, by its path: "emails.emails.thread",
            "emails(participant:)".
        message: The reason.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


class RestCall(msgspec.Struct, frozen=True, kw_only=True):
    """
    A REST call.

    Attributes:
        path: With the query.
        headers: Without the credential.
        body: The JSON body; None without one.
        content: The bytes of an upload in base64; None without one.
        status: Of a success.
        also: Fields that the call returns besides, by their paths: "emails.emails.threadId".
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    content: str | None
    status: int
    also: tuple[str, ...] = ()

    def curl(self, base_url: str) -> str:
        """Return the call as a shell command; the token is the variable `TOKEN`."""
        words = ["curl"]
        if self.method != "GET":
            words += ["-X", self.method]
        words.append('-H "Authorization: Bearer $TOKEN"')
        for name, value in self.headers.items():
            words += ["-H", shlex.quote(f"{name}: {value}")]
        if self.content is not None:
            words += ["--data-binary", "@-"]
        elif self.body is not None:
            words += ["-d", shlex.quote(orjson.dumps(self.body).decode())]
        words.append(shlex.quote(f"{base_url}{self.path}"))
        command = " ".join(words)
        if self.content is not None:
            return f"printf %s {shlex.quote(self.content)} | base64 -d | {command}"
        return command


class _Row(msgspec.Struct, frozen=True):
    """The document of a row."""

    kind: graphql.OperationType
    root: graphql.FieldNode
    fragments: Fragments
    defaults: Mapping[str, Any]


def to_rest(
    endpoints: Sequence[Endpoint],
    schema: graphql.GraphQLSchema,
    operation: graphql.OperationDefinitionNode,
    fragments: Fragments,
    variables: Mapping[str, Any],
) -> RestCall:
    """
    Return the REST call that returns what a valid *operation* with *variables* selects.

    Raises:
        NoRestCall: A field or an argument prevents it.
    """
    roots = _selected(operation.selection_set, fragments, "")
    if len(roots) != 1:
        raise NoRestCall("".join([*roots][1:2]), "A REST call returns one root field.")
    ((name, nodes),) = roots.items()
    for endpoint in endpoints:
        row = _row(endpoint.document)
        if (row.kind, row.root.name.value) == (operation.operation, name):
            also = (*_compare(nodes, [row.root], fragments, row.fragments, name),)
            call = _call(endpoint, row, schema, _arguments(operation, nodes, variables))
            return replace(call, also=also)
    raise NoRestCall(name, f"{name} has no REST call.")


@cache
def _row(name: str) -> _Row:
    operation, *rest = graphql.parse(document(name), no_location=True).definitions
    if not isinstance(operation, graphql.OperationDefinitionNode):
        raise TypeError(f"{name} does not begin with its operation")
    (root,) = operation.selection_set.selections
    if not isinstance(root, graphql.FieldNode):
        raise TypeError(f"{name} does not select a root field")
    fragments = {
        node.name.value: node for node in rest if isinstance(node, graphql.FragmentDefinitionNode)
    }
    return _Row(operation.operation, root, fragments, _defaults(operation))


def _defaults(operation: graphql.OperationDefinitionNode) -> dict[str, Any]:
    return {
        node.variable.name.value: graphql.value_from_ast_untyped(node.default_value)
        for node in operation.variable_definitions or ()
        if node.default_value is not None
    }


def _selected(
    selection: graphql.SelectionSetNode | None, fragments: Fragments, path: str
) -> dict[str, list[graphql.FieldNode]]:
    """
    Return the selected fields by name, with fragments expanded.

    Raises:
        NoRestCall: A root field has a directive.
    """
    selected: dict[str, list[graphql.FieldNode]] = {}
    for node in _fields(selection, fragments, path):
        selected.setdefault(node.name.value, []).append(node)
    return selected


def _fields(
    selection: graphql.SelectionSetNode | None, fragments: Fragments, path: str
) -> Iterator[graphql.FieldNode]:
    for node in selection.selections if selection is not None else ():
        if node.directives and not path:
            name = getattr(node, "name", None)
            raise NoRestCall(
                name.value if name else "", "A REST call has no @skip and no @include."
            )
        if isinstance(node, graphql.FieldNode):
            yield node
        elif isinstance(node, graphql.FragmentSpreadNode):
            yield from _fields(fragments[node.name.value].selection_set, fragments, path)
        elif isinstance(node, graphql.InlineFragmentNode):
            yield from _fields(node.selection_set, fragments, path)


def _compare(
    nodes: Sequence[graphql.FieldNode],
    row_nodes: Sequence[graphql.FieldNode],
    fragments: Fragments,
    row_fragments: Fragments,
    path: str,
) -> Iterator[str]:
    """
    Iterate over the fields below one field that only the row selects.

    Raises:
        NoRestCall: A field is selected that the row does not select.
    """
    selected, expected = (
        _merged(each, own, path) for each, own in ((nodes, fragments), (row_nodes, row_fragments))
    )
    for name, below in selected.items():
        if name not in expected:
            raise NoRestCall(f"{path}.{name}", "The REST call does not return this field.")
        yield from _compare(below, expected[name], fragments, row_fragments, f"{path}.{name}")
    yield from (f"{path}.{name}" for name in expected if name not in selected)


def _merged(
    nodes: Sequence[graphql.FieldNode], fragments: Fragments, path: str
) -> dict[str, list[graphql.FieldNode]]:
    merged: dict[str, list[graphql.FieldNode]] = {}
    for node in nodes:
        for name, below in _selected(node.selection_set, fragments, path).items():
            merged.setdefault(name, []).extend(below)
    return merged


def _arguments(
    operation: graphql.OperationDefinitionNode,
    nodes: Sequence[graphql.FieldNode],
    variables: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the given arguments of the root field; equal ones, if it is selected repeatedly."""
    values = {**_defaults(operation), **variables}
    return {
        node.name.value: graphql.value_from_ast_untyped(node.value, values)
        for node in nodes[0].arguments or ()
        if not isinstance(node.value, graphql.VariableNode) or node.value.name.value in values
    }


def _call(
    endpoint: Endpoint, row: _Row, schema: graphql.GraphQLSchema, arguments: Mapping[str, Any]
) -> RestCall:
    """
    Write *arguments* as path, query, headers and body of the row's call.

    Raises:
        NoRestCall: The call has no parameter for an argument, or needs one that is absent.
    """
    name = row.root.name.value
    parameters = {
        node.name.value: node.value.name.value
        for node in row.root.arguments or ()
        if isinstance(node.value, graphql.VariableNode)
    }
    filled: dict[str, Any] = {}
    for argument, value in arguments.items():
        parameter = parameters.get(argument)
        if parameter is None:
            raise NoRestCall(f"{name}({argument}:)", "The REST call has no such parameter.")
        default = row.defaults.get(parameter)  # of an absent parameter
        if value is None and default is not None:
            raise NoRestCall(f"{name}({argument}:)", "A REST call cannot send a null.")
        if value != default:
            filled[parameter] = value
    _fill_defaults(row, schema, parameters, arguments, filled)
    path = endpoint.path
    for variable in [*filled]:
        if f"{{{variable}}}" in path:
            path = path.replace(f"{{{variable}}}", quote(_text(filled.pop(variable)), safe=""))
    headers = {
        header.title(): _text(filled.pop(variable))
        for header, variable in endpoint.headers.items()
        if variable in filled
    }
    body = filled.pop(INPUT, None)
    query = urlencode({variable: _text(value) for variable, value in filled.items()})
    uploads = endpoint.body == "upload"
    if body is not None:
        headers["Content-Type"] = BYTES_TYPE if uploads else JSON_TYPE
    return RestCall(
        method=endpoint.method,
        path=f"{path}?{query}" if query else path,
        headers=headers,
        body=None if uploads else body,
        content=body if uploads else None,
        status=endpoint.status,
    )


def _fill_defaults(
    row: _Row,
    schema: graphql.GraphQLSchema,
    parameters: Mapping[str, str],
    arguments: Mapping[str, Any],
    filled: dict[str, Any],
) -> None:
    """
    Fill in what an absent argument means, where the row's document has another default.

    Raises:
        NoRestCall: It means null, which a call cannot send.
    """
    root_type = schema.get_root_type(row.kind)
    if root_type is None:
        return
    for argument, definition in root_type.fields[row.root.name.value].args.items():
        parameter, default = parameters.get(argument, ""), definition.default_value
        if (
            parameter not in row.defaults
            or argument in arguments
            or default == row.defaults[parameter]
        ):
            continue
        if default in {graphql.Undefined, None}:
            field = f"{row.root.name.value}({argument}:)"
            raise NoRestCall(field, "The REST call fills in this argument.")
        filled[parameter] = default


def _text(value: Any) -> str:
    """Return a parameter as the query has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
