"""Notes that connections have changed, as often as they may wake."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial

from gateway.feeds import wakes
from gateway.feeds.wakes import WakeStore
from gateway.store.background import cancel
from gateway.store.database import StorageUnavailable
from gateway.store.timestamps import now_ms


class Arrivals:
    """Notifications that are not noted yet. One per process."""

    def __init__(self, store: WakeStore) -> None:
        self._store = store
        self._noting: dict[int, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Forget at the end what is not noted: the next poll sees it."""
        try:
            yield
        finally:
            await cancel(self._noting.values())

    def add(self, connections: Iterable[int]) -> None:
        """Note soon that *connections* have changed."""
        for connection in connections:
            if connection not in self._noting:
                task = asyncio.create_task(self._note(connection))
                self._noting[connection] = task
                task.add_done_callback(partial(self._forget, connection))

    def _forget(self, connection: int, _task: "asyncio.Task[None]") -> None:
        self._noting.pop(connection, None)

    async def _note(self, connection: int) -> None:
        with suppress(StorageUnavailable):
            row = (await self._store.read([connection])).get(connection)
            if row is None:
                return  # nobody has followed it
            pause = wakes.SPACING_SECONDS - (now_ms() - row.woken_at) / 1000
            if pause > 0:
                await asyncio.sleep(min(pause, wakes.SPACING_SECONDS))
                later = (await self._store.read([connection])).get(connection)
                if later is None or later.woken_at != row.woken_at:
                    return  # another process has noted it meanwhile
            await self._store.note(connection)
