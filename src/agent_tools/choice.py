"""Chooses the document of a call by its arguments."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from graphql import GraphQLSchema

from agent_tools.arguments import require_visible_fields
from agent_tools.ports import SavedTool
from agent_tools.rows import Tool, ToolCall
from agent_tools.selections import IsMasked, document
from agent_tools.toolbox import (
    ACTION,
    CONFIRM,
    FIELDS,
    KEY,
    OFFSET,
    UsableCall,
    UsableTool,
    root_field,
    usable_call,
)
from policy.refusals import Refusal
from rest_compat.body import invalid_body


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """
    The document of a call.

    Attributes:
        name: The tool.
        others: Arguments of the tool that fill no variable.
        saved: The name of the saved document that it is; None for those of the table.
        refused: What is wrong with the arguments that choose; for after the gates.
    """

    name: str
    call: ToolCall
    text: str
    others: tuple[str, ...]
    saved: str | None = None
    refused: Refusal | None = None


def choice_of(saved: SavedTool) -> Choice:
    """Return the choice of a saved document, whose variables are the arguments."""
    name, operation = saved.document.name, saved.operation
    takes = " ".join(variable.name for variable in operation.variables)
    call = ToolCall(operation.root_name, takes, "")
    others = (KEY, CONFIRM) if operation.kind == "mutation" else ()
    return Choice(name=name, call=call, text=saved.text, others=others, saved=name)


def choose(
    tool: Tool,
    usable: UsableTool | None,
    sent: Mapping[str, Any],
    *,
    schema: GraphQLSchema,
    is_masked: IsMasked,
) -> Choice:
    """
    Return the document of *tool* that the arguments *sent* choose.

    One that the token cannot use is refused by its gates, as by REST.
    """
    calls = usable.calls if usable is not None else {}
    name, refused = _chosen_name(tool, list(calls), sent)
    call = tool.calls[name]
    chosen, root = (
        calls.get(name) or usable_call(call, schema, is_masked),
        root_field(schema, call.root),
    )
    if chosen is None or root is None:
        raise LookupError(call.root)  # a test holds the table to the schema
    fields: list[str] = []
    try:
        if FIELDS not in call.paths:  # those of a task are written
            fields = require_visible_fields(sent, chosen.fields if call.brief else ())
    except Refusal as problem:
        refused = refused or problem
    title = "".join(word.capitalize() for word in tool.name.split("_"))
    kind, selection = "mutation" if call.writes else "query", _selection(chosen, fields)
    return Choice(
        name=tool.name,
        call=call,
        text=document(call, root, name=title, kind=kind, selection=selection),
        others=_others(tool, call),
        refused=refused,
    )


def _selection(chosen: UsableCall, fields: Sequence[str]) -> str:
    """Return the selection of the named *fields*, or of those that are shown in brief."""
    call, visible = chosen.call, chosen.fields
    names = fields or [name for name in call.brief.split() if name in visible]
    names = [name for name in visible if name in {"id", *names}] if names else list(visible)
    text = " ".join(visible[name] for name in names)
    return f"{call.items} {{ {text} }} {chosen.page}" if call.items else text


def _others(tool: Tool, call: ToolCall) -> tuple[str, ...]:
    """Return the arguments that fill no variable of *call*."""
    flags = {flag for each in tool.calls.values() for flag in each.flags}
    own = {
        FIELDS: bool(call.brief),
        OFFSET: bool(call.text) or call.items == "messages",
        KEY: call.writes,
        CONFIRM: call.writes,
        ACTION: tool.actions,
    }
    return (*(name for name, is_own in own.items() if is_own), *sorted(flags))


def _chosen_name(
    tool: Tool, usable: Sequence[str], sent: Mapping[str, Any]
) -> tuple[str, Refusal | None]:
    """Return the name of the document that *sent* chooses, and what is wrong with the choice."""
    names = list(tool.calls)
    if tool.actions:
        action = sent.get(ACTION)
        if action in names:
            wanting = [name for name in tool.calls[action].when.split() if not sent.get(name)]
            missing = [(name, "is required") for name in wanting]
            return action, invalid_body(missing) if missing else None
        known = ", ".join(usable or names)
        return (usable or names)[0], invalid_body([(ACTION, f"must be one of {known}")])
    stated = {name for name, value in sent.items() if value not in (None, False)}
    return next(name for name, call in tool.calls.items() if stated >= {*call.when.split()}), None
