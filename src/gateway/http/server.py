"""Runs an application on a socket: uvicorn with uvloop and httptools, and nothing it adds."""

import gc
import logging
import multiprocessing
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from gateway.app import Gateway, assemble
from gateway.errors import CommandError
from gateway.http.protocol import GuardedProtocol
from gateway.settings import Settings
from gateway.telemetry import logs
from gateway.telemetry.metrics import FOLDER

BACKLOG = 2048
GRACE = 10  # seconds that running requests get at shutdown
_log = logging.getLogger("gateway")


def create() -> Gateway:
    """
    Build the application of one worker process, as the environment configures it.

    Raises:
        SystemExit: It cannot be built, with the status by which the parent knows it.
    """
    settings = Settings()
    logs.configure(level=settings.log_level, form=settings.log_format)
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        made = assemble(settings, sandbox=sandbox_of(settings))
    except Exception:  # noqa: BLE001 - whatever it is, the next start would meet it again
        _log.exception("a worker could not start")
        sys.exit(STARTUP_FAILURE)  # with another, the parent would start it again, for ever
    settle()
    return made


def _end_with_parent() -> None:
    """Stop this worker when its parent is gone: it would keep the port from the next."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def sandbox_of(settings: Settings) -> ASGIApp | None:
    """Open the sandbox upstreams when the settings ask for them."""
    if not settings.sandbox:
        return None
    from gateway.demo.world import open_sandbox  # noqa: PLC0415 - a heavy part that few need

    return open_sandbox(Path(settings.data_dir), public_base=f"{settings.base_url}/sandbox")


def run(settings: Settings) -> None:
    """Serve in this process until told to stop."""
    listener, settings = _listen(settings)
    logs.configure(level=settings.log_level, form=settings.log_format)
    made = assemble(settings, sandbox=sandbox_of(settings))
    settle()
    run_app(made, listener)


def run_many(settings: Settings) -> None:
    """
    Serve in several processes on one socket.

    Raises:
        CommandError: A worker did not start.
    """
    listener, settings = _listen(settings)
    logs.configure(level=settings.log_level, form=settings.log_format)
    os.environ["AGW_PORT"] = str(settings.port)  # what the workers read
    config = _config("gateway.http.server:create", factory=True, workers=settings.workers)
    with TemporaryDirectory(prefix="access-gateway-metrics-") as folder:
        os.environ[FOLDER] = folder  # where the workers' figures meet
        workers = Multiprocess(config, sockets=[listener])
        workers.run()
    if any(one.exitcode == STARTUP_FAILURE for one in workers.processes):
        raise CommandError("A worker did not start; the lines above name the kind of failure.")


def settle() -> None:
    """
    Let the garbage collector pass over what start-up made, and come less often.

    Records, shapes and answers hold no cycles: without this, a large page of them costs a fifth to
    a half more, for collections that find nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _listen(settings: Settings) -> tuple[socket.socket, Settings]:
    """Listen, and fill in the port that was taken."""
    listener, _ = bind(settings.host, settings.port)
    settings = settings.model_copy(update={"port": listener.getsockname()[1]})
    print(f"access-gateway at {settings.base_url}", file=sys.stderr, flush=True)  # noqa: T201
    return listener, settings


def run_app(
    app: Any, listener: socket.socket, *, started: Callable[[], None] | None = None
) -> None:
    """
    Serve *app* on *listener*; *started* is called once it answers.

    Raises:
        CommandError: It did not start.
    """
    try:
        _Server(_config(app), started).run(sockets=[listener])
    except SystemExit:
        raise CommandError("It did not start; the lines above name the kind of failure.") from None


def bind(host: str, port: int) -> tuple[socket.socket, str]:
    """
    Listen on *host* and *port*; 0 takes any free port.

    Returns:
        The socket, and the base URL under which it is reached.

    Raises:
        OSError: The address, which it names, cannot be had.
    """
    named = f"[{host}]" if ":" in host else host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as failure:
        listener.close()
        raise OSError(failure.errno, failure.strerror, f"{named}:{port}") from None
    listener.set_inheritable(True)
    return listener, f"http://{named}:{listener.getsockname()[1]}"


def _config(app: Any, **options: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=GuardedProtocol,
        loop="uvloop",
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        forwarded_allow_ips="",
        backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE,
        **options,
    )


class _Server(uvicorn.Server):
    """Tells when it answers."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        if self._tell is not None and self.started:
            self._tell()
