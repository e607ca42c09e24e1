"""
A server that stops without losing a request: unready first, a pause, then the end.

On SIGTERM the application is told to drain (`/readyz` is 503, and every response closes its
connection) while everything is still answered. After the pause no connection is accepted any more,
and running requests may end. See docs/spec/reliability.md#stop.
"""

import asyncio
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Self

import msgspec
import uvicorn
from uvicorn.supervisors import multiprocess

from gateway.http.protocol import GuardedProtocol
from gateway.settings import Settings


class Stop(msgspec.Struct, frozen=True):
    """
    The times that a server takes to stop.

    Attributes:
        drain_seconds: The pause between SIGTERM and the end of listening.
        stop_seconds: For running requests to end after that.
    """

    drain_seconds: float
    stop_seconds: int

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return what *settings* ask for."""
        return cls(settings.drain_seconds, settings.stop_seconds)


NO_DRAIN = Stop(0.0, 10)


class Server(uvicorn.Server):
    """
    A server that drains on SIGTERM, and calls *started* once it answers.

    SIGINT stops it at once. Further SIGTERMs change nothing: a supervisor and its workers may
    both get one from the service manager, and the workers a second one from the supervisor.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        stop: Stop = NO_DRAIN,
        started: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(config)
        self._stop = stop
        self._on_started = started
        self._drains_until: float | None = None  # on the clock of the loop
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        if self._on_started is not None and self.started:
            self._on_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the pause; without one, or by the keyboard, stop at once."""
        if sig != signal.SIGTERM or self._loop is None or not self._stop.drain_seconds:
            super().handle_exit(sig, frame)
        elif self._drains_until is None:
            self._captured_signals.append(sig)
            self._drains_until = self._loop.time() + self._stop.drain_seconds
            self.config.loaded_app.begin_drain()

    async def on_tick(self, counter: int) -> bool:
        """Tell, ten times a second, whether to stop now."""
        ends = await super().on_tick(counter)
        until = self._drains_until
        return ends or (until is not None and asyncio.get_running_loop().time() >= until)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve the connections that the kernel has accepted already, then stop."""
        loop = asyncio.get_running_loop()
        waiting = [accepted for listener in sockets or [] for accepted in _accept_all(listener)]
        late = [
            loop.create_task(loop.connect_accepted_socket(self._protocol, accepted))
            for accepted in waiting
        ]  # they run as soon as nothing listens any more
        await super().shutdown(sockets)
        await asyncio.gather(*late, return_exceptions=True)

    def _protocol(self) -> GuardedProtocol:
        return GuardedProtocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )


def _accept_all(listener: socket.socket) -> list[socket.socket]:
    """
    Accept the connections that wait in the queue of *listener*.

    The end of listening resets them, and a load balancer that had sent a POST would have to
    answer 502, since it must not send the POST again.
    """
    listener.setblocking(False)
    waiting: list[socket.socket] = []
    with suppress(OSError):  # BlockingIOError after the last
        while True:
            waiting.append(listener.accept()[0])
    return waiting


class Worker(multiprocess.Process):
    """A worker process whose server drains; settings come from the environment."""

    @property
    def server(self) -> uvicorn.Server:
        if self._server is None:
            self._server = Server(self.config, Stop.of(Settings()))
        return self._server
