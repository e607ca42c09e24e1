"""
Routing of calls to one or all of a caller's collab connections.

An id goes to the first connection that sees its library or site, in the order of
docs/spec/collab.md#connections.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from msgspec.structs import replace

from providers.collab_ids import ItemKey
from providers.failures import Missing, ProviderFailure, ReadOnlyGrant, Refused, without_frames
from providers.fanout import ConnectionWarning, combined_failure, gather_results
from providers.first_holder import changed_nothing, read_from_first_holder, write_to_first_holder
from providers.ports.collab import Page, ReadOnlyContent, SearchPage
from providers.ports.connection import ConnectionInfo
from providers.records.base import of_connection
from providers.records.collab import (
    UNKNOWN,
    Drive,
    File,
    ListItem,
    SearchHit,
    Site,
    SiteList,
    Unknown,
)
from providers.write_previews import current_preview

if TYPE_CHECKING:  # connectors are the layer above
    from providers.connectors.collab.connection import CollabConnection

CONNECTION_KIND = "content connections"
T = TypeVar("T")
K = TypeVar("K")
R = TypeVar("R")
_NOTHING: frozenset[str] = frozenset()

Pair: TypeAlias = "tuple[ConnectionInfo, CollabConnection]"
Connections: TypeAlias = "Sequence[Pair]"


class ConnectionRouter:
    """
    Calls connections.

    Attributes:
        connections: In the order of the calls: delegated before app-only ones, then by id.
        writable_first: Whether those that may write come before all others.
        timeout_seconds: Seconds that each connection may take.
        exhaustive: Whether reads by id call every connection, whichever has the answer.
    """

    def __init__(
        self,
        connections: Connections,
        *,
        timeout_seconds: float,
        exhaustive: bool,
        writable_first: bool,
    ) -> None:
        def rank(pair: Pair) -> tuple[bool, bool, int]:
            info = pair[0]
            return writable_first and not info.can_write, info.mode == "selected_sites", info.id

        self.connections = tuple(sorted(connections, key=rank))
        self.writable_first = writable_first
        self.timeout_seconds = timeout_seconds
        self.exhaustive = exhaustive

    async def first(
        self,
        read: Callable[["CollabConnection"], Awaitable[T]],
        *,
        among: "Connections | None" = None,
    ) -> T:
        """Return the answer of the first connection that has one; see `read_from_first_holder`."""
        connections = self.connections if among is None else among
        return await read_from_first_holder(
            _pairs(connections), _naming(read), call_all=self.exhaustive
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
            [_naming(read)(pair) for pair in self.connections], self.timeout_seconds
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
        for info, port in self.connections:
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
                    merged[key] = named(record, info)
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
            return await self.write_where(
                lambda port: port.files.get(key, projection=_NOTHING), write
            )
        try:
            return await write_to_first_holder(
                _pairs(self.connections), _naming(write), harmless=_changed_nothing
            )
        except Missing:
            await self._refuse_read_only(lambda port: port.files.get(key, projection=_NOTHING))
            raise

    async def write_where(
        self,
        read: Callable[["CollabConnection"], Awaitable[object]],
        write: Callable[["CollabConnection"], Awaitable[T]],
    ) -> T:
        """
        Write through the first writable connection for which *read* succeeds.

        Raises:
            ReadOnlyContent: It succeeds only for connections that may not write.
        """

        async def read_pair(pair: Pair) -> Pair:
            await read(pair[1])
            return pair

        writable = [pair for pair in self.connections if pair[0].can_write]
        try:
            holder = await read_from_first_holder(_pairs(writable), read_pair)
        except Missing:
            await self._refuse_read_only(read)
            raise
        return await _naming(write)(holder)

    async def _refuse_read_only(
        self, read: Callable[["CollabConnection"], Awaitable[object]]
    ) -> None:
        read_only = [pair for pair in self.connections if not pair[0].can_write]
        try:
            await self.first(read, among=read_only)
        except Missing:
            return
        raise ReadOnlyContent


def _pairs(connections: Connections) -> "list[tuple[ConnectionInfo, Pair]]":
    return [(pair[0], pair) for pair in connections]


def _naming(call: Callable[["CollabConnection"], Awaitable[T]]) -> "Callable[[Pair], Awaitable[T]]":
    """Return *call* as one whose answer names the connection that it came from."""

    async def call_pair(pair: Pair) -> T:
        return named(await call(pair[1]), pair[0])

    return call_pair


def named(answer: T, info: ConnectionInfo) -> T:
    """Return an answer whose records name the connection."""
    result: Any = answer
    if isinstance(answer, File | Site | Drive | SiteList | ListItem | SearchHit):
        result = of_connection(answer, info.id)
    elif isinstance(answer, Page):
        result = replace(answer, items=named(answer.items, info))
    elif isinstance(answer, SearchPage):
        result = replace(answer, hits=named(answer.hits, info))
    elif type(answer) is tuple:  # of records, not a key
        result = tuple([named(each, info) for each in result])
    return cast("T", result)


def _changed_nothing(failure: ProviderFailure) -> bool:
    """As `changed_nothing`; a connection that is refused with 403 changed nothing either."""
    if isinstance(failure, ReadOnlyGrant) or changed_nothing(failure):
        return True
    return type(failure) is Refused and failure.status == 403
