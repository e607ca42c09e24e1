"""Start and stop of one process: migrations, background workers, release of resources."""

import logging
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from starlette.types import Receive, Send

from gateway.errors import CommandError
from gateway.store.clock_check import ClockCheck
from gateway.store.database import Database
from gateway.version import VERSION

log = logging.getLogger("gateway")


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
        draining: Whether it was told to stop, and still answers what comes meanwhile.
        migrates: Whether the start brings the schema to the newest version.
    """

    database: Database
    workers: Sequence[Worker]
    closers: Sequence[Callable[[], Awaitable[None]]]
    serving: bool = False
    draining: bool = False
    migrates: bool = True

    @asynccontextmanager
    async def run(self, _app: object) -> AsyncIterator[None]:
        """Migrate the database and run the workers for the length of the block, then close."""
        clock = ClockCheck(self.database)
        try:
            await self._prepare(clock)
            async with AsyncExitStack() as stack:
                for worker in (clock, *self.workers):
                    await stack.enter_async_context(worker.running())
                self.serving = True
                log.info("started", extra={"version": VERSION})
                yield
        finally:
            self.serving = False
            for close in self.closers:
                await close()

    async def serve(self, receive: Receive, send: Send) -> None:
        """Run as the ASGI lifespan, from one message of the server to the next."""
        phase = "startup"
        await receive()
        try:
            async with self.run(self):
                await send({"type": "lifespan.startup.complete"})
                phase = "shutdown"
                await receive()
        except BaseException:
            await send({"type": f"lifespan.{phase}.failed", "message": traceback.format_exc()})
            raise
        await send({"type": "lifespan.shutdown.complete"})

    async def _prepare(self, clock: ClockCheck) -> None:
        try:
            await self.database.prepare(migrates=self.migrates)
            await clock.require_agreement()
        except CommandError as refusal:
            log.error("%s", refusal)  # noqa: TRY400 - the sentence is enough
            raise
