"""The tools of one token, as its shape and its settings allow them."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import graphql
import msgspec
from graphql import GraphQLField, GraphQLObjectType, GraphQLSchema

from agent_tools.arguments import is_required, json_schema, type_at
from agent_tools.ports import Facts, SavedTool
from agent_tools.rows import Tool, ToolCall
from agent_tools.selections import IsMasked, visible
from agent_tools.table import TOOLS

CACHED = 32  # toolboxes; about 30 kB each
KEY, CONFIRM, FIELDS, OFFSET, ACTION = "key", "confirm", "fields", "offset", "action"
_TEXT = {"type": "string"}


class UsableCall(msgspec.Struct, frozen=True, kw_only=True):
    """
    A document that the token can run.

    Attributes:
        fields: The fields of a result that the token sees, as selections by name.
        page: The selection beside the items.
    """

    call: ToolCall
    fields: Mapping[str, str]
    page: str


class UsableTool(msgspec.Struct, frozen=True, kw_only=True):
    """
    A tool that the token can use.

    Attributes:
        calls: Its documents that the token can run, as in the row.
        definition: As `tools/list` shows it.
    """

    calls: Mapping[str, UsableCall]
    definition: Mapping[str, Any]


@lru_cache(maxsize=CACHED)
def toolbox(shape: GraphQLSchema, facts: Facts, is_masked: IsMasked) -> Mapping[str, UsableTool]:
    """Return the tools of a token that has *shape*, by name, in the order of the table."""
    if facts.limits_documents:
        return MappingProxyType({})
    tools = {}
    for tool in TOOLS:
        if tool.drafts not in (None, facts.drafts) or (tool.approval and not facts.approves):
            continue
        calls = {
            name: usable
            for name, call in tool.calls.items()
            if (usable := usable_call(call, shape, is_masked)) is not None
        }
        if calls:
            definition = _definition(tool, calls, shape, facts)
            tools[tool.name] = UsableTool(calls=calls, definition=definition)
    return MappingProxyType(tools)


def usable_call(call: ToolCall, schema: GraphQLSchema, is_masked: IsMasked) -> UsableCall | None:
    """Return *call* as far as *schema* has it; None: the token cannot run it."""
    root = root_field(schema, call.root)
    if root is None or is_masked(root) or not _can_be_chosen(call, root):
        return None
    result = graphql.get_named_type(root.type)
    if not isinstance(result, GraphQLObjectType):
        return None
    item = graphql.get_named_type(result.fields[call.items].type) if call.items else result
    if not isinstance(item, GraphQLObjectType):
        return None
    fields = visible(call.fields, item, is_masked)
    page = visible(call.page, result, is_masked) if call.page else {}
    if not fields or not _has_needed(call, fields):
        return None
    return UsableCall(call=call, fields=fields, page=" ".join(page.values()))


def root_field(schema: GraphQLSchema, name: str) -> GraphQLField | None:
    """Return the root field *name* of a schema, a query or a mutation; None: it has none."""
    roots = [root for root in (schema.query_type, schema.mutation_type) if root is not None]
    return next((root.fields[name] for root in roots if name in root.fields), None)


def saved_definition(saved: SavedTool) -> Mapping[str, Any]:
    """Return a saved document as `tools/list` shows it."""
    variables, name = saved.operation.variables, saved.document.name
    properties = {variable.name: json_schema(variable.type) for variable in variables}
    required = [variable.name for variable in variables if variable.required]
    writes = saved.operation.kind == "mutation"
    if writes:
        properties |= {KEY: _TEXT}
    return {
        "name": name,
        "description": saved.description or f"The saved document {name}.",
        "inputSchema": _object(properties, required),
        "annotations": {} if writes else {"readOnlyHint": True},
    }


def _can_be_chosen(call: ToolCall, root: GraphQLField) -> bool:
    """Return whether the arguments that choose the document are those of the token."""
    paths = [call.paths[name] for name in call.when.split() if name in call.paths]
    return all(type_at(root.args, path) is not None for path in paths)


def _has_needed(call: ToolCall, fields: Mapping[str, str]) -> bool:
    """Return whether one of the fields that the call is about is visible."""
    needs = [need.partition(".") for need in call.needs.split("|")] if call.needs else []
    return not needs or any(
        name in fields and (not below or f" {below} " in fields[name]) for name, _, below in needs
    )


def _definition(
    tool: Tool, calls: Mapping[str, UsableCall], shape: GraphQLSchema, facts: Facts
) -> Mapping[str, Any]:
    """Return a tool as `tools/list` shows it: the arguments of all its documents."""
    properties: dict[str, Any] = {ACTION: {"enum": list(calls)}} if tool.actions else {}
    needed: list[set[str]] = []
    for usable in calls.values():
        root = root_field(shape, usable.call.root)
        arguments = root.args if root is not None else {}
        for name, schema in _properties(usable, arguments, facts).items():
            properties.setdefault(name, schema)
        for flag in usable.call.flags:
            properties.setdefault(flag, {"type": "boolean"})
        paths = usable.call.paths.items()
        needed.append({name for name, path in paths if is_required(arguments, path)})
    if tool.writes:
        properties |= {KEY: _TEXT, **({CONFIRM: _TEXT} if facts.confirms else {})}
    always = {ACTION, *set.intersection(*needed)}
    rule = "Only to recipients that this token allows." if facts.limits_recipients else ""
    sentences = (tool.description, *(usable.call.about for usable in calls.values()))
    return MappingProxyType(
        {
            "name": tool.name,
            "description": " ".join(filter(None, (*sentences, rule if tool.addresses else ""))),
            "inputSchema": _object(properties, [name for name in properties if name in always]),
            "annotations": dict(tool.hints),
        }
    )


def _properties(
    usable: UsableCall, arguments: Mapping[str, graphql.GraphQLArgument], facts: Facts
) -> dict[str, Any]:
    """Return the arguments of a document that its root field has in the shape."""
    call = usable.call
    kinds = {name: type_at(arguments, path) for name, path in call.paths.items()}
    schemas = {name: _property(name, kind, facts) for name, kind in kinds.items() if kind}
    if call.brief:
        schemas[FIELDS] = {"type": "array", "items": {"enum": list(usable.fields)}}
    if call.text or call.items == "messages":
        schemas[OFFSET] = {"type": "integer"}
    return schemas


def _property(name: str, kind: Any, facts: Facts) -> dict[str, Any]:
    if name == "board" and facts.boards is not None:
        return {"enum": list(facts.boards)}
    if name == "fields" and facts.columns is not None:
        return {"type": "object", "properties": {column: {} for column in facts.columns}}
    return json_schema(kind)


def _object(properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema
