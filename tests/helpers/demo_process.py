"""A demo gateway in a process of its own, on a free loopback port."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running(folder: Path, **settings: str) -> Iterator[dict]:
    """Run the demo in *folder* with `AGW_…` *settings*, and yield its manifest and `pid`."""
    manifest = folder / "manifest.json"
    command = [sys.executable, "-m", "gateway", "demo", "--port", "0"]
    command += ["--data", str(folder / "data"), "--manifest", str(manifest)]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **settings})
    try:
        yield {**_when_ready(manifest, server, folder / "log"), "pid": server.pid}
    finally:
        server.terminate()
        server.wait(120)


def shell_variables(folder: Path) -> dict[str, str]:
    """Return what a shell gets from the environment file of the demo in *folder*."""
    file = folder / "data" / "environment"
    assert file.stat().st_mode & 0o077 == 0  # it holds secrets
    shell = subprocess.run(
        ["/bin/sh", "-c", '. "$1"; env -0', "sh", str(file)],
        env={},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(line.split("=", 1) for line in shell.stdout.split("\0") if line)


def resident(pid: int) -> int:
    """Return the bytes of memory that a process holds now."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def _when_ready(manifest: Path, server: subprocess.Popen, log: Path) -> dict:
    for _ in range(600):
        if server.poll() is not None:
            break
        if manifest.exists():
            try:
                contents = json.loads(manifest.read_text())
                port = int(contents["baseUrl"].rpartition(":")[2])
                socket.create_connection(("127.0.0.1", port), 1).close()
            except (ValueError, OSError):
                pass
            else:
                return contents
        time.sleep(0.1)
    raise RuntimeError(f"The demo did not start:\n{log.read_text()[-2000:]}")
