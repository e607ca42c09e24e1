"""What is wrong with the variables of an operation, in words that quote nothing of the caller's."""

from collections.abc import Iterator, Mapping
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLInputType,
    get_named_type,
    is_enum_type,
    is_input_object_type,
    is_list_type,
    is_non_null_type,
    is_required_input_field,
)

from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code


def describe_mismatch(
    types: Mapping[str, GraphQLInputType], optional: frozenset[str], given: Mapping[str, Any]
) -> InvalidInput:
    """
    Describe every reason why *given* does not fit the variables of *types*.

    Members of input objects are named by their dotted path ("to[0].email"); the code is
    VALIDATION_ERROR for them, as for a REST body, and INVALID_PARAMETER otherwise.
    """
    details: list[Detail] = []
    code = Code.INVALID_PARAMETER
    for name, type_ in types.items():
        if name not in given and name in optional:
            continue
        body = is_input_object_type(get_named_type(type_))
        found = list(_problems(given.get(name), type_, "" if body else name))
        if found and body:
            code = Code.VALIDATION_ERROR
        details += [Detail(detail.field or name, detail.message) for detail in found]
    if not details:
        return InvalidInput("The variables do not fit the operation.")
    message = f"{details[0].field}: {details[0].message}"
    return InvalidInput(message, code=code, details=details)


def _problems(value: Any, type_: GraphQLInputType, place: str) -> Iterator[Detail]:
    if is_non_null_type(type_):
        if value is None:
            yield Detail(place, "It is required.")
        else:
            yield from _problems(value, type_.of_type, place)
    elif value is None:
        return
    elif is_list_type(type_):
        items = value if isinstance(value, list | tuple) else [value]
        for index, item in enumerate(items):
            yield from _problems(item, type_.of_type, f"{place}[{index}]")
    elif is_input_object_type(type_):
        yield from _object_problems(value, type_, place)
    else:
        yield from _leaf_problems(value, type_, place)


def _object_problems(value: Any, type_: GraphQLInputObjectType, place: str) -> Iterator[Detail]:
    if not isinstance(value, Mapping):
        yield Detail(place, "It must be an object.")
        return
    for name in value:
        if name not in type_.fields:
            yield Detail(_below(place, name), "There is no member of this name.")
    for name, field in type_.fields.items():
        if name in value:
            yield from _problems(value[name], field.type, _below(place, name))
        elif is_required_input_field(field):
            yield Detail(_below(place, name), "It is required.")


def _leaf_problems(value: Any, type_: Any, place: str) -> Iterator[Detail]:
    try:
        type_.coerce_input_value(value)
    except GraphQLError as error:
        if isinstance(type_, GraphQLEnumType) and is_enum_type(type_):
            yield Detail(place, f"It must be one of: {', '.join(type_.values)}.")
        elif type_.name in {"DateTime", "Long"}:
            yield Detail(place, error.message)
        else:
            yield Detail(place, f"It must be of type {type_.name}.")


def _below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
