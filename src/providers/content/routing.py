"""
Which of several collab connections is asked, and what their answers make together.

An id goes to the connection that sees its library or site: delegated ones are asked before
app-only ones, then by id. Source: decisions 16, "Collaboration content".
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from providers.content.ids import ItemKey
from providers.failures import (
    Missing,
    NeedsReauth,
    ProviderFailure,
    Refused,
    Throttled,
    TimedOut,
    Unreachable,
)
from providers.fanout import ConnectionWarning, every, in_time, whole_failure
from providers.ports.collab import CollabPort, ReadOnlyContent
from providers.ports.mail import ConnectionInfo
from providers.records.collab import UNKNOWN, Unknown

OF = "content connections"
T = TypeVar("T")
K = TypeVar("K")
R = TypeVar("R")
_NOTHING: frozenset[str] = frozenset()


class Routes:
    """
    Asks connections.

    Attributes:
        connections: In the order in which they are asked.
        patience: Seconds that each may take.
        everywhere: Whether all are asked for what has an id, whichever has the answer.
    """

    def __init__(
        self,
        connections: Sequence[tuple[ConnectionInfo, CollabPort]],
        *,
        patience: float,
        everywhere: bool = False,
    ) -> None:
        """Take the usable connections and their ports."""
        self.connections = tuple(
            sorted(connections, key=lambda one: (one[0].mode == "selected_sites", one[0].id))
        )
        self.patience = patience
        self.everywhere = everywhere

    async def first(
        self,
        ask: Callable[[CollabPort], Awaitable[T]],
        *,
        among: Sequence[tuple[ConnectionInfo, CollabPort]] | None = None,
    ) -> T:
        """Return the first connection's answer that has one."""
        failure: ProviderFailure = Missing()
        found: list[T] = []
        for _, port in self.connections if among is None else among:
            try:
                found.append(await ask(port))
            except ProviderFailure as problem:
                if isinstance(failure, Missing):
                    failure = problem
            if found and not self.everywhere:
                break
        if found:
            return found[0]
        raise failure

    async def asked(
        self, ask: Callable[[CollabPort], Awaitable[T]]
    ) -> tuple[list[tuple[ConnectionInfo, T]], tuple[ConnectionWarning, ...]]:
        """Ask every connection at once; raise when none answers."""
        answers = await every([in_time(ask(port), self.patience) for _, port in self.connections])
        pairs = list(zip((info for info, _ in self.connections), answers, strict=True))
        failed = tuple(
            ConnectionWarning(info, one) for info, one in pairs if isinstance(one, ProviderFailure)
        )
        if failed and len(failed) == len(pairs):
            raise whole_failure(failed, of=OF)
        return [(i, one) for i, one in pairs if not isinstance(one, ProviderFailure)], failed

    async def merged(
        self,
        keys: Collection[K],
        ask: Callable[[CollabPort, Collection[K]], Awaitable[Mapping[K, R | Unknown | None]]],
    ) -> dict[K, R | Unknown | None]:
        """Ask one connection after the other for what none before it had."""
        found: dict[K, R | Unknown | None] = dict.fromkeys(keys)
        lost: set[K] = set()
        failures: list[ProviderFailure] = []
        for _, port in self.connections:
            missing = [key for key, one in found.items() if one is None or self.everywhere]
            if not missing:
                break
            try:
                answer = await ask(port, missing)
            except ProviderFailure as failure:
                failures.append(failure)
                lost.update(missing)
                continue
            for key, one in answer.items():
                if one is UNKNOWN:
                    lost.add(key)
                elif found[key] is None:
                    found[key] = one
        if failures and len(failures) == len(self.connections):
            raise failures[0]
        return {key: UNKNOWN if one is None and key in lost else one for key, one in found.items()}

    async def write(self, key: ItemKey, write: Callable[[CollabPort], Awaitable[T]]) -> T:
        """
        Let the first writable connection that sees a file do it.

        The next one is tried only when surely nothing happened in the one before.

        Raises:
            ReadOnlyContent: It is seen by connections alone that may only read.
        """
        failure: ProviderFailure = Missing()
        for info, port in self.connections:
            if not info.can_write:
                continue
            try:
                return await write(port)
            except ProviderFailure as problem:
                if not _harmless(problem):
                    raise
                if isinstance(failure, Missing):
                    failure = problem
        if isinstance(failure, Missing):
            await self._refuse_read_only(lambda port: port.item(key, wanted=_NOTHING))
        raise failure

    async def writer(self, see: Callable[[CollabPort], Awaitable[object]]) -> CollabPort:
        """
        Return the first writable connection that sees something.

        Raises:
            ReadOnlyContent: It is seen by connections alone that may only read.
        """
        failure: ProviderFailure = Missing()
        for info, port in self.connections:
            if not info.can_write:
                continue
            try:
                await see(port)
            except ProviderFailure as problem:
                if isinstance(failure, Missing):
                    failure = problem
            else:
                return port
        if isinstance(failure, Missing):
            await self._refuse_read_only(see)
        raise failure

    async def _refuse_read_only(self, see: Callable[[CollabPort], Awaitable[object]]) -> None:
        reading = [pair for pair in self.connections if not pair[0].can_write]
        try:
            await self.first(see, among=reading)
        except Missing:
            return
        raise ReadOnlyContent


def _harmless(failure: ProviderFailure) -> bool:
    """Whether surely nothing happened, so that another connection may be tried."""
    if isinstance(failure, Unreachable | TimedOut):
        return not failure.sent
    if type(failure) is Refused:
        return failure.status == 403
    return isinstance(failure, Missing | NeedsReauth | Throttled)
