"""A short run of `held_once.py`; the long one is in its docstring."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from programs import program

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("held_once.py")
HOLDS, KILLS = (int(os.environ.get(name, "0")) for name in ("HELD_WRITES", "HELD_KILLS"))
SHORT_LEASE = "15"  # seconds; a run ends that long after its last kill


def test_no_held_write_runs_twice_or_unreleased_or_otherwise_than_shown():
    """Two processes are killed in turn; two approvers race, quarrel, come late."""
    program("postgres")
    holds, kills = HOLDS or 12, KILLS or 3
    command = [sys.executable, SCRIPT, "--holds", str(holds), "--kills", str(kills)]
    command += [] if HOLDS else ["--lease", SHORT_LEASE]
    run = subprocess.run(command, capture_output=True, text=True, timeout=7200, check=False)
    sys.stdout.write(run.stdout)

    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{holds} holds, {{'kills': {kills}}}" in run.stdout
    assert f"{6 * holds} releases of access tokens refused" in run.stdout
    ends = {state: int(count) for state, count in re.findall(r"'([a-z]+)': (\d+)", run.stdout)}
    assert ends.pop("kills") == kills
    assert sum(ends.values()) == holds
    assert ends["rejected"] >= holds // 6
    assert ends["done"] > 0
