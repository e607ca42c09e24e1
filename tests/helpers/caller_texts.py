"""
Every place where a caller may put a text: arguments, members of inputs and REST parameters.

`graphql_texts` and `rest_texts` walk the schema and the table of rows, so that a new argument is
among them at once. Each makes the request that has a text at its place, and is valid otherwise.
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import graphql
import orjson
from generated_requests import GRAPH, input_type
from whole_world import WholeWorld

from graph.edges import edge_of
from graph.masking import text_limits
from graph.masking.text_limits import TextLimit
from rest_compat.binding import INPUT
from rest_compat.documents import document
from rest_compat.table import ENDPOINTS

Request = tuple[str, str, dict[str, Any]]  # method, URL, arguments of the client

_TEXT_TYPES = ("String", "ID")
_BYTES = base64.b64encode(b"oars").decode()
_VALUES: Mapping[str, object] = {
    "email": "bo@home.example",
    "fileName": "a.txt",
    "from": "2026-11-20",
    "to": "2026-11-21",
    "text": "oars",
    "q": "oars",
    "name": "jonas",
    "calendarId": 1,
    "childId": 1,
    "id": "nothing-waits-by-it",
}
# Input type -> its members in a valid request; every text member is reached from here.
_PERSON = {"email": "bo@home.example", "name": "Bo"}
_FILE = {"name": "a.txt", "contentBase64": _BYTES, "contentType": "text/plain"}
_MAIL = {"body": "b", "attachments": [_FILE]}
INPUTS: Mapping[str, Mapping[str, Any]] = {
    "SendEmailInput": {"to": [_PERSON], "cc": [_PERSON], "bcc": [_PERSON], "subject": "s", **_MAIL},
    "CreateDraftInput": {
        "to": [_PERSON],
        "cc": [_PERSON],
        "bcc": [_PERSON],
        "subject": "s",
        **_MAIL,
        "replyTo": "providerA:1",
        "forwardOf": "providerA:1",
    },
    "UpdateDraftInput": {
        "to": [_PERSON],
        "cc": [_PERSON],
        "bcc": [_PERSON],
        "body": "b",
        "addAttachments": [_FILE],
        "removeAttachments": ["0"],
    },
    "ReplyEmailInput": _MAIL,
    "ForwardEmailInput": {"to": [_PERSON], "cc": [_PERSON], **_MAIL},
    "ModifyEmailInput": {"addLabels": ["Home"], "removeLabels": ["Away"]},
    "CreateTaskItemInput": {"name": "n", "fields": {"text": "a"}},
    "UpdateTaskItemInput": {"fields": {"text": "a"}},
    "AddTaskCommentInput": {"body": "b"},
    "CreateDriveFolderInput": {"name": "n"},
    "RenameDriveFileInput": {"newName": "n.txt"},
    "MoveDriveFileInput": {"destinationFolderId": "collab:x"},
    "ShareDriveFileInput": {"type": "user", "role": "reader", "emailAddress": "bo@home.example"},
    "UpdateFilePermissionInput": {"role": "reader"},
    "CreateListItemInput": {"fields": {"Title": "a"}},
    "UpdateListItemInput": {"fields": {"Title": "a"}},
    "CreateChangeSubscriptionInput": {"url": "https://hooks.example/a", "surfaces": ["email"]},
    "CreateChildTokenInput": {
        "name": "n",
        "settings": {},
        "rules": [{"ruleType": "file", "pattern": "a", "action": "block"}],
    },
}


class CallerText(NamedTuple):
    """
    A place for a text.

    Attributes:
        name: For people: `emails(from:)`, `GET email/list_emails?from`, `SendEmailInput.subject`.
        limit: None: the text is within a JSON value, or no text (a time, a number).
        request: Makes the request with a text at this place.
    """

    name: str
    limit: TextLimit | None
    request: Callable[[WholeWorld, str], Request]


def graphql_texts() -> Iterator[CallerText]:
    """Yield every argument of the root fields, and every member of their inputs."""
    for root in (GRAPH.schema.query_type, GRAPH.schema.mutation_type):
        for name, field in root.fields.items():
            for argument, about in field.args.items():
                yield from _argument_texts(root, name, field, argument, about.type)


def rest_texts() -> Iterator[CallerText]:
    """Yield every parameter of the REST rows, and every member of their bodies."""
    for row in ENDPOINTS:
        label = f"{row.method} {row.document}"
        for variable in GRAPH.prepare(document(row.document)).variables:
            if variable.name != INPUT:
                yield CallerText(
                    f"{label}?{variable.name}",
                    _limit_of_variable(row, variable.name),
                    lambda served, text, row=row, name=variable.name: _rest(
                        served, row, text, name=name
                    ),
                )
        kind = input_type(row)
        named = graphql.get_named_type(kind) if kind is not None else None
        if named is not None and named.name in INPUTS:
            for path, limit, fill in _member_texts(named):
                yield CallerText(
                    f"{label} {path}",
                    limit,
                    lambda served, text, row=row, fill=fill: _rest(served, row, body=fill(text)),
                )


def _argument_texts(root, name, field, argument, type_) -> Iterator[CallerText]:
    named = graphql.get_named_type(type_)
    if named.name in _TEXT_TYPES or graphql.is_scalar_type(named):
        is_text = named.name in _TEXT_TYPES
        yield CallerText(
            f"{name}({argument}:)",
            text_limits.of_argument(name, argument) if is_text else None,
            lambda served, text: _graphql(served, root, name, field, {argument: text}),
        )
    elif graphql.is_input_object_type(named):
        for path, limit, fill in _member_texts(named):
            yield CallerText(
                f"{name}: {path}",
                limit,
                lambda served, text, fill=fill: _graphql(
                    served, root, name, field, {argument: fill(text)}
                ),
            )


def _member_texts(type_) -> Iterator[tuple[str, TextLimit | None, Callable[[str], Any]]]:
    """Yield (name, limit, function that fills an input) for each text member of an input type."""
    for path, limit, place in _places(type_, INPUTS[type_.name]):

        def fill(text, place=place):
            value = orjson.loads(orjson.dumps(INPUTS[type_.name]))
            place(value, text)
            return value

        yield path, limit, fill


def _places(type_, example) -> Iterator[tuple[str, TextLimit | None, Callable[[Any, str], None]]]:
    for name, field in type_.fields.items():
        named, path = graphql.get_named_type(field.type), f"{type_.name}.{name}"
        is_list = graphql.is_list_type(graphql.get_nullable_type(field.type))
        if graphql.is_input_object_type(named):
            if not is_list:
                continue
            for below, limit, place in _places(named, (example.get(name) or [{}])[0]):
                yield (
                    f"{type_.name}.{name} {below}",
                    limit,
                    lambda value, text, place=place, name=name: place(value[name][0], text),
                )
        elif named.name == "JSON":
            for kind, json in (
                ("value", lambda text: text),
                ("member", lambda text: {"Title": text, "text": text}),
                ("name", lambda text: {text: "a"}),
                ("list", lambda text: {"Title": [text], "recipientRules": {"allow": [text]}}),
            ):
                yield (
                    f"{path} ({kind})",
                    None,
                    lambda value, text, json=json, name=name: value.update({name: json(text)}),
                )
        elif not graphql.is_enum_type(named):
            yield (
                path,
                text_limits.MEMBERS.get(path),
                lambda value, text, name=name, is_list=is_list: value.update(
                    {name: [text] if is_list else text}
                ),
            )


def _graphql(served, root, name, field, arguments: dict[str, Any]) -> Request:
    values = {
        argument: _value(served, name, argument, about.type)
        for argument, about in field.args.items()
        if graphql.is_required_argument(about) and argument not in arguments
    } | arguments
    typed = ", ".join(f"${argument}: {field.args[argument].type}" for argument in values)
    passed = ", ".join(f"{argument}: ${argument}" for argument in values)
    kind = "query" if root is GRAPH.schema.query_type else "mutation"
    head = f"{kind} ({typed}) {{ {name}({passed})" if values else f"{{ {name}"
    query = f"{head} {_selection(field.type)} }}"
    return "POST", "/graphql", {"content": orjson.dumps({"query": query, "variables": values})}


def _value(served, root: str, name: str, type_) -> Any:
    named = graphql.get_named_type(type_)
    if named.name in INPUTS:
        return INPUTS[named.name]
    if named.name == "FileContent":
        return _BYTES
    ids = served.ids("/lists/" if "ListItem" in root else "")
    return ids[name] if name in ids else _VALUES[name]


def _selection(type_, depth: int = 2) -> str:
    """Select the plain fields of a type, down to some levels; edges are left out."""
    named = graphql.get_named_type(type_)
    if not graphql.is_object_type(named) or not depth:
        return ""
    parts = [
        f"{name} {below}"
        for name, field in named.fields.items()
        if edge_of(field) is None
        and not any(map(graphql.is_required_argument, field.args.values()))
        and ((below := _selection(field.type, depth - 1)) or _is_leaf(field.type))
    ]
    return f"{{ {' '.join(parts)} }}" if parts else ""


def _is_leaf(type_) -> bool:
    return graphql.is_leaf_type(graphql.get_named_type(type_))


def _rest(served, row, text: str = "", *, name: str = "", body: Any = None) -> Request:
    aliases = {variable: alias for alias, variable in row.aliases.items()}
    headers = {
        header: text.encode() for header, variable in row.headers.items() if variable == name
    }
    ids, query = {}, {}
    if f"{{{name}}}" in row.path:
        ids[name] = quote(text, safe="", errors="replace")
    elif name and not headers:
        query[name] = text
    for variable in GRAPH.prepare(document(row.document)).variables:
        is_filled = variable.name in {name, INPUT} or f"{{{variable.name}}}" in row.path
        if variable.required and not is_filled:
            value = served.parameters.get(variable.name, _VALUES.get(variable.name))
            query[variable.name] = str(value)
    url = served.url(row.path, **ids)
    pairs = [
        f"{aliases.get(key, key)}={quote(value, errors='replace')}" for key, value in query.items()
    ]
    if pairs:
        url = f"{url}?{'&'.join(pairs)}"
    content: dict[str, Any] = {}
    if row.body == "upload":
        content["content"] = b"oars"
    elif body is not None or input_type(row) is not None:
        named = graphql.get_named_type(input_type(row))
        content["content"] = orjson.dumps(body if body is not None else INPUTS[named.name])
    if headers:
        content["headers"] = headers
    return row.method, url, content


def _limit_of_variable(row, name: str) -> TextLimit | None:
    """Return the limit of the argument that a variable of a row's document fills."""
    tree = graphql.parse(document(row.document))
    (operation,) = (
        node for node in tree.definitions if isinstance(node, graphql.OperationDefinitionNode)
    )
    for field in operation.selection_set.selections:
        for argument in field.arguments:
            value = argument.value
            if isinstance(value, graphql.VariableNode) and value.name.value == name:
                root = GRAPH.schema.get_root_type(operation.operation)
                type_ = root.fields[field.name.value].args[argument.name.value].type
                if graphql.get_named_type(type_).name in _TEXT_TYPES:
                    return text_limits.of_argument(field.name.value, argument.name.value)
    return None
