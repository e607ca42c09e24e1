"""Processes for the checks, which run for the length of a ``with`` block: a sandbox, or a demo."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
# The project's interpreter, named by `run.py`: the checks' environments lack the project.
PYTHON = os.environ.get("PEERS_PROJECT_PYTHON", sys.executable)


@contextmanager
def served(seed: Path) -> Iterator[dict]:
    """Run a sandbox; yield the result of the seed's ``fill``, and ``url``."""
    process = subprocess.Popen(
        [PYTHON, str(HERE / "serve.py"), str(seed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        if not line:
            raise SystemExit("the sandbox did not start")
        yield json.loads(line)
    finally:
        process.stdin.close()
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()


@contextmanager
def demo(surfaces: Sequence[str]) -> Iterator[dict]:
    """Run a demo with large limits of the *surfaces*; yield its manifest."""
    windows = json.dumps({surface: [[6000, 60]] for surface in surfaces})
    with TemporaryDirectory() as folder:
        file = Path(folder, "manifest.json")
        command = [PYTHON, "-m", "gateway", "demo", "--port", "0", "--data", f"{folder}/data"]
        environment = {**os.environ, "AGW_RATE_LIMIT_WINDOWS": windows}
        environment.pop("PYTHONPATH", None)
        server = subprocess.Popen(
            [*command, "--manifest", file], env=environment, stdout=subprocess.DEVNULL
        )
        try:
            for _ in range(1200):
                if file.exists() or server.poll() is not None:
                    break
                time.sleep(0.1)
            yield json.loads(file.read_text())
        finally:
            server.terminate()
            server.wait(120)
