"""
Numbers that no provider stores.

JSON has neither infinity nor NaN; written all the same they become `null`, which clears a value.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(?:inf(?:inity)?|nan|∞)", re.IGNORECASE)
_MAX_LENGTH = 400  # characters of the longest number that a double can have written out


def finite_number(text: str) -> float | None:
    """Return the finite number that a decimal text stands for; None: it is not one."""
    if len(text) > _MAX_LENGTH or not _DECIMAL.fullmatch(text.strip()):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def is_not_finite(value: Any) -> bool:
    """Return whether a JSON value has, or as a text spells, a number that is not finite."""
    if isinstance(value, str):
        text = value.strip().strip('"').strip()
        is_decimal = len(text) <= _MAX_LENGTH and _DECIMAL.fullmatch(text)
        return bool(_NOT_FINITE.fullmatch(text) or (is_decimal and not math.isfinite(float(text))))
    return has_infinity(value)


def has_infinity(value: Any) -> bool:
    """Return whether a JSON value has an infinite number or NaN at any depth."""
    pending = [value]
    while pending:
        member = pending.pop()
        if isinstance(member, float) and not math.isfinite(member):
            return True
        if isinstance(member, Mapping):
            pending += member.values()
        elif isinstance(member, list | tuple):
            pending += member
    return False
