"""
Calls to the first of several connections that holds an object.

An object has one id, and several connections may see it. The failure of one connection counts only
when none after it holds the object.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from providers import failures
from providers.ports.connection import ConnectionInfo

P = TypeVar("P")
T = TypeVar("T")


async def read_from_first_holder(
    connections: Sequence[tuple[ConnectionInfo, P]],
    read: Callable[[P], Awaitable[T]],
    *,
    call_all: bool = False,
) -> T:
    """
    Read from one connection after the other; return the first answer.

    Args:
        connections: In the order of the calls.
        read: Makes the call.
        call_all: Call the connections after the first holder too.

    Raises:
        Missing: No connection holds the object.
        ProviderFailure: The first failure that is not Missing, when none answered.
    """
    failure: failures.ProviderFailure = failures.Missing()
    answers: list[T] = []
    for _, port in connections:
        try:
            answers.append(await read(port))
        except failures.ProviderFailure as port_failure:
            if isinstance(failure, failures.Missing):
                failure = failures.without_frames(port_failure)
        if answers and not call_all:
            break
    if answers:
        return answers[0]
    raise failure


async def read_many_from_first_holders(
    connections: Sequence[tuple[ConnectionInfo, P]],
    names: Sequence[str],
    read_many: Callable[[P, Sequence[str]], Awaitable[Mapping[str, T]]],
) -> dict[str, T | failures.ProviderFailure]:
    """
    Read several objects as `read_from_first_holder` reads each of them.

    Args:
        connections: In the order of the calls; each is asked for what those before it lack.
        names: The objects.
        read_many: Makes the call; objects that the connection does not hold are left out.

    Returns:
        One entry per name: the object, or the failure to raise.
    """
    results: dict[str, T | failures.ProviderFailure] = {name: failures.Missing() for name in names}
    for _, port in connections:
        lacking = {
            name: failure
            for name, failure in results.items()
            if isinstance(failure, failures.ProviderFailure)
        }
        if not lacking:
            break
        try:
            results |= await read_many(port, list(lacking))
        except failures.ProviderFailure as port_failure:
            failures.without_frames(port_failure)
            for name, failure in lacking.items():
                if isinstance(failure, failures.Missing):
                    results[name] = port_failure
    return results


def changed_nothing(failure: failures.ProviderFailure) -> bool:
    """Return whether a failed write surely changed nothing, so that another connection may try."""
    if isinstance(failure, failures.Unreachable | failures.TimedOut):
        return not failure.sent
    return isinstance(failure, failures.Missing | failures.NeedsReauth | failures.Throttled)


async def write_to_first_holder(
    connections: Sequence[tuple[ConnectionInfo, P]],
    write: Callable[[P], Awaitable[T]],
    *,
    harmless: Callable[[failures.ProviderFailure], bool] = changed_nothing,
) -> T:
    """
    Write through the first writable connection that holds the object.

    Args:
        connections: In the order of the calls; those that may only read are skipped.
        write: Makes the call.
        harmless: Whether the next connection may be tried after a failure.

    Raises:
        Missing: No writable connection holds the object.
        ProviderFailure: A failure that is not harmless, or else the first that says more than
            Missing.
    """
    failure: failures.ProviderFailure = failures.Missing()
    for info, port in connections:
        if not info.can_write:
            continue
        try:
            return await write(port)
        except failures.ProviderFailure as port_failure:
            if not harmless(port_failure):
                raise
            if type(failure) is failures.Missing:
                failure = failures.without_frames(port_failure)
    raise failure
