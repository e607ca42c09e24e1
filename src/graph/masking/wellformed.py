"""
Checks of arguments: no U+0000 and no too long text, bounded nesting.

Upstreams, databases and recursive functions fail on U+0000 and on nesting. REST refuses both when
it reads the request; these checks are for requests to /graphql (docs/spec/graphql.md#arguments).
Lengths are checked here alone, for both (docs/spec/limits.md#texts).
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache
from types import NoneType
from typing import Any

from strawberry.types import has_object_definition
from strawberry.utils.str_converters import to_camel_case

from graph.masking import text_limits
from graph.masking.text_limits import TextLimit
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code

MAX_DEPTH = 64  # levels of objects and lists, as in REST bodies

# Types that need no check; most arguments have one of them.
_SAFE_TYPES = frozenset({NoneType, bool, int, float, datetime})

# Invalid ids and page tokens have errors of their own.
_LOOKED_UP = ("_id", "_token")


def check(arguments: Mapping[str, object], *, root: str, called: Callable[[str], str]) -> None:
    """
    Check the arguments of the root field *root*, by Python name; *called* returns the GraphQL name.

    The resolver's `info` may be among them.

    Raises:
        InvalidInput: `INVALID_PARAMETER` for a text, or the code of its `TextLimit`;
            `VALIDATION_ERROR` for an input.
    """
    for name, value in arguments.items():
        if type(value) in _SAFE_TYPES or name == "info":
            continue
        if isinstance(value, str):
            if "\0" in value and not name.endswith(_LOOKED_UP):
                raise _invalid(
                    called(name), "must not contain the character U+0000", Code.INVALID_PARAMETER
                )
            if type(value) is str:  # words of an enum have no limit
                _check_length(called(name), value, root)
        elif has_object_definition(value):
            _check_input(called(name), value)


def _check_input(name: str, value: object) -> None:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        if any("\0" in item for item in level if isinstance(item, str)):
            raise _invalid(name, "has a string with the character U+0000", Code.VALIDATION_ERROR)
        level = [child for item in level for child in _children(item)]
        if not level:
            _check_lengths(value)
            return
    raise _invalid(name, f"is nested deeper than {MAX_DEPTH} levels", Code.VALIDATION_ERROR)


def _children(value: Any) -> list[Any]:
    if has_object_definition(value):
        return list(vars(value).values())
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else []


def _check_length(name: str, text: str, root: str) -> None:
    limit = text_limits.of_argument(root, name)
    if limit.code is None:
        return
    problem = text_limits.problem(text, limit) or text_limits.expanded_problem(text, limit)
    if problem:
        raise _invalid(name, problem, limit.code)


def _check_lengths(value: object) -> None:
    details = [Detail(path, f"It {problem}.") for path, problem in _too_long(value, "")]
    if details:
        message = f"{details[0].field}: {details[0].message}"
        raise InvalidInput(message, code=Code.VALIDATION_ERROR, details=details)


def _too_long(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Return the paths of the too long texts of an input, and what is wrong with each."""
    for attribute, name, limit in _members(type(value)):  # type: ignore[arg-type]  # types hash
        member = getattr(value, attribute)
        entries = member if isinstance(member, list) else [member]
        for index, entry in enumerate(entries):
            where = f"{path}{name}[{index}]" if entries is member else f"{path}{name}"
            if limit is None:
                if has_object_definition(entry):
                    yield from _too_long(entry, f"{where}.")
            elif isinstance(entry, str) and (problem := text_limits.problem(entry, limit)):
                yield where, problem


@cache
def _members(type_: type) -> tuple[tuple[str, str, TextLimit | None], ...]:
    """Return attribute, GraphQL name and limit of the members of an input type that need a look."""
    names = [(attribute, to_camel_case(attribute)) for attribute in type_.__annotations__]
    limits = [
        (attribute, name, text_limits.MEMBERS.get(f"{type_.__name__}.{name}"))
        for attribute, name in names
    ]
    return tuple(
        (attribute, name, limit) for attribute, name, limit in limits if limit is None or limit.code
    )


def _invalid(name: str, why: str, code: Code) -> InvalidInput:
    return InvalidInput(f"{name} {why}.", code=code, details=[Detail(name, f"It {why}.")])
