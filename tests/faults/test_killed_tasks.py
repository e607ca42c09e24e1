"""A gateway is killed within each background task; `TASK_SECONDS=600` is ten minutes of kills."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from database_servers import postgres_server
from gateway_processes import tell

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("killed_tasks.py")
SECONDS = os.environ.get("TASK_SECONDS", "1")


def test_a_kill_within_a_background_task_leaves_nothing_undone():
    with postgres_server() as postgres:
        run = subprocess.run(
            [sys.executable, SCRIPT, postgres.url, SECONDS],
            capture_output=True, text=True, timeout=3600, check=False,
        )  # fmt: skip
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    tell(kills=sum(result["kills"].values()), tasks=len(result["tasks"]))

    assert result["faults"] == []
    assert result["finished"] == result["tasks"]
    # The clock is compared by a statement; the decision log and the leases are written.
    assert set(result["kills"]) == set(result["tasks"])
