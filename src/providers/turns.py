"""Loops over many records that give the event loop its turn, so that other requests go on."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

_TURN_SECONDS = 0.02


async def in_turns(items: Iterable[T]) -> AsyncIterator[T]:
    """Yield *items*; once 20 ms have passed, the event loop has its turn before the next one."""
    end = time.perf_counter() + _TURN_SECONDS
    for item in items:
        if time.perf_counter() > end:
            await asyncio.sleep(0)
            end = time.perf_counter() + _TURN_SECONDS
        yield item


async def filtered(items: Iterable[T], passes: Callable[[T], object]) -> list[T]:
    """Return the *items* that pass, in their order, like `in_turns`."""
    return [item async for item in in_turns(items) if passes(item)]
