"""Descriptions of variables that do not fit an operation; they quote no value of the caller."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import graphql

from graph.errors import MAX_DETAILS
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code, not_known

MAX_ITEMS = 500  # of any list of an input; docs/spec/requests.md#json-bodies


def has_long_list(value: Any, type_: graphql.GraphQLInputType) -> bool:
    """Return whether a list in the *value* of a variable has too many entries to be coerced."""
    if graphql.is_non_null_type(type_):
        return has_long_list(value, type_.of_type)
    if graphql.is_list_type(type_):
        items = value if isinstance(value, list) else [value]
        return len(items) > MAX_ITEMS or any(has_long_list(item, type_.of_type) for item in items)
    if graphql.is_input_object_type(type_) and isinstance(value, Mapping):
        fields = type_.fields.items()
        return any(has_long_list(value.get(name), field.type) for name, field in fields)
    return False


def describe_mismatch(
    types: Mapping[str, graphql.GraphQLInputType],
    optional: frozenset[str],
    values: Mapping[str, Any],
) -> InvalidInput:
    """
    Describe why *values* do not fit the variables of *types*, with as many details as are shown.

    Members of input objects are named by their path ("to[0].email"). The code is
    VALIDATION_ERROR for them, as for a REST body, and INVALID_PARAMETER otherwise.
    """
    details: list[Detail] = []
    code = Code.INVALID_PARAMETER
    for name, type_ in types.items():
        if name not in values and name in optional:
            continue
        is_body = graphql.is_input_object_type(graphql.get_named_type(type_))
        described = _problems(values.get(name), type_, "" if is_body else name)
        problems = list(islice(described, MAX_DETAILS - len(details)))
        if problems and is_body:
            code = Code.VALIDATION_ERROR
        details += [Detail(problem.field or name, problem.message) for problem in problems]
    if not details:
        return InvalidInput("The variables do not match the operation.")
    message = f"{details[0].field}: {details[0].message}"
    return InvalidInput(message, code=code, details=details)


def _problems(value: Any, type_: graphql.GraphQLInputType, path: str) -> Iterator[Detail]:
    if graphql.is_non_null_type(type_):
        if value is None:
            yield Detail(path, "It is required.")
        else:
            yield from _problems(value, type_.of_type, path)
    elif value is None:
        return
    elif graphql.is_list_type(type_):
        items = value if isinstance(value, list | tuple) else [value]
        if len(items) > MAX_ITEMS:
            yield Detail(path, f"It may have at most {MAX_ITEMS} entries.")
            return
        for index, item in enumerate(items):
            yield from _problems(item, type_.of_type, f"{path}[{index}]")
    elif graphql.is_input_object_type(type_):
        yield from _object_problems(value, type_, path)
    else:
        yield from _leaf_problems(value, type_, path)


def _object_problems(
    value: Any, type_: graphql.GraphQLInputObjectType, path: str
) -> Iterator[Detail]:
    if not isinstance(value, Mapping):
        yield Detail(path, "It must be an object.")
        return
    for name in value:
        if name not in type_.fields:
            yield Detail(_member_path(path, name), f"It {not_known(type_.fields)}.")
    for name, field in type_.fields.items():
        if name in value:
            yield from _problems(value[name], field.type, _member_path(path, name))
        elif graphql.is_required_input_field(field):
            yield Detail(_member_path(path, name), "It is required.")


def _leaf_problems(value: Any, type_: Any, path: str) -> Iterator[Detail]:
    try:
        type_.coerce_input_value(value)
    except graphql.GraphQLError as error:
        if isinstance(type_, graphql.GraphQLEnumType) and graphql.is_enum_type(type_):
            yield Detail(path, f"It must be one of: {', '.join(type_.values)}.")
        elif type_.name in {"DateTime", "Long"}:
            yield Detail(path, error.message)
        else:
            yield Detail(path, f"It must be of type {type_.name}.")


def _member_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
