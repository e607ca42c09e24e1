"""Calls to several connections at once: docs/spec/requests.md#partial-failure."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar, cast

import msgspec

from providers.failures import Broken, ProviderFailure, Throttled, TimedOut, without_frames
from providers.http.time_limit import TimeLimit
from providers.ports.connection import ConnectionInfo

CONNECTION_TIMEOUT_SECONDS = 15.0  # of each connection's call; docs/spec/email.md#merging

T = TypeVar("T")


class ConnectionWarning(msgspec.Struct, frozen=True):
    """A connection that failed, and why; *part* names the part of it that failed, if not all."""

    connection: ConnectionInfo
    failure: ProviderFailure
    part: str | None = None

    def __post_init__(self) -> None:
        """Let the failure forget its frames: it stays as a value."""
        without_frames(self.failure)


class AllFailed(Broken):
    """No connection answered; one entry of *warnings* per connection."""

    def __init__(self, warnings: Sequence[ConnectionWarning], *, of: str = "mailboxes") -> None:
        super().__init__(f"None of the connected {of} answered.")
        self.warnings = tuple(warnings)


async def gather_results(
    calls: Sequence[Awaitable[T]], timeout_seconds: float | None = None
) -> list[T | ProviderFailure]:
    """
    Await all calls at once; provider failures are returned in place, others are raised.

    *timeout_seconds*: of each call, as of `with_timeout`; None: they have no limit here.
    """
    if len(calls) == 1:  # saves the cost of a task
        try:
            if timeout_seconds is None:
                return [await calls[0]]
            with TimeLimit(timeout_seconds, of_calls=True):
                return [await calls[0]]
        except TimeoutError:
            if timeout_seconds is None:
                raise
            return [TimedOut()]
        except ProviderFailure as failure:
            return [without_frames(failure)]
    if timeout_seconds is not None:
        calls = [with_timeout(call, timeout_seconds) for call in calls]
    results = await asyncio.gather(*calls, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, ProviderFailure):
            raise result
        if isinstance(result, ProviderFailure):
            without_frames(result)
    return cast("list[T | ProviderFailure]", results)


async def with_timeout(call: Awaitable[T], timeout_seconds: float) -> T:
    """
    Await *call*.

    Raises:
        TimedOut: It takes longer than *timeout_seconds*.
    """
    try:
        with TimeLimit(timeout_seconds, of_calls=True):
            return await call
    except TimeoutError:
        raise TimedOut from None


def combined_failure(
    warnings: Sequence[ConnectionWarning], *, of: str = "mailboxes"
) -> ProviderFailure:
    """
    Return the failure to raise when every connection failed.

    Returns:
        Throttled, for the longest wait, when all are throttled; TimedOut when all timed out; else
        AllFailed.
    """
    failures = [warning.failure for warning in warnings]
    waits = [failure.retry_after for failure in failures if isinstance(failure, Throttled)]
    if len(waits) == len(failures):
        return Throttled(max(waits))
    if all(isinstance(failure, TimedOut) for failure in failures):
        return TimedOut()
    return AllFailed(warnings, of=of)
