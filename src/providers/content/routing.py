"""
Routing of calls to one or all of a caller's collab connections.

An id goes to the first connection that sees its library or site, in the order of
docs/spec/collab.md#connections.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from providers.collab_ids import ItemKey
from providers.failures import Missing, ProviderFailure, ReadOnlyGrant, Refused, without_frames
from providers.fanout import ConnectionWarning, combined_failure, gather_results
from providers.first_holder import changed_nothing, read_from_first_holder, write_to_first_holder
from providers.ports.collab import ReadOnlyContent
from providers.ports.connection import ConnectionInfo
from providers.records.collab import UNKNOWN, Unknown
from providers.write_previews import current_preview

if TYPE_CHECKING:  # connectors are the layer above
    from providers.connectors.collab.connection import CollabConnection

CONNECTION_KIND = "content connections"
T = TypeVar("T")
K = TypeVar("K")
R = TypeVar("R")
_NOTHING: frozenset[str] = frozenset()

Connections: TypeAlias = "Sequence[tuple[ConnectionInfo, CollabConnection]]"


class ConnectionRouter:
    """
    Calls connections.

    Attributes:
        connections: In the order of the calls: delegated before app-only ones, then by id.
        timeout_seconds: Seconds that each connection may take.
        exhaustive: Whether reads by id call every connection, whichever has the answer.
    """

    def __init__(
        self, connections: Connections, *, timeout_seconds: float, exhaustive: bool
    ) -> None:
        self.connections = tuple(
            sorted(connections, key=lambda pair: (pair[0].mode == "selected_sites", pair[0].id))
        )
        self.timeout_seconds = timeout_seconds
        self.exhaustive = exhaustive

    async def first(
        self,
        read: Callable[["CollabConnection"], Awaitable[T]],
        *,
        among: "Connections | None" = None,
    ) -> T:
        """Return the answer of the first connection that has one; see `read_from_first_holder`."""
        return await read_from_first_holder(
            self.connections if among is None else among, read, call_all=self.exhaustive
        )

    async def call_all(
        self, read: Callable[["CollabConnection"], Awaitable[T]]
    ) -> tuple[list[tuple[ConnectionInfo, T]], tuple[ConnectionWarning, ...]]:
        """
        Call every connection at once.

        Returns:
            The answers, and a warning for each connection that failed.

        Raises:
            ProviderFailure: Every connection failed.
        """
        answers = await gather_results(
            [read(port) for _, port in self.connections], self.timeout_seconds
        )
        pairs = list(zip((info for info, _ in self.connections), answers, strict=True))
        failed = tuple(
            ConnectionWarning(info, answer)
            for info, answer in pairs
            if isinstance(answer, ProviderFailure)
        )
        if failed and len(failed) == len(pairs):
            raise combined_failure(failed, of=CONNECTION_KIND)
        return [
            (info, answer) for info, answer in pairs if not isinstance(answer, ProviderFailure)
        ], failed

    async def merge(
        self,
        keys: Collection[K],
        read: Callable[
            ["CollabConnection", Collection[K]], Awaitable[Mapping[K, R | Unknown | None]]
        ],
    ) -> dict[K, R | Unknown | None]:
        """
        Read keys from one connection after the other, each until a connection has it.

        Returns:
            Per key: the record, None when no connection has it, UNKNOWN when that is not known.

        Raises:
            ProviderFailure: Every connection failed.
        """
        merged: dict[K, R | Unknown | None] = dict.fromkeys(keys)
        unread: set[K] = set()
        failures: list[ProviderFailure] = []
        for _, port in self.connections:
            missing = [key for key, record in merged.items() if record is None or self.exhaustive]
            if not missing:
                break
            try:
                answer = await read(port, missing)
            except ProviderFailure as failure:
                failures.append(without_frames(failure))
                unread.update(missing)
                continue
            for key, record in answer.items():
                if record is UNKNOWN:
                    unread.add(key)
                elif merged[key] is None:
                    merged[key] = record
        if failures and len(failures) == len(self.connections):
            raise failures[0]
        return {
            key: UNKNOWN if record is None and key in unread else record
            for key, record in merged.items()
        }

    async def write(self, key: ItemKey, write: Callable[["CollabConnection"], Awaitable[T]]) -> T:
        """
        Write through the first writable connection that sees a file.

        Raises:
            ReadOnlyContent: Only connections that may not write see it.
        """
        if current_preview() is not None:  # it names the connection before it writes
            return await write(
                await self.writer(lambda port: port.files.get(key, projection=_NOTHING))
            )
        try:
            return await write_to_first_holder(self.connections, write, harmless=_changed_nothing)
        except Missing:
            await self._refuse_read_only(lambda port: port.files.get(key, projection=_NOTHING))
            raise

    async def writer(
        self, read: Callable[["CollabConnection"], Awaitable[object]]
    ) -> "CollabConnection":
        """
        Return the first writable connection for which *read* succeeds.

        Raises:
            ReadOnlyContent: It succeeds only for connections that may not write.
        """

        async def read_port(port: "CollabConnection") -> "CollabConnection":
            await read(port)
            return port

        writable = [pair for pair in self.connections if pair[0].can_write]
        try:
            return await read_from_first_holder(writable, read_port)
        except Missing:
            await self._refuse_read_only(read)
            raise

    async def _refuse_read_only(
        self, read: Callable[["CollabConnection"], Awaitable[object]]
    ) -> None:
        read_only = [pair for pair in self.connections if not pair[0].can_write]
        try:
            await self.first(read, among=read_only)
        except Missing:
            return
        raise ReadOnlyContent


def _changed_nothing(failure: ProviderFailure) -> bool:
    """As `changed_nothing`; a connection that is refused with 403 changed nothing either."""
    if isinstance(failure, ReadOnlyGrant) or changed_nothing(failure):
        return True
    return type(failure) is Refused and failure.status == 403
