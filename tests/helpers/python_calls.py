"""Python function calls, counted: a measure of work that does not depend on the machine."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

import pytest

MOST_CALLS_AT_ONCE = 20_000  # in one step of the event loop, so that other requests go on


class PythonCalls:
    """Counts the calls of Python functions by this thread while it is open."""

    def __enter__(self) -> Self:
        self.count = 0
        sys.setprofile(self._add)
        return self

    def _add(self, _frame: FrameType, event: str, _argument: Any) -> None:
        self.count += event == "call"

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


@contextmanager
def calls_per_step() -> Iterator[list[int]]:
    """
    Yield a list to which each step of the event loop of this thread adds its calls.

    The step in which the block ends is added at its end.
    """
    run, began = asyncio.Handle._run, 0
    steps: list[int] = []
    with PythonCalls() as calls, pytest.MonkeyPatch.context() as patch:

        def count(handle: asyncio.Handle) -> None:
            nonlocal began
            began = calls.count
            run(handle)
            steps.append(calls.count - began)

        patch.setattr(asyncio.Handle, "_run", count)
        yield steps
    steps.append(calls.count - began)
