"""The rows of the table of tools: a tool, and the documents that its calls run."""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import msgspec

NOTHING: Mapping[str, Any] = MappingProxyType({})


class ToolCall(msgspec.Struct, frozen=True, dict=True):
    """
    One document of a tool; `read` and `write` make it.

    Attributes:
        root: Its root field.
        takes: Names of arguments, separated by blanks; "id:input.emailId" fills another variable,
            or a member of one.
        fields: The selection of a result, or of each of its *items*.
        about: What it is for, as a sentence of the tool's description.
        when: Names of the arguments that choose this document, separated by blanks; without
            actions, the first row that matches. Those that fill no variable are true or false.
            With actions, they are required.
        items: The member of the result that is a list; empty when the result is one thing.
        page: The selection beside the items.
        brief: The fields of items that are shown when the caller names none; empty: all.
        needs: Fields of which one must be visible, "a|b.c"; without them the call says nothing.
        constants: Variables, or members of them, with one value.
        text: The member that `offset` continues, in characters.
        writes: Whether it is a mutation; its result has ids and flags, and no text from outside.
    """

    root: str
    takes: str
    fields: str
    about: str = ""
    when: str = ""
    items: str = ""
    page: str = ""
    brief: str = ""
    needs: str = ""
    constants: Mapping[str, Any] = NOTHING
    text: str = ""
    writes: bool = False

    @property
    def flags(self) -> list[str]:
        """The arguments that choose this document and fill no variable."""
        return [name for name in self.when.split() if name not in self.paths]

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """The variable, or member of a variable, that each argument fills."""
        pairs = (entry.partition(":") for entry in self.takes.split())
        return {name: path or name for name, _, path in pairs}


read = ToolCall


def write(  # noqa: PLR0913 - the columns of a row
    root: str,
    takes: str,
    fields: str,
    *,
    about: str = "",
    when: str = "",
    constants: Mapping[str, Any] = NOTHING,
) -> ToolCall:
    """Make the row of a mutation."""
    return ToolCall(root, takes, fields, about, when, constants=constants, writes=True)


class Tool(msgspec.Struct, frozen=True):
    """
    A tool.

    Attributes:
        description: Begins the description; the sentences of its documents follow.
        calls: Its documents; with *actions*, by the value of the argument `action`.
        hints: Annotations that differ from the defaults of the protocol.
        drafts: True or False: the tool exists only for tokens that leave mail as drafts, or send.
        approval: Whether it exists only for tokens whose writes wait for a person.
        other: The tool of this purpose for the other kind of token.
        addresses: Whether the recipient rules of the token limit it.
    """

    name: str
    description: str
    calls: Mapping[str, ToolCall]
    hints: Mapping[str, bool] = NOTHING
    actions: bool = False
    drafts: bool | None = None
    other: str = ""
    addresses: bool = False
    approval: bool = False

    @property
    def writes(self) -> bool:
        """Whether it changes anything."""
        return next(iter(self.calls.values())).writes
