"""Rows of a matrix that the fast suite runs; the slow suite runs the others."""

from collections.abc import Iterable
from typing import Any

import pytest

Row = type(pytest.param())


def slow_but(fast: Iterable[Any], rows: Iterable[Any]) -> list[Any]:
    """
    Return *rows* as parameters; those that are not in *fast* are marked slow.

    A row that is a `pytest.param` with an id is in *fast* by the id.
    """
    fast = list(fast)
    parameters = [row if isinstance(row, Row) else pytest.param(row) for row in rows]
    labels = [row.id or row.values[0] for row in parameters]
    assert all(label in labels for label in fast)
    return [
        _parameter(row, label not in fast) for row, label in zip(parameters, labels, strict=True)
    ]


def slow_after(count: int, rows: Iterable[Any]) -> list[Any]:
    """Return *rows* as parameters, tuples as several; those after the first *count* are slow."""
    return [_parameter(row, position >= count) for position, row in enumerate(rows)]


def slow_between(step: int, rows: Iterable[Any]) -> list[Any]:
    """Return *rows* as parameters, tuples as several; all but each *step*-th one are slow."""
    return [_parameter(row, position % step > 0) for position, row in enumerate(rows)]


def _parameter(row: Any, is_slow: bool) -> Any:
    marks = [pytest.mark.slow] if is_slow else []
    if isinstance(row, Row):
        return pytest.param(*row.values, id=row.id, marks=[*row.marks, *marks])
    return pytest.param(*(row if type(row) is tuple else (row,)), marks=marks)
