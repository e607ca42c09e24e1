"""Tool arguments as JSON Schema, and as the variables of a document."""

import base64
from collections.abc import Iterable, Mapping
from typing import Any

import graphql

from agent_tools.rows import ToolCall
from graph.documents.operation import Operation
from policy.vocabulary import not_known
from rest_compat.body import invalid_body
from rest_compat.inputs import problems_of

_TYPES = {
    "String": "string",
    "ID": "string",
    "DateTime": "string",
    "FileContent": "string",
    "Int": "integer",
    "Long": "integer",
    "Float": "number",
    "Boolean": "boolean",
    "JSON": "object",
}
# A person to write to is written as an address.
_PARTICIPANT = "ParticipantInput"


def type_at(
    arguments: Mapping[str, graphql.GraphQLArgument], path: str
) -> graphql.GraphQLInputType | None:
    """Return the type of a variable or of one of its members; None if the shape has none."""
    name, _, rest = path.partition(".")
    argument = arguments.get(name)
    kind: Any = None if argument is None else argument.type
    for member in filter(None, rest.split(".")):
        fields = getattr(graphql.get_named_type(kind), "fields", {})
        kind = fields[member].type if member in fields else None
    return kind  # type: ignore[no-any-return]  # of graphql-core's union


def json_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of an input type, without descriptions and defaults."""
    if isinstance(kind, graphql.GraphQLNonNull):
        return json_schema(kind.of_type)
    if isinstance(kind, graphql.GraphQLList):
        return {"type": "array", "items": json_schema(kind.of_type)}
    if isinstance(kind, graphql.GraphQLEnumType):
        return {"enum": list(kind.values)}
    if isinstance(kind, graphql.GraphQLInputObjectType):
        if kind.name == _PARTICIPANT:
            return {"type": "string"}
        members = {name: json_schema(member.type) for name, member in kind.fields.items()}
        needed = [
            name for name, each in kind.fields.items() if graphql.is_required_input_field(each)
        ]
        return {"type": "object", "properties": members, **({"required": needed} if needed else {})}
    return {"type": _TYPES.get(str(kind), "string")}


def is_required(arguments: Mapping[str, graphql.GraphQLArgument], path: str) -> bool:
    """Return whether a document needs what fills *path*."""
    return isinstance(type_at(arguments, path), graphql.GraphQLNonNull)


def variables(
    call: ToolCall, operation: Operation, sent: Mapping[str, Any], *, others: Iterable[str]
) -> dict[str, Any]:
    """
    Return the variables of a call with the arguments *sent*; null counts as absent.

    *others* are arguments of the tool that fill no variable.

    Raises:
        Refusal: 400 `VALIDATION_ERROR`, one detail per argument that is unknown, missing or wrong.
    """
    known = (*call.paths, *others)
    unknown = [(name, not_known(known, name=name)) for name in sent if name not in known]
    if unknown:
        raise invalid_body(unknown)
    filled: dict[str, Any] = {}
    types = {variable.name: variable.type for variable in operation.variables}
    for path, value in call.constants.items():
        _put(filled, path, value)
    for name, path in call.paths.items():
        if sent.get(name) is not None:
            kind = types.get(path.partition(".")[0])
            _put(filled, path, _converted(sent[name], _member(kind, path)))
    for name, kind in types.items():
        if name not in filled and isinstance(kind, graphql.GraphQLNonNull):
            # An input object without members names the members that are missing.
            inner = isinstance(kind.of_type, graphql.GraphQLInputObjectType)
            filled[name] = {} if inner else None
    problems = [
        (argument_of(call, field), reason)
        for name, value in filled.items()
        for field, reason in problems_of(value, types[name], name)
    ]
    if problems:
        raise invalid_body(problems)
    return filled


def argument_of(call: ToolCall, field: str) -> str:
    """Return *field*, a variable or the member of one, as the caller calls it."""
    for name, path in call.paths.items():
        for start in {path, path.removeprefix("input.")} - {"input"}:
            if field == start or field.startswith((f"{start}[", f"{start}.")):
                return name + field.removeprefix(start)
    return field


def require_visible_fields(sent: Mapping[str, Any], shown: Iterable[str]) -> list[str]:
    """
    Return the fields that the caller names, or none.

    Raises:
        Refusal: 400, the argument `fields` names one that the token cannot see.
    """
    fields = sent.get("fields")
    if fields is None:
        return []
    names = list(shown)
    if not isinstance(fields, list) or not all(isinstance(field, str) for field in fields):
        raise invalid_body([("fields", "must be a list of strings")])
    unknown = [field for field in fields if field not in names]
    if unknown:
        reason = not_known(names, name=unknown[0])
        raise invalid_body([("fields", f"has '{unknown[0][:50]}', which {reason}")])
    return [name for name in names if name in fields]


def _put(filled: dict[str, Any], path: str, value: Any) -> None:
    *above, last = path.split(".")
    for name in above:
        filled = filled.setdefault(name, {})
    filled[last] = value


def _member(kind: Any, path: str) -> Any:
    if kind is None:
        return None
    head = path.partition(".")[0]
    return type_at({head: graphql.GraphQLArgument(kind)}, path)


def _converted(value: Any, kind: Any) -> Any:
    """Return addresses as objects, and the text of a file as base64; all else as it is."""
    named = str(graphql.get_named_type(kind))
    if named == _PARTICIPANT and isinstance(value, list):
        return [{"email": each} if isinstance(each, str) else each for each in value]
    if named == "FileContent" and isinstance(value, str):
        return base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()
    return value
