"""Start and stop of one process: migrations, background workers, release of resources."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from gateway.store.database import Database


class Worker(Protocol):
    """Background work that goes on while the process serves."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """Run for the length of the block."""


@dataclass(kw_only=True)
class Lifecycle:
    """
    The ASGI lifespan of one process.

    Attributes:
        workers: Started in this order, stopped in the reverse order.
        closers: Called in this order after the workers stopped.
        serving: Whether the process has started and is not stopping.
    """

    database: Database
    workers: Sequence[Worker]
    closers: Sequence[Callable[[], Awaitable[None]]]
    serving: bool = False

    @asynccontextmanager
    async def run(self, _app: object) -> AsyncIterator[None]:
        """Migrate the database and run the workers for the length of the block, then close."""
        await self.database.migrate()
        try:
            async with AsyncExitStack() as stack:
                for worker in self.workers:
                    await stack.enter_async_context(worker.running())
                self.serving = True
                yield
        finally:
            self.serving = False
            for close in self.closers:
                await close()
