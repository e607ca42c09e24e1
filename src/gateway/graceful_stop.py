"""
A server that accepts all connections that wait, and stops without losing a request.

uvloop would accept one connection in each turn of the loop, which starves new ones while turns are
long: see docs/adr/0034-connections-are-accepted-in-batches.md.

On SIGTERM the application is told to drain (`/readyz` is 503, and every response closes its
connection) while everything is still answered. After the pause no connection is accepted any more,
and running requests may end. See docs/spec/reliability.md#stop.
"""

import asyncio
import logging
import signal
import socket
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

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
ACCEPTED = 64  # connections, in one turn of the loop
PAUSE_SECONDS = 1.0  # without accepting, when there are no descriptors
_log = logging.getLogger("gateway")

# What a worker may take until its first response to the supervisor: its imports take 2 s of CPU,
# and many processes may start beside it.
START_SECONDS = 120
STARTING_PING_SECONDS = 0.5  # short, so that a worker that ends while it starts is seen soon
_log = logging.getLogger("gateway")


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
        self._opening: set[asyncio.Task[Any]] = set()  # connections that were accepted

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start without uvicorn's listening: uvloop accepts one connection per turn of the loop."""
        await super().startup([])
        self._loop = asyncio.get_running_loop()
        for listener in sockets or []:
            listener.listen(self.config.backlog)
            listener.setblocking(False)
            self._listen(listener)
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
        begin_drain = getattr(self.config.loaded_app, "begin_drain", None)  # the sandbox has none
        if begin_drain is not None and self._drains_until is None:
            begin_drain()  # responses that end with the process only end now
        for listener in sockets or []:
            loop.remove_reader(listener)
            # The end of listening resets what waits, and a load balancer that had sent a POST would
            # have to answer 502, since it must not send the POST again.
            while self._accept(listener):
                pass
        late = [*self._opening]  # they run as soon as nothing listens any more
        await super().shutdown(sockets)
        await asyncio.gather(*late, return_exceptions=True)

    def _listen(self, listener: socket.socket) -> None:
        if listener.fileno() >= 0:  # else it was closed meanwhile
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> bool:
        """Open the connections that wait, `ACCEPTED` at most; return whether there may be more."""
        loop = asyncio.get_running_loop()
        for _ in range(ACCEPTED):
            try:
                accepted, _address = listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return False
            except OSError as failure:  # EMFILE, ENFILE, ENOBUFS or ENOMEM: what waits, waits on
                _log.error("no connection can be accepted", extra={"kind": failure.strerror})
                loop.remove_reader(listener)
                loop.call_later(PAUSE_SECONDS, self._listen, listener)
                return False
            opening = loop.create_task(loop.connect_accepted_socket(self._protocol, accepted))
            self._opening.add(opening)
            opening.add_done_callback(self._opened)
        return True

    def _opened(self, opening: "asyncio.Task[Any]") -> None:
        self._opening.discard(opening)
        if not opening.cancelled():
            opening.exception()  # the client has gone

    def _protocol(self) -> GuardedProtocol:
        return GuardedProtocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )


class Worker(multiprocess.Process):
    """
    A worker process whose server drains; settings come from the environment.

    Until its first response to the supervisor it is starting: on a busy machine the imports alone
    take longer than the health check of a serving worker may.
    """

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        self._has_answered = False
        self._must_answer_until = time.monotonic() + START_SECONDS

    @property
    def server(self) -> uvicorn.Server:
        if self._server is None:
            self._server = Server(self.config, Stop.of(Settings()))
        return self._server

    def is_alive(self, timeout: float = 5.0) -> bool:
        """Return whether the worker runs and, once it has started, answers within *timeout*."""
        if not self.process.is_alive():
            return False
        if self.ping(timeout if self._has_answered else STARTING_PING_SECONDS):
            self._has_answered = True
            return True
        is_starting = not self._has_answered and time.monotonic() < self._must_answer_until
        return is_starting and self.process.is_alive()

    def kill(self) -> None:
        """End the worker, which the supervisor replaces; the log says why."""
        if self.exitcode is not None:
            reason = f"ended with status {self.exitcode}"
        elif self._has_answered:
            reason = "did not answer its supervisor"
        else:
            reason = f"did not start within {START_SECONDS} seconds"
        _log.warning("worker %s %s and is replaced", self.pid, reason)
        super().kill()
