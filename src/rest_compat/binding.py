"""
From texts to variables: path, query and headers fill the variable of the same name.

A text is read by the variable's GraphQL type, by the exact rules of decisions 0. Limits above a
maximum are the graph's to coerce, so that both doors agree.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from graphql import (
    GraphQLBoolean,
    GraphQLEnumType,
    GraphQLError,
    GraphQLID,
    GraphQLInputType,
    GraphQLInt,
    GraphQLNonNull,
    GraphQLString,
)

from policy.vocabulary import Code, Surface
from rest_compat.ports import Operation, Variable
from rest_compat.request import RestRequest, invalid_parameter
from rest_compat.table import Endpoint

INPUT = "input"  # the variable a request body fills
MIN_INT, MAX_INT = -(2**31), 2**31 - 1  # what GraphQL's Int can carry
MIN_LONG, MAX_LONG = -(2**63), 2**63 - 1

# `MISSING_PARAMETER` is a word of the calendar; a file lacks a required field (decisions 0 and 1).
_MISSING: Mapping[Surface | None, Code] = MappingProxyType({Surface.COLLAB: Code.VALIDATION_ERROR})


def bind(
    endpoint: Endpoint,
    operation: Operation,
    call: RestRequest,
    path: Mapping[str, str],
    *,
    strict: bool,
) -> dict[str, Any]:
    """
    Read every variable but `$input`; a parameter that was not given leaves its variable out.

    Raises:
        Problem: 400, naming the parameter. With *strict*, also for a parameter nobody knows.
    """
    texts = _texts(endpoint, operation, call, path, strict=strict)
    variables: dict[str, Any] = {}
    for variable in operation.variables:
        if variable.name in texts:
            variables[variable.name] = parse_value(texts[variable.name], variable)
        elif variable.required and variable.name != INPUT:
            code = _MISSING.get(endpoint.surface, Code.MISSING_PARAMETER)
            raise invalid_parameter(variable.name, "is required", code=code)
    return variables


def _texts(
    endpoint: Endpoint,
    operation: Operation,
    call: RestRequest,
    path: Mapping[str, str],
    *,
    strict: bool,
) -> dict[str, str]:
    """Return one text per variable, from the path, the named headers and the query."""
    texts = dict(path)
    for header, name in endpoint.headers.items():
        value = call.header(header)
        if value:
            texts[name] = value
    query = call.query()
    if not query:
        return texts
    known = {variable.name for variable in operation.variables} - path.keys() - {INPUT}
    known -= set(endpoint.headers.values())
    for name, values in query.items():
        meant = endpoint.aliases.get(name, name)
        if meant not in known:
            if strict:
                raise invalid_parameter(name, "is not known")
            continue
        if len(values) > 1 or meant in texts:
            raise invalid_parameter(name, "is given more than once")
        texts[meant] = values[0]
    return texts


def parse_value(text: str, variable: Variable) -> Any:
    """
    Read *text* as the variable's type.

    Raises:
        Problem: 400 `INVALID_PARAMETER`.
    """
    kind = variable.type
    if isinstance(kind, GraphQLNonNull):
        kind = kind.of_type
    reader = _READERS.get(str(kind))
    if reader is not None:
        return reader(text, variable.name)
    return _by_scalar(text, kind, variable.name)


def _boolean(text: str, name: str) -> bool:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise invalid_parameter(name, "must be true or false")
    return value


_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _integer(text: str, name: str) -> int:
    """Read an integer; what is beyond 32 bits stays beyond every maximum and minimum."""
    return min(max(_digits(text, name), MIN_INT), MAX_INT)


def _long(text: str, name: str) -> int:
    value = _digits(text, name)
    if not MIN_LONG <= value <= MAX_LONG:
        raise invalid_parameter(name, "must be a 64-bit integer")
    return value


def _digits(text: str, name: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise invalid_parameter(name, "must be an integer")
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    return sign * int(digits.lstrip("0")[:_ENOUGH] or "0")


_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)
_ENOUGH = 20  # digits; more than a 64-bit integer has


def _text(text: str, _name: str) -> str:
    return text


_READERS: Mapping[str, Callable[[str, str], Any]] = {
    GraphQLBoolean.name: _boolean,
    GraphQLInt.name: _integer,
    "Long": _long,
    GraphQLString.name: _text,
    GraphQLID.name: _text,
}


def _by_scalar(text: str, kind: GraphQLInputType, name: str) -> str:
    """Let the schema's own type say whether it can read *text*; the graph reads it again."""
    if str(kind) == "DateTime":
        text = text.replace(" ", "+")  # a "+" that was not percent-encoded; decisions 0
    try:
        kind.parse_value(text)  # type: ignore[union-attr]  # texts fill scalars and enums alone
    except (GraphQLError, ValueError, TypeError):
        raise invalid_parameter(name, _must_be(kind)) from None
    return text


def _must_be(kind: GraphQLInputType) -> str:
    if isinstance(kind, GraphQLEnumType):
        return f"must be one of {', '.join(kind.values)}"
    return "must be an ISO 8601 time" if str(kind) == "DateTime" else "has a bad value"
