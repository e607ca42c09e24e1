"""Loops and long work that give the event loop its turn, so that other requests go on."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")
S = TypeVar("S")

_TURN_SECONDS = 0.02
_SLICE = 25  # items that are mapped at once
_LONG_BODY = 64 * 1024  # bytes of JSON that take a few milliseconds to decode
_THREADS: Final = 2  # they share one interpreter: more would only starve the event loop
_executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="long-work")


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


async def mapped(items: Sequence[S], map_slice: Callable[[Sequence[S]], Iterable[T]]) -> list[T]:
    """Return the results of *map_slice*, which is called with slices of *items*; as `in_turns`."""
    starts = in_turns(range(0, len(items), _SLICE))
    return [result async for at in starts for result in map_slice(items[at : at + _SLICE])]


async def turn_after_decoding(body: bytes) -> None:
    """Give the event loop its turn between decoding and mapping, unless *body* is short."""
    if len(body) > _LONG_BODY:
        await asyncio.sleep(0)


async def in_thread(function: Callable[[], T], *, is_long: bool) -> T:
    """
    Return the result of a function, which is called in one of a few threads if it is long.

    A thread hands over to the event loop every few milliseconds where its work is pure Python; one
    call of an extension module, such as decoding JSON, does not. It cannot be stopped: the size of
    what *function* works on must be bounded. It must not touch what others change.
    """
    if not is_long:
        return function()
    return await asyncio.get_running_loop().run_in_executor(_executor, function)
