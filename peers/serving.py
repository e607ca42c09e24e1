"""For the checks: a sandbox in a process of its own, for as long as a ``with`` block lasts."""

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
    """Yield what the seed's ``fill`` returned, and ``url``."""
    # The project's own interpreter; `run.py` names it, because the peers' one lacks the project.
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
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
