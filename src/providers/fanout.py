"""Asking several connections at once: who failed, and when all did. Source: decisions 5.4."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from providers.failures import Broken, ProviderFailure, Throttled, TimedOut
from providers.ports.connection import ConnectionInfo

CONNECTION_TIMEOUT_SECONDS = 15.0  # seconds that each may take; decisions 5.3, "Merge"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ConnectionWarning:
    """A connection that did not answer, and why; *part* when only that part of it did not."""

    connection: ConnectionInfo
    failure: ProviderFailure
    part: str | None = None


class AllFailed(Broken):
    """No connection answered. *warnings* names each."""

    def __init__(self, warnings: Sequence[ConnectionWarning], *, of: str = "mailboxes") -> None:
        super().__init__(f"None of the connected {of} answered.")
        self.warnings = tuple(warnings)


async def gather_results(calls: Sequence[Awaitable[T]]) -> list[T | ProviderFailure]:
    """Await all at once; failures come back as values, anything else is raised."""
    if len(calls) == 1:  # at less cost, since it needs no task of its own
        try:
            return [await calls[0]]
        except ProviderFailure as failure:
            return [failure]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, ProviderFailure):
            raise answer
    return cast("list[T | ProviderFailure]", answers)


async def with_timeout(answer: Awaitable[T], timeout_seconds: float) -> T:
    """
    Await *answer* for *timeout_seconds* seconds.

    Raises:
        TimedOut: It takes longer.
    """
    try:
        async with asyncio.timeout(timeout_seconds):
            return await answer
    except TimeoutError:
        raise TimedOut from None


def combined_failure(
    warnings: Sequence[ConnectionWarning], *, of: str = "mailboxes"
) -> ProviderFailure:
    """Return what it is when all of them failed: the longest throttle, a time-out, or both."""
    failures = [warning.failure for warning in warnings]
    waits = [failure.retry_after for failure in failures if isinstance(failure, Throttled)]
    if len(waits) == len(failures):
        return Throttled(max(waits))
    if all(isinstance(failure, TimedOut) for failure in failures):
        return TimedOut()
    return AllFailed(warnings, of=of)
