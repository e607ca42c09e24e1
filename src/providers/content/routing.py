"""
Which of several collab connections is asked, and what their answers make together.

An id goes to the connection that sees its library or site: delegated ones are asked before
app-only ones, then by id. Source: decisions 16, "Collaboration content".
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from providers.content.ids import ItemKey
from providers.failures import Missing, ProviderFailure, Refused
from providers.fanout import ConnectionWarning, combined_failure, gather_results, with_timeout
from providers.first_holder import (
    changed_nothing,
    read_from_first_holder,
    write_to_first_holder,
)
from providers.ports.collab import CollabPort, ReadOnlyContent
from providers.ports.connection import ConnectionInfo
from providers.records.collab import UNKNOWN, Unknown

OF = "content connections"
T = TypeVar("T")
K = TypeVar("K")
R = TypeVar("R")
_NOTHING: frozenset[str] = frozenset()


class ConnectionRouter:
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
        """Return the answer of the first connection that has one; see `read_from_first_holder`."""
        return await read_from_first_holder(
            self.connections if among is None else among, ask, call_all=self.everywhere
        )

    async def asked(
        self, ask: Callable[[CollabPort], Awaitable[T]]
    ) -> tuple[list[tuple[ConnectionInfo, T]], tuple[ConnectionWarning, ...]]:
        """Ask every connection at once; raise when none answers."""
        answers = await gather_results(
            [with_timeout(ask(port), self.patience) for _, port in self.connections]
        )
        pairs = list(zip((info for info, _ in self.connections), answers, strict=True))
        failed = tuple(
            ConnectionWarning(info, one) for info, one in pairs if isinstance(one, ProviderFailure)
        )
        if failed and len(failed) == len(pairs):
            raise combined_failure(failed, of=OF)
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
        Write through the first writable connection that sees a file.

        Raises:
            ReadOnlyContent: Only connections that may not write see it.
        """
        try:
            return await write_to_first_holder(self.connections, write, harmless=_changed_nothing)
        except Missing:
            await self._refuse_read_only(lambda port: port.item(key, wanted=_NOTHING))
            raise

    async def writer(self, see: Callable[[CollabPort], Awaitable[object]]) -> CollabPort:
        """
        Return the first writable connection that sees something.

        Raises:
            ReadOnlyContent: Only connections that may not write see it.
        """

        async def see_with(port: CollabPort) -> CollabPort:
            await see(port)
            return port

        writable = [pair for pair in self.connections if pair[0].can_write]
        try:
            return await read_from_first_holder(writable, see_with)
        except Missing:
            await self._refuse_read_only(see)
            raise

    async def _refuse_read_only(self, see: Callable[[CollabPort], Awaitable[object]]) -> None:
        reading = [pair for pair in self.connections if not pair[0].can_write]
        try:
            await self.first(see, among=reading)
        except Missing:
            return
        raise ReadOnlyContent


def _changed_nothing(failure: ProviderFailure) -> bool:
    """As `changed_nothing`; a connection that is refused with 403 did nothing either."""
    return changed_nothing(failure) or (type(failure) is Refused and failure.status == 403)
