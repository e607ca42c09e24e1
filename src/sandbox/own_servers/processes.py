"""Programs of the servers, free ports, and child processes that end with the demo."""

import grp
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_START_SECONDS = 60.0  # on a machine that does much else
_STOP_SECONDS = 10.0


class CannotStart(Exception):
    """A server is missing or does not start; the message names it."""


def program(name: str) -> str | None:
    """Return the path of a program; None when it is not installed."""
    folders = [os.environ.get("PATH", ""), "/usr/sbin", str(Path(sys.executable).parent)]
    return shutil.which(name, path=os.pathsep.join(folders))


def is_root() -> bool:
    """Return whether the demo runs as root, as which servers keep no mail."""
    return os.getuid() == 0


def ordinary_user() -> tuple[str, str]:
    """Return the user and the group as which a server runs."""
    if is_root():
        return "nobody", "nogroup"
    return pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name


def free_port() -> int:
    """Return a loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def as_ordinary_user() -> list[str]:
    """Return the words before a command by which it runs as nobody when the demo runs as root."""
    words = ending_with_the_demo()
    if is_root() and words:
        user, group = ordinary_user()
        words += [f"--reuid={user}", f"--regid={group}", "--clear-groups"]
    return words


def ending_with_the_demo() -> list[str]:
    """Return the words before a command by which it ends with the demo, also with a killed one."""
    setpriv = program("setpriv")
    return [] if setpriv is None else [setpriv, "--pdeathsig", "TERM"]


class Process:
    """A server in the foreground, as a child of the demo in a process group of its own."""

    def __init__(self, command: Sequence[str | Path], *, port: int, log: Path) -> None:
        """
        Start it, and wait until it listens on *port*.

        Raises:
            CannotStart: It ends, or does not listen in time.
        """
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - programs of this machine
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        until = time.monotonic() + _START_SECONDS
        while not _listens(port):
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise CannotStart(f"A server of the demo does not start: {log} says why.")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it; it ends what it has started."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it and what it has started, at once."""
        self.signal(signal.SIGKILL)
        self._process.wait(_STOP_SECONDS)

    def signal(self, number: int) -> None:
        """Send a signal to it and to what it has started in its process group."""
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def own(folder: Path) -> None:
    """Give a folder and all below it to the ordinary user."""
    if is_root():
        for path in (folder, *folder.rglob("*")):
            shutil.chown(path, *ordinary_user())
