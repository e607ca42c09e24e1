"""
Binds path, query and headers to the document's variables of the same name.

A value is parsed by the variable's GraphQL type (docs/spec/requests.md#query-parameters). A `limit`
above its maximum is lowered by the graph, so that REST and GraphQL agree.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import graphql

from graph.documents.operation import Operation, Variable
from policy.refusals import Refusal
from policy.vocabulary import Code, Surface, not_known
from rest_compat.request import RestRequest, invalid_parameter
from rest_compat.table import Endpoint

INPUT = "input"  # the variable a request body fills
MAX_NAMES = 20  # that `X-Ignored-Parameters` tells, of at most
MAX_NAME = 100  # characters
MIN_INT, MAX_INT = -(2**31), 2**31 - 1  # GraphQL's Int
MIN_LONG, MAX_LONG = -(2**63), 2**63 - 1

# Collab answers VALIDATION_ERROR (docs/spec/requests.md#query-parameters).
_MISSING_CODES: Mapping[Surface | None, Code] = MappingProxyType(
    {Surface.COLLAB: Code.VALIDATION_ERROR}
)


def bind(  # noqa: PLR0913 - the places that a value may come from
    endpoint: Endpoint,
    operation: Operation,
    request: RestRequest,
    path: Mapping[str, str],
    *,
    defaults: Mapping[str, str] = MappingProxyType({}),
    strict: bool,
) -> dict[str, Any]:
    """
    Return the value of every variable but `$input`; absent parameters are left out.

    *defaults* are the texts of parameters that the request need not have.

    Raises:
        Refusal: 400, naming the parameter. With *strict*, also for an unknown parameter.
    """
    texts: Mapping[str, str] = path
    if defaults or endpoint.headers or request.scope["query_string"]:
        texts = {**defaults, **_texts(endpoint, operation, request, path, strict=strict)}
    variables: dict[str, Any] = {}
    for variable in operation.variables:
        name, type_ = variable.name, variable.type
        if name in texts:
            if isinstance(type_, graphql.GraphQLNonNull):
                type_ = type_.of_type
            # Any text is a value of these two.
            is_text = type_ is graphql.GraphQLString or type_ is graphql.GraphQLID
            variables[name] = texts[name] if is_text else parse_value(texts[name], variable)
        elif variable.required and name != INPUT:
            code = _MISSING_CODES.get(endpoint.surface, Code.MISSING_PARAMETER)
            raise invalid_parameter(name, "is required", code=code)
    return variables


def _texts(
    endpoint: Endpoint,
    operation: Operation,
    request: RestRequest,
    path: Mapping[str, str],
    *,
    strict: bool,
) -> dict[str, str]:
    """Return one text per variable, from the path, the named headers and the query."""
    texts = dict(path)
    for header, name in endpoint.headers.items():
        value = request.header(header)
        if value:
            texts[name] = value
    query = request.query
    if not query:
        return texts
    known = query_names(endpoint, operation, path)
    for name, values in query.items():
        variable = endpoint.aliases.get(name, name)
        if variable not in known:
            if strict:
                raise invalid_parameter(name, not_known(known, name=name))
            continue
        if len(values) > 1 or variable in texts:
            raise invalid_parameter(name, "is given more than once")
        texts[variable] = values[0]
    return texts


def query_names(
    endpoint: Endpoint, operation: Operation, path: Mapping[str, str]
) -> Mapping[str, None]:
    """Return the variables that the query may fill, in the order of the document."""
    others = {INPUT, *path, *endpoint.headers.values()}
    return {variable.name: None for variable in operation.variables if variable.name not in others}


def ignored_parameters(
    endpoint: Endpoint, operation: Operation, request: RestRequest, path: Mapping[str, str]
) -> str | None:
    """
    Return the value of `X-Ignored-Parameters`: the unknown names of the query, percent-encoded.

    None when there are none, or the query cannot be read.
    """
    try:
        query = request.query
    except Refusal:
        return None
    known = query_names(endpoint, operation, path)
    unknown = [name for name in query if endpoint.aliases.get(name, name) not in known]
    names = [quote(name[:MAX_NAME], safe="", errors="replace") for name in unknown[:MAX_NAMES]]
    return ", ".join(names) or None


def parse_value(text: str, variable: Variable) -> Any:
    """
    Parse *text* as the variable's type.

    Raises:
        Refusal: 400 `INVALID_PARAMETER`.
    """
    type_ = variable.type
    if isinstance(type_, graphql.GraphQLNonNull):
        type_ = type_.of_type
    parser = _PARSERS.get(getattr(type_, "name", ""))  # lists have no name
    if parser is not None:
        return parser(text, variable.name)
    return _check_scalar(text, type_, variable.name)


def _boolean(text: str, name: str) -> bool:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise invalid_parameter(name, "must be true or false")
    return value


_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _integer(text: str, name: str) -> int:
    """Parse an integer; one beyond 32 bits becomes the nearest 32-bit integer."""
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
    return sign * int(digits.lstrip("0")[:_MAX_DIGITS] or "0")


_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)
_MAX_DIGITS = 20  # more than a 64-bit integer has


_PARSERS: Mapping[str, Callable[[str, str], Any]] = {
    graphql.GraphQLBoolean.name: _boolean,
    graphql.GraphQLInt.name: _integer,
    "Long": _long,
}


def _check_scalar(text: str, type_: graphql.GraphQLInputType, name: str) -> str:
    """Return *text* if the schema's type accepts it; the graph parses it again."""
    if str(type_) == "DateTime":
        text = text.replace(" ", "+")  # a "+" that was not percent-encoded
    try:
        type_.parse_value(text)  # type: ignore[union-attr]  # texts fill only scalars and enums
    except (graphql.GraphQLError, ValueError, TypeError):
        raise invalid_parameter(name, _expectation(type_)) from None
    return text


def _expectation(type_: graphql.GraphQLInputType) -> str:
    if isinstance(type_, graphql.GraphQLEnumType):
        return f"must be one of {', '.join(type_.values)}"
    return "must be an ISO 8601 time" if str(type_) == "DateTime" else "has an invalid value"
