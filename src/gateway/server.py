"""Serves the application with uvicorn, uvloop and httptools, in one process or several."""

import gc
import logging
import multiprocessing
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import multiprocess

from gateway.app import Gateway, assemble
from gateway.errors import CommandError, missing_module
from gateway.graceful_stop import NO_DRAIN, Server, Stop, Worker
from gateway.http.protocol import GuardedProtocol
from gateway.http.sandbox_mount import SandboxApp
from gateway.settings import Settings
from gateway.store.serving import lacking
from gateway.telemetry import logs
from gateway.telemetry.metrics import FOLDER

BACKLOG = 2048
OTHER_DESCRIPTORS = 256  # for upstreams, the database and files
_log = logging.getLogger("gateway")


def create() -> Gateway:
    """
    Build the application of one worker process, as the environment configures it.

    Raises:
        SystemExit: It cannot be built; the status tells the parent not to start it again.
    """
    settings = Settings()
    logs.configure(level=settings.log_level, form=settings.log_format)
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        gateway = assemble(settings, sandbox=sandbox_of(settings))
    except ModuleNotFoundError as problem:
        _log.critical("a worker could not start: %s", missing_module(problem.name or ""))
        sys.exit(STARTUP_FAILURE)
    except Exception:  # noqa: BLE001 - the next start would fail the same way
        _log.exception("a worker could not start")
        sys.exit(STARTUP_FAILURE)  # any other status: the parent starts it again, for ever
    tune_garbage_collector()
    return gateway


def _end_with_parent() -> None:
    """Stop this worker when its parent has ended, so that the port is free for the next start."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def sandbox_of(settings: Settings) -> SandboxApp | None:
    """Open the sandbox upstreams when the settings ask for them."""
    if not settings.sandbox:
        return None
    from gateway.demo.world import open_sandbox  # noqa: PLC0415 - a heavy part that few need

    return open_sandbox(Path(settings.data_dir), public_base=f"{settings.base_url}/sandbox")


def run(settings: Settings) -> None:
    """Serve in this process until told to stop."""
    listeners, settings = _begin(settings)
    gateway = assemble(settings, sandbox=sandbox_of(settings))
    tune_garbage_collector()
    run_app(gateway, *listeners, stop=Stop.of(settings))


def run_many(settings: Settings) -> None:
    """
    Serve in several processes on one socket.

    Raises:
        CommandError: A worker did not start.
    """
    gc.enable()  # this process only watches its workers
    listeners, settings = _begin(settings)
    os.environ["AGW_PORT"] = str(settings.port)  # what the workers read
    if settings.admin_port is not None:
        os.environ["AGW_ADMIN_PORT"] = str(settings.admin_port)
    config = _config(
        "gateway.server:create", Stop.of(settings), factory=True, workers=settings.workers
    )
    multiprocess.Process = Worker  # type: ignore[misc] # uvicorn offers no other way
    with TemporaryDirectory(prefix="access-gateway-metrics-") as folder:
        os.environ[FOLDER] = folder  # where the workers write their metrics
        supervisor = _Supervisor(config, sockets=listeners)
        supervisor.run()
    if any(worker.exitcode == STARTUP_FAILURE for worker in supervisor.processes):
        raise CommandError("A worker did not start; the lines above name the kind of failure.")


def _begin(settings: Settings) -> tuple[list[socket.socket], Settings]:
    """Listen, and warn of what the process lacks; return the settings with the actual ports."""
    listeners, settings = _listen(settings)
    logs.configure(level=settings.log_level, form=settings.log_format)
    allow_descriptors(settings.max_connections)
    embedded = settings.database.startswith("sqlite")
    fault = lacking(
        settings.limiting_processes, embedded=embedded, redis=settings.redis_url is not None
    )
    if fault is not None:
        _log.warning("%s. %s", *fault)
    return listeners, settings


def allow_descriptors(connections: int) -> None:
    """Raise the limit of descriptors to what *connections* of clients need, or warn."""
    needed = connections + OTHER_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < needed:  # RLIM_INFINITY is -1
        soft = needed if hard < 0 else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if 0 <= soft < needed:
        _log.warning(
            "the limit of file descriptors is too low for AGW_MAX_CONNECTIONS",
            extra={"count": soft},
        )


def tune_garbage_collector() -> None:
    """
    Exclude the objects of start-up from garbage collection, and collect less often.

    Records and responses hold no reference cycles; without this, a large page costs a fifth to a
    half more, for collections that find nothing.
    """
    gc.enable()  # `cli.main.run` disables it for the imports
    # Not collected before: a tenth of the start, to find 2,500 objects of 170,000.
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _listen(settings: Settings) -> tuple[list[socket.socket], Settings]:
    listener, url = bind(settings.host, settings.port)
    settings = settings.model_copy(update={"port": listener.getsockname()[1]})
    clients = "" if settings.base_url == url else f"; clients use {settings.base_url}"
    print(f"access-gateway listens at {url}{clients}", file=sys.stderr, flush=True)  # noqa: T201
    if settings.admin_port is None:
        return [listener], settings
    admin, url = bind(settings.admin_host, settings.admin_port)
    settings = settings.model_copy(update={"admin_port": admin.getsockname()[1]})
    print(f"management API and metrics at {url}", file=sys.stderr, flush=True)  # noqa: T201
    return [listener, admin], settings


def run_app(
    app: Any,
    *listeners: socket.socket,
    started: Callable[[], None] | None = None,
    stop: Stop = NO_DRAIN,
) -> None:
    """
    Serve *app* on *listeners*; *started* is called once it answers.

    Raises:
        CommandError: It did not start.
    """
    try:
        Server(_config(app, stop), stop, started).run(sockets=list(listeners))
    except SystemExit:
        raise CommandError("It did not start; the lines above name the kind of failure.") from None


def bind(host: str, port: int) -> tuple[socket.socket, str]:
    """
    Listen on *host* and *port*; 0 takes any free port.

    Returns:
        The socket, and the base URL under which it is reached.

    Raises:
        OSError: The address, which the error names, is not available.
    """
    url_host = f"[{host}]" if ":" in host else host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as failure:
        listener.close()
        raise OSError(failure.errno, failure.strerror, f"{url_host}:{port}") from None
    listener.set_inheritable(True)
    return listener, f"http://{url_host}:{listener.getsockname()[1]}"


def _config(app: Any, stop: Stop, **options: Any) -> uvicorn.Config:
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
        timeout_graceful_shutdown=stop.stop_seconds,
        **options,
    )


class _Supervisor(multiprocess.Multiprocess):
    """Closes its own copy of the listeners first: the workers' are then the last."""

    def terminate_all(self) -> None:
        for listener in self.sockets:
            listener.close()
        super().terminate_all()
