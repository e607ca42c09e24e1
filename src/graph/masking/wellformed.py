"""
Checks of arguments: no U+0000 in texts, bounded nesting (docs/spec/graphql.md#arguments).

Upstreams, databases and recursive functions fail on both. REST refuses them when it reads the
request; these checks are for requests to /graphql.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import NoneType
from typing import Any

from strawberry.types import has_object_definition

from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code

MAX_DEPTH = 64  # levels of objects and lists, as in REST bodies

# Types that need no check; most arguments have one of them.
_SAFE_TYPES = frozenset({NoneType, bool, int, float, datetime})

# Invalid ids and page tokens have errors of their own.
_LOOKED_UP = ("_id", "_token")


def check(arguments: Mapping[str, object], *, called: Callable[[str], str]) -> None:
    """
    Check the arguments of a root field, by Python name; *called* returns the GraphQL name.

    The resolver's `info` may be among them.

    Raises:
        InvalidInput: `INVALID_PARAMETER` for a text, `VALIDATION_ERROR` for an input.
    """
    for name, value in arguments.items():
        if type(value) in _SAFE_TYPES or name == "info":
            continue
        if isinstance(value, str):
            if "\0" in value and not name.endswith(_LOOKED_UP):
                raise _invalid(
                    called(name), "must not contain the character U+0000", Code.INVALID_PARAMETER
                )
        elif has_object_definition(value):
            _check_input(called(name), value)


def _check_input(name: str, value: object) -> None:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        if any("\0" in item for item in level if isinstance(item, str)):
            raise _invalid(name, "has a string with the character U+0000", Code.VALIDATION_ERROR)
        level = [child for item in level for child in _children(item)]
        if not level:
            return
    raise _invalid(name, f"is nested deeper than {MAX_DEPTH} levels", Code.VALIDATION_ERROR)


def _children(value: Any) -> list[Any]:
    if has_object_definition(value):
        return list(vars(value).values())
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else []


def _invalid(name: str, why: str, code: Code) -> InvalidInput:
    return InvalidInput(f"{name} {why}.", code=code, details=[Detail(name, f"It {why}.")])
