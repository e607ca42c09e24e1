"""
What no argument may hold: U+0000 in a text, and values nested without end.

Upstreams, databases and recursion trip over them. REST refuses both as soon as it reads them; here
are those that came through /graphql.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import NoneType
from typing import Any

from strawberry.types import has_object_definition

from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code

MAX_DEPTH = 64  # of objects and lists within each other; as in REST's bodies

# Most arguments are, so they are passed over first.
_HARMLESS = frozenset({NoneType, bool, int, float, datetime})

# Ids and page tokens have answers of their own for whatever is none.
_LOOKED_UP = ("_id", "_token")


def check(arguments: Mapping[str, object], *, called: Callable[[str], str]) -> None:
    """
    Check the arguments of a root field, by their Python names; *called* tells those of callers.

    Raises:
        InvalidInput: `INVALID_PARAMETER` for a text, `VALIDATION_ERROR` for an input.
    """
    for name, value in arguments.items():
        if type(value) in _HARMLESS:
            continue
        if isinstance(value, str):
            if "\0" in value and not name.endswith(_LOOKED_UP):
                raise _unfit(
                    called(name), "must not contain the character U+0000", Code.INVALID_PARAMETER
                )
        elif has_object_definition(value):
            _check_input(called(name), value)


def _check_input(name: str, value: object) -> None:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        if any("\0" in one for one in level if isinstance(one, str)):
            raise _unfit(name, "has a text with the character U+0000", Code.VALIDATION_ERROR)
        level = [below for one in level for below in _below(one)]
        if not level:
            return
    raise _unfit(name, f"is nested deeper than {MAX_DEPTH} levels", Code.VALIDATION_ERROR)


def _below(value: Any) -> list[Any]:
    if has_object_definition(value):
        return list(vars(value).values())
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else []


def _unfit(name: str, why: str, code: Code) -> InvalidInput:
    return InvalidInput(f"{name} {why}.", code=code, details=[Detail(name, f"It {why}.")])
