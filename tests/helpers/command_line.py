"""The command line over a store of its own, in processes and on terminals."""

import os
import pty
import subprocess
import sys
import termios
import time
from contextlib import contextmanager, suppress
from select import select

from paths import REPOSITORY


def run_command(*words, stdin, cwd, env):
    """Run a command of the gateway to its end; return the process with its output as text."""
    return subprocess.run(
        [sys.executable, "-m", "gateway", *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=cwd,
        env=env,
    )


class CommandLine:
    """Runs commands over a store in *folder*, with settings beyond those of the store."""

    def __init__(self, folder, **settings):
        self._folder = folder
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(REPOSITORY / "src"),
            "AGW_DATA_DIR": str(folder / "data"),
            "AGW_SECRET_KEYS": "k" * 20,
            **settings,
        }

    def __call__(self, *words, stdin="", **settings):
        environment = {**self._environment, **settings}
        return run_command(*words, stdin=stdin, cwd=self._folder, env=environment)

    def set_up(self):
        """Make an operator with a resource; return their ids."""
        operator = self("operator", "add", "ada@example.test", "Ada").stdout.strip()
        resource = self("resource", "add", "main", "--operator", operator).stdout.strip()
        return operator, resource

    def on_a_terminal(self, *words):
        return terminal("-m", "gateway", *words, cwd=self._folder, env=self._environment)


class Terminal:
    """
    A terminal in which a program runs.

    Attributes:
        shown: What it has shown so far.
    """

    def __init__(self, process, device, controller):
        self._process, self._device, self._controller = process, device, controller
        self.shown = ""

    @property
    def echoes(self):
        """Whether it shows what is typed."""
        return bool(termios.tcgetattr(self._device)[3] & termios.ECHO)

    def wait_for(self, text):
        deadline = time.monotonic() + 60
        while text not in self.shown:
            assert time.monotonic() < deadline, self.shown
            self._read(0.1)

    def wait_for_no_echo(self):
        deadline = time.monotonic() + 60
        while self.echoes:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def type(self, text):
        os.write(self._controller, text.encode())

    def end(self):
        """Wait for the end of the program; return its exit code."""
        while self._process.poll() is None:
            self._read(0.1)
        self._read(0)
        return self._process.returncode

    def _read(self, seconds):
        while select([self._controller], [], [], seconds)[0]:
            self.shown += os.read(self._controller, 65536).decode()


@contextmanager
def terminal(*words, cwd, env):
    """Run Python with *words* in a terminal, which it may also reach as `/dev/tty`."""
    controller, device = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", "--wait", sys.executable, *words],
        stdin=device,
        stdout=device,
        stderr=device,
        cwd=cwd,
        env={**env, "TERM": "dumb", "COLUMNS": "200"},
    )
    try:
        yield Terminal(process, device, controller)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait(60)
        os.close(controller)
        os.close(device)
