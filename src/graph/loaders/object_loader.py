"""The loader of one kind of object: keys and wanted attributes in, records out."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from aiodataloader import DataLoader

from providers.failures import ProviderFailure
from providers.fanout import gather_results

Projection = frozenset[str]
Key = TypeVar("Key", bound=Hashable)
Loaded = TypeVar("Loaded")

ReadMany = Callable[[Sequence[Key], Projection], Awaitable[Mapping[Key, Loaded | ProviderFailure]]]
EVERYTHING: Projection = frozenset()  # of objects that are always read whole


class ObjectLoader(Generic[Key, Loaded]):
    """Loader of one kind of object, which *read_many* reads by keys: one entry per key."""

    def __init__(self, read_many: ReadMany[Key, Loaded]) -> None:
        self._read_many = read_many
        self._loader: DataLoader[tuple[Key, Projection], Loaded] = DataLoader(
            self._load_batch, cache=False
        )
        self._batches: set[asyncio.Task[object] | None] = set()
        self._is_cancelled = False
        self._loading: dict[Key, list[tuple[Projection, asyncio.Future[Loaded]]]] = {}

    async def load(self, key: Key, projection: Projection) -> Loaded:
        """
        Read an object, at least with the *projection* attributes; another read of it may serve.

        Raises:
            ProviderFailure: What `read_many` returned in the object's place.
        """
        earlier = self._loading.setdefault(key, [])
        for read_attributes, read in earlier:
            if projection <= read_attributes:
                return await asyncio.shield(read)
        future = self._loader.load((key, projection))
        earlier.append((projection, future))
        # A caller that is cancelled must not cancel the others that wait for the object.
        return await asyncio.shield(future)

    def cancel(self) -> None:
        """Stop all reads, and begin no other."""
        self._is_cancelled = True
        for batch in self._batches:
            if batch is not None:
                batch.cancel()

    async def _load_batch(self, loads: list[tuple[Key, Projection]]) -> list[Loaded]:
        if self._is_cancelled:
            raise asyncio.CancelledError
        batch = asyncio.current_task()
        self._batches.add(batch)
        try:
            return await self._read_batch(loads)
        finally:
            self._batches.discard(batch)

    async def _read_batch(self, loads: list[tuple[Key, Projection]]) -> list[Loaded]:
        merged: dict[Key, Projection] = {}
        for key, projection in loads:
            merged[key] = merged.get(key, frozenset()) | projection
        by_projection: dict[Projection, list[Key]] = {}
        for key, projection in merged.items():
            by_projection.setdefault(projection, []).append(key)
        reads = (self._read_many(keys, projection) for projection, keys in by_projection.items())
        results: dict[Key, Loaded | ProviderFailure] = {}
        for result in await asyncio.gather(*reads):
            results |= result
        return [results[key] for key, _ in loads]  # type: ignore[misc]  # it raises


def each(read: Callable[[Key, Projection], Awaitable[Loaded]]) -> ReadMany[Key, Loaded]:
    """Read objects one by one, at the same time."""

    async def read_each(
        keys: Sequence[Key], projection: Projection
    ) -> Mapping[Key, Loaded | ProviderFailure]:
        results = await gather_results([read(key, projection) for key in keys])
        return dict(zip(keys, results, strict=True))

    return read_each
