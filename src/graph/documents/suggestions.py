"""
"Did you mean" in the errors of a document, from what the token may use and see.

The library's own suggestions come from the whole schema; they would name fields, arguments and
operations that a token lacks. Validation therefore hides them (`graph.documents.operations`), and
the names here are those of the token's shape without its masked fields.
"""

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from graphql import GraphQLEnumType, GraphQLInputObjectType, GraphQLObjectType, GraphQLSchema
from graphql.pyutils import did_you_mean

from graph.shape import masked_by

MAX_NAME = 60  # characters of a name that is compared; none of the schema is as long

Names = Callable[[GraphQLSchema, str], Collection[str]]


def with_suggestion(message: str, shape: GraphQLSchema) -> str:
    """Return the *message* of a validation error, with the names of *shape* that are close."""
    for pattern, names in _NAMES.items():
        match = pattern.match(message)
        if match is not None and len(match["name"]) <= MAX_NAME:
            known = {name.lower(): name for name in names(shape, match["owner"])}
            close = difflib.get_close_matches(match["name"].lower(), known)
            suggestion = did_you_mean([known[name] for name in close])
            return f"{match[0]}.{suggestion}" if close else message
    return message


def _fields(shape: GraphQLSchema, owner: str) -> Collection[str]:
    """Return the visible fields of an object, or the members of an input."""
    type_ = shape.type_map.get(owner)
    if isinstance(type_, GraphQLInputObjectType):
        return tuple(type_.fields)
    if not isinstance(type_, GraphQLObjectType):
        return ()
    return [name for name, field in type_.fields.items() if masked_by(field) is None]


def _arguments(shape: GraphQLSchema, coordinate: str) -> Collection[str]:
    owner, _, name = coordinate.partition(".")
    if name not in _fields(shape, owner):
        return ()
    type_: Any = shape.type_map[owner]
    return tuple(type_.fields[name].args)


def _values(shape: GraphQLSchema, owner: str) -> Collection[str]:
    type_ = shape.type_map.get(owner)
    return tuple(type_.values) if isinstance(type_, GraphQLEnumType) else ()


def _types(shape: GraphQLSchema, _owner: str) -> Collection[str]:
    return [name for name in shape.type_map if not name.startswith("__")]


_NAME, _OWNER = r"'(?P<name>\w+)'", r"'(?P<owner>[\w.]+)'"
_MEMBER = f"Expected value of type {_OWNER} not to include unknown field {_NAME}"
# How the messages of the library's rules begin, and where the names come from that may be meant.
# The message about a member of an input ends with the whole value; a suggestion takes its place.
_NAMES: Mapping[re.Pattern[str], Names] = MappingProxyType(
    {
        re.compile(f"Cannot query field {_NAME} on type {_OWNER}"): _fields,
        re.compile(_MEMBER): _fields,
        re.compile(f"Unknown argument {_NAME} on field {_OWNER}"): _arguments,
        re.compile(f"Value {_NAME} does not exist in {_OWNER} enum"): _values,
        re.compile(f"Unknown type {_NAME}(?P<owner>)"): _types,
    }
)
