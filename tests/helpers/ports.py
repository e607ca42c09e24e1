"""Loopback ports for the tests' servers, each given once among all test processes."""

import secrets
import socket
import tempfile
import time
from pathlib import Path

# Below the ports that systems give to outgoing connections: one of those could be taken before the
# server listens, or while it is stopped.
_PORTS = range(10_000, 32_000)
_FOLDER = Path(tempfile.gettempdir(), "access-gateway-test-ports")
_RESERVED_SECONDS = 3600


def free_port() -> int:
    """
    Return a free port, which no other test process gets within an hour.

    A server listens seconds later on a busy machine. Meanwhile another process could find the same
    port free, and one of the two would talk to the other's server.
    """
    _FOLDER.mkdir(exist_ok=True)
    while True:
        port = secrets.choice(_PORTS)  # not `random`, which tests seed
        if _reserve(port) and _is_free(port):
            return port


def _reserve(port: int) -> bool:
    """Make the file that reserves *port*; tell whether nobody else had made it."""
    file = _FOLDER / str(port)
    try:
        file.touch(exist_ok=False)
    except FileExistsError:
        _forget_old(file)
        return False
    return True


def _forget_old(file: Path) -> None:
    """Delete a reservation that has ended; the port may be chosen again."""
    try:
        if time.time() - file.stat().st_mtime > _RESERVED_SECONDS:
            file.unlink()
    except FileNotFoundError:
        return  # another process was faster


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
