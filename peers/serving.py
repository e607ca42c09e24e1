"""Sandbox process for the checks, which runs for the length of a ``with`` block."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent


@contextmanager
def served(seed: Path) -> Iterator[dict]:
    """Run a sandbox; yield the result of the seed's ``fill``, and ``url``."""
    # The project's interpreter, named by `run.py`: the checks' environments lack the project.
    python = os.environ.get("PEERS_PROJECT_PYTHON", sys.executable)
    process = subprocess.Popen(
        [python, str(HERE / "serve.py"), str(seed)],
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
